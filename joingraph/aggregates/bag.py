"""A bag of whole rows, put in order when the result is asked: ARRAY_AGG, STRING_AGG, PERCENTILE.

state  {key of ('b', 2): (('b', 2), 1), ...}      each row with its count, by its identity
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from joingraph.aggregates.contract import Asked, Order, Refused, Result, Row
from joingraph.aggregates.keys import Key, identities, in_order, one_nan

Bag: TypeAlias = dict[Key, tuple[Row, int]]
Counted: TypeAlias = Sequence[tuple[Row, int]]


def change(bag: Bag, row: Row, times: int, types: Sequence[pa.DataType]) -> tuple[int, int]:
    """Count a row, in place; return its counts before and after."""
    key = identities(row, types)
    shown, before = bag.get(key, (tuple(map(one_nan, row)), 0))
    after = before + times
    assert after >= 0, f"{row!r} goes more often than it has come"
    if after:
        bag[key] = (shown, after)
    else:
        bag.pop(key, None)
    return before, after


@dataclass(frozen=True, slots=True)
class Ordered:
    """An aggregate that its rows in order decide; rows whose first argument is NULL may be left."""

    type: pa.DataType
    types: tuple[pa.DataType, ...]
    order: tuple[Order, ...]
    finish: Callable[[Counted], Result]
    keeps_null: bool = False

    def zero(self) -> Bag:
        return {}

    def add(self, state: Bag, values: Row, times: int) -> Bag:
        if values[0] is not None or self.keeps_null:
            change(state, values, times, self.types)
        return state

    def result(self, state: Bag) -> Result:
        return self.finish(in_order(state.values(), self.types, self.order))


def need_order(asked: Asked, instead: str) -> None:
    """Refuse an aggregate without ORDER BY: its result would be no function of the rows."""
    if not asked.order:
        why = "without ORDER BY its result is not a function of the rows"
        raise Refused(asked.name, why, instead)
