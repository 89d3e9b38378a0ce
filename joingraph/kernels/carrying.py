"""Carries ops out on a graph's memory, a batch whole or not at all.

    ops -> run, block by block -> paths          after an error: the inverse of what was done

In: what was admitted of a batch. Out: the paths it emits. Invariant: between two batches the graph
holds just the rows of those that were carried out to their end.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from joingraph.engine import Refused
from joingraph.kernels import fields as f
from joingraph.kernels.feed import Feed
from joingraph.kernels.intrinsics import check_fences
from joingraph.kernels.layout import lay_out
from joingraph.kernels.memory import Words, address_of, lent
from joingraph.kernels.paths import Paths
from joingraph.kernels.plugs import Plugs
from joingraph.kernels.rows import inverse
from joingraph.kernels.run import run
from joingraph.kernels.state import GraphMemory
from joingraph.plan.model import Plan
from joingraph.progress import Progress

MODES = {"none": f.NONE, "local": f.LOCAL, "global": f.GLOBAL, "exact": f.EXACT, "auto": f.EXACT}

MANY_OPS = 1000  # after which it is looked whether tables were outgrown


class Admitted(NamedTuple):
    """A batch's ops that are to be carried out, what they point into, and what was left out."""

    ops: Words
    feed: Feed
    refused: list[Refused]


class MissedError(Exception):
    """An op removes a row that is not there."""


class Carrying:
    """A graph in flat memory that takes whole batches of ops."""

    def __init__(self, plan: Plan, lookahead: str) -> None:
        mode = MODES[lookahead]
        self.layout = lay_out(plan, exact=mode >= f.GLOBAL)
        self.memory = GraphMemory(self.layout, mode)
        self.plugs = Plugs(self.layout, mode, self.memory)
        self._done: list[Words] = []  # the ops carried out since a batch began, in order
        self._kept: Admitted | None = None  # the last batch, to be undone

    def compile(self, progress: Progress) -> None:
        """Compile all of the view's own kernels now, and use them from here on."""
        self.plugs.compile(progress)

    def _note(self, ops: Words, matrices: tuple[Words, ...]) -> None:
        """Keep up what is derived from the rows; here that is nothing."""

    @contextmanager
    def _atomic(self, batch: Admitted, *, keep: bool) -> Generator[None]:
        """Note a batch that is carried out within; undo it after an error, or unless `keep`."""
        self._done.clear()
        complete = False
        try:
            yield
            complete = True
        finally:
            if complete and keep:
                self._note(batch.ops, batch.feed.matrices)
                if len(batch.ops) >= MANY_OPS:
                    self.memory.release()
                self._kept = batch
            else:
                self._take_back(batch)

    def _take_back(self, batch: Admitted) -> Words:
        """Undo what was carried out of a batch; gives the ops that did it."""
        done, self._done = self._done, []
        self._kept = None
        widths = np.array([alias.width for alias in self.layout.aliases], np.int64)
        back = [inverse(ops, widths) for ops in done[::-1]]
        for ops in back:
            self._carry_out(ops, batch.feed.matrices, generate=False)
        return np.concatenate(back) if back else batch.ops[:0]

    def _carry_out(self, ops: Words, matrices: tuple[Words, ...], *, generate: bool) -> list[Paths]:
        """Run ops to their end; give the paths they emit."""
        with lent(*matrices), self._begun(ops, generate=generate) as parts:
            return list(parts)

    @contextmanager
    def _begun(self, ops: Words, *, generate: bool) -> Generator[Iterator[Paths]]:
        """Let ops be run block by block; they are run to their end even if nobody asks for it."""
        ops = np.ascontiguousarray(ops)
        self.plugs.put_in_place()
        self.plugs.notice(ops)
        words = self.memory.words
        words[f.OPS], words[f.OP_COUNT] = address_of(ops), len(ops)
        words[f.CURSOR], words[f.PHASE], words[f.SILENT] = 0, f.P_START, not generate
        words[f.ROWS] = words[f.SEGMENT_COUNT] = 0
        self._done.append(ops)
        with lent(ops):
            try:
                yield self._parts()
            finally:
                words[f.SILENT] = 1
                for _ in self._parts():
                    pass

    def _parts(self) -> Iterator[Paths]:
        """Run ops until none is left; give the paths of each block."""
        memory, words = self.memory, self.memory.words
        while words[f.CURSOR] < words[f.OP_COUNT]:
            words[f.ROWS] = words[f.SEGMENT_COUNT] = 0
            ended = run(memory.st)
            check_fences()
            if ended == f.MISSED:
                words[f.OP_COUNT] = words[f.CURSOR]
                self._done[-1] = self._done[-1][: int(words[f.CURSOR])]
                raise MissedError
            if words[f.ROWS]:
                yield memory.filling.paths()
