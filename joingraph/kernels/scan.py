"""Reads the whole view off the graph, value after value of one vertex, block by block.

A reader has a state of its own (sources, wheels, block) over the graph's descriptors, so that
readers do not disturb one another; it must not outlive the next change.
"""

from __future__ import annotations

from joingraph.kernels import fields as f
from joingraph.kernels.fields import (
    CURSOR,
    DONE,
    FULL,
    OP_COUNT,
    P_EMIT,
    P_START,
    P_WALK,
    PHASE,
    SOURCES,
    STATE_WORDS,
    V_NUMBER,
    V_RECORDS,
    V_STRIDE,
    V_TOUR,
)
from joingraph.kernels.intrinsics import kernel, ld, sto
from joingraph.kernels.lookahead import complete
from joingraph.kernels.memory import reserve
from joingraph.kernels.odometer import begin, walk
from joingraph.kernels.state import GraphMemory


class Reader:
    """A scan in progress: `next` fills the block and says whether there is more."""

    def __init__(self, memory: GraphMemory, vertex: int) -> None:
        self.memory, self.vertex = memory, vertex
        layout = memory.layout
        sources = f.SOURCE_WORDS * (len(layout.vertices) + len(layout.aliases))
        wheels = f.WALK_WORDS * (len(layout.aliases) + 2)
        self.block = reserve(f.COLUMN_STRIDE * max(1, len(layout.outputs)) + 64)
        self.segments = reserve(f.SEGMENT_WORDS * (f.BLOCK_ROWS + 8))
        self.state = reserve(STATE_WORDS + sources + wheels)
        self.words = self.state.words
        self.words[:STATE_WORDS] = memory.words[:STATE_WORDS]
        at = (int(memory.words[SOURCES]) - memory.st) // 8
        self.words[STATE_WORDS : STATE_WORDS + sources] = memory.words[at : at + sources]
        self.words[SOURCES] = self.state.address + STATE_WORDS * 8
        self.words[f.WHEELS] = self.state.address + (STATE_WORDS + sources) * 8
        self.words[f.OUT], self.words[f.SEGMENTS] = self.block.address, self.segments.address
        self.words[CURSOR], self.words[PHASE] = 0, P_START
        self.words[OP_COUNT] = memory.vertex(vertex)[f.V_NEXT]

    def next(self) -> bool:
        """Fill the block anew; false when it is the last."""
        self.words[f.ROWS] = self.words[f.SEGMENT_COUNT] = 0
        vd = self.memory.vertex(self.vertex).ctypes.data
        return scan_values(self.state.address, vd) == FULL


@kernel
def scan_values(st: int, vd: int) -> int:
    """Emit all paths through a vertex' values, from where the reader stands."""
    cursor, end = ld(st, CURSOR), ld(st, OP_COUNT)
    while cursor < end:
        record = ld(vd, V_RECORDS) + cursor * ld(vd, V_STRIDE) * 8
        if ld(st, PHASE) == P_START:
            sto(st, PHASE, P_EMIT)
            if complete(vd, record, 0, 0):
                bind_start(st, vd, record)
                begin(st, ld(vd, V_TOUR), 1)
                sto(st, PHASE, P_WALK)
        if ld(st, PHASE) == P_WALK and walk(st, ld(vd, V_TOUR)) == FULL:
            return FULL
        cursor += 1
        sto(st, CURSOR, cursor)
        sto(st, PHASE, P_START)
    return DONE


@kernel
def bind_start(st: int, vd: int, record: int) -> None:
    """Bind the scanned vertex to one of its values."""
    sto(ld(st, SOURCES), 2 * ld(vd, V_NUMBER), record)
