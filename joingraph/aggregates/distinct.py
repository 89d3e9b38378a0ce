"""Any aggregate over the set of its rows: DISTINCT.

    state  (bag of rows, the aggregate's own state)     5, 5, 7 -> ({5: 2, 7: 1}, the state of 5, 7)

Its own state hears of a row when the first one comes and when the last one goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from joingraph.aggregates.bag import Bag, change
from joingraph.aggregates.contract import Aggregate, Result, Row, State
from joingraph.aggregates.keys import normal

BagAndState: TypeAlias = tuple[Bag, State]


@dataclass(frozen=True, slots=True)
class Distinct:
    """An aggregate over sets; -0.0 and 0.0 are one value, and so is every NaN."""

    of_set: Aggregate
    types: tuple[pa.DataType, ...]

    @property
    def type(self) -> pa.DataType:
        return self.of_set.type

    def zero(self) -> BagAndState:
        return {}, self.of_set.zero()

    def add(self, state: BagAndState, values: Row, times: int) -> BagAndState:
        bag, inner = state
        row = tuple(map(normal, values))
        before, after = change(bag, row, times, self.types)
        flip = (after > 0) - (before > 0)
        return bag, self.of_set.add(inner, row, flip) if flip else inner

    def result(self, state: BagAndState) -> Result:
        return self.of_set.result(state[1])
