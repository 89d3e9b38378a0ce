"""Decimal arithmetic: exact, then rounded half away from zero to the scale of the answer.

Arrow's own kernels do what fits 38 digits on the way. The rest (division, remainder, products of
long decimals) goes row by row through Python's decimals: rare, and right before fast.

By row a decimal is a whole number of its last place, and all is exact in Python's integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa

from joingraph.expressions.functions.arrow import pc
from joingraph.expressions.functions.by_row import Maker, Plain, within
from joingraph.expressions.functions.fault import Datum, Fault, Function, columns
from joingraph.expressions.tree import Call
from joingraph.expressions.types import DECIMAL_DIGITS, sql_name

EXACT = Context(prec=1000, rounding=ROUND_HALF_UP)  # a double has up to 767 digits
Operation = Callable[[Decimal, Decimal], Decimal]


def fit(value: Decimal, type: pa.DataType) -> Decimal | None:
    """Round a value to a decimal type; None where it has too many digits."""
    if value.adjusted() >= DECIMAL_DIGITS:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-type.scale), context=EXACT)
    digits = rounded.as_tuple().digits
    return rounded if len(digits) <= type.precision or not any(digits) else None


def rescale(values: Datum, type: pa.DataType) -> Datum:
    """Bring a decimal column to another decimal type, rounding; what does not fit is a Fault."""
    if values.type == type:
        return values
    if values.type.scale > type.scale:  # one digit more, as 9.5 becomes 10
        roomy = pa.decimal256(values.type.precision + 1, values.type.scale)
        values = pc.round(values.cast(roomy), type.scale, round_mode="half_towards_infinity")
    elif values.type.precision + type.scale - values.type.scale > DECIMAL_DIGITS:
        values = values.cast(pa.decimal256(76, values.type.scale))  # 128 bits wrap unnoticed
    try:
        return values.cast(type)
    except pa.ArrowInvalid as error:
        raise Fault(f"the value does not fit {sql_name(type)}") from error


def divide(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """a / b as Spark does it: to 38 places, then to the scale of the answer."""
    places = Decimal(1).scaleb(-DECIMAL_DIGITS)

    def quotient(a: Decimal, b: Decimal) -> Decimal:
        return EXACT.divide(a, b).quantize(places, context=EXACT)

    return _row_by_row(args, type, quotient)


def remainder(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """What is left of a after whole times b, with the sign of a."""
    return _row_by_row(args, type, EXACT.remainder)


def _row_by_row(args: Sequence[Datum], type: pa.DataType, operation: Operation) -> pa.Array:
    answers: list[Decimal | None] = []
    for a, b in zip(*(each.to_pylist() for each in columns(args)), strict=True):
        answer = None if a is None or b is None else fit(operation(a, b), type)
        if answer is None and a is not None and b is not None:
            raise Fault(f"the result does not fit {sql_name(type)}")
        answers.append(answer)
    return pa.array(answers, type)


def _sum_digits(a: pa.DataType, b: pa.DataType) -> int:
    whole: int = max(a.precision - a.scale, b.precision - b.scale)
    scale: int = max(a.scale, b.scale)
    return whole + scale + 1


def _product_digits(a: pa.DataType, b: pa.DataType) -> int:
    factors: int = a.precision + b.precision
    return factors + 1


def _operator(
    kernel: Callable[..., Datum],
    operation: Operation,
    digits: Callable[[pa.DataType, pa.DataType], int],
) -> Function:
    def apply(args: Sequence[Datum], type: pa.DataType) -> Datum:
        if digits(args[0].type, args[1].type) > DECIMAL_DIGITS:
            return _row_by_row(args, type, operation)
        return rescale(kernel(*args), type)

    return apply


OPERATORS: dict[str, Function] = {
    "add": _operator(pc.add, EXACT.add, _sum_digits),
    "subtract": _operator(pc.subtract, EXACT.subtract, _sum_digits),
    "multiply": _operator(pc.multiply, EXACT.multiply, _product_digits),
}


def whole_quotient(value: int, by: int) -> int:
    """Divide whole numbers, cut towards zero."""
    found = abs(value) // abs(by)
    return found if (value < 0) == (by < 0) else -found


def nearest(value: int, by: int) -> int:
    """Divide whole numbers, halves away from zero.

    >>> nearest(5, 2), nearest(-5, 2), nearest(7, -5)
    (3, -3, -1)
    """
    found, rest = divmod(abs(value), abs(by))
    found += 2 * rest >= abs(by)
    return found if (value < 0) == (by < 0) else -found


def shifted(value: int, places: int) -> int:
    """Multiply by a power of ten; a negative one rounds halves away from zero."""
    return value * 10**places if places >= 0 else nearest(value, 10**-places)


def cut_remainder(a: int, b: int) -> int:
    """Return what is left of a after whole times b, with the sign of a."""
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def sum_by_row(plain: Callable[[int, int], int]) -> Maker:
    """Return a sum, difference or remainder of two decimals: both are brought to one scale."""

    def make(call: Call) -> Plain:
        a, b = (each.type.scale for each in call.args)
        scale = max(a, b)
        up_a, up_b, down = 10 ** (scale - a), 10 ** (scale - b), call.type.scale - scale
        if up_a == up_b == 1 and down == 0:
            return within(plain, call.type)
        return within(lambda x, y: shifted(plain(x * up_a, y * up_b), down), call.type)

    return make


def product_by_row(call: Call) -> Plain:
    """Return the product of two decimals."""
    places = call.type.scale - sum(each.type.scale for each in call.args)
    return within(lambda x, y: shifted(x * y, places), call.type)


def quotient_by_row(call: Call) -> Plain:
    """Return the quotient of two decimals, rounded to 38 places first, as `divide` does."""
    a, b = (each.type.scale for each in call.args)
    up, down = 10 ** (DECIMAL_DIGITS - a + b), call.type.scale - DECIMAL_DIGITS
    return within(lambda x, y: shifted(nearest(x * up, y), down), call.type)
