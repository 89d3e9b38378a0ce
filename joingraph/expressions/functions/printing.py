"""Values to text, for the types whose text is the same in every dialect."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa

from joingraph.expressions.functions.arrow import pc
from joingraph.expressions.functions.by_row import Plain
from joingraph.expressions.functions.fault import Fault
from joingraph.expressions.python_values import python_values, scalar_text
from joingraph.expressions.row_values import EPOCH, EPOCH_DAY
from joingraph.expressions.types import INTEGERS, TIMESTAMP

BEYOND = "<"  # how Arrow's text of a date or time begins that is beyond its years


def to_text(values: pa.Array) -> pa.Array:
    """Write a column as text: 1.50, 2024-03-01, 2024-03-01 10:11:12.5, true."""
    if pa.types.is_decimal(values.type):
        return pa.array([_plain(each) for each in values.to_pylist()], pa.string())
    if pa.types.is_timestamp(values.type):
        return pa.array([_moment(each) for each in python_values(values)], pa.string())
    found = pc.cast(values, pa.string())
    if pa.types.is_date(values.type) and pc.any(pc.starts_with(found, BEYOND)).as_py():
        raise Fault("the year is out of the range of dates that have a text")
    return found


def text_by_row(type: pa.DataType) -> Plain | None:
    """Return `to_text` of one value; years that Python lacks are left to the form by column."""
    if type in INTEGERS:
        return str
    if type == pa.bool_():
        return lambda value: "true" if value else "false"
    if type == pa.date32():
        return lambda value: dt.date.fromordinal(value + EPOCH_DAY).isoformat()
    if type == TIMESTAMP:
        return lambda value: _moment(EPOCH + dt.timedelta(microseconds=value))
    return _decimal_text(type.scale) if pa.types.is_decimal(type) else None


def _decimal_text(scale: int) -> Plain:
    def plain(value: int) -> str:
        digits = f"{abs(value):0{scale + 1}}"
        point = len(digits) - scale
        sign, fraction = "-" if value < 0 else "", f".{digits[point:]}" if scale else ""
        return f"{sign}{digits[:point]}{fraction}"

    return plain


def _plain(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"


def _moment(value: dt.datetime | pa.Scalar | None) -> str | None:
    if value is None:
        return None
    if isinstance(value, pa.Scalar):
        text = scalar_text(value)
        if text.startswith(BEYOND):
            raise Fault("the year is out of the range of timestamps that have a text")
        return text.rstrip("0").rstrip(".")
    text = value.strftime("%H:%M:%S.%f").rstrip("0").rstrip(".")
    return f"{value.date().isoformat()} {text}"
