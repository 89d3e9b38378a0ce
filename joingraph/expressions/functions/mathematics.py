"""Mathematical functions and rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa

from joingraph.expressions.functions.arrow import pc
from joingraph.expressions.functions.decimals import EXACT, rescale
from joingraph.expressions.functions.fault import Datum, Fault, Function, columns
from joingraph.expressions.types import sql_name


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
    return pa.array([_round_shortest(each, places) for each in values.to_pylist()], type)


def _round_shortest(value: float | None, places: Decimal) -> float | None:
    if value is None or not math.isfinite(value):
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


MATHEMATICS: dict[str, Function] = {
    "sign": sign,
    "floor": floor,
    "ceil": ceil,
    "round_decimal": round_decimal,
    "round_half_away": round_half_away,
    "round_half_even": round_half_even,
    "sqrt": square_root,
    "round_shifted": round_shifted,
    "round_scaled": round_scaled,
    "round_shortest": round_shortest,
    "exp": exponential,
    "power": power,
    "power_java": power_java,
    "ln": logarithm,
    "ln_positive": log_positive,
}
