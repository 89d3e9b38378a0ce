"""COUNT(*), COUNT(x), COUNT_IF(c): rows, rows without NULL, rows where a condition is TRUE."""

from __future__ import annotations

import pyarrow as pa

from joingraph.aggregates.contract import Asked, Entry, Refused, Result, refused_type
from joingraph.aggregates.exact import fitted
from joingraph.aggregates.sums import Factor, Linear, Monomial, Sums, Total


def count(asked: Asked) -> Linear:
    """Return COUNT: of rows in which no argument is NULL."""
    if len(asked.types) > 1 and asked.dialect != "spark":
        why = f"{asked.dialect} counts the values of one expression"
        raise Refused("COUNT of several columns", why, "concatenate them, or count each")
    if asked.is_distinct and not asked.types:
        raise Refused("COUNT(DISTINCT *)", "it names no columns", "list the columns")
    known: Monomial = tuple(Factor(at, "known") for at in range(len(asked.types)))
    type, totals = pa.int64(), (Total("", 0, pa.int64()),)
    return Linear(
        type,
        asked.types,
        (known,),
        lambda sums: fitted(sums[0], type),
        totals,
        by_column=lambda sums: pa.array(sums[0]),
    )


def count_if(asked: Asked) -> Linear:
    """Return COUNT_IF; in DuckDB it is a sum, so NULL where the condition has no value."""
    if asked.types[0] != pa.bool_():
        raise refused_type(asked, "write a condition")
    is_sum = asked.dialect == "duckdb"
    type = pa.decimal128(38, 0) if is_sum else pa.int64()

    def finish(sums: Sums) -> Result:
        return None if is_sum and not sums[1] else fitted(sums[0], type)

    totals = Total("", 0, type), Total("count", 1, pa.int64())
    monomials = ((Factor(0, "true"),), (Factor(0, "known"),))
    return Linear(type, asked.types, monomials, finish, totals if is_sum else totals[:1])


AGGREGATES = {
    "COUNT": Entry(count, arguments=None),
    "COUNT_IF": Entry(count_if, ("spark", "duckdb")),
    "COUNTIF": Entry(count_if, ("duckdb",)),
}
