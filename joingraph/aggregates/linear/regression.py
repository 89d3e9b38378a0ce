"""REGR_COUNT, _AVGX, _AVGY, _SXX, _SYY, _SXY, _SLOPE, _INTERCEPT, _R2 of pairs (y, x).

All are functions of the sums that CORR has. A line through points of one x has no slope: NULL,
only in DuckDB NaN. A line through points of one y explains all: REGR_R2 is 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa

from joingraph.aggregates.contract import NOT_SQLITE, Aggregate, Asked, Entry, Result
from joingraph.aggregates.exact import Rounding, fitted
from joingraph.aggregates.linear.average import mean
from joingraph.aggregates.linear.pairs import INSTEAD, Moments, pairs_of
from joingraph.aggregates.sums import Linear, Sums, Total

Finish: TypeAlias = Callable[[Moments, Rounding], Result]


def _square(found: Moments, rounding: Rounding, name: str) -> Result:
    """Return the sum of the squared deviations of one column."""
    if found.count == 1 and rounding.dialect == "duckdb":
        return 0.0
    scale = found.scales["yx".index(name)]
    top, bottom = found.centred(name, name), found.count * scale * scale
    return rounding.of((sum(found.odd(name)), 0, 0), top, bottom)


def _sxx(found: Moments, rounding: Rounding) -> Result:
    return _square(found, rounding, "x")


def _syy(found: Moments, rounding: Rounding) -> Result:
    return _square(found, rounding, "y")


def _sxy(found: Moments, rounding: Rounding) -> Result:
    bottom = found.count * math.prod(found.scales)
    return rounding.of(found.nans, found.centred("y", "x"), bottom)


def _is_flat(found: Moments, rounding: Rounding, name: str) -> bool:
    """True if one column has no variance; in DuckDB a single NaN or infinity has none, either."""
    return found.is_flat(name) or (found.count == 1 and rounding.dialect == "duckdb")


def _slope(found: Moments, rounding: Rounding) -> Result:
    if _is_flat(found, rounding, "x"):
        return math.nan if rounding.dialect == "duckdb" else None
    scale_y, scale_x = found.scales
    top, bottom = found.centred("y", "x") * scale_x, found.centred("x", "x") * scale_y
    return rounding.of(found.nans, top, bottom)


def _intercept(found: Moments, rounding: Rounding) -> Result:
    if _is_flat(found, rounding, "x") or (rounding.dialect == "duckdb" and any(found.nans)):
        return None
    xx, yx = found.centred("x", "x"), found.centred("y", "x")
    top = found.sums["y"] * xx - yx * found.sums["x"]
    return rounding.of(found.nans, top, found.count * xx * found.scales[0])


def _r2(found: Moments, rounding: Rounding) -> Result:
    if _is_flat(found, rounding, "x"):
        return None
    if _is_flat(found, rounding, "y"):
        return 1.0
    yx = found.centred("y", "x")
    bottom = found.centred("x", "x") * found.centred("y", "y")
    return rounding.of(found.nans, yx * yx, bottom)


class Regression:
    """Makes one of the functions, from the sums that it names; NULL without pairs."""

    def __init__(self, finish: Finish, *names: str) -> None:
        self.of_pairs, self.names = finish, names

    def __call__(self, asked: Asked) -> Aggregate:
        pairs, rounding = pairs_of(asked, "n", *self.names), Rounding(asked.dialect)

        def finish(sums: Sums) -> Result:
            found = pairs.read(sums)
            return self.of_pairs(found, rounding) if found.count else None

        return Linear(pa.float64(), asked.types, pairs.monomials, finish, instead=INSTEAD)


def regr_count(asked: Asked) -> Aggregate:
    """Return the count of pairs, in DuckDB a UINTEGER."""
    type = pa.uint32() if asked.dialect == "duckdb" else pa.int64()
    monomials = pairs_of(asked, "n").monomials[:1]
    totals = (Total("", 0, pa.int64()),)
    return Linear(type, asked.types, monomials, lambda sums: fitted(sums[0], type), totals)


class AverageOfPairs:
    """Makes the average of one column of the pairs; of decimals as Spark's AVG."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, asked: Asked) -> Aggregate:
        pairs, at = pairs_of(asked, "n", self.name), "yx".index(self.name)
        type, finish_mean = mean(asked.types[at], asked.dialect)

        def finish(sums: Sums) -> Result:
            found = pairs.read(sums)
            return finish_mean((found.sums[self.name], found.count, *found.odd(self.name)))

        return Linear(type, asked.types, pairs.monomials, finish, instead=INSTEAD)


_MAKERS: dict[str, Callable[[Asked], Aggregate]] = {
    "REGR_COUNT": regr_count,
    "REGR_AVGX": AverageOfPairs("x"),
    "REGR_AVGY": AverageOfPairs("y"),
    "REGR_SXX": Regression(_sxx, "x", "xx"),
    "REGR_SYY": Regression(_syy, "y", "yy"),
    "REGR_SXY": Regression(_sxy, "y", "x", "yx"),
    "REGR_SLOPE": Regression(_slope, "y", "x", "yx", "xx"),
    "REGR_INTERCEPT": Regression(_intercept, "y", "x", "yx", "xx"),
    "REGR_R2": Regression(_r2, "y", "x", "yy", "yx", "xx"),
}
AGGREGATES = {name: Entry(make, NOT_SQLITE, arguments=2) for name, make in _MAKERS.items()}
