"""A bag of which the first key is asked: MIN, MAX, MIN_BY, MAX_BY.

    counts  {5: 2, 9: 1}    a count for each key that is there
    keys    [5, 7, 9]       a heap of all of these keys, and of some (7) that are gone

A key that is gone leaves the heap when it comes to the top, or when the heap has become twice as
long as it must be. So a change costs a logarithm, on the average of many, whatever comes and goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

import pyarrow as pa

from joingraph.aggregates.contract import Result, Row
from joingraph.aggregates.keys import Key
from joingraph.expressions.tree import Value

SPARE_KEYS = 16  # a short heap is not worth cleaning


@dataclass(eq=False, slots=True)
class Heap:
    """A bag of keys, each with the value that it stands for."""

    counts: dict[Key, int] = field(default_factory=dict)
    values: dict[Key, Value] = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Heap) and self.counts == other.counts

    def add(self, key: Key, value: Value, times: int) -> None:
        """Count a key; below zero take it away."""
        count = self.counts.get(key, 0) + times
        assert count >= 0, f"{value!r} goes more often than it has come"
        if key not in self.counts and count:
            heappush(self.keys, key)
            self.values[key] = value
        if count:
            self.counts[key] = count
        elif key in self.counts:
            del self.counts[key], self.values[key]
            self._clean()

    def _clean(self) -> None:
        if len(self.keys) > 2 * len(self.counts) + SPARE_KEYS:
            self.keys = list(self.counts)
            heapify(self.keys)

    def first(self) -> Value:
        """Return the value of the least key; None of an empty bag."""
        if not self.counts:
            return None
        while self.keys[0] not in self.counts:
            heappop(self.keys)
        return self.values[self.keys[0]]


@dataclass(frozen=True, slots=True)
class First:
    """The aggregate that is the value of the least key; a row without key does not count."""

    type: pa.DataType
    key_of: Callable[[Row], Key | None]
    value_of: Callable[[Row], Value]

    def zero(self) -> Heap:
        return Heap()

    def add(self, state: Heap, values: Row, times: int) -> Heap:
        key = self.key_of(values)
        if key is not None:
            state.add(key, self.value_of(values), times)
        return state

    def result(self, state: Heap) -> Result:
        return state.first()
