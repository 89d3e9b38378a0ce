"""Vertex values by key: an open-addressing index of dense ids over the records.

    index   | . | hash:id+1 | . | hash:id+1 | ...      capacity = mask + 1, a power of two
    record  | key words | groups |                      at records + id * stride

In: the address of a vertex descriptor. Out: the address of a record. A slot keeps 32 bits of the
hash, of which the low ones are its home: growing and removing need no key. The index of capacity
c lies c words behind the region's start, so each next one lies on untouched, zeroed memory.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.machine.kernel import kernel, ld, mix, prefetch, small, sto

FIRST_INDEX = 1 << 10  # slots
INDEX_WORDS = 1 << 31  # of all indexes that one table can have, each behind the last
DOUBLED_FROM = 1 << 18  # slots: a smaller index grows fourfold


@small
def hash_of(key: int, count: int) -> int:
    """Hash the key words at an address to a signed 32-bit number."""
    if count == 1:
        return mix(ld(key, 0)) >> 32
    h = 0
    for word in range(count):
        h = mix(h ^ ld(key, word))
    return h >> 32


@small
def same_key(one: int, two: int, count: int) -> bool:
    """True if as many words are equal at two addresses: of a record and a key, of two rows."""
    for word in range(count):  # noqa: SIM110  # kernels have no generators
        if ld(one, word) != ld(two, word):
            return False
    return True


@small
def copy_words(source: int, to: int, count: int) -> None:
    """Copy some words."""
    for word in range(count):
        sto(to, word, ld(source, word))


@small
def record_of(vd: int, slot: int) -> int:
    """Return the record that a slot names."""
    return ld(vd, f.V_RECORDS) + ((slot & f.LOW) - 1) * ld(vd, f.V_STRIDE) * 8


@small
def identity_of(vd: int, record: int) -> int:
    """Return the id of a record."""
    return (record - ld(vd, f.V_RECORDS)) // (ld(vd, f.V_STRIDE) * 8)


@small
def key_slot(vd: int, key: int, h: int) -> int:
    """Find the place of a key's slot, or of the empty one where it belongs."""
    count, index, mask = ld(vd, f.V_KEY), ld(vd, f.V_INDEX), ld(vd, f.V_MASK)
    place = h & mask
    while True:
        slot = ld(index, place)
        if slot == 0 or (slot >> 32 == h and same_key(record_of(vd, slot), key, count)):
            return place
        place = (place + 1) & mask


@small
def likely_slot(index: int, mask: int, h: int) -> int:
    """Find the place of the first slot with a hash, or of the empty one; no record is touched."""
    place = h & mask
    slot = ld(index, place)
    while slot != 0 and slot >> 32 != h:
        place = (place + 1) & mask
        slot = ld(index, place)
    return place


@small
def free_slot(index: int, mask: int, h: int) -> int:
    """Find the place of the first empty slot for a hash."""
    place = h & mask
    while ld(index, place):
        place = (place + 1) & mask
    return place


@kernel
def find(vd: int, key: int) -> int:
    """Return the record of the key at an address, or 0."""
    slot = ld(ld(vd, f.V_INDEX), key_slot(vd, key, hash_of(key, ld(vd, f.V_KEY))))
    return record_of(vd, slot) if slot else 0


@kernel
def put(vd: int, key: int) -> int:
    """Return the record of the key at an address, made if it is new."""
    count = ld(vd, f.V_KEY)
    h = hash_of(key, count)
    place = key_slot(vd, key, h)
    slot = ld(ld(vd, f.V_INDEX), place)
    if slot:
        return record_of(vd, slot)
    identity = take_record(vd)
    record = ld(vd, f.V_RECORDS) + identity * ld(vd, f.V_STRIDE) * 8
    copy_words(key, record, count)
    settle_slot(vd, identity, h, place)
    return record


@small
def put_word(vd: int, key: int, stride: int) -> int:
    """Do what `put` does for a key of one word, given itself, and a stride known beforehand."""
    records, index, mask = ld(vd, f.V_RECORDS), ld(vd, f.V_INDEX), ld(vd, f.V_MASK)
    h = mix(key) >> 32
    place = h & mask
    while True:
        slot = ld(index, place)
        if slot == 0:
            identity = add_word(vd, key, h, place)
            return records + identity * (stride * 8)
        if slot >> 32 == h:
            record = records + ((slot & f.LOW) - 1) * (stride * 8)
            if ld(record, 0) == key:
                return record
        place = (place + 1) & mask


@small
def put_absent(vd: int, key: int, slot: int, stride: int) -> int:
    """Do what `put_word` does for a key that had no record a while ago, but for this empty slot.

    Only inserts came since then, so the key still has none if the slot is empty and of the index.
    """
    place = (slot - ld(vd, f.V_INDEX)) >> 3
    if 0 <= place <= ld(vd, f.V_MASK) and ld(slot, 0) == 0:
        return ld(vd, f.V_RECORDS) + add_word(vd, key, mix(key) >> 32, place) * (stride * 8)
    return put_word(vd, key, stride)


@kernel
def add_word(vd: int, key: int, h: int, place: int) -> int:
    """Make the record of a new key of one word, whose slot is known; gives its id."""
    identity = take_record(vd)
    sto(ld(vd, f.V_RECORDS) + identity * ld(vd, f.V_STRIDE) * 8, 0, key)
    settle_slot(vd, identity, h, place)
    return identity


@small
def settle_slot(vd: int, identity: int, h: int, place: int) -> None:
    """Write a new value's id into its slot; an index two thirds full grows."""
    sto(ld(vd, f.V_INDEX), place, (h << 32) | (identity + 1))
    live = ld(vd, f.V_LIVE) + 1
    sto(vd, f.V_LIVE, live)
    if live * 3 > ld(vd, f.V_MASK) * 2:
        grow_index(vd)


@small
def take_record(vd: int) -> int:
    """Return the id of an empty record: the last one freed, or the next."""
    freed = ld(vd, f.V_FREE)
    if freed:
        record = ld(vd, f.V_RECORDS) + (freed - 1) * ld(vd, f.V_STRIDE) * 8
        sto(vd, f.V_FREE, ld(record, 0))
        sto(record, 0, 0)
        return freed - 1
    fresh = ld(vd, f.V_NEXT)
    sto(vd, f.V_NEXT, fresh + 1)
    prefetch(ld(vd, f.V_RECORDS) + (fresh + 4) * ld(vd, f.V_STRIDE) * 8, 0)
    return fresh


@kernel
def grow_index(vd: int) -> None:
    """Enlarge the index, fourfold while it is small: so half as many slots move on the way up.

    Its slots, read in order, are written in as many runs as it grows by.
    """
    old, capacity = ld(vd, f.V_INDEX), ld(vd, f.V_MASK) + 1
    larger = (4 if capacity < DOUBLED_FROM else 2) * capacity
    index, mask = ld(vd, f.V_INDEX_BASE) + larger * 8, larger - 1
    for place in range(capacity):
        slot = ld(old, place)
        if slot:
            sto(index, free_slot(index, mask, slot >> 32), slot)
    sto(vd, f.V_INDEX, index)
    sto(vd, f.V_MASK, mask)


@kernel
def drop(vd: int, record: int) -> None:
    """Take a value without rows out of the index and free its record; its groups read empty."""
    stride, index = ld(vd, f.V_STRIDE), ld(vd, f.V_INDEX)
    mask, count, identity = ld(vd, f.V_MASK), ld(vd, f.V_KEY), identity_of(vd, record)
    place = hash_of(record, count) & mask
    while (ld(index, place) & f.LOW) != identity + 1:
        place = (place + 1) & mask
    close_gap(index, place, mask)
    for word in range(stride):
        sto(record, word, 0)
    sto(record, 0, ld(vd, f.V_FREE))
    sto(vd, f.V_FREE, identity + 1)
    sto(vd, f.V_LIVE, ld(vd, f.V_LIVE) - 1)


@kernel
def close_gap(index: int, gap: int, mask: int) -> None:
    """Empty a slot, moving back those that were displaced past it."""
    place = gap
    while True:
        place = (place + 1) & mask
        slot = ld(index, place)
        if slot == 0:
            break
        home = (slot >> 32) & mask
        if (place - home) & mask >= (place - gap) & mask:
            sto(index, gap, slot)
            gap = place
    sto(index, gap, 0)


@small
def prefetch_slot(vd: int, key: int) -> None:
    """Prefetch the index slot of a key."""
    prefetch(ld(vd, f.V_INDEX), hash_of(key, ld(vd, f.V_KEY)) & ld(vd, f.V_MASK))


@small
def prefetch_word(vd: int, key: int) -> None:
    """Prefetch the index slot of a key of one word, given itself."""
    prefetch(ld(vd, f.V_INDEX), (mix(key) >> 32) & ld(vd, f.V_MASK))


@small
def likely_word(vd: int, key: int, stride: int) -> int:
    """Do what `likely_record` does for a key of one word, given itself, and a known stride.

    Where there is no such record, the result is the address of the empty slot, made odd.
    """
    index = ld(vd, f.V_INDEX)
    place = likely_slot(index, ld(vd, f.V_MASK), mix(key) >> 32)
    slot = ld(index, place)
    if slot == 0:
        return index + place * 8 + 1
    return ld(vd, f.V_RECORDS) + ((slot & f.LOW) - 1) * (stride * 8)


@small
def likely_record(vd: int, key: int) -> int:
    """Return the record whose hash is that of the key, or 0: a guess that touches no record."""
    index = ld(vd, f.V_INDEX)
    slot = ld(index, likely_slot(index, ld(vd, f.V_MASK), hash_of(key, ld(vd, f.V_KEY))))
    return record_of(vd, slot) if slot else 0
