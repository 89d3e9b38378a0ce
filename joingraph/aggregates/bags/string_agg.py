"""STRING_AGG, LISTAGG, GROUP_CONCAT: texts in order, with a separator between; NULL is left out."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from joingraph.aggregates.bag import Counted, Ordered, need_order
from joingraph.aggregates.contract import Asked, Entry, Refused, Result, refused_type

_SEPARATORS: Final = {"spark": "", "duckdb": ",", "sqlite": ","}  # where none is written


def string_agg(asked: Asked) -> Ordered:
    """Return STRING_AGG."""
    if asked.types[0] != pa.string():
        raise refused_type(asked, "CAST the argument to a text")
    need_order(asked, f"put ORDER BY inside {asked.name}")
    separator = _separator(asked)

    def finish(rows: Counted) -> Result:
        found = [str(row[0]) for row, count in rows for _ in range(count)]
        return separator.join(found) if found else None

    return Ordered(pa.string(), asked.types, asked.order, finish)


def _separator(asked: Asked) -> str:
    found = asked.constants[0] if asked.constants else _SEPARATORS.get(asked.dialect)
    if isinstance(found, str):
        return found
    raise Refused(asked.name, "its separator is not a constant text", "write one, such as ','")


AGGREGATES = {
    "STRING_AGG": Entry(string_agg, constants=(0, 1), is_ordered=True),
    "LISTAGG": Entry(string_agg, ("spark", "duckdb"), constants=(0, 1), is_ordered=True),
    "GROUP_CONCAT": Entry(string_agg, ("duckdb", "sqlite"), constants=(0, 1), is_ordered=True),
}
