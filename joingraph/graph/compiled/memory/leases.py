"""Memory that is lent as arrays, and written again once no array refers to it.

    take -> fill -> lend -> arrays over it -> the last of them dies -> take ...

New memory costs more than what is written to it: the system has to find and to clear each page, and
the allocator gives freed arrays of this size back to the system. Memory that has just been read is
the quickest to write. Only what lies over a stretch keeps it from being taken, so its owner need
not say when it is done: an array may outlive its batch, and what takes the batch back.
"""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Sequence

import numpy as np

from joingraph.graph.compiled.memory.reserved import Region, Words, reserve

FEWEST_WORDS, MOST_WORDS = 1 << 13, 1 << 20  # of an array that is worth it, 64 KiB to 8 MiB
KEPT_WORDS, FEWEST_KEPT = 1 << 20, 2  # of one size, for the next batches: a batch has many parts
pools: dict[int, Stretches] = {}


class Stretches:
    """Stretches of one length: so many are kept for use again, the others are given back."""

    def __init__(self, words: int, kept: int) -> None:
        self.words, self.kept = words, kept
        self.free: list[Region] = []

    def take(self) -> Region:
        """Return a stretch that has no other user."""
        try:
            return self.free.pop()
        except IndexError:  # another thread may have taken the last one
            return reserve(self.words)

    def lend(self, stretch: Region) -> Words:
        """Return a stretch's words; it comes back when all that lies over them is gone."""
        lease = (ctypes.c_ubyte * (8 * self.words)).from_address(stretch.address)
        weakref.finalize(lease, self.give, stretch).atexit = False
        return np.frombuffer(memoryview(lease).cast("B"), np.int64)

    def close(self) -> None:
        """Keep no stretch from here on."""
        self.kept = 0
        self.free.clear()

    def give(self, stretch: Region) -> None:
        """Take back a stretch that no array refers to."""
        if len(self.free) < self.kept:
            self.free.append(stretch)


def leased(shape: tuple[int, int]) -> Words:
    """Return an array that holds anything; a large one lies in memory that is used again."""
    words = math.prod(shape)
    if not FEWEST_WORDS <= words <= MOST_WORDS:
        return np.empty(shape, np.int64)
    size = 1 << (words - 1).bit_length()
    kept = max(FEWEST_KEPT, KEPT_WORDS // size)
    stretches = pools.setdefault(size, Stretches(size, kept))
    return stretches.lend(stretches.take())[:words].reshape(shape)


def copies(columns: Sequence[Words]) -> list[Words]:
    """Return copies of columns of one length, in memory that is used again."""
    found = leased((len(columns), len(columns[0])))
    for copy, column in zip(found, columns, strict=True):
        copy[:] = column
    return [*found]
