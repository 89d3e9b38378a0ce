"""Strings and binaries as words: each distinct run of bytes is kept once and named by an id.

    arena    the bytes, one run after the other
    entries  per id: offset in the arena, length
    index    32 bits of hash << 32 | id + 1, open addressing

In: Arrow's own buffers. Out: one id a value, or an Arrow array made of ids; no Python per row.

A string takes its length, 16 bytes an id and 12 to 24 bytes of index. It stays when the last row
with it has gone, until engines/compiled/string_garbage.py, which knows all rows, marks those that
are left (`keep`): then the others' bytes go, and their ids go to the next new strings.

    entry of a free id   next free id + 1, -1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.machine.kernel import kernel, ld, ldb, mix, small, sto
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent, reserve
from joingraph.graph.compiled.memory.tables import Bytes, RecordTable, slots_of
from joingraph.graph.compiled.vertex_table import (
    INDEX_WORDS,
    copy_words,
    free_slot,
    same_key,
    settle_slot,
    take_record,
)

FEWEST_BYTES, FEWEST_STRINGS = 4 << 10, 128  # that room is made for
ARENA_WORDS = 1 << 33
ENTRY_WORDS = 1 << 31

# Words of its descriptor that a vertex does not use; LONGEST is no less than any string's bytes.
ARENA, TOP, LONGEST = 13, 14, 15
COUNT = f.V_NEXT  # of the ids ever used
NO_STRING = -1  # the length of one that is free


Kernel = Callable[[int, Words, int], None]


class Interner(RecordTable):
    """Keeps the strings and binaries of one graph."""

    def __init__(self) -> None:
        super().__init__(0, 2, [ENTRY_WORDS, INDEX_WORDS, ARENA_WORDS])
        self._allowed = [0, 0]  # bytes, and strings, that surely have room

    def covers(self, size: int, count: int) -> bool:
        """Count so many strings of so many bytes if there surely is room for them."""
        left, strings = self._allowed
        if left < size or strings < count:
            return False
        self._allowed = [left - size, strings - count]
        return True

    def make_room(self, size: int, count: int) -> None:
        """Make room for so many strings of so many bytes in all, or refuse them."""
        left = [self._allowed[0] - size, self._allowed[1] - count]
        if min(left) < 0:
            bytes_soon, soon = max(8 * size, FEWEST_BYTES), max(8 * count, FEWEST_STRINGS)
            needs = self.needed(soon, bytes_soon)
            if not self.area.hold(needs):
                self.area.enlarge(needs, self.needed(count, size))
                self.finish_move()
            left = [bytes_soon - size, soon - count] if self.area.hold(needs) else [0, 0]
        self._allowed = left

    def needed(self, ops: int, size: int = 0) -> list[int]:
        """Bound the bytes of each region with so many strings more, of so many bytes."""
        return [*super().needed(ops), int(self.state[TOP]) + size + 8]

    def used(self) -> list[Bytes]:
        """Return which bytes of each region are filled."""
        return [*super().used(), (0, int(self.state[TOP]))]

    def find_regions(self) -> None:
        """Write where the regions lie."""
        super().find_regions()
        self.state[ARENA] = self.area.regions[2].address

    @property
    def filling(self) -> tuple[int, int]:
        """How many slots the index has, and how many are taken."""
        return slots_of(self.state), int(self.state[COUNT])

    @property
    def bytes(self) -> int:
        """How much memory the strings take."""
        return sum(size for _, size in self.used())

    def keep(self, mark: npt.NDArray[np.bool_]) -> None:
        """Forget all strings but those whose ids are marked."""
        assert len(mark) == self.state[COUNT], "every id is judged"
        before, marks = int(self.state[TOP]), mark.astype(np.int64)
        arena = reserve(before // 8 + 2)
        with lent(marks):
            keep_strings(self.descriptor.address, address_of(marks), arena.address)
        self.area.regions[2].release(int(self.state[TOP]) // 8 + 1, before // 8)
        self._allowed = [0, 0]

    def unknown(self, column: pa.Array) -> tuple[int, int]:
        """Count the values of a column that have no id, and their bytes; change nothing."""
        found = np.zeros(2, np.int64)
        self.call(count_unknown, (*pieces_of(column), found), len(column))
        return int(found[0]), int(found[1])

    def call(self, kernel: Kernel, arrays: Sequence[npt.NDArray[Any]], length: int) -> None:
        """Call a kernel with the addresses of arrays, which are lent meanwhile."""
        with lent(*arrays):
            kernel(self.descriptor.address, np.array([address_of(a) for a in arrays]), length)

    @property
    def free_ids(self) -> int:
        """How many ids are free."""
        return int(self.state[COUNT] - self.state[f.V_LIVE])

    def words(self, column: pa.Array) -> Words:
        """Name every value of a string or binary column; NULL is the NULL word."""
        starts, valid, run = pieces_of(column)
        found = np.full(len(column), f.NULL_WORD, np.int64)
        self.make_room(int(starts[-1] - starts[0]), len(column))
        self.call(intern_all, (starts, valid, run, found), len(column))
        self.release()
        return found

    @property
    def longest(self) -> int:
        """How many bytes a string has at most."""
        return int(self.state[LONGEST])

    def lengths(self, ids: Words) -> Words:
        """Return the lengths in bytes of the strings that ids name; 0 for NULL."""
        entries = self.area.regions[0].words
        return np.where(ids < 0, 0, entries[2 * np.maximum(ids, 0) + 1])

    def array(self, ids: Words, kind: pa.DataType) -> pa.Array:
        """Make an Arrow array of the strings that ids name, a wide one if they need that."""
        offsets = np.zeros(len(ids) + 1, np.int64)
        self.call(measure, (ids, offsets), len(ids))
        data = np.empty(int(offsets[-1]) + 8, np.uint8)
        self.call(gather, (ids, offsets, data), len(ids))
        if offsets[-1] > texts.ARRAY_BYTES_MAX:
            kind = texts.WIDE[kind.id]
        else:
            offsets = offsets.astype(np.int32)
        buffers = [validity(ids), pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.Array.from_buffers(kind, len(ids), buffers)


def pieces_of(column: pa.Array) -> tuple[Words, Words, npt.NDArray[np.uint8]]:
    """Return where each value of a column starts, whether it is there, and all their bytes."""
    narrow = column.type.id in texts.WIDE
    _, offsets, data = column.buffers()
    if data is None or data.size == 0:
        data = pa.py_buffer(bytes(8))
    kind = np.int32 if narrow else np.int64
    starts = np.zeros(1, np.int64)
    if len(column):
        starts = np.frombuffer(offsets, kind, column.offset + len(column) + 1)
        starts = starts[column.offset :].astype(np.int64)
    valid = np.asarray(column.is_valid()).astype(np.int64)
    return starts, valid, np.frombuffer(data, np.uint8)


def validity(words: npt.NDArray[np.int64]) -> pa.Buffer | None:
    """Make Arrow's validity bitmap of a column of words; none if nothing is NULL."""
    if not len(words) or words.min() > f.NULL_WORD:  # one quick look: few values are below
        return None
    valid = words != f.NULL_WORD
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


@kernel
def intern_all(state: int, addresses: Words, length: int) -> None:
    """Intern every value of a column: addresses of its starts, validity, bytes, and of the ids."""
    starts, valid, data, found = addresses[0], addresses[1], addresses[2], addresses[3]
    for row in range(length):
        if ld(valid, row):
            start = ld(starts, row)
            sto(found, row, intern_one(state, data + start, ld(starts, row + 1) - start))


@kernel
def count_unknown(state: int, addresses: Words, length: int) -> None:
    """Count the values of a column that have no id, and their bytes."""
    starts, valid, data, found = addresses[0], addresses[1], addresses[2], addresses[3]
    for row in range(length):
        if ld(valid, row):
            run, size = data + ld(starts, row), ld(starts, row + 1) - ld(starts, row)
            place = string_slot(state, run, size, hash_bytes(run, size))
            if ld(ld(state, f.V_INDEX), place) == 0:
                sto(found, 0, ld(found, 0) + 1)
                sto(found, 1, ld(found, 1) + size)


@kernel
def hash_bytes(data: int, length: int) -> int:
    """Hash a run of bytes to a signed 32-bit number."""
    h = mix(length)
    for word in range(length // 8):
        h = mix(h ^ ld(data, word))
    return mix(h ^ tail(data, length)) >> 32


@kernel
def tail(data: int, length: int) -> int:
    """Read the last bytes that fill no word."""
    value = 0
    for place in range(length & ~7, length):
        value = (value << 8) | ldb(data, place)
    return value


@kernel
def same_bytes(one: int, two: int, length: int) -> bool:
    """Compare two runs of bytes."""
    return same_key(one, two, length // 8) and tail(one, length) == tail(two, length)


@small
def string_slot(state: int, data: int, length: int, h: int) -> int:
    """Find the place of the slot of a run of bytes, or of the empty one where it belongs."""
    index, mask, entries = ld(state, f.V_INDEX), ld(state, f.V_MASK), ld(state, f.V_RECORDS)
    place = h & mask
    while True:
        slot = ld(index, place)
        if slot == 0:
            return place
        identity = (slot & f.LOW) - 1
        known = ld(state, ARENA) + ld(entries, 2 * identity)
        same = slot >> 32 == h and ld(entries, 2 * identity + 1) == length
        if same and same_bytes(known, data, length):
            return place
        place = (place + 1) & mask


@kernel
def intern_one(state: int, data: int, length: int) -> int:
    """Return the id of a run of bytes, kept if it is new."""
    h = hash_bytes(data, length)
    place = string_slot(state, data, length, h)
    slot = ld(ld(state, f.V_INDEX), place)
    if slot:
        return (slot & f.LOW) - 1
    identity = take_record(state)
    keep_bytes(state, identity, data, length)
    settle_slot(state, identity, h, place)
    return identity


@kernel
def keep_bytes(state: int, identity: int, data: int, length: int) -> None:
    """Append a run of bytes to the arena and name it."""
    top = ld(state, TOP)
    to = ld(state, ARENA) + top
    whole = length // 8
    copy_words(data, to, whole)
    last = 0
    for place in range(length - 1, whole * 8 - 1, -1):
        last = (last << 8) | ldb(data, place)
    sto(to, whole, last)
    entries = ld(state, f.V_RECORDS)
    sto(entries, 2 * identity, top)
    sto(entries, 2 * identity + 1, length)
    sto(state, TOP, top + length)
    if length > ld(state, LONGEST):
        sto(state, LONGEST, length)


@kernel
def keep_strings(state: int, marks: int, arena: int) -> None:
    """Keep the marked strings, laid end to end by way of another arena; free the others' ids."""
    entries, index, mask = ld(state, f.V_RECORDS), ld(state, f.V_INDEX), ld(state, f.V_MASK)
    old = ld(state, ARENA)
    for place in range(mask + 1):
        sto(index, place, 0)
    sto(state, ARENA, arena)
    sto(state, TOP, 0)
    sto(state, LONGEST, 0)
    sto(state, f.V_FREE, 0)
    sto(state, f.V_LIVE, 0)
    for identity in range(ld(state, COUNT) - 1, -1, -1):
        data, length = old + ld(entries, 2 * identity), ld(entries, 2 * identity + 1)
        if ld(marks, identity):
            h = hash_bytes(data, length)
            sto(index, free_slot(index, mask, h), (h << 32) | (identity + 1))
            keep_bytes(state, identity, data, length)
            sto(state, f.V_LIVE, ld(state, f.V_LIVE) + 1)
        else:
            sto(entries, 2 * identity, ld(state, f.V_FREE))
            sto(entries, 2 * identity + 1, NO_STRING)
            sto(state, f.V_FREE, identity + 1)
    copy_words(arena, old, (ld(state, TOP) + 7) // 8)
    sto(state, ARENA, old)


@kernel
def measure(state: int, addresses: Words, length: int) -> None:
    """Lay strings end to end: the offset of each, and of the end."""
    ids, offsets = addresses[0], addresses[1]
    entries, end = ld(state, f.V_RECORDS), 0
    for row in range(length):
        sto(offsets, row, end)
        if ld(ids, row) != f.NULL_WORD:
            end += ld(entries, 2 * ld(ids, row) + 1)
    sto(offsets, length, end)


@kernel
def gather(state: int, addresses: Words, length: int) -> None:
    """Copy strings to their offsets, in order: each overshoots into the next one's place."""
    ids, offsets, data = addresses[0], addresses[1], addresses[2]
    arena, entries = ld(state, ARENA), ld(state, f.V_RECORDS)
    for row in range(length):
        identity = ld(ids, row)
        if identity != f.NULL_WORD:
            of, to = arena + ld(entries, 2 * identity), data + ld(offsets, row)
            copy_words(of, to, (ld(entries, 2 * identity + 1) + 7) // 8)
