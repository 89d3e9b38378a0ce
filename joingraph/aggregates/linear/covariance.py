"""COVAR_POP, COVAR_SAMP and CORR of two columns: exact, rounded once."""

from __future__ import annotations

import math

import pyarrow as pa

from joingraph.aggregates.contract import NOT_SQLITE, Aggregate, Asked, Entry, Result
from joingraph.aggregates.exact import Rounding, root
from joingraph.aggregates.linear.pairs import INSTEAD, pairs_of
from joingraph.aggregates.sums import Linear, Sums


class Covariance:
    """Makes COVAR, of a sample (less one) or a population."""

    def __init__(self, *, less: int) -> None:
        self.less = less

    def __call__(self, asked: Asked) -> Aggregate:
        pairs, rounding = pairs_of(asked, "n", "y", "x", "yx"), Rounding(asked.dialect)

        def finish(sums: Sums) -> Result:
            found = pairs.read(sums)
            if found.count <= self.less:
                return None
            bottom = found.count * (found.count - self.less) * math.prod(found.scales)
            return rounding.of(found.nans, found.centred("y", "x"), bottom)

        return Linear(
            *(pa.float64(), asked.types, pairs.monomials, finish),
            instead=INSTEAD,
            never_fails=rounding.never_fails,
        )


def correlation(asked: Asked) -> Linear:
    """Return CORR. Without variance: NULL in Postgres, NaN in DuckDB.

    In Spark it is NULL of one pair, and of more a division by zero.
    """
    pairs, dialect = pairs_of(asked, "n", "y", "x", "yy", "yx", "xx"), asked.dialect

    def finish(sums: Sums) -> Result:
        found = pairs.read(sums)
        if not found.count or (found.count == 1 and dialect == "spark"):
            return None
        is_flat = found.is_flat("y") or found.is_flat("x")
        if is_flat and dialect == "postgres":
            return None
        if any(found.nans) or (is_flat and dialect == "duckdb"):
            return math.nan
        if is_flat:
            raise ZeroDivisionError("one of the columns has the same value in all rows")
        yx = found.centred("y", "x")
        size = root(yx * yx, found.centred("y", "y") * found.centred("x", "x"))
        return size if yx >= 0 else -size

    return Linear(pa.float64(), asked.types, pairs.monomials, finish, instead=INSTEAD)


AGGREGATES = {
    "COVAR_POP": Entry(Covariance(less=0), NOT_SQLITE, arguments=2),
    "COVAR_SAMP": Entry(Covariance(less=1), NOT_SQLITE, arguments=2),
    "CORR": Entry(correlation, NOT_SQLITE, arguments=2),
}
