"""One row's values in plain Python, as row forms (row_form.py) take and return them.

    BOOLEAN bool    integers int    FLOAT, DOUBLE float; a FLOAT's is rounded to 32 bits
    STRING str      BINARY bytes    DECIMAL int: the value times 10^scale
    DATE int: days since 1970       TIMESTAMP int: microseconds since 1970, in UTC if zoned
    NULL None

So a value is what its 64-bit word encodes (a decimal's 128 bits), but for floats and texts: who
has read a row into words, or out of them, has these numbers, and arithmetic on them is exact.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from ctypes import c_float
from decimal import Context, Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa

from joingraph.expressions.types import DECIMAL_DIGITS, FLOATS, INTEGERS, canonical
from joingraph.expressions.words import from_words, to_words

RowValue: TypeAlias = bool | int | float | str | bytes | None

EPOCH_DAY: Final = dt.date(1970, 1, 1).toordinal()
EPOCH: Final = dt.datetime(1970, 1, 1)
EPOCH_UTC: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND: Final = dt.timedelta(microseconds=1)
_EXACT: Final = Context(prec=DECIMAL_DIGITS)


def is_held(type: pa.DataType) -> bool:
    """True if a row can hold values of a type: joingraph's own types, as columns are kept in."""
    try:
        return bool(canonical(type) == type)
    except TypeError:
        return False


def row_values(column: pa.Array) -> list[RowValue]:
    """Return a column's values as a row holds them.

    >>> row_values(pa.array([Decimal("1.50"), None], pa.decimal128(4, 2)))
    [150, None]
    """
    values: list[Any] = column.to_pylist() if column.type in FLOATS else to_words(column)
    if not pa.types.is_decimal(column.type):
        return values
    scale = column.type.scale
    return [None if each is None else unscaled(each, scale) for each in values]


def column_of_row_values(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    """Return a column of values that rows hold."""
    if type in FLOATS:
        return pa.array(values, type)
    if not pa.types.is_decimal(type):
        return from_words(values, type)
    scaled = (None if each is None else Decimal(each) for each in values)
    return pa.array(
        [None if each is None else each.scaleb(-type.scale, _EXACT) for each in scaled], type
    )


def unscaled(value: Decimal, scale: int) -> int:
    """Return a decimal of at most so many places as a whole number of its last place."""
    return int(value.scaleb(scale, _EXACT))


def bounds(type: pa.DataType) -> tuple[int, int]:
    """Return the least and the greatest row value of an integer or decimal type."""
    if pa.types.is_decimal(type):
        most: int = 10**type.precision - 1
        return -most, most
    assert type in INTEGERS, type
    signed = bool(pa.types.is_signed_integer(type))
    beyond: int = 1 << type.bit_width - signed
    return -beyond * signed, beyond - 1


def rounded(value: float) -> float:
    """Round to 32 bits, as a FLOAT is; what is too great for it becomes infinite."""
    return c_float(value).value


def reader_of(type: pa.DataType) -> Callable[[Any], RowValue]:
    """Return what turns a Python object of a type (Decimal, date, ...) into a row's value."""
    if pa.types.is_decimal(type):
        return lambda value: unscaled(value, type.scale)
    if type == pa.date32():
        return lambda value: value.toordinal() - EPOCH_DAY
    if pa.types.is_timestamp(type):
        epoch = EPOCH if type.tz is None else EPOCH_UTC
        return lambda value: (value - epoch) // MICROSECOND
    if type == pa.float32():
        return rounded
    return lambda value: value
