"""Arrow values as Python values, and as text, whether Python can hold them or not.

    date32 [1, 4000000]   ->   [datetime.date(1970, 1, 2), <date32 scalar of the year 12921>]

Python has no date beyond the year 9999 or before the year 1, no nanoseconds, and no time in a zone
that it does not know. Such values stay pyarrow scalars, which go back into a column unchanged.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from joingraph.common.names import short_repr

TEXT_CHARS_MAX = 10_000  # of a nested value
# UnicodeError, ArrowInvalid and ZoneInfoNotFoundError are among them.
UNHOLDABLE = (ArithmeticError, ImportError, LookupError, OSError, ValueError)


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return a column's values; those that Python cannot hold as pyarrow scalars.

    >>> python_values(pa.array([1, None]))
    [1, None]
    """
    try:
        found: list[Any] = column.to_pylist()
    except UNHOLDABLE:
        found = [python_value(each) for each in column]
    return found


def python_value(scalar: pa.Scalar) -> Any:
    """Return a scalar's value, or the scalar itself if Python cannot hold it."""
    try:
        return scalar.as_py()
    except UNHOLDABLE:
        return scalar


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return a table's rows by column name."""
    columns = [python_values(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def value_text(value: object) -> str:
    """Write a value as `repr` does; a pyarrow scalar, whose own `repr` may fail, as Arrow does."""
    return scalar_text(value) if isinstance(value, pa.Scalar) else repr(value)


def plain_text(value: object) -> str:
    """Write a value as a drawing shows it: without its Python type, a text in quotes."""
    if value is None:
        return "NULL"
    return repr(value) if isinstance(value, str | bytes) else shown(value)


def shown(value: object) -> str:
    """Write a value as `str` does."""
    return scalar_text(value) if isinstance(value, pa.Scalar) else str(value)


def scalar_text(scalar: pa.Scalar) -> str:
    """Write a scalar as Arrow does.

    >>> scalar_text(pa.scalar(4_000_000, pa.int32()).cast(pa.date32()))
    '12921-08-18'
    >>> scalar_text(pa.scalar([1, 2]))
    '[1, 2]'
    """
    try:
        return str(scalar.cast(pa.string()))
    except pa.ArrowNotImplementedError:  # it is nested, or of a type that has no text
        return short_repr(python_value(scalar), TEXT_CHARS_MAX)
    except UNHOLDABLE:  # a zone that Arrow does not know, or bytes that are no text
        return str(pa.array([scalar], scalar.type)).strip("[] \n")
