"""MIN(x) and MAX(x): NULL is left out, NaN is greatest, -0.0 is 0.0, texts compare by bytes."""

from __future__ import annotations

import pyarrow as pa

from joingraph.aggregates.contract import Aggregate, Asked, Entry, Refused, Row
from joingraph.aggregates.heap import First
from joingraph.aggregates.keys import Descending, Key, normal, rank
from joingraph.expressions.types import sql_name


class Extreme:
    """Makes MIN, or MAX."""

    def __init__(self, *, is_last: bool) -> None:
        self.is_last = is_last

    def __call__(self, asked: Asked) -> Aggregate:
        type = asked.types[0]
        if asked.dialect == "postgres" and type in (pa.bool_(), pa.binary()):
            instead = "write BOOL_AND or BOOL_OR" if type == pa.bool_() else "compare its ENCODE"
            raise Refused(f"{asked.name} of {sql_name(type)}", "Postgres has none", instead)

        def key_of(row: Row) -> Key | None:
            if row[0] is None:
                return None
            key = rank(row[0], type)
            return (Descending(key),) if self.is_last else key

        return First(type, key_of, lambda row: normal(row[0]))


AGGREGATES = {"MIN": Entry(Extreme(is_last=False)), "MAX": Entry(Extreme(is_last=True))}
