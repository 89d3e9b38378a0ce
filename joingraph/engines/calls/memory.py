"""The memory of one graph's calls: small at first, and larger once a batch needs it.

    head      what a graph settles, where the rest lies, and what a call answers    (kernel.py)
    batch     entries, base rows, ops, the rows they point to
    texts     of the batch
    result    made columns; effects and tables of the folding; view rows and their texts

Batch and result are stretches that begin with the addresses of their parts. A stretch is replaced
whole, by one assignment, so that an interrupt leaves the old one or the new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from joingraph.engines.calls import kernel as k
from joingraph.expressions import texts
from joingraph.generators.compiled.fold import EFFECT_WORDS, PAIR_WORDS, SLOT_WORDS
from joingraph.graph.compiled.fields import OP_WORDS
from joingraph.graph.compiled.memory.reserved import Region, Words, reserve

FIRST_WORDS, FIRST_PATHS, FIRST_BYTES = 256, 32, 1024
PATHS_MAX = 1 << 14  # of a call: blocks are as good for more, and for more text than one has
BYTES_KEPT = 1 << 22  # of a result's texts, for which room stays
SPARE_WORDS = 8  # behind texts, which are copied in whole words
GIVEN_WORDS = 16


class BatchRoom(NamedTuple):
    """Room for a batch each of whose parts takes so many words."""

    words: int
    region: Region
    entries: memoryview
    base: memoryview
    base_address: int
    ops: Words


class TextRoom(NamedTuple):
    """Room for so many bytes of a batch's texts."""

    size: int
    region: Region
    data: memoryview


class ResultRoom(NamedTuple):
    """Room for the rows of so many paths, and for so many bytes of their texts."""

    paths: int
    size: int
    region: Region
    made: memoryview
    marks: npt.NDArray[np.uint8]
    rows: memoryview
    texts: memoryview


class CallMemory:
    """Where a graph's calls are read, carried out and answered."""

    def __init__(self, told: Sequence[tuple[int, int]]) -> None:
        self._head, self._given = reserve(k.HEAD_WORDS), reserve(GIVEN_WORDS)
        self.address, self.given = self._head.address, self._given.words
        self.words = bytes_of(self._head.words).cast("q")
        self._told, self._columns = reserve(k.TOLD_WORDS * len(told)), reserve(len(told))
        self._told.words[:] = [word for each in told for word in each]
        self.words[k.C_TOLD], self.words[k.C_TOLD_COUNT] = self._told.address, len(told)
        self.words[k.C_COLUMNS] = self._columns.address
        self.batch, self.texts = batch_room(FIRST_WORDS), text_room(FIRST_BYTES)
        self.result = self._result_room(FIRST_PATHS, FIRST_BYTES)
        self.is_told = False  # to the kernel, where they are

    def tell_places(self) -> None:
        """Tell the kernel where batch, texts and result are."""
        words = self.words
        words[k.C_BATCH] = self.batch.region.address
        words[k.C_TEXTS] = self.texts.region.address
        words[k.C_RESULT] = self.result.region.address
        self.is_told = True

    def enter_texts(self, texts: bytes) -> None:
        """Lay a batch's texts where the kernel reads them."""
        if len(texts) > self.texts.size:
            self.is_told, self.texts = False, text_room(2 * len(texts))
        self.texts.data[: len(texts)] = texts

    def widen(self, paths: int) -> bool:
        """Make room for the paths of a block, or for more text of theirs; False: for neither."""
        room = self.result
        if paths > PATHS_MAX or room.size > texts.BLOCK_BYTES:
            return False
        wider = (2 * paths, room.size) if paths > room.paths else (room.paths, 4 * room.size)
        self.is_told, self.result = False, self._result_room(*wider)
        self.tell_places()
        return True

    def shrink(self) -> None:
        """Give back what long texts of a result took."""
        if self.result.size > BYTES_KEPT:
            self.is_told, self.result = False, self._result_room(FIRST_PATHS, FIRST_BYTES)

    def _result_room(self, paths: int, size: int) -> ResultRoom:
        told, slots = self.words[k.C_TOLD_COUNT], max(16, 8 * paths)
        sizes = {
            k.R_MADE: paths * told,
            k.R_EFFECTS: paths * EFFECT_WORDS,
            k.R_MARKS: words_of(paths),
            k.R_SLOTS: slots * SLOT_WORDS,
            k.R_PAIRS: slots * PAIR_WORDS,
            k.R_ORDER: paths + 1,
            k.R_SLOT_OF: paths + 1,
            k.R_FOLDED: 4 * 2 * paths,
            k.R_OUT: 2 * paths * (told + k.META_WORDS),
            k.R_OUT_TEXTS: words_of(size),
        }
        region, parts = laid(k.RESULT_WORDS, list(sizes.values()))
        marks = parts[k.R_MARKS].view(np.uint8)
        marks[:] = 1
        region.words[k.R_ROOM], region.words[k.R_TEXT_ROOM] = paths, size
        made, rows, texts = (bytes_of(parts[each]) for each in (k.R_MADE, k.R_OUT, k.R_OUT_TEXTS))
        return ResultRoom(paths, size, region, made, marks, rows, texts)


def batch_room(words: int) -> BatchRoom:
    """Make room for a batch."""
    region, parts = laid(k.BATCH_WORDS, [words] * k.BATCH_WORDS)
    whole = words // OP_WORDS * OP_WORDS
    return BatchRoom(
        words,
        region,
        bytes_of(parts[k.B_ENTRIES]),
        bytes_of(parts[k.B_BASE]),
        int(region.words[k.B_BASE]),
        parts[k.B_OPS][:whole].reshape(-1, OP_WORDS),
    )


def text_room(size: int) -> TextRoom:
    """Make room for a batch's texts."""
    region = reserve(words_of(size))
    return TextRoom(size, region, bytes_of(region.words))


def laid(head: int, sizes: Sequence[int]) -> tuple[Region, list[Words]]:
    """Reserve a stretch of parts of so many words; their addresses are its first words."""
    region = reserve(head + sum(sizes))
    first, parts = head, list[Words]()
    for place, size in enumerate(sizes):
        parts.append(region.words[first : first + size])
        region.words[place] = region.address + 8 * first
        first += size
    return region, parts


def bytes_of(words: Words) -> memoryview:
    """Return words as bytes that can be written to."""
    found: memoryview = words.view(np.uint8).data
    return found


def words_of(size: int) -> int:
    """Return how many words so many bytes take, with some to spare."""
    return size // 8 + SPARE_WORDS
