"""Values to text, for the types whose text is the same in every dialect."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa

from joingraph.functions.arrow import pc


def to_text(values: pa.Array) -> pa.Array:
    """Write a column as text: 1.50, 2024-03-01, 2024-03-01 10:11:12.5, true."""
    if pa.types.is_decimal(values.type):
        return pa.array([_plain(each) for each in values.to_pylist()], pa.string())
    if pa.types.is_timestamp(values.type):
        return pa.array([_moment(each) for each in values.to_pylist()], pa.string())
    return pc.cast(values, pa.string())


def _plain(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"


def _moment(value: dt.datetime | None) -> str | None:
    if value is None:
        return None
    text = value.strftime("%H:%M:%S.%f").rstrip("0").rstrip(".")
    return f"{value.date().isoformat()} {text}"
