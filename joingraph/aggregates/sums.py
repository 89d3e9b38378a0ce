"""Linear aggregates: functions of exact sums of monomials over the rows.

    AVG(x), x DOUBLE     monomials  x, [x is not NULL], [x is NaN], [x is inf], [x is -inf]
                         state      (sum of each)      result  x / [x is not NULL], rounded once

A factor is an integer taken of one argument, a monomial a product of factors of different
arguments, () is the count of rows. So an engine may sum the parts of a monomial apart, wherever
its arguments come from, and multiply the sums.

Some of the sums are totals, numbers of a SQL type that readers of deltas may keep: they add up the
changes of x and [x is not NULL] above to have the AVG of decimals or integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.aggregates.contract import Result, Row
from joingraph.aggregates.exact import integer_of
from joingraph.expressions.tree import Value
from joingraph.expressions.types import FLOATS

Kind: TypeAlias = Literal["value", "square", "known", "true", "nan", "inf", "-inf"]


class Factor(NamedTuple):
    """What a monomial takes of an argument: NULL gives 0, NaN and infinities have no value."""

    argument: int
    kind: Kind


Monomial: TypeAlias = tuple[Factor, ...]
Sums: TypeAlias = tuple[int, ...]
Words: TypeAlias = npt.NDArray[np.int64]


class Total(NamedTuple):
    """A sum as a number: how its column's name ends, the place of its monomial, its type."""

    ending: str
    at: int
    type: pa.DataType


class Ratio(NamedTuple):
    """A DOUBLE of a sum and a count of values, rounded once: the mean, or the sum itself.

    Of no value it is NULL. The other sums count NaN and infinities, which decide it if there are
    any. One is `scale` in the sum; of floats it is what an engine chooses.
    """

    is_mean: bool
    scale: int


@dataclass(frozen=True, slots=True)
class Linear:
    """An aggregate that its sums decide; `finish` makes the result of them.

    Totals are enough to make the result; without any, `instead` says which aggregates have them.
    `by_column` makes results of many groups' sums, where each fits a word; such results always fit.
    Engines may also compute a `ratio` by column. Any sums have a result if it `never_fails`.
    """

    type: pa.DataType
    types: tuple[pa.DataType, ...]
    monomials: tuple[Monomial, ...]
    finish: Callable[[Sums], Result]
    totals: tuple[Total, ...] = ()
    instead: str = ""
    by_column: Callable[[Sequence[Words]], pa.Array] | None = None
    ratio: Ratio | None = None
    never_fails: bool = False

    def zero(self) -> Sums:
        return (0,) * len(self.monomials)

    def add(self, state: Sums, values: Row, times: int) -> Sums:
        return tuple(
            old + times * product(monomial, values, self.types)
            for old, monomial in zip(state, self.monomials, strict=True)
        )

    def result(self, state: Sums) -> Result:
        return self.finish(state)


def product(monomial: Monomial, values: Row, types: Sequence[pa.DataType]) -> int:
    """Return a monomial's value in a row."""
    return math.prod(factor_of(kind, values[at], types[at]) for at, kind in monomial)


def factor_of(kind: Kind, value: Value, type: pa.DataType) -> int:
    """Return what a factor takes of a value."""
    if value is None:
        return 0
    if kind == "known":
        return 1
    if kind == "true":
        return int(value is True)
    is_special = isinstance(value, float) and not math.isfinite(value)
    if kind in ("value", "square"):
        return 0 if is_special else integer_of(value, type) ** (1 if kind == "value" else 2)
    return int(is_special and str(value) == kind)


def specials(argument: int, type: pa.DataType, *others: Factor) -> tuple[Monomial, ...]:
    """Return what counts NaN, infinity, -infinity in an argument; nothing where it has none."""
    kinds: tuple[Kind, ...] = ("nan", "inf", "-inf") if type in FLOATS else ()
    return tuple((Factor(argument, kind), *others) for kind in kinds)
