"""A declared secondary index of the plain join graph: where each value of an output column is.

    index on fan    steps   'bob' -> F <7> ('bob',)
                            'eve' -> F <7> ('eve',), F <9> ('eve',)
                    values  ['bob', 'eve']                            in order, without NULL

A value is a comparable (ordering.py). Kept true: an index lists every projected tuple of its alias
exactly once. The maintainer keeps it; a read starts from it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from joingraph.expressions.order import comparables
from joingraph.expressions.words import from_words
from joingraph.plan.model import Slot
from joingraph.reads.access_paths import Span

if TYPE_CHECKING:
    from joingraph.graph.join_graph import JoinTuple, Row


class Index:
    """Lists the projected tuples of one alias by one kept value."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.steps: dict[Any, dict[tuple[JoinTuple, Row], None]] = {}
        self.values: list[Any] = []

    def add(self, at: JoinTuple, row: Row) -> None:
        """List a projected tuple that is new."""
        value = self.value(at, row)
        if value not in self.steps:
            self.steps[value] = {}
            if value is not None:
                insort(self.values, value)
        self.steps[value][at, row] = None

    def remove(self, at: JoinTuple, row: Row) -> None:
        """List a projected tuple that is gone no more."""
        value = self.value(at, row)
        del self.steps[value][at, row]
        if not self.steps[value]:
            del self.steps[value]
            if value is not None:
                del self.values[bisect_left(self.values, value)]

    def value(self, at: JoinTuple, row: Row) -> Any:
        """Read what a projected tuple, or its join tuple's key, has for the column."""
        slot = self.slot
        words = row if slot.vertex is None else at.values[slot.vertex].words
        return comparables(from_words([words[slot.position]], slot.stored))[0]

    def within(self, span: Span) -> Iterator[tuple[JoinTuple, Row]]:
        """Yield what is listed within a span, in order."""
        for value in self.values[self.bounds(span)]:
            yield from self.steps[value]

    def size(self, span: Span) -> int:
        """Count what is listed within a span."""
        return sum(len(self.steps[value]) for value in self.values[self.bounds(span)])

    def bounds(self, span: Span) -> slice:
        """Find where a span begins and ends among the values."""
        low, high = 0, len(self.values)
        if span.low is not None:
            find = bisect_right if span.without_low else bisect_left
            low = find(self.values, span.low)
        if span.high is not None:
            find = bisect_left if span.without_high else bisect_right
            high = find(self.values, span.high)
        return slice(low, max(low, high))

    def ordered(
        self, *, descending: bool, nulls_first: bool
    ) -> Iterator[list[tuple[JoinTuple, Row]]]:
        """Yield everything value by value, NULLs at one end."""
        nulls = [None] if None in self.steps else []
        values = reversed(self.values) if descending else iter(self.values)
        ends = (nulls, values, []) if nulls_first else ([], values, nulls)
        for part in ends:
            for value in part:
                yield list(self.steps[value])
