"""Blocks that Arrow arrays lie in, filled again once nobody has them any more.

    take -> kernels fill it -> lend -> arrays over it -> the last of them dies -> take ...

To copy a block would cost as much as to fill it, and new memory more than either: the system has
to find and to clear each page of it. Memory that has just been read is the quickest to write.
A block with few rows is copied all the same: who keeps them should not keep all of it.
"""

from __future__ import annotations

import ctypes
import weakref

import numpy as np

from joingraph.kernels import fields as f
from joingraph.kernels.memory import Region, Words, reserve
from joingraph.kernels.paths import Paths, read_block

WORTH_LENDING_ROWS = f.BLOCK_LIMIT


class Blocks:
    """Blocks of one width: so many are kept for use again, the others are given back."""

    def __init__(self, columns: int, kept: int) -> None:
        self.words, self.kept = f.COLUMN_STRIDE * max(1, columns) + 64, kept
        self.free: list[Region] = []

    def take(self) -> Region:
        """Give a block that nobody else has."""
        return self.free.pop() if self.free else reserve(self.words)

    def lend(self, block: Region) -> Words:
        """Give a block's words; it comes back when they, and all that lies over them, are gone."""
        lease = (ctypes.c_ubyte * (8 * self.words)).from_address(block.address)
        weakref.finalize(lease, self._come_back, block).atexit = False
        return np.frombuffer(memoryview(lease).cast("B"), np.int64)

    def close(self) -> None:
        """Keep no block from here on."""
        self.kept = 0
        self.free.clear()

    def _come_back(self, block: Region) -> None:
        if len(self.free) < self.kept:
            self.free.append(block)


class Filling:
    """The block and the segments that kernels write to, as the state's words tell them."""

    def __init__(self, words: Words, blocks: Blocks) -> None:
        self.words, self.blocks = words, blocks
        self.segments = reserve(f.SEGMENT_WORDS * (f.BLOCK_ROWS + 8))
        words[f.SEGMENTS] = self.segments.address
        self._begin()

    def _begin(self) -> None:
        self.block = self.blocks.take()
        self.words[f.OUT] = self.block.address

    def paths(self) -> Paths:
        """Give what the block holds, and a new one to the kernels if it is lent for that."""
        if self.words[f.ROWS] < WORTH_LENDING_ROWS:
            return read_block(self.words, self.block.words, self.segments.words)
        lent = self.blocks.lend(self.block)
        self._begin()
        return read_block(self.words, lent, self.segments.words, copied=False)
