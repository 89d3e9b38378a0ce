"""Puts the ops of pairs among those of a batch: maintainers/pairs.py, over rows of words.

    ops      insert b (1, 9)                         delete a (1, 3)
    with     insert (1, 3) (1, 9)  insert b (1, 9)   delete a (1, 3)  delete (1, 3) (1, 9)

In: the ops that will be carried out, all of them, in their order. Out: these and those of pairs.
What the sides hold is noted as if the batch was done; `take_back` undoes that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.expressions.types import words_of
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.layout import Layout
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.op_rows import rows_of
from joingraph.graph.compiled.ops import ops_alike
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.graph.compiled.values.words import from_words
from joingraph.maintainers.pairs import Change, Pair, Pairing, Read, Value, must
from joingraph.plan.model import Pairs, Plan

BEFORE, AFTER = -1, 1  # of the op for the sake of which a pair comes or goes


class OpChange(NamedTuple):
    """What an op does to a value of a side: it brings a row of it, or removes one."""

    op: int
    pairing: int
    change: Change


class SideWords(NamedTuple):
    """Where a side's value lies in an alias' rows, and which words of it tell NULL."""

    alias: int
    first: int
    end: int
    lone: tuple[int, ...]


class Asked(NamedTuple):
    """The pairs that a change of a value asks about."""

    op: int
    change: Change
    pairs: list[Pair]


class OpsOfPairs(NamedTuple):
    """Ops of one alias of pairs, and which ops of the batch they stand beside."""

    alias: int
    ops: Words
    beside: Words
    matrix: Words


class PairedWords:
    """All aliases of pairs of a compiled graph."""

    def __init__(self, plan: Plan, layout: Layout, interner: Interner) -> None:
        self.plan, self.layout, self.interner = plan, layout, interner
        self.pairings = [
            Pairing(plan, each, keys_of(plan, each), reader(plan, each, interner))
            for each in plan.pairs
        ]
        self.sides = [
            [side_words(layout, side.alias, side.place) for side in each.sides]
            for each in plan.pairs
        ]
        self.noted: list[OpChange] = []
        self.is_torn = False

    def begin(self) -> None:
        """Forget how to take the last batch back."""
        self.noted = []
        for pairing in self.pairings:
            pairing.log.clear()

    def take_back(self) -> bool:
        """Undo what was noted since `begin`; false if an exception has left it half done."""
        if self.is_torn:
            return False
        self.is_torn = True
        for _, number, change in reversed(self.noted):
            side = self.pairings[number].sides[change.side]
            (side.remove if change.is_new else side.add)(change.value, 1)
        for pairing in self.pairings:
            pairing.take_back()
        self.noted = []
        self.is_torn = False
        return True

    def refill(self, rows_of_alias: Callable[[int], Iterable[Words]]) -> None:
        """Note all rows that there are, whose pairs are there, too."""
        self.is_torn = True
        for pairing, sides in zip(self.pairings, self.sides, strict=True):
            for at, side in enumerate(sides):
                pairing.sides[at].by_key.clear()
                for rows in rows_of_alias(side.alias):
                    for value in values_of(rows, side):
                        if value is not None:
                            pairing.sides[at].add(value, 1)
            if pairing.of.is_counted:
                pairing.recount()
        self.noted = []
        self.is_torn = False

    def check(self, rows_of_alias: Callable[[int], Iterable[Words]]) -> None:
        """Raise CorruptGraph unless there are just the pairs of the rows that there are."""
        fresh = PairedWords(self.plan, self.layout, self.interner)
        fresh.refill(rows_of_alias)
        for pairing, anew in zip(self.pairings, fresh.pairings, strict=True):
            for side, other in zip(pairing.sides, anew.sides, strict=True):
                must(side.by_key == other.by_key)
            near, far = self.layout.aliases[pairing.of.alias].links
            end = self.layout.vertices[far.vertex].key + far.key
            there = [
                (tuple(row[near.key : far.key]), tuple(row[far.key : end]))
                for rows in rows_of_alias(pairing.of.alias)
                for row in rows.tolist()
            ]
            must(len(there) == len(set(there)) and set(there) == anew.recount())
            must(pairing.counts == anew.counts)

    def with_pairs(self, ops: Words) -> tuple[Words, list[OpsOfPairs]]:
        """Return ops together with those of pairs, and these by themselves."""
        changes = sorted(self.changes(ops), key=lambda each: each.op)
        asked: list[list[Asked]] = [[] for _ in self.pairings]
        self.is_torn = True
        for each in changes:
            pairing, change = self.pairings[each.pairing], each.change
            self.noted.append(each)
            pairs = (pairing.come if change.is_new else pairing.go)(change.side, change.value)
            if pairs is not None:
                asked[each.pairing].append(Asked(each.op, change, pairs))
        self.is_torn = False
        judged = [
            pairing.true([pair for each in of_pairing for pair in each.pairs])
            for pairing, of_pairing in zip(self.pairings, asked, strict=True)
        ]
        self.is_torn = True
        made = [
            part
            for number, pairing in enumerate(self.pairings)
            for part in ops_of(pairing, asked[number], judged[number], ops)
        ]
        self.is_torn = False
        return together(ops, made), made

    def all(self) -> Iterator[tuple[int, Words]]:
        """Yield the rows of each alias of pairs that follow from what is noted."""
        for pairing in self.pairings:
            yield pairing.of.alias, rows_of_pairs(pairing.recount())

    def changes(self, ops: Words) -> Iterator[OpChange]:
        """Yield the values that ops bring, or remove, where an update changes them."""
        kinds, aliases = ops[:, f.O_KIND], ops[:, f.O_ALIAS]
        for number, sides in enumerate(self.sides):
            for at, side in enumerate(sides):
                mine = np.flatnonzero((aliases == side.alias) & (kinds >= 0) & (kinds <= f.UPDATE))
                pre = values_of(rows_of(ops[mine], self.layout, side.alias, post=False), side)
                post = values_of(rows_of(ops[mine], self.layout, side.alias, post=True), side)
                each = zip(mine.tolist(), kinds[mine].tolist(), pre, post, strict=True)
                for op, kind, old, new in each:
                    if kind == f.UPDATE and old == new:
                        continue
                    if kind != f.DELETE and new is not None:
                        yield OpChange(op, number, Change(at, new, is_new=True))
                    if kind != f.INSERT and old is not None:
                        yield OpChange(op, number, Change(at, old, is_new=False))


def ops_of(
    pairing: Pairing, asked: Sequence[Asked], judged: Sequence[bool], ops: Words
) -> Iterator[OpsOfPairs]:
    """Yield the ops of the pairs on which the condition is TRUE: those that come, those that go."""
    true = iter(judged)
    found = [
        (op, change.is_new, pair)
        for op, change, pairs in asked
        for pair in pairing.listed(change, [pair for pair in pairs if next(true)])
    ]
    for is_new, kind in ((True, f.INSERT), (False, f.DELETE)):
        some = [each for each in found if each[1] is is_new]
        if some:
            beside = np.array([op for op, _, _ in some], np.int64)
            matrix, alias = rows_of_pairs(pair for _, _, pair in some), pairing.of.alias
            made = ops_alike(alias, ops[beside, f.O_DIFF], kind, matrix)
            yield OpsOfPairs(alias, made, beside, matrix)


def rows_of_pairs(pairs: Iterable[Pair]) -> Words:
    """Write pairs as rows of words; a row has one at least, if only a zero."""
    rows = [(*near, *far) or (0,) for near, far in pairs]
    return np.array(rows, np.int64) if rows else np.zeros((0, 1), np.int64)


def together(ops: Words, made: Sequence[OpsOfPairs]) -> Words:
    """Put pairs that come before their ops, and those that go after them."""
    if not made:
        return ops
    turns = [np.zeros(len(ops), np.int64)]
    for part in made:
        is_new = part.ops[0, f.O_KIND] == f.INSERT
        turns.append(np.full(len(part.ops), BEFORE if is_new else AFTER))
    beside = np.concatenate([np.arange(len(ops)), *(part.beside for part in made)])
    order = np.lexsort((np.concatenate(turns), beside))
    return np.concatenate([ops, *(part.ops for part in made)])[order]


def values_of(rows: Words, side: SideWords) -> list[Value | None]:
    """Return what rows have at a vertex; None where they meet nothing."""
    values: list[Value | None] = list(map(tuple, rows[:, side.first : side.end].tolist()))
    if side.lone:
        for at in np.flatnonzero((rows[:, side.lone] == f.NULL_WORD).any(axis=1)).tolist():
            values[at] = None
    return values


def side_words(layout: Layout, alias: int, place: int) -> SideWords:
    """Find an alias' words at a vertex."""
    of = layout.aliases[alias]
    link = of.links[place]
    end = link.key + layout.vertices[link.vertex].key
    lone = tuple(sorted(each for each in of.lone if link.key <= each < end))
    return SideWords(alias, link.key, end, lone)


def keys_of(plan: Plan, of: Pairs) -> int:
    """Return how many words the equalities of both sides are."""
    return sum(map(words_of, plan.vertices[of.sides[0].vertex].types[: of.keys]))


def reader(plan: Plan, of: Pairs, interner: Interner) -> Read:
    """Return how columns are read off pairs of words."""

    def read(pairs: Sequence[Pair], side: int, at: int) -> pa.Array:
        types = plan.vertices[of.sides[side].vertex].types
        first = sum(map(words_of, types[:at]))
        words = [
            np.array([pair[side][first + word] for pair in pairs], np.int64)
            for word in range(words_of(types[at]))
        ]
        return from_words(words, types[at], interner, nulls=False)

    return read
