"""Reads the whole view off the graph, value after value of one vertex, block by block.

A reader has a state of its own (sources, wheels, block) over the graph's descriptors, so that
readers do not disturb one another; it must not outlive the next change. Ranges of values are handed
to the thread that is ready, so that one value with a large part of the view holds none up. The
arrays of a batch lie in the block that the kernel has filled (graph/compiled/memory/blocks.py),
unless they would waste most of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from queue import Empty, SimpleQueue

import pyarrow as pa

from joingraph.generators.compiled.odometer import begin, walk
from joingraph.generators.compiled.outputs import Outputs
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.live_flags import complete
from joingraph.graph.compiled.machine.kernel import check_fences, kernel, ld, sto
from joingraph.graph.compiled.memory.blocks import Blocks, Filling
from joingraph.graph.compiled.memory.reserved import reserve
from joingraph.graph.compiled.memory.state import GraphMemory

RANGE = 256  # values that a reader takes at once


class Reader:
    """One of the workers of a scan: fills its block from one range of values after the other."""

    def __init__(self, memory: GraphMemory, vertex: int, blocks: Blocks) -> None:
        self.memory, self.vertex = memory, vertex
        layout = memory.layout
        sources = f.SOURCE_WORDS * (len(layout.vertices) + len(layout.aliases))
        wheels = f.WALK_WORDS * (len(layout.aliases) + 2)
        self.state = reserve(f.STATE_WORDS + sources + wheels)
        self.words = self.state.words
        self.words[: f.STATE_WORDS] = memory.words[: f.STATE_WORDS]
        self.words[f.FLAGGING] = False  # a reader must not move entries
        at = (int(memory.words[f.SOURCES]) - memory.st) // 8
        self.words[f.STATE_WORDS : f.STATE_WORDS + sources] = memory.words[at : at + sources]
        self.words[f.SOURCES] = self.state.address + f.STATE_WORDS * 8
        self.words[f.WHEELS] = self.state.address + (f.STATE_WORDS + sources) * 8
        self.filling = Filling(self.words, blocks)
        self.filling.begin()
        self.words[f.CURSOR], self.words[f.OP_COUNT], self.words[f.PHASE] = 0, 0, f.P_START

    def fill(self, ranges: SimpleQueue[range]) -> None:
        """Fill the block anew, as far as there is something to fill it with."""
        self.words[f.ROWS] = self.words[f.SEGMENT_COUNT] = 0
        vd = self.memory.vertex(self.vertex).ctypes.data
        while scan_values(self.state.address, vd) == f.DONE:
            try:
                values = ranges.get_nowait()
            except Empty:
                break
            self.words[f.CURSOR], self.words[f.OP_COUNT] = values.start, values.stop


def scan(memory: GraphMemory, vertex: int, outputs: Outputs) -> Iterator[pa.RecordBatch]:
    """Read the whole view from one vertex: all cores fill blocks while a batch is waited for.

    Arrow is made by the caller's thread alone; others would only wait for Python's lock.
    """
    used, workers = int(memory.vertex(vertex)[f.V_NEXT]), os.cpu_count() or 1
    ranges: SimpleQueue[range] = SimpleQueue()
    for low in range(0, used, RANGE):
        ranges.put(range(low, min(low + RANGE, used)))
    count = max(1, min(workers, ranges.qsize()))
    blocks = Blocks(len(memory.layout.outputs), 2 * count)
    readers = [Reader(memory, vertex, blocks) for _ in range(count)]
    with ThreadPoolExecutor(count) as pool, closing(blocks):  # a thread starts when it has work
        while True:
            others = [pool.submit(each.fill, ranges) for each in readers[1:]]
            readers[0].fill(ranges)
            for other in others:
                other.result()
            check_fences()
            filled = [each for each in readers if each.words[f.ROWS]]
            if not filled:
                return
            for reader in filled:  # who keeps a batch that was taken keeps its block
                yield from outputs.batches(reader.filling.paths())


@kernel
def scan_values(st: int, vd: int) -> int:
    """Emit all paths through a vertex' values, from where the reader stands."""
    cursor, end = ld(st, f.CURSOR), ld(st, f.OP_COUNT)
    while cursor < end:
        record = ld(vd, f.V_RECORDS) + cursor * ld(vd, f.V_STRIDE) * 8
        if ld(st, f.PHASE) == f.P_START:
            sto(st, f.PHASE, f.P_EMIT)
            if complete(vd, record, 0, 0):
                bind_start(st, vd, record)
                begin(st, ld(vd, f.V_PROGRAM), 1)
                sto(st, f.PHASE, f.P_WALK)
        if ld(st, f.PHASE) == f.P_WALK and walk(st, ld(vd, f.V_PROGRAM)) == f.FULL:
            return f.FULL
        cursor += 1
        sto(st, f.CURSOR, cursor)
        sto(st, f.PHASE, f.P_START)
    return f.DONE


@kernel
def bind_start(st: int, vd: int, record: int) -> None:
    """Bind the scanned vertex to one of its values."""
    sto(ld(st, f.SOURCES), 2 * ld(vd, f.V_NUMBER), record)
