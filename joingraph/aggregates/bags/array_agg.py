"""ARRAY_AGG and its names: the values as a list, in order.

Spark leaves NULL out and has an empty list of no rows, the others keep NULL and have NULL there.
Spark's lists are put in order by SORT_ARRAY around them.
"""

from __future__ import annotations

import pyarrow as pa

from joingraph.aggregates.bag import Counted, Ordered, need_order
from joingraph.aggregates.contract import Aggregate, Asked, Entry, Refused, Result
from joingraph.aggregates.distinct import Distinct


def array_agg(asked: Asked) -> Ordered:
    """Return ARRAY_AGG."""
    is_spark = asked.dialect == "spark"
    name = asked.name.lower()
    instead = f"sort_array({name}(x))" if is_spark else f"{name}(x ORDER BY x)"
    need_order(asked, f"write {instead}")
    if is_spark and any(each.argument for each in asked.order):
        raise Refused(f"ORDER BY in {asked.name}", "Spark has none there", f"write {instead}")

    def finish(rows: Counted) -> Result:
        found = [row[0] for row, count in rows for _ in range(count)]
        return found if found or is_spark else None

    type = pa.list_(asked.types[0])
    return Ordered(type, asked.types, asked.order, finish, keeps_null=not is_spark)


def collect_set(asked: Asked) -> Aggregate:
    """Return Spark's COLLECT_SET: the list of the different values."""
    return Distinct(array_agg(asked), asked.types)


AGGREGATES = {
    "ARRAY_AGG": Entry(array_agg, ("spark", "duckdb", "postgres"), is_ordered=True),
    "LIST": Entry(array_agg, ("duckdb",), is_ordered=True),
    "COLLECT_LIST": Entry(array_agg, ("spark",), is_ordered=True),
    "COLLECT_SET": Entry(collect_set, ("spark",), is_ordered=True),
}
