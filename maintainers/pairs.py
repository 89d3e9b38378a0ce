"""Keeps up the aliases that list pairs: of two sides' values, those on which a condition is TRUE.

    a LEFT JOIN b ON a.k = b.k AND a.x < b.x

    side a   {1}  (1, 3) x2  (1, 7) x1          pairs   (1, 3) (1, 5)
    side b   {1}  (1, 5) x1                     and not (1, 7) (1, 5), as 7 < 5 is FALSE

    insert b (1, 9)    first the pairs (1, 3) (1, 9) and (1, 7) (1, 9), then the row
    delete b (1, 9)    first the row, then its pairs

A pair comes before the first row of either value that it names, and goes after the last one. So it
changes no row of the view by itself: what comes or goes is the doing of a row. The condition is
computed when the second of two values comes; it is an error if it has no answer then.

Where pairs are only counted, a value of the near side is listed while it is in any:

    WHERE EXISTS (SELECT 1 FROM b WHERE b.y > a.x)     counts  (3) 1     listed  (3)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from joingraph.common.errors import CorruptGraph, DiffError
from joingraph.expressions.evaluate import NoAnswer, holds
from joingraph.expressions.tree import Expression
from joingraph.expressions.words import from_words
from joingraph.graph.join_graph import Diff, Graph, Image
from joingraph.plan.model import Pairs, Plan

Value = tuple[Any, ...]  # the words of an alias at the vertex where it meets the pairs
Pair = tuple[Value, Value]
Read = Callable[[Sequence[Pair], int, int], pa.Array]  # of pairs: a side, and a class there


class Change(NamedTuple):
    """A value of a side of which the first rows come, or the last ones go."""

    side: int
    value: Value
    is_new: bool


MOST = 1 << 15  # pairs of which the condition is computed at once


class Side:
    """The values of one side by what they meet by, and how many rows have each."""

    def __init__(self, keys: int) -> None:
        self.keys = keys
        self.by_key: dict[Value, dict[Value, int]] = {}

    def add(self, value: Value, times: int) -> bool:
        """Count rows of a value; true if they are the first."""
        known = self.by_key.setdefault(value[: self.keys], {})
        known[value] = known.get(value, 0) + times
        return known[value] == times

    def remove(self, value: Value, times: int) -> bool:
        """Count rows of a value less; true if they were the last."""
        key = value[: self.keys]
        known = self.by_key[key]
        known[value] -= times
        if known[value]:
            return False
        del known[value]
        if not known:
            del self.by_key[key]
        return True

    def beside(self, value: Value) -> list[Value]:
        """List the values that a value of the other side meets by equalities."""
        return list(self.by_key.get(value[: self.keys], ()))

    def values(self) -> Iterator[Value]:
        """Yield all values."""
        for known in self.by_key.values():
            yield from known


class Pairing:
    """Both sides of an alias of pairs; `keys` are the words by which they meet."""

    def __init__(self, plan: Plan, of: Pairs, keys: int, read: Read) -> None:
        self.plan, self.of, self.read = plan, of, read
        self.sides = Side(keys), Side(keys)
        self.counts: dict[Value, int] = {}
        self.log: list[tuple[Value, int]] = []

    def come(self, side: int, value: Value, times: int = 1) -> list[Pair] | None:
        """Count rows that come; return the pairs to be judged if they are a value's first."""
        return self.meeting(side, value) if self.sides[side].add(value, times) else None

    def go(self, side: int, value: Value, times: int = 1) -> list[Pair] | None:
        """Count rows that go; return the pairs to be judged if they are a value's last."""
        if not self.sides[side].remove(value, times):
            return None
        return [] if self.of.is_counted and side == 0 else self.meeting(side, value)

    def meeting(self, side: int, value: Value) -> list[Pair]:
        """Return a value with each of the other side that it meets by equalities."""
        others = self.sides[1 - side].beside(value)
        return [(other, value) if side else (value, other) for other in others]

    def listed(self, change: Change, true: Sequence[Pair]) -> list[Pair]:
        """Return what a value's coming or going lists, or no longer; `true` are its pairs."""
        if not self.of.is_counted:
            return list(true)
        if change.side == 0:
            before = self.counts.get(change.value, 0)
            self.count(change.value, len(true) if change.is_new else 0)
            return [(change.value, ())] if true or (before and not change.is_new) else []
        found = list[Pair]()
        for near, _ in true:
            now = self.counts.get(near, 0) + (1 if change.is_new else -1)
            self.count(near, now)
            if now == change.is_new:
                found.append((near, ()))
        return found

    def count(self, value: Value, now: int) -> None:
        """Note in how many pairs a near value is, and what it was before."""
        before = self.counts.pop(value, 0)
        self.log.append((value, before))
        if now:
            self.counts[value] = now

    def take_back(self) -> None:
        """Undo what was noted of counts since the log was emptied."""
        while self.log:
            value, before = self.log.pop()
            self.counts.pop(value, 0)
            if before:
                self.counts[value] = before

    def recount(self) -> set[Pair]:
        """Count anew; return what is to be listed."""
        near, _ = self.sides
        pairs = [pair for value in near.values() for pair in self.meeting(0, value)]
        true = [pair for pair, keep in zip(pairs, self.true(pairs), strict=True) if keep]
        self.log = []
        if not self.of.is_counted:
            return set(true)
        self.counts = Counter(value for value, _ in true)
        return {(value, ()) for value in self.counts}

    def true(self, pairs: Sequence[Pair]) -> list[bool]:
        """Compute the condition of pairs."""
        found = list[bool]()
        for first in range(0, len(pairs), MOST):
            some = pairs[first : first + MOST]
            try:
                true = holds(self.of.condition, self.columns(some), len(some))
            except NoAnswer as error:
                raise DiffError(
                    f"{error.why}; a join asks it of all rows that meet by its equalities"
                ) from None
            found += true.to_pylist()
        return found

    def columns(self, pairs: Sequence[Pair]) -> dict[Expression, pa.Array]:
        """Read the columns that the condition reads."""
        found: dict[Expression, pa.Array] = {}
        for number, side in enumerate(self.of.sides):
            for column, (at, null) in side.read.items():
                values = self.read(pairs, number, at).cast(column.type)
                if null is not None:
                    is_null = self.read(pairs, number, null)
                    values = pc.if_else(is_null, pa.scalar(None, column.type), values)
                found[column] = values
        return found


class Paired:
    """All aliases of pairs of a plain graph."""

    def __init__(self, plan: Plan) -> None:
        self.pairings = [
            Pairing(plan, each, each.keys, read_words(plan, each)) for each in plan.pairs
        ]

    def coming(self, diff: Diff, times: int = 1) -> list[Diff]:
        """Note what a diff brings; return the pairs that come before it."""
        return [
            Diff(pairing.of.alias, None, Image(pair, ()))
            for pairing, change in self.changed(diff)
            if change.is_new
            for pair in judged(pairing, change, pairing.come(change.side, change.value, times))
        ]

    def going(self, diff: Diff) -> list[Diff]:
        """Note what a diff removes; return the pairs that go after it."""
        return [
            Diff(pairing.of.alias, Image(pair, ()), None)
            for pairing, change in self.changed(diff)
            if not change.is_new
            for pair in judged(pairing, change, pairing.go(change.side, change.value))
        ]

    def changed(self, diff: Diff) -> Iterator[tuple[Pairing, Change]]:
        """Yield the values that a diff brings, and those that it removes."""
        for pairing in self.pairings:
            for number, side in enumerate(pairing.of.sides):
                if side.alias == diff.alias:
                    pre, post = (value_of(each, side.place) for each in (diff.pre, diff.post))
                    if post is not None and post != pre:
                        yield pairing, Change(number, post, is_new=True)
                    if pre is not None and post != pre:
                        yield pairing, Change(number, pre, is_new=False)

    def check(self, graph: Graph) -> None:
        """Raise CorruptGraph unless the graph has just the pairs of the rows that there are."""
        for pairing in self.pairings:
            for number, side in enumerate(pairing.of.sides):
                there = dict[Value, int]()
                for key, each in graph.tuples[side.alias].items():
                    value = value_of(Image(key, ()), side.place)
                    if value is not None:
                        there[value] = there.get(value, 0) + sum(each.rows.values())
                known = pairing.sides[number].by_key.values()
                must(there == {v: n for values in known for v, n in values.items()})
            counts = pairing.counts
            must(pairing.recount() == set(graph.tuples[pairing.of.alias]))
            must(pairing.counts == counts)


def must(holds: bool) -> None:
    """Insist on the pairs."""
    if not holds:
        raise CorruptGraph(
            "the pairs of a join are not those of its rows: please report this, and rebuild the"
            " graph from its sources"
        )


def judged(pairing: Pairing, change: Change, asked: Sequence[Pair] | None) -> list[Pair]:
    """Return what a change of a value lists, or no longer; nothing is asked of a known one."""
    if asked is None:
        return []
    pairs_true = zip(asked, pairing.true(asked), strict=True)
    found = pairing.listed(change, [pair for pair, keep in pairs_true if keep])
    pairing.log.clear()
    return found


def value_of(image: Image | None, place: int) -> Value | None:
    """Return what an alias has at a vertex; None where it meets nothing."""
    words = None if image is None else image.key[place]
    return None if words is None or None in words else words


def read_words(plan: Plan, of: Pairs) -> Read:
    """Return how columns are read off pairs of the plain form."""

    def read(pairs: Sequence[Pair], side: int, at: int) -> pa.Array:
        kind = plan.vertices[of.sides[side].vertex].types[at]
        return from_words([pair[side][at] for pair in pairs], kind)

    return read
