"""VARIANCE and STDDEV, of a population or a sample: from exact sums, rounded once."""

from __future__ import annotations

import pyarrow as pa

from joingraph.aggregates.contract import (
    NOT_SQLITE,
    Aggregate,
    Asked,
    Entry,
    Result,
    refused_type,
)
from joingraph.aggregates.exact import Rounding, coarse, quotient, root, scale_of
from joingraph.aggregates.linear.average import refuse_numeric
from joingraph.aggregates.sums import Factor, Linear, Sums, specials
from joingraph.expressions.types import is_number

_INSTEAD = "write COUNT(x), SUM(x), SUM(x * x)"
_MONOMIALS = ((Factor(0, "known"),), (Factor(0, "value"),), (Factor(0, "square"),))


class Spread:
    """Makes VARIANCE and its root, of a sample (less one) or a population."""

    def __init__(self, *, less: int, is_root: bool) -> None:
        self.less, self.is_root = less, is_root

    def __call__(self, asked: Asked) -> Aggregate:
        type, dialect = asked.types[0], asked.dialect
        if not is_number(type):
            raise refused_type(asked, "CAST the argument to DOUBLE")
        refuse_numeric(asked)
        scale = scale_of(type)
        rounding = Rounding(dialect, root if self.is_root else quotient)

        def finish(sums: Sums) -> Result:
            count, total, squares, *odd = sums
            if count <= self.less:
                return None
            if count == 1 and dialect == "duckdb":
                return 0.0  # also of NaN and infinities
            odd = [sum(odd), 0, 0] if odd else []  # any of them makes NaN
            total, squares, one = coarse(total, squares, scale)
            top = count * squares - total * total
            return rounding.of(odd, top, count * (count - self.less) * one * one)

        monomials = (*_MONOMIALS, *specials(0, type))
        never_fails = rounding.never_fails
        return Linear(
            *(pa.float64(), asked.types, monomials, finish),
            instead=_INSTEAD,
            never_fails=never_fails,
        )


_SAMPLE, _POPULATION = Spread(less=1, is_root=False), Spread(less=0, is_root=False)
_SAMPLE_ROOT, _POPULATION_ROOT = Spread(less=1, is_root=True), Spread(less=0, is_root=True)

AGGREGATES = {
    "VARIANCE": Entry(_SAMPLE, NOT_SQLITE),
    "VAR_SAMP": Entry(_SAMPLE, NOT_SQLITE),
    "VAR_POP": Entry(_POPULATION, NOT_SQLITE),
    "STDDEV": Entry(_SAMPLE_ROOT, NOT_SQLITE),
    "STDDEV_SAMP": Entry(_SAMPLE_ROOT, NOT_SQLITE),
    "STDDEV_POP": Entry(_POPULATION_ROOT, NOT_SQLITE),
    "STD": Entry(_SAMPLE_ROOT, ("spark",)),
}
