"""Strings and binaries as words: each distinct run of bytes is kept once and named by an id.

    arena    the bytes, one run after the other
    entries  per id: offset in the arena, length
    index    32 bits of hash << 32 | id + 1, open addressing

In: Arrow's own buffers. Out: one id a value, or an Arrow array made of ids; no Python per row.

A string takes its length, 16 bytes an id and 12 to 24 bytes of index. It stays when the last row
with it has gone, until engines/compiled/string_garbage.py, which knows all rows, says which are
left (`keep`): then the others' bytes go, and their ids are given to the next new strings.

    entry of a free id   next free id + 1, -1
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.graph.compiled.fields import LOW, NULL_WORD
from joingraph.graph.compiled.machine.kernel import kernel, ld, ldb, mix, small, sto
from joingraph.graph.compiled.memory.regions import Regions, copy_between, table_bytes
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent, reserve
from joingraph.graph.compiled.vertex_table import (
    FIRST_INDEX,
    INDEX_WORDS,
    free_slot,
    same_key,
    spread_slots,
)

FEWEST_BYTES, FEWEST_STRINGS = 4 << 10, 128  # that room is made for
ARENA_WORDS = 1 << 33
ENTRY_WORDS = 1 << 31

# the interner's state; COUNT is of the ids ever given, FREE_ID the first that is free, plus 1,
# LONGEST no less than the bytes of any string
ARENA, ENTRIES, INDEX, MASK, COUNT, TOP, FREE_ID, LONGEST, INDEX_BASE = 0, 1, 2, 3, 4, 5, 6, 7, 8
STATE_WORDS = 9
NO_STRING = -1  # the length of one that is free


class Interner:
    """Keeps the strings and binaries of one graph."""

    def __init__(self) -> None:
        self.area = Regions([8 * each for each in (ARENA_WORDS, ENTRY_WORDS, INDEX_WORDS)])
        self._state = reserve(STATE_WORDS)
        self._state.words[MASK] = FIRST_INDEX - 1
        self._allowed = [0, 0]  # bytes, and strings, that surely have room
        self.find_regions()

    def make_room(self, size: int, count: int) -> None:
        """Make room for so many strings of so many bytes in all, or refuse them."""
        left = [self._allowed[0] - size, self._allowed[1] - count]
        if min(left) < 0:
            soon = [max(8 * size, FEWEST_BYTES), max(8 * count, FEWEST_STRINGS)]
            needs = self._needed(*soon)
            if not self.area.hold(needs):
                self.area.enlarge(needs, self._needed(size, count))
                self.finish_move()
                soon = soon if self.area.hold(needs) else [size, count]
            left = [soon[0] - size, soon[1] - count]
        self._allowed = left

    def _needed(self, size: int, count: int) -> list[int]:
        """Bound the bytes of each region with so many strings more."""
        state = self.state
        slots, strings = int(state[MASK]) + 1, int(state[COUNT]) + count
        return [int(state[TOP]) + size + 8, 16 * strings, table_bytes(slots, strings, 8)]

    def finish_move(self) -> None:
        """Bring a move to other regions to its end; called again, do it anew."""
        if self.area.before:
            state, slots = self.state, 8 * (int(self.state[MASK]) + 1)
            filled = [(0, int(state[TOP])), (0, 16 * int(state[COUNT])), (slots, slots)]
            for old, new, part in zip(self.area.before, self.area.regions, filled, strict=True):
                copy_between(old, new, *part)
            self.find_regions()
            self.area.settle()

    def make_filled(self) -> None:
        """Make room for as much as the state says; nothing has been written yet."""
        self.area.resemble(self.area.sizes, self._needed(0, 0))
        self.find_regions()
        self.area.settle()

    @property
    def state(self) -> Words:
        """The words that say how full it is."""
        return self._state.words

    @property
    def address(self) -> int:
        """The address of these words, which kernels take."""
        return self._state.address

    def find_regions(self) -> None:
        """Write where the regions lie, and the index in its own by its size."""
        state, (self.arena, self.entries, self.index) = self.state, self.area.regions
        state[ARENA], state[ENTRIES] = self.arena.address, self.entries.address
        state[INDEX_BASE] = self.index.address
        state[INDEX] = self.index.address + 8 * (state[MASK] + 1)

    @property
    def filling(self) -> tuple[int, int]:
        """How many slots the index has, and how many are taken."""
        return int(self._state.words[MASK]) + 1, int(self._state.words[COUNT])

    @property
    def bytes(self) -> int:
        """How much memory the strings take."""
        state = self._state.words
        return int(state[TOP]) + 16 * int(state[COUNT]) + 8 * (int(state[MASK]) + 1)

    def keep(self, mark: npt.NDArray[np.bool_]) -> None:
        """Forget all strings but those whose ids are marked."""
        assert len(mark) == self.state[COUNT], "every id is judged"
        state, marks = self.state, mark.astype(np.int64)
        before = int(state[TOP])
        arena = reserve(before // 8 + 2)
        with lent(marks):
            keep_strings(self._state.address, address_of(marks), arena.address)
        self.arena.release(int(state[TOP]) // 8 + 1, before // 8)
        self._allowed = [0, 0]

    def unknown(self, column: pa.Array) -> tuple[int, int]:
        """Count the values of a column that are not kept yet, and their bytes; keep none."""
        starts, valid, run = pieces_of(column)
        found = np.zeros(2, np.int64)
        with lent(starts, valid, run, found):
            given = [address_of(starts), address_of(valid), address_of(run), address_of(found)]
            count_unknown(self._state.address, np.array(given), len(column))
        return int(found[0]), int(found[1])

    @property
    def free_ids(self) -> int:
        """How many ids are free."""
        return int(count_free_ids(self._state.address))

    def words(self, column: pa.Array) -> Words:
        """Name every value of a string or binary column; NULL is the NULL word."""
        starts, valid, run = pieces_of(column)
        found = np.full(len(column), NULL_WORD, np.int64)
        self.make_room(int(starts[-1] - starts[0]), len(column))
        with lent(starts, valid, run, found):
            given = [address_of(starts), address_of(valid), address_of(run), address_of(found)]
            slots = self.filling[0]
            intern_all(self._state.address, np.array(given), len(column))
        if self.filling[0] > slots:
            self.index.release(slots, self.filling[0])  # tables that were outgrown
        return found

    @property
    def longest(self) -> int:
        """How many bytes a string has at most."""
        return int(self._state.words[LONGEST])

    def lengths(self, ids: Words) -> Words:
        """Return the bytes of the strings that ids name; NULL has none."""
        entries = self.entries.words
        return np.where(ids == NULL_WORD, 0, entries[2 * np.maximum(ids, 0) + 1])

    def array(self, ids: Words, kind: pa.DataType) -> pa.Array:
        """Make an Arrow array of the strings that ids name, a wide one if they need that."""
        offsets = np.zeros(len(ids) + 1, np.int64)
        with lent(ids, offsets):
            measure(self._state.address, address_of(ids), address_of(offsets), len(ids))
        data = np.empty(int(offsets[-1]) + 8, np.uint8)
        with lent(ids, offsets, data):
            gather(
                self._state.address,
                np.array([address_of(ids), address_of(offsets), address_of(data)]),
                len(ids),
            )
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
    if not len(words) or words.min() > NULL_WORD:  # one quick look: few values are below
        return None
    valid = words != NULL_WORD
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
            if ld(ld(state, INDEX), place) == 0:
                sto(found, 0, ld(found, 0) + 1)
                sto(found, 1, ld(found, 1) + size)


@kernel
def count_free_ids(state: int) -> int:
    """Count the ids that are free."""
    freed, count = ld(state, FREE_ID), 0
    while freed:
        freed, count = ld(ld(state, ENTRIES), 2 * (freed - 1)), count + 1
    return count


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
    index, mask, entries = ld(state, INDEX), ld(state, MASK), ld(state, ENTRIES)
    place = h & mask
    while True:
        slot = ld(index, place)
        if slot == 0:
            return place
        identity = (slot & LOW) - 1
        known = ld(state, ARENA) + ld(entries, 2 * identity)
        same = slot >> 32 == h and ld(entries, 2 * identity + 1) == length
        if same and same_bytes(known, data, length):
            return place
        place = (place + 1) & mask


@kernel
def intern_one(state: int, data: int, length: int) -> int:
    """Return the id of a run of bytes, kept if it is new."""
    index, h = ld(state, INDEX), hash_bytes(data, length)
    place = string_slot(state, data, length, h)
    slot = ld(index, place)
    if slot:
        return (slot & LOW) - 1
    identity = take_id(state)
    sto(index, place, (h << 32) | (identity + 1))
    keep_bytes(state, identity, data, length)
    if ld(state, COUNT) * 3 > ld(state, MASK) * 2:
        grow_strings(state)
    return identity


@kernel
def take_id(state: int) -> int:
    """Return a string's id: the last one freed, or the next."""
    freed = ld(state, FREE_ID)
    if freed:
        sto(state, FREE_ID, ld(ld(state, ENTRIES), 2 * (freed - 1)))
        return freed - 1
    fresh = ld(state, COUNT)
    sto(state, COUNT, fresh + 1)
    return fresh


@kernel
def keep_bytes(state: int, identity: int, data: int, length: int) -> None:
    """Append a run of bytes to the arena and name it."""
    top = ld(state, TOP)
    to = ld(state, ARENA) + top
    whole = length // 8
    for word in range(whole):
        sto(to, word, ld(data, word))
    last = 0
    for place in range(length - 1, whole * 8 - 1, -1):
        last = (last << 8) | ldb(data, place)
    sto(to, whole, last)
    entries = ld(state, ENTRIES)
    sto(entries, 2 * identity, top)
    sto(entries, 2 * identity + 1, length)
    sto(state, TOP, top + length)
    if length > ld(state, LONGEST):
        sto(state, LONGEST, length)


@kernel
def keep_strings(state: int, marks: int, arena: int) -> None:
    """Keep the marked strings, laid end to end by way of another arena; free the others' ids."""
    entries, index, mask = ld(state, ENTRIES), ld(state, INDEX), ld(state, MASK)
    old = ld(state, ARENA)
    for place in range(mask + 1):
        sto(index, place, 0)
    sto(state, ARENA, arena)
    sto(state, TOP, 0)
    sto(state, LONGEST, 0)
    sto(state, FREE_ID, 0)
    for identity in range(ld(state, COUNT) - 1, -1, -1):
        data, length = old + ld(entries, 2 * identity), ld(entries, 2 * identity + 1)
        if ld(marks, identity):
            h = hash_bytes(data, length)
            sto(index, free_slot(index, mask, h), (h << 32) | (identity + 1))
            keep_bytes(state, identity, data, length)
        else:
            sto(entries, 2 * identity, ld(state, FREE_ID))
            sto(entries, 2 * identity + 1, NO_STRING)
            sto(state, FREE_ID, identity + 1)
    for word in range((ld(state, TOP) + 7) // 8):
        sto(old, word, ld(arena, word))
    sto(state, ARENA, old)


@kernel
def grow_strings(state: int) -> None:
    """Double the index, as graph/compiled/vertex_table.py does."""
    capacity = ld(state, MASK) + 1
    index = ld(state, INDEX_BASE) + 2 * capacity * 8
    spread_slots(ld(state, INDEX), capacity, index)
    sto(state, INDEX, index)
    sto(state, MASK, 2 * capacity - 1)


@kernel
def measure(state: int, ids: int, offsets: int, length: int) -> None:
    """Lay strings end to end: the offset of each, and of the end."""
    entries, end = ld(state, ENTRIES), 0
    for row in range(length):
        sto(offsets, row, end)
        if ld(ids, row) != NULL_WORD:
            end += ld(entries, 2 * ld(ids, row) + 1)
    sto(offsets, length, end)


@kernel
def gather(state: int, addresses: Words, length: int) -> None:
    """Copy strings to their offsets, in order: each overshoots into the next one's place."""
    ids, offsets, data = addresses[0], addresses[1], addresses[2]
    arena, entries = ld(state, ARENA), ld(state, ENTRIES)
    for row in range(length):
        identity = ld(ids, row)
        if identity != NULL_WORD:
            of, to = arena + ld(entries, 2 * identity), data + ld(offsets, row)
            for word in range((ld(entries, 2 * identity + 1) + 7) // 8):
                sto(to, word, ld(of, word))
