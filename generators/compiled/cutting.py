"""Cuts the paths of a batch where a base diff ends, so that each part folds by itself.

    block 1   diff 0 diff 0 diff 1 | diff 2 ..        diff 2 goes on: it waits for block 2
    block 2   .. diff 2 diff 2 | diff 3 ..

A base diff of more rows than a block holds is given in parts, and so is one with more text than
that if the view computes with it: rows that would have cancelled or paired up come and go in
different parts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.generators.compiled.outputs import Outputs
from joingraph.generators.compiled.view_diffs import ViewDiffs
from joingraph.graph.compiled.fields import BLOCK_LIMIT, O_DIFF
from joingraph.graph.compiled.memory.path_blocks import Paths, joined
from joingraph.graph.compiled.memory.reserved import Words


class Cutter:
    """Keeps the paths of the base diff that is not complete yet."""

    def __init__(self, outputs: Outputs, ops: Words) -> None:
        self.outputs, self.ops = outputs, ops
        self.view_diffs = ViewDiffs(outputs, ops)
        self.waiting: list[Paths] = []
        self.parted = -1  # the base diff that is given in parts

    def cut(self, paths: Paths, cursor: int) -> Iterator[pa.Table]:
        """Take a block that ended when the op at a cursor was next; yield what is complete."""
        paths = joined([*self.waiting, paths], len(self.outputs.all_words))
        diffs = self.ops[paths.ops, O_DIFF]
        places = np.append(paths.starts, paths.length)
        first = int(places[np.searchsorted(diffs, self.parted, side="right")])
        end = len(paths)
        if cursor < len(self.ops):
            end = max(first, int(places[np.searchsorted(diffs, self.ops[cursor, O_DIFF])]))
        yield from self.part(paths.part(0, first), paired=False)
        yield from self.part(paths.part(first, end), paired=True)
        self.waiting = [paths.part(end, len(paths))] if end < len(paths) else []
        if len(paths) - end >= BLOCK_LIMIT:
            self.parted = int(self.ops[cursor, O_DIFF])
            yield from self.part(self.waiting.pop(), paired=False)

    def rest(self) -> Iterator[pa.Table]:
        """Yield what waits when no op is left."""
        for paths in self.waiting:
            yield from self.part(paths, paired=True)

    def part(self, paths: Paths, *, paired: bool) -> Iterator[pa.Table]:
        """Make the view diff of some paths, which end with a base diff, in bounded tables."""
        for some, is_whole in self.bounded(paths):
            yield from self.view_diffs.made([some], paired=paired and is_whole).tables

    def bounded(self, paths: Paths) -> Iterator[tuple[Paths, bool]]:
        """Cut paths so that what is computed on them fits a block; say if base diffs stay whole."""
        lengths = None if self.outputs.are_slots else self.outputs.lengths(paths)
        if lengths is None:
            if len(paths):
                yield paths, True
            return
        diffs = paths.by_row(self.ops[paths.ops, O_DIFF])
        firsts = np.flatnonzero(np.diff(diffs, prepend=-1))
        ends = np.append(firsts[1:], len(paths))
        by_diff = np.add.reduceat(lengths, firsts)
        for span in texts.spans(by_diff, texts.BLOCK_BYTES):
            some = paths.part(int(firsts[span.start]), int(ends[span.stop - 1]))
            is_whole = int(by_diff[span].sum()) <= texts.BLOCK_BYTES
            for part in [some] if is_whole else self.outputs.cut(some):
                yield part, is_whole
