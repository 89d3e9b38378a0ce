"""Mathematical functions and rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa

from joingraph.expressions.functions.arrow import pc
from joingraph.expressions.functions.by_row import (
    Entry,
    Maker,
    Plain,
    constant,
    fitted,
    of_one,
    of_two,
)
from joingraph.expressions.functions.decimals import EXACT, rescale, shifted
from joingraph.expressions.functions.fault import Datum, Fault, columns
from joingraph.expressions.row_values import rounded
from joingraph.expressions.tree import Call
from joingraph.expressions.types import FLOATS, sql_name

DOUBLES = {pa.float64()}


def sign(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """-1, 0 or 1; NaN has none in floats, 0 in integers."""
    result = pc.sign(args[0])
    if pa.types.is_floating(result.type) and pa.types.is_integer(type):
        result = pc.if_else(pc.is_nan(result), pa.scalar(0, result.type), result)
    if pa.types.is_decimal(type):
        return rescale(result.cast(pa.int8()).cast(pa.decimal128(3, 0)), type)
    return result if result.type == type else result.cast(type)


def floor(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The greatest whole number not above a."""
    return _whole(args, type, pc.floor)


def ceil(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The least whole number not below a."""
    return _whole(args, type, pc.ceil)


def _whole(args: Sequence[Datum], type: pa.DataType, kernel: Callable[[Datum], Datum]) -> Datum:
    (values,) = columns(args)
    if pa.types.is_decimal(values.type):  # one digit more, as 9.5 becomes 10
        values = values.cast(pa.decimal256(values.type.precision + 1, values.type.scale))
    try:
        return pc.cast(kernel(values), type)
    except pa.ArrowInvalid as error:
        raise Fault(f"the result does not fit {sql_name(type)}") from error


def round_decimal(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A decimal rounded to the scale of the answer, halves away from zero."""
    return rescale(args[0], type)


def round_half_away(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A float rounded to a whole number, halves away from zero."""
    return pc.round(args[0], round_mode="half_towards_infinity")


def round_half_even(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A float rounded to a whole number, halves to the even neighbour."""
    return pc.round(args[0], round_mode="half_to_even")


def round_shifted(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A float plus a half, cut to a whole number (SQLite)."""
    value = args[0]
    half = pc.if_else(pc.less(value, pa.scalar(0.0)), pa.scalar(-0.5), pa.scalar(0.5))
    whole = pc.add(pc.trunc(pc.add(value, half)), pa.scalar(0.0))  # + 0.0 makes -0.0 a 0.0
    return pc.if_else(pc.greater(pc.abs(value), pa.scalar(2.0**52)), value, whole)


def round_scaled(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A float times 10^digits, rounded half away from zero, and divided again (DuckDB)."""
    value, factor = pc.cast(args[0], pa.float64()), pa.scalar(10.0 ** args[1].as_py())
    whole = pc.round(pc.multiply(value, factor), round_mode="half_towards_infinity")
    result = pc.divide(whole, factor)
    return pc.if_else(pc.is_finite(result), result, value).cast(type)


def round_shortest(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The shortest decimal that means a float, rounded half away from zero (Spark)."""
    digits = args[1].as_py()
    if digits == 0:
        whole = pc.round(args[0], round_mode="half_towards_infinity")
        return pc.add(whole, pa.scalar(0, type))  # makes -0.0 a 0.0
    (values,) = columns(args[:1])
    places = Decimal(1).scaleb(-digits)
    answers = (None if v is None else _round_shortest(v, places) for v in values.to_pylist())
    return pa.array(list(answers), type)


def _round_shortest(value: float, places: Decimal) -> float:
    if not math.isfinite(value):
        return value
    return float(Decimal(repr(value)).quantize(places, context=EXACT)) + 0.0


def square_root(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The square root; NaN below zero."""
    return pc.sqrt(args[0])


def exponential(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """e to the power of a."""
    return pc.exp(args[0])


def power(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a to the power of b, as C does it: one to any power is one."""
    return pc.power(*args)


def power_java(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a to the power of b, as Java does it: NaN for b = NaN, and for 1 to the power of infinity."""
    a, b = args
    endless = pc.and_(pc.is_inf(b), pc.equal(pc.abs(a), pa.scalar(1.0)))
    return pc.if_else(pc.or_(pc.is_nan(b), endless), pa.scalar(float("nan")), pc.power(a, b))


def logarithm(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The natural logarithm; -infinity for zero, NaN below."""
    return pc.ln(args[0])


def log_positive(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The natural logarithm; NULL for zero and below (Spark)."""
    positive = pc.or_(pc.greater(args[0], pa.scalar(0.0)), pc.is_nan(args[0]))
    return pc.ln(pc.if_else(positive, args[0], pa.scalar(None, type)))


def half_away_by_row(value: float) -> float:
    """Round to a whole number, which keeps the sign of a zero."""
    if not math.isfinite(value):
        return value
    whole = abs(math.trunc(value))
    return math.copysign(whole + (abs(value) - whole >= 0.5), value)


def _kept_sign(plain: Callable[[float], int]) -> Callable[[float], float]:
    """Return a rounding of floats: zero has the sign of what it was."""
    return lambda value: math.copysign(plain(value), value) if math.isfinite(value) else value


def _sign(call: Call) -> Plain | None:
    if call.type in FLOATS:
        return lambda value: float((value > 0) - (value < 0)) if not math.isnan(value) else value
    unit = 10**call.type.scale if pa.types.is_decimal(call.type) else 1
    return fitted(lambda value: ((value > 0) - (value < 0)) * unit, call.type)


def _whole_by_row(plain: Callable[[float], int]) -> Maker:
    def make(call: Call) -> Plain | None:
        source = call.args[0].type
        if source in FLOATS and call.type == source:
            return _kept_sign(plain)
        if not pa.types.is_decimal(source) or not pa.types.is_decimal(call.type):
            return None
        unit, up = 10**source.scale, 10**call.type.scale
        down = plain(-0.5) == -1
        return fitted(lambda value: (value // unit if down else -(-value // unit)) * up, call.type)

    return make


def _rescaled(call: Call) -> Plain | None:
    places = call.type.scale - call.args[0].type.scale
    return fitted(lambda value: shifted(value, places), call.type)


def _of_float(plain: Plain) -> Maker:
    """Return a function of a float whose result has its type."""

    def make(call: Call) -> Plain | None:
        source = call.args[0].type
        return plain if source in FLOATS and call.type == source else None

    return make


def _of_double(plain: Plain) -> Maker:
    """Return a function of doubles; Arrow's own kernels, where these decide the last bit."""
    return lambda call: plain if {each.type for each in (call, *call.args)} == DOUBLES else None


def _root(value: float) -> float:
    return math.nan if value < 0 else math.sqrt(value)


def _shifted(value: float) -> float:
    if not abs(value) <= 2.0**52:
        return value
    return math.trunc(value + (-0.5 if value < 0.0 else 0.5)) + 0.0


def _scaled_by_row(call: Call) -> Plain | None:
    digits = constant(call.args[1])
    if not isinstance(digits, int) or digits > 300:
        return None
    factor, is_short = 10.0**digits, call.type == pa.float32()

    def plain(value: float) -> float:
        found = half_away_by_row(value * factor) / factor
        found = found if math.isfinite(found) else value
        return rounded(found) if is_short else found

    return plain


def _shortest_by_row(call: Call) -> Plain | None:
    digits = constant(call.args[1])
    if not isinstance(digits, int):
        return None
    if digits == 0:
        return lambda value: half_away_by_row(value) + 0.0
    places = Decimal(1).scaleb(-digits)
    if call.type == pa.float32():
        return lambda value: rounded(_round_shortest(value, places))
    return lambda value: _round_shortest(value, places)


def _power(a: float, b: float) -> float:
    found: float = pc.power(a, b).as_py()
    return found


def _power_java(a: float, b: float) -> float:
    endless = math.isinf(b) and abs(a) == 1.0
    return math.nan if math.isnan(b) or endless else _power(a, b)


MATHEMATICS: dict[str, Entry] = {
    "sign": Entry(sign, of_one(_sign)),
    "floor": Entry(floor, of_one(_whole_by_row(math.floor))),
    "ceil": Entry(ceil, of_one(_whole_by_row(math.ceil))),
    "round_decimal": Entry(round_decimal, of_one(_rescaled)),
    "round_half_away": Entry(round_half_away, of_one(_of_float(half_away_by_row))),
    "round_half_even": Entry(round_half_even, of_one(_of_float(_kept_sign(round)))),
    "sqrt": Entry(square_root, of_one(_of_double(_root))),
    "round_shifted": Entry(round_shifted, of_one(_of_double(_shifted))),
    "round_scaled": Entry(round_scaled, of_one(_scaled_by_row)),
    "round_shortest": Entry(round_shortest, of_one(_shortest_by_row)),
    "exp": Entry(exponential, of_one(_of_double(lambda value: pc.exp(value).as_py()))),
    "power": Entry(power, of_two(_of_double(_power))),
    "power_java": Entry(power_java, of_two(_of_double(_power_java))),
    "ln": Entry(logarithm, of_one(_of_double(lambda value: pc.ln(value).as_py()))),
    "ln_positive": Entry(
        log_positive,
        of_one(_of_double(lambda value: None if value <= 0.0 else pc.ln(value).as_py())),
    ),
}
