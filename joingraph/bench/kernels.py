"""The mode `kernels`: diffs as the kernels take them, view rows consumed by compiled code.

    Arrow -> ops (before the clock starts)    ops -> graph and rows -> checksum, after every diff

What a program in Rust measures of itself: from rows in memory to view rows written out and read,
one diff after the other, without what Python and Arrow add on both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numba
import numpy as np

from joingraph import JoinGraph
from joingraph.batch import read_batch
from joingraph.bench.checksum import Tally
from joingraph.kernels import fields as f
from joingraph.kernels.engine import CompiledEngine
from joingraph.kernels.intrinsics import ld, sto
from joingraph.kernels.memory import Words, lent
from joingraph.kernels.presence import admit
from joingraph.kernels.run import run

SUM, TUPLES = 30, 31  # words of the state that nobody else uses


@numba.cfunc("int64(int64, int64, int64)")
def consume(st: int, _: int, __: int) -> int:
    """Add what the block holds to the checksum: it is called after every diff."""
    out, stride, segments = ld(st, f.OUT), ld(st, f.STRIDE), ld(st, f.SEGMENTS)
    count = ld(st, f.SEGMENT_COUNT)
    for segment in range(count):
        first, weight = ld(segments, 3 * segment), ld(segments, 3 * segment + 2)
        last = ld(segments, 3 * segment + 3) if segment + 1 < count else ld(st, f.ROWS)
        total = 0
        for column in range(ld(st, f.COLUMN_COUNT)):
            of_column = 0
            for row in range(first, last):
                of_column += ld(out, column * stride + row)
            total += of_column * (column + 1)
        sto(st, SUM, ld(st, SUM) + total * weight)
        sto(st, TUPLES, ld(st, TUPLES) + (last - first) * abs(weight))
    return 0


class Prepared:
    """A batch as the kernels take it."""

    def __init__(self, graph: JoinGraph, batch: Sequence[tuple[object, ...]]) -> None:
        assert isinstance(graph.engine, CompiledEngine), "only the compiled form has kernels"
        self.engine = graph.engine
        feed = self.engine.feeder.feed(read_batch(batch, graph.view.tables))
        self.ops, self.matrices = feed.ops, feed.matrices

    def apply(self) -> float:
        """Carry the batch out, judging first which rows are there; give the seconds it took."""
        memory, ops = self.engine.memory, self.ops
        words: Words = memory.words
        with lent(ops, *self.matrices):
            start = perf_counter()
            admitted = admit(memory.st, ops, self.matrices)
            assert admitted.all(), "the workloads remove nothing that is not there"
            words[f.OPS], words[f.OP_COUNT] = ops.ctypes.data, len(ops)
            words[f.CURSOR], words[f.PHASE], words[f.SILENT] = 0, f.P_START, 0
            words[f.ROWS] = words[f.SEGMENT_COUNT] = 0
            words[f.SINK] = int(consume.address or 0)
            while words[f.CURSOR] < words[f.OP_COUNT]:
                run(memory.st)
            seconds = perf_counter() - start
        words[f.SINK] = 0
        return seconds

    def told(self) -> Tally:
        """Give what was consumed since the last time."""
        words = self.engine.memory.words
        found = Tally(int(words[TUPLES]), int(np.uint64(words[SUM])))
        words[SUM] = words[TUPLES] = 0
        return found
