"""Arrow columns whose bytes are of their types: Arrow takes any bytes for a string or a decimal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pyarrow as pa

from joingraph.common.errors import DiffError

FAILURES = (pa.ArrowException, ValueError, TypeError, OverflowError)


def check_sound(rows: pa.Table, entry: str) -> None:
    """Refuse rows that hold what is no value; of times, their conversion tells."""
    with suppress(pa.ArrowException):
        rows.validate(full=True)
        return
    for column, field in zip(rows.columns, rows.schema, strict=True):
        if pa.types.is_temporal(field.type):
            continue
        try:
            column.validate(full=True)
        except pa.ArrowException as error:

            def read(low: int, high: int, column: pa.ChunkedArray = column) -> None:
                column.slice(low, high - low).validate(full=True)

            raise DiffError(
                f'{entry}, row {first_failing(len(column), read)}: column "{field.name}" holds'
                f" what is no value of {field.type}: {error!s:.200}"
            ) from None


def first_failing(length: int, read: Callable[[int, int], object]) -> int:
    """Find the first row that cannot be read, by halving the rows that may hold it."""
    low, high = 0, length
    while high - low > 1:
        middle = (low + high) // 2
        try:
            read(low, middle)
            low = middle
        except FAILURES:
            high = middle
    return low
