"""A view's own kernels, from text to their places in the graph: made in the background as needed.

    an alias becomes hot -> its kernels' texts -> WORKER -> address -> put in place

Until then, and for views too deep for nested loops, the plan-looping form serves: both work on the
same memory, so one takes over from the other between two batches without a pause.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from joingraph.common.progress import Progress
from joingraph.engines.codegen.compile import WORKER, compile_text
from joingraph.engines.codegen.kernels import AROUNDS, KERNELS, has_around, has_plug, write_around
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.layout import Around, Layout
from joingraph.graph.compiled.machine.kernel import uninterrupted
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.memory.state import GraphMemory

HOT_OPS = 512  # changes of an alias after which its kernels are worth compiling

Write = Callable[[int, int], str]  # a kernel's module, of a look-ahead mode and an alias


class Plug(NamedTuple):
    """A kernel of one alias, or of a seat that flips: `field` says where its address belongs."""

    alias: int
    field: int
    around: Around | None = None


class Plugs:
    """Decides which kernels to make, and puts finished ones in their place."""

    def __init__(
        self,
        layout: Layout,
        lookahead: int,
        memory: GraphMemory,
        writers: Mapping[int, Write] | None = None,
    ) -> None:
        self.layout, self.lookahead, self.memory = layout, lookahead, memory
        of_paths = {field: partial(write, layout) for field, write in KERNELS.values()}
        self.writers = writers or of_paths
        self.all = [
            Plug(number, field)
            for number, alias in enumerate(layout.aliases)
            for field in self.writers
            if has_plug(layout, number) and not (alias.is_silent and field == f.A_PLUG)
        ]
        if writers is None:
            walks = (each for each in layout.arounds if has_around(layout, each))
            self.all += [Plug(each.alias, AROUNDS[each.told], each) for each in walks]
        self.waiting = dict.fromkeys(self.all, 0)  # ops so far, of those not ordered yet
        self.finished: list[tuple[Plug, int]] = []
        self.is_used = True

    def texts(self) -> list[str]:
        """Write the modules of all kernels."""
        return [self.text(plug) for plug in self.all]

    def text(self, plug: Plug) -> str:
        """Write a kernel's module."""
        if plug.around is not None:
            return write_around(self.layout, self.lookahead, plug.around)
        return self.writers[plug.field](self.lookahead, plug.alias)

    def place_of(self, plug: Plug) -> Words:
        """Return the descriptor where a kernel's address belongs."""
        if plug.around is not None:
            return self.memory.link(plug.alias, plug.around.vertex)
        return self.memory.alias(plug.alias)

    def forgo(self) -> None:
        """Use no kernels from here on, nor those that are being made."""
        self.is_used = False
        self.all.clear()
        self.waiting.clear()
        self.finished.clear()
        for number in range(len(self.layout.aliases)):
            for field in self.writers:
                self.memory.alias(number)[field] = 0

    def make(self, plug: Plug) -> None:
        """Compile a kernel; it waits to be put in place."""
        self.finished.append((plug, uninterrupted(compile_text, self.text(plug))))

    def put_in_place(self) -> None:
        """Let finished kernels take over; only between batches."""
        while self.finished and self.is_used:
            plug, address = self.finished[0]
            self.place_of(plug)[plug.field] = address
            del self.finished[0]

    def notice(self, ops: Words) -> None:
        """Order the kernels of aliases that have become hot."""
        if not self.waiting or not len(ops):
            return
        inserts = ops[:, f.O_KIND] == f.INSERT
        for alias in {alias for plug in self.waiting for alias in self.makers_of(plug)}:
            mine = ops[:, f.O_ALIAS] == alias
            come = int(np.count_nonzero(mine & inserts))
            self.count(alias, come, int(np.count_nonzero(mine)) - come)

    def makers_of(self, plug: Plug) -> frozenset[int]:
        """Return the aliases whose ops may need a kernel."""
        if plug.around is None:
            return frozenset((plug.alias,))
        return self.layout.side_of(plug.around.vertex, plug.alias)

    def count(self, alias: int, inserts: int, others: int) -> None:
        """Count ops of an alias; order its kernels once it has become hot."""
        for plug in [each for each in self.waiting if alias in self.makers_of(each)]:
            if plug.around is not None:
                self.waiting[plug] += inserts + others
            else:
                self.waiting[plug] += inserts if plug.field == f.A_INSERT else others
            if self.waiting[plug] >= HOT_OPS:
                WORKER.submit(partial(self.make, plug))
                del self.waiting[plug]

    def compile(self, progress: Progress) -> None:
        """Make all kernels, those that were ordered too, and put them in place."""
        for done, plug in enumerate(self.all):
            self.make(plug)
            progress(done + 1, len(self.all))
        self.waiting.clear()
        self.put_in_place()
