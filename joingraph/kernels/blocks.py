"""Blocks that Arrow arrays lie in, filled again once nobody has them any more.

    take -> a worker fills it -> lend -> arrays over it -> the last of them dies -> take ...

To copy a block would cost as much as to fill it, and new memory more than either: the system has
to find and to clear each page of it. Memory that has just been read is the quickest to write.
"""

from __future__ import annotations

import ctypes
import weakref

import numpy as np

from joingraph.kernels import fields as f
from joingraph.kernels.memory import Region, Words, reserve


class Blocks:
    """The blocks of one scan: so many are kept for use again, the others are given back."""

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
