"""MIN_BY(x, y) and MAX_BY(x, y): the x of the row of the least, or greatest, y that is not NULL.

Of several such rows it is the smallest x, NULL only if there is no other. DuckDB skips rows whose
x is NULL, Spark does not.
"""

from __future__ import annotations

from joingraph.aggregates.contract import Aggregate, Asked, Entry, Row
from joingraph.aggregates.heap import First
from joingraph.aggregates.keys import Descending, Key, identity, one_nan, rank


class ExtremeBy:
    """Makes MIN_BY, or MAX_BY."""

    def __init__(self, *, is_last: bool) -> None:
        self.is_last = is_last

    def __call__(self, asked: Asked) -> Aggregate:
        type, by_type = asked.types
        skips_null = asked.dialect == "duckdb"

        def key_of(row: Row) -> Key | None:
            value, by = row
            if by is None or (skips_null and value is None):
                return None
            key = rank(by, by_type)
            return (Descending(key) if self.is_last else key, identity(value, type))

        return First(type, key_of, lambda row: one_nan(row[0]))


_LEAST, _GREATEST = ExtremeBy(is_last=False), ExtremeBy(is_last=True)
AGGREGATES = {
    "MIN_BY": Entry(_LEAST, ("spark", "duckdb"), arguments=2),
    "MAX_BY": Entry(_GREATEST, ("spark", "duckdb"), arguments=2),
    "ARG_MIN": Entry(_LEAST, ("duckdb",), arguments=2),
    "ARG_MAX": Entry(_GREATEST, ("duckdb",), arguments=2),
    "ARGMIN": Entry(_LEAST, ("duckdb",), arguments=2),
    "ARGMAX": Entry(_GREATEST, ("duckdb",), arguments=2),
}
