"""Blocks that Arrow arrays lie in, filled again once no array refers to them.

To copy a block would cost as much as to fill it, and new memory more than either (leases.py).
A block with few rows is copied all the same: a caller that keeps them should not keep all of it.

    block    COLUMN_STRIDE words a column | segments

A graph has a block while it runs a batch; between batches blocks are the process' own, by width.
"""

from __future__ import annotations

from operator import mul

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.leases import Stretches
from joingraph.graph.compiled.memory.path_blocks import Paths, read_block
from joingraph.graph.compiled.memory.reserved import Region, Words

WORTH_LENDING_ROWS = f.BLOCK_LIMIT // 4
# Of one width, for the next batches: so many blocks at least, and so many bytes of rows at most.
FEWEST_KEPT, KEPT_BYTES = 4, 64 << 20
_pools: dict[int, Blocks] = {}


class Blocks(Stretches):
    """Blocks of one width."""

    def __init__(self, columns: int, kept: int) -> None:
        self.segments = f.COLUMN_STRIDE * max(1, columns) + 64
        super().__init__(self.segments + f.SEGMENT_WORDS * (f.BLOCK_ROWS + 8), kept)


def pool(columns: int) -> Blocks:
    """Return the process' blocks of one width."""
    kept = max(FEWEST_KEPT, KEPT_BYTES // (8 * f.BLOCK_LIMIT * max(1, columns)))
    return _pools.setdefault(columns, Blocks(columns, kept))


class Filling:
    """The block and the segments that kernels write to, from `begin` to `end`."""

    def __init__(self, words: Words, blocks: Blocks) -> None:
        self.words, self.blocks = words, blocks
        self.block: Region | None = None

    def begin(self) -> None:
        """Have a block, and let the kernels write to it."""
        self._fill(self.block or self.blocks.take())

    def resume(self) -> None:
        """Let the kernels write to the block that there is; one that runs in silence needs none."""
        if self.block is not None:
            self._fill(self.block)

    def end(self) -> None:
        """Give the block back."""
        block, self.block = self.block, None
        if block is not None:
            self.blocks.give(block)

    def _fill(self, block: Region) -> None:
        self.block = block
        self.words[f.OUT] = block.address
        self.words[f.SEGMENTS] = block.address + 8 * self.blocks.segments

    def count(self) -> int:
        """Count the paths that the block holds, each as often as it is there."""
        assert self.block is not None, "kernels have written to it"
        words = self.block.words
        found = read_block(self.words, words, words[self.blocks.segments :], copied=False)
        return sum(map(mul, found.lengths().tolist(), abs(found.weights).tolist()))

    def paths(self) -> Paths:
        """Return what the block holds, and a new one to the kernels if it is lent for that."""
        assert self.block is not None, "kernels have written to it"
        words, first = self.block.words, self.blocks.segments
        if self.words[f.ROWS] < WORTH_LENDING_ROWS:
            return read_block(self.words, words, words[first:])
        # Replaced before it is lent: an exception in between must not leave it with two owners.
        filled = self.block
        self._fill(self.blocks.take())
        lent = self.blocks.lend(filled)
        return read_block(self.words, lent, lent[first:], copied=False)
