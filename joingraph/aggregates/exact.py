"""Values as exact integers, and quotients and roots of integers rounded once.

    DECIMAL(10,2) 1.50 -> 150      DOUBLE 0.75 -> 0.75 * 2^1074      BIGINT 7 -> 7      TRUE -> 1

A type's scale is the integer that stands for one. So a sum of doubles is an integer, too: what
comes and goes again leaves no trace, and only a result is rounded.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any, Final, NamedTuple

import pyarrow as pa

from joingraph.expressions.python_values import python_value
from joingraph.expressions.row_values import bounds, reader_of, rounded
from joingraph.expressions.tree import Value
from joingraph.expressions.types import FLOATS

DOUBLE_BITS: Final = 1074  # the least double is 2^-1074
ROOT_BITS: Final = 70  # more than the 53 of a double and one for rounding
_DIGITS: Final = Context(prec=1000)
_SHORT: Final = Context(prec=17)


def scale_of(type: pa.DataType) -> int:
    """Return the integer that stands for one."""
    if pa.types.is_decimal(type):
        return int(10**type.scale)
    return 1 << DOUBLE_BITS if type in FLOATS else 1


def integer_of(value: Value, type: pa.DataType) -> int:
    """Return a finite value times its type's scale; a date's days, a timestamp's microseconds."""
    if isinstance(value, pa.Scalar):
        scalar: Any = value
        return int(scalar.value)
    if isinstance(value, float):
        top, bottom = value.as_integer_ratio()
        return top * ((1 << DOUBLE_BITS) // bottom)
    found = reader_of(type)(value)
    assert isinstance(found, int), (value, type)
    return int(found)


def fitted(number: int, type: pa.DataType) -> int | Decimal:
    """Return a number of an integer or decimal type from its scaled integer, or OverflowError."""
    least, most = bounds(type)
    is_decimal = pa.types.is_decimal(type)
    value = Decimal(number).scaleb(-type.scale, _DIGITS) if is_decimal else number
    if not least <= number <= most:
        raise OverflowError(value)
    return value


def timestamp_of(microseconds: int, type: pa.DataType) -> Value:
    """Return a timestamp; as a pyarrow scalar if Python cannot hold it."""
    return python_value(pa.scalar(microseconds, pa.int64()).cast(type))


def quotient(top: int, bottom: int) -> float:
    """Round a quotient of integers to the nearest double; what is too great is infinite."""
    try:
        return top / bottom
    except OverflowError:
        return math.inf if (top > 0) == (bottom > 0) else -math.inf


def narrow_quotient(top: int, bottom: int) -> float:
    """Round a quotient of integers to the nearest FLOAT.

    Rounding twice may go wrong where the double lies between two FLOATs. So of the doubles around
    the quotient the one with an odd last bit is rounded: it is never such a place.
    """
    near = quotient(top, bottom)
    if math.isinf(near):
        return near
    back, scale = near.as_integer_ratio()
    above = top * scale - back * bottom  # its sign is that of the quotient less `near`
    if above and struct.unpack("<q", struct.pack("<d", near))[0] % 2 == 0:
        near = math.nextafter(near, math.inf if (above > 0) == (bottom > 0) else -math.inf)
    return rounded(near)


def root(top: int, bottom: int) -> float:
    """Round the square root of a quotient of integers, neither below zero, to a double."""
    up = max(0, ROOT_BITS - (top.bit_length() - bottom.bit_length()) // 2)
    whole, rest = divmod(top << 2 * up, bottom)
    found = math.isqrt(whole)
    is_exact = rest == 0 and found * found == whole
    return quotient(2 * found + (not is_exact), 2 << up)


def coarse(total: int, squares: int, scale: int) -> tuple[int, int, int]:
    """Return a sum, one of squares and their scale without twos that all of them have."""
    twos = max(0, min(twos_in(total), twos_in(squares) // 2, twos_in(scale)))
    return total >> twos, squares >> 2 * twos, scale >> twos


def twos_in(number: int) -> int:
    """Return how often an integer is divided by two; of 0 it is -1."""
    return (number & -number).bit_length() - 1


def special(counts: Sequence[int]) -> float | None:
    """Return the sum of a bag by its counts of NaN, infinity, -infinity; None if it has none."""
    if not any(counts):
        return None
    nans, above, below = counts
    return math.nan if nans or (above and below) else math.inf if above else -math.inf


class Rounding(NamedTuple):
    """How a dialect makes a float of exact sums: once rounded, NaN and infinities put aside."""

    dialect: str
    divide: Callable[[int, int], float] = quotient

    @property
    def never_fails(self) -> bool:
        """True if any sums have a result."""
        return self.dialect != "postgres"

    def of(self, specials: Sequence[int], top: int, bottom: int) -> float | None:
        """Return what the counted special values make, else the quotient.

        A finite result that no float holds is infinite, in Postgres an error; SQLite has no NaN.
        """
        found = special(specials)
        if found is None:
            found = self.divide(top, bottom)
            if math.isinf(found) and self.dialect == "postgres":
                raise OverflowError(_SHORT.divide(Decimal(top), Decimal(bottom)))
        return None if math.isnan(found) and self.dialect == "sqlite" else found
