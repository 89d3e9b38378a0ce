"""A walker's own words: what a walk writes, beside a graph that stands still meanwhile.

    words      | the state's words, as the graph's are | sources | wheels | rings |
    filling    the block and the segments that this walker alone writes to

Everything else, the descriptors, records, lists and indexes, is read where the graph has it.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.blocks import Filling
from joingraph.graph.compiled.memory.reserved import Words, reserve
from joingraph.graph.compiled.memory.state import GraphMemory


class WalkState:
    """The state that one walker's kernels are given."""

    def __init__(self, memory: GraphMemory) -> None:
        self._memory = memory
        self._lengths = memory.walk_words()
        region = reserve(f.STATE_WORDS + sum(self._lengths.values()))
        self.words: Words = region.words
        self.st, self._region = region.address, region
        self.filling = Filling(self.words, memory.filling.blocks)

    def begin(self) -> None:
        """See the graph as it is now, and have a block."""
        of, start = self._memory, f.STATE_WORDS
        self.words[:start] = of.words[:start]
        for field, length in self._lengths.items():
            first = (int(of.words[field]) - of.st) // 8
            self.words[start : start + length] = of.words[first : first + length]
            self.words[field] = self.st + 8 * start
            start += length
        self.filling.begin()

    def walk_from(self, op: int) -> None:
        """Stand before an op, with nothing in the block."""
        self.words[f.CURSOR], self.words[f.PHASE] = op, f.P_START
        self.words[f.ROWS] = self.words[f.SEGMENT_COUNT] = 0
