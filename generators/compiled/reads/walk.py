"""Walks the compiled graph by column: carries out the steps of a program, one function a kind.

    pieces -> Enter -> pieces -> Test -> pieces -> Weigh -> pieces            a chain of generators

In: pieces of paths that begin, and steps (joingraph/plan/program.py). Out: pieces of the paths that
are left. The same steps as generators/walk.py takes on the plain graph, many paths at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from joingraph.generators.compiled.reads.column_walk import Walker
from joingraph.generators.compiled.reads.pieces import Piece
from joingraph.generators.compiled.whole_numbers import Numbers, added, multiplied, run_totals
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.plan import program
from joingraph.reads.requests import Touched

Pieces = Iterable[Piece]


class Side:
    """What a side sums up to at each value of the vertex where it is entered, as far as known."""

    def __init__(self, values: int) -> None:
        self.sums: Numbers = np.zeros(values, np.int64)
        self.known = np.zeros(values, bool)

    def add(self, ids: Words, sums: Numbers) -> None:
        """Add to what is known of some values, each named once."""
        found = added(self.sums[ids], sums)
        if found.dtype != self.sums.dtype:
            self.sums = self.sums.astype(object)
        self.sums[ids] = found


class Walk:
    """Walks one graph by one program, until the graph changes; sums are remembered as long."""

    def __init__(self, walker: Walker, touched: Touched | None = None) -> None:
        self.walker, self.touched = walker, touched or Touched()
        self.sides: dict[int, Side] = {}

    def walk(self, pieces: Pieces, steps: Sequence[program.Step]) -> Iterator[Piece]:
        """Carry out steps, one after the other; tests that follow one another at once."""
        for kind, run in groupby(steps, key=type):
            for step in [list(run)] if kind is program.Test else run:
                pieces = CARRIED_OUT_BY[kind](self, pieces, step)
        return iter(pieces)

    def enter(self, pieces: Pieces, step: program.Enter) -> Iterator[Piece]:
        """Yield one path for each row that an alias has at a path's value."""
        for piece in pieces:
            entered = self.walker.entered(piece, step.alias, step.vertex, mode=step.mode)
            for found, parents in entered:
                self.walker.note(self.touched, step.alias, parents)
                if len(found):
                    yield found

    def ask(self, pieces: Pieces, step: program.Ask) -> Iterator[Piece]:
        """Yield the paths on which an alias is there, or is not; or all, with a note of it.

        Where what asks is missing itself, nothing is asked.
        """
        for piece in pieces:
            lives = self.walker.live(piece, step.alias, step.vertex) > 0
            if step.mode == "mark":
                told = lives if step.told is None else np.full(len(piece), step.told)
                noted = {**piece.projected, step.alias: [told.astype(np.int64)]}
                yield replace(piece, projected=noted)
                continue
            kept = (lives == (step.mode == "semi")) | (piece.values[step.vertex] < 0)
            if kept.any():
                yield piece.take(np.flatnonzero(kept))

    def test(self, pieces: Pieces, steps: Sequence[program.Test]) -> Iterator[Piece]:
        """Yield the paths on which predicates are TRUE."""
        predicates = [step.predicate for step in steps]
        for piece in pieces:
            found = self.walker.passing(piece, predicates)
            if len(found):
                yield found

    def weigh(self, pieces: Pieces, step: program.Weigh) -> Iterator[Piece]:
        """Yield paths multiplied by what a side sums up to."""
        for piece in pieces:
            sums = self.sums(step, piece.values[step.enter.vertex])
            some = np.flatnonzero(sums)
            if len(some):
                found = piece if len(some) == len(piece) else piece.take(some)
                yield replace(found, times=multiplied(found.times, sums[some]))

    def sums(self, step: program.Weigh, ids: Words) -> Numbers:
        """Return what a side sums up to at values, found once for each; 0 at those not there."""
        alias = step.enter.alias
        if alias not in self.sides:
            self.sides[alias] = Side(len(self.walker.records(step.enter.vertex)))
        side, there = self.sides[alias], ids >= 0
        some = ids[there]
        fresh = np.unique(some[~side.known[some]])
        if len(fresh):
            side.known[fresh] = True
            self.fill(side, step, fresh)
        found: Numbers = np.zeros(len(ids), side.sums.dtype)
        found[there] = side.sums[some]
        if not self.walker.plan.is_inner and not there.all():
            found[~there] = self.of_nothing(step)
        return found

    def of_nothing(self, step: program.Weigh) -> int:
        """Return what a side sums up to where what it hangs on is missing."""
        begin = Piece({step.enter.vertex: np.array([-1])}, {}, np.ones(1, np.int64))
        return sum(int(piece.times.sum()) for piece in self.walk([begin], step.steps))

    def fill(self, side: Side, step: program.Weigh, ids: Words) -> None:
        """Sum up a side at values: its paths have the value that they came by."""
        vertex = step.enter.vertex
        begin = Piece({vertex: ids}, {}, np.ones(len(ids), np.int64))
        for found in self.walk([begin], step.steps):
            at = found.values[vertex]
            first = np.flatnonzero(np.diff(at, prepend=-1))
            side.add(at[first], run_totals(found.times, first))


CARRIED_OUT_BY: dict[type, Callable[[Walk, Pieces, Any], Iterator[Piece]]] = {
    program.Enter: Walk.enter,
    program.Test: Walk.test,
    program.Weigh: Walk.weigh,
    program.Ask: Walk.ask,
}
