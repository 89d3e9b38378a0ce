"""Where each row of a long list lies, so that removing one need not search the list.

    slot     | owner | hash << 32 | place |       open addressing; all zero is empty
    owner    the list of an alias at a value of its first link: alias << 32 | id of the value, + 1
    place    a leaf's or an edge's position in that list, a node's id; all ones marks the owner

A list is indexed when a removal meets it and it is longer than LONG: up to there reading it is as
fast. From then on its slots are kept, until it is half as long: whatever appends, swaps or
removes a row calls this module.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import (
    bound,
    group_at,
    identity_at,
    length_at,
    link_of,
    list_at,
    node_at,
    record_at,
    swap,
)
from joingraph.graph.compiled.lists import is_at, step_of
from joingraph.graph.compiled.machine.kernel import kernel, ld, mix, small, sto

MARK = f.LOW


@small
def owner_of(ad: int, record: int) -> int:
    """Name the list of an alias at a value of its first link."""
    return (ld(ad, f.A_NUMBER) << 32) + identity_at(link_of(ad, 0), record) + 1


@small
def tag_of(owner: int, h: int) -> int:
    """Hash a row of a list to a signed 32-bit number."""
    return mix(owner ^ mix(h)) >> 32


@kernel
def hash_at(st: int, ad: int, record: int, at: int) -> int:
    """Hash the row at a position of a list: equal rows of the list have equal hashes."""
    ln = link_of(ad, 0)
    kind, entry = ld(ad, f.A_KIND), ld(list_at(st, ln, record), at)
    if kind == f.EDGE:
        return entry >> 32
    h, columns = 0, ld(ad, f.A_PROJECTED)
    if kind == f.LEAF:
        block, step = list_at(st, ln, record), step_of(group_at(ln, record))
        for column in range(columns):
            h = mix(h ^ ld(block + column * step, at))
        return h
    node, links = node_at(ad, entry), ld(ad, f.A_LINK_COUNT)
    for link in range(1, links):
        h = mix(h ^ (ld(node, 1 + link) >> 32))
    for word in range(columns):
        h = mix(h ^ ld(node, 1 + links + word))
    return h


@kernel
def hash_of_row(st: int, ad: int, row: int) -> int:
    """Hash a given row in the same way; its vertex values are bound."""
    if ld(ad, f.A_KIND) == f.EDGE:
        far = link_of(ad, 1)
        return identity_at(far, bound(st, far))
    h, projected = 0, row + ld(ad, f.A_KEY_WORDS) * 8
    for link in range(1, ld(ad, f.A_LINK_COUNT)):
        ln = link_of(ad, link)
        h = mix(h ^ identity_at(ln, bound(st, ln)))
    for word in range(ld(ad, f.A_PROJECTED)):
        h = mix(h ^ ld(projected, word))
    return h


@kernel
def slot_of(st: int, owner: int, tag: int, place: int) -> int:
    """Find the slot with these three, or the empty one where it belongs."""
    table, mask, word = ld(st, f.PLACES), ld(st, f.PLACES_MASK), (tag << 32) | place
    at = tag & mask
    while True:
        known = ld(table, 2 * at)
        if known == 0 or (known == owner and ld(table, 2 * at + 1) == word):
            return at
        at = (at + 1) & mask


@kernel
def add_slot(st: int, owner: int, tag: int, place: int) -> None:
    """Add a slot; a table two thirds full grows."""
    at, table = slot_of(st, owner, tag, place), ld(st, f.PLACES)
    sto(table, 2 * at, owner)
    sto(table, 2 * at + 1, (tag << 32) | place)
    count = ld(st, f.PLACE_COUNT) + 1
    sto(st, f.PLACE_COUNT, count)
    if count * 3 > ld(st, f.PLACES_MASK) * 2:
        grow(st)


@kernel
def grow(st: int) -> None:
    """Double the table; each next one lies behind the last, on memory that was never touched."""
    old, capacity = ld(st, f.PLACES), ld(st, f.PLACES_MASK) + 1
    sto(st, f.PLACES, ld(st, f.PLACES_BASE) + 2 * capacity * 16)
    sto(st, f.PLACES_MASK, 2 * capacity - 1)
    for at in range(capacity):
        owner, word = ld(old, 2 * at), ld(old, 2 * at + 1)
        if owner:
            fresh, table = slot_of(st, owner, word >> 32, word & f.LOW), ld(st, f.PLACES)
            sto(table, 2 * fresh, owner)
            sto(table, 2 * fresh + 1, word)


@kernel
def drop_slot(st: int, owner: int, tag: int, place: int) -> None:
    """Remove a slot, moving back those that were displaced past it."""
    gap, table, mask = slot_of(st, owner, tag, place), ld(st, f.PLACES), ld(st, f.PLACES_MASK)
    at = gap
    while True:
        at = (at + 1) & mask
        if ld(table, 2 * at) == 0:
            break
        home = (ld(table, 2 * at + 1) >> 32) & mask
        if (at - home) & mask >= (at - gap) & mask:
            sto(table, 2 * gap, ld(table, 2 * at))
            sto(table, 2 * gap + 1, ld(table, 2 * at + 1))
            gap = at
    sto(table, 2 * gap, 0)
    sto(table, 2 * gap + 1, 0)
    sto(st, f.PLACE_COUNT, ld(st, f.PLACE_COUNT) - 1)


@kernel
def is_marked(st: int, owner: int) -> bool:
    """True if a list is indexed."""
    return ld(ld(st, f.PLACES), 2 * slot_of(st, owner, tag_of(owner, 0), MARK)) != 0


@small
def has_places(st: int, ad: int, record: int) -> bool:
    """True if the list at a value of an alias' first link is indexed."""
    length = length_at(link_of(ad, 0), record)
    if ld(st, f.PLACE_COUNT) == 0 or length <= ld(st, f.LONG) >> 1:
        return False
    return is_marked(st, owner_of(ad, record))


@small
def place_at(st: int, ad: int, record: int, at: int) -> int:
    """Return what an index keeps of the row at a position."""
    return at if ld(ad, f.A_KIND) <= f.EDGE else ld(list_at(st, link_of(ad, 0), record), at)


@kernel
def index_list(st: int, ad: int, record: int) -> None:
    """Index a list."""
    owner = owner_of(ad, record)
    add_slot(st, owner, tag_of(owner, 0), MARK)
    for at in range(length_at(link_of(ad, 0), record)):
        rename(st, ad, record, at, 1)


@kernel
def note_appended(st: int, ad: int, record: int, at: int) -> None:
    """Add the slot of a row that has been put at the end of a list, if it is indexed."""
    if has_places(st, ad, record):
        rename(st, ad, record, at, 1)


@kernel
def forget(st: int, ad: int, record: int, at: int) -> None:
    """Drop the slot of a row that is going; a list that has become short loses its index."""
    rename(st, ad, record, at, 0)
    length = length_at(link_of(ad, 0), record)
    if length != (ld(st, f.LONG) >> 1) + 1:
        return
    for other in range(length):
        if other != at:
            rename(st, ad, record, other, 0)
    owner = owner_of(ad, record)
    drop_slot(st, owner, tag_of(owner, 0), MARK)


@kernel
def move(st: int, ad: int, record: int, one: int, two: int) -> None:
    """Change the slot of a row that moves to another position."""
    owner = owner_of(ad, record)
    tag = tag_of(owner, hash_at(st, ad, record, one))
    sto(ld(st, f.PLACES), 2 * slot_of(st, owner, tag, one) + 1, (tag << 32) | two)


@kernel
def rename(st: int, ad: int, record: int, at: int, kept: int) -> None:
    """Drop the slot of the row at a position, which is about to change (0), or add it (1)."""
    owner = owner_of(ad, record)
    tag = tag_of(owner, hash_at(st, ad, record, at))
    if kept:
        add_slot(st, owner, tag, place_at(st, ad, record, at))
    else:
        drop_slot(st, owner, tag, place_at(st, ad, record, at))


@small
def exchange(st: int, ad: int, link: int, record: int, one: int, two: int) -> None:
    """Exchange two entries of a list, indexed or not."""
    if link == 0 and one != two and ld(st, f.PLACE_COUNT) > 0 and ld(ad, f.A_KIND) == f.EDGE:
        exchange_places(st, ad, record, one, two)
    swap(st, ad, link, record, one, two)


@kernel
def exchange_places(st: int, ad: int, record: int, one: int, two: int) -> None:
    """Exchange the positions of two edges in their slots, if their list is indexed."""
    if has_places(st, ad, record):
        move(st, ad, record, one, MARK - 1)
        move(st, ad, record, two, one)
        owner = owner_of(ad, record)
        tag = tag_of(owner, hash_at(st, ad, record, one))
        sto(ld(st, f.PLACES), 2 * slot_of(st, owner, tag, MARK - 1) + 1, (tag << 32) | two)


@kernel
def count_found(st: int, ad: int, row: int, most: int) -> int:
    """Count the rows of a long list that are equal to a given one, up to a number."""
    at, found = next_found(st, ad, row, -1), 0
    while at >= 0 and found < most:
        found += 1
        at = next_found(st, ad, row, at)
    return found


@kernel
def find_long(st: int, ad: int, row: int) -> int:
    """Find the place of a row in a long list, or -1."""
    at = next_found(st, ad, row, -1)
    return -1 if at < 0 else ld(ld(st, f.PLACES), 2 * at + 1) & f.LOW


@kernel
def next_found(st: int, ad: int, row: int, after: int) -> int:
    """Find the next slot of a row equal to a given one, from the first or behind one; or -1."""
    record = bound(st, link_of(ad, 0))
    owner = owner_of(ad, record)
    if after < 0 and not is_marked(st, owner):
        index_list(st, ad, record)
    tag = tag_of(owner, hash_of_row(st, ad, row))
    table, mask = ld(st, f.PLACES), ld(st, f.PLACES_MASK)
    at = tag & mask if after < 0 else (after + 1) & mask
    while ld(table, 2 * at) != 0:
        word = ld(table, 2 * at + 1)
        known = ld(table, 2 * at) == owner and word >> 32 == tag and word & f.LOW != MARK
        if known and is_row(st, ad, record, word & f.LOW, row):
            return at
        at = (at + 1) & mask
    return -1


@kernel
def is_row(st: int, ad: int, record: int, place: int, row: int) -> bool:
    """True if the row at a place is equal to a given one, whose values are bound."""
    ln, kind, projected = link_of(ad, 0), ld(ad, f.A_KIND), row + ld(ad, f.A_KEY_WORDS) * 8
    if kind == f.LEAF:
        at = list_at(st, ln, record) + place * 8
        return is_at(at, step_of(group_at(ln, record)), ld(ad, f.A_PROJECTED), projected)
    if kind == f.EDGE:
        far = link_of(ad, 1)
        return ld(list_at(st, ln, record), place) >> 32 == identity_at(far, bound(st, far))
    return same_node(st, ad, node_at(ad, place), projected)


@kernel
def same_node(st: int, ad: int, node: int, projected: int) -> bool:
    """True if a node has the bound values and the projected words at an address."""
    links = ld(ad, f.A_LINK_COUNT)
    for link in range(links):
        ln = link_of(ad, link)
        if record_at(ln, ld(node, 1 + link) >> 32) != bound(st, ln):
            return False
    for word in range(ld(ad, f.A_PROJECTED)):
        if ld(node, 1 + links + word) != ld(projected, word):
            return False
    return True
