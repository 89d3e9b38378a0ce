"""One ordered bag of many owners: a B-tree of (owner, value) with a count each, in flat memory.

    node    | entries | key words, count | key words, count | ...       a leaf
            | entries | key words, child | key words, child | ...       above: a child's least key
    key     | owner | value |                                           the least value is the first

A group's least value is the first entry of its owner. A node that has lost its last entry is
freed; nodes are not merged, so a tree is at most as high as it was when it was largest.

In: the address of a tree's descriptor. Room for new nodes is made before a batch.
"""

from __future__ import annotations

from joingraph.graph.compiled.machine.kernel import kernel, ld, small, sto

# the descriptor: the nodes, the root's id, how many levels lie above the leaves, ids, entries
B_NODES, B_ROOT, B_HEIGHT, B_NEXT, B_FREE, B_ENTRIES, B_PATH = 0, 1, 2, 3, 4, 5, 6
MOST_LEVELS = 24
TREE_WORDS = B_PATH + 2 * MOST_LEVELS  # on the way to a leaf: a node and a place a level
ENTRY = 3  # words: owner, value, count or child
NODE_WORDS = 64
MOST_ENTRIES = (NODE_WORDS - 1) // ENTRY


@small
def node_of(bd: int, identity: int) -> int:
    """Return the address of a node."""
    return ld(bd, B_NODES) + identity * (NODE_WORDS * 8)


@small
def entry_of(node: int, place: int) -> int:
    """Return the address of an entry."""
    return node + (1 + place * ENTRY) * 8


@small
def places_before(node: int, owner: int, value: int, above: int) -> int:
    """Count the entries below a key; above the leaves also those equal to it."""
    low, high = 0, ld(node, 0)
    while low < high:
        middle = (low + high) >> 1
        entry = entry_of(node, middle)
        of, word = ld(entry, 0), ld(entry, 1)
        if of < owner or (of == owner and (word < value or (above and word == value))):
            low = middle + 1
        else:
            high = middle
    return low


@small
def note_step(bd: int, level: int, node: int, place: int) -> None:
    """Note a step of the way to a leaf."""
    sto(bd, B_PATH + 2 * level, node)
    sto(bd, B_PATH + 2 * level + 1, place)


@kernel
def descend(bd: int, owner: int, value: int) -> int:
    """Go to the leaf where a key belongs, noting the way; gives the leaf's address."""
    node = node_of(bd, ld(bd, B_ROOT))
    for level in range(ld(bd, B_HEIGHT)):
        place = max(0, places_before(node, owner, value, 1) - 1)
        note_step(bd, level, node, place)
        node = node_of(bd, ld(entry_of(node, place), 2))
    note_step(bd, ld(bd, B_HEIGHT), node, places_before(node, owner, value, 0))
    return node


@kernel
def least(bd: int, owner: int) -> int:
    """Return the entry of an owner's least value, or 0."""
    least_word = -9223372036854775808
    node, level = descend(bd, owner, least_word), ld(bd, B_HEIGHT)
    place = ld(bd, B_PATH + 2 * level + 1)
    while place == ld(node, 0):  # all of this leaf is below: the next one's first, if there is one
        if level == 0:
            return 0
        level -= 1
        node, place = ld(bd, B_PATH + 2 * level), ld(bd, B_PATH + 2 * level + 1) + 1
    while level < ld(bd, B_HEIGHT):
        node = node_of(bd, ld(entry_of(node, place), 2))
        place = 0
        level += 1
    entry = entry_of(node, place)
    return entry if ld(entry, 0) == owner else 0


@kernel
def change(bd: int, owner: int, value: int, times: int) -> None:
    """Add a value to an owner's bag so many times; below zero: take it away."""
    node = descend(bd, owner, value)
    place = ld(bd, B_PATH + 2 * ld(bd, B_HEIGHT) + 1)
    entry = entry_of(node, place)
    if place < ld(node, 0) and ld(entry, 0) == owner and ld(entry, 1) == value:
        count = ld(entry, 2) + times
        sto(entry, 2, count)
        if count == 0:
            sto(bd, B_ENTRIES, ld(bd, B_ENTRIES) - 1)
            take_out(bd, ld(bd, B_HEIGHT))
        return
    sto(bd, B_ENTRIES, ld(bd, B_ENTRIES) + 1)
    put_in(bd, ld(bd, B_HEIGHT), owner, value, times)


@small
def move_entries(to: int, of: int, count: int) -> None:
    """Copy entries of another node, or forward within one."""
    for word in range(count * ENTRY):
        sto(to, word, ld(of, word))


@small
def open_gap(node: int, place: int) -> None:
    """Move the entries from a place on by one."""
    for word in range((1 + ld(node, 0) * ENTRY) - 1, place * ENTRY, -1):
        sto(node, word + ENTRY, ld(node, word))


@kernel
def put_in(bd: int, level: int, owner: int, value: int, word: int) -> None:
    """Put an entry at the place that was noted at a level; full nodes are split, up to the root."""
    while True:
        node, place = ld(bd, B_PATH + 2 * level), ld(bd, B_PATH + 2 * level + 1)
        if ld(node, 0) < MOST_ENTRIES:
            insert_at(node, place, owner, value, word)
            return
        identity = take_node(bd)
        other, half = node_of(bd, identity), MOST_ENTRIES // 2
        move_entries(entry_of(other, 0), entry_of(node, half), MOST_ENTRIES - half)
        sto(other, 0, MOST_ENTRIES - half)
        sto(node, 0, half)
        if place <= half:
            insert_at(node, place, owner, value, word)
        else:
            insert_at(other, place - half, owner, value, word)
        first = entry_of(other, 0)
        owner, value, word = ld(first, 0), ld(first, 1), identity
        if level == 0:
            grow_root(bd, owner, value, identity)
            return
        level -= 1
        sto(bd, B_PATH + 2 * level + 1, ld(bd, B_PATH + 2 * level + 1) + 1)


@small
def insert_at(node: int, place: int, owner: int, value: int, word: int) -> None:
    """Put an entry at a place of a node that has room."""
    open_gap(node, place)
    entry = entry_of(node, place)
    sto(entry, 0, owner)
    sto(entry, 1, value)
    sto(entry, 2, word)
    sto(node, 0, ld(node, 0) + 1)


@small
def grow_root(bd: int, owner: int, value: int, identity: int) -> None:
    """Make a root of two nodes: the one that was it, and the one split off."""
    fresh = take_node(bd)
    node, first = node_of(bd, fresh), entry_of(node_of(bd, ld(bd, B_ROOT)), 0)
    sto(node, 0, 0)
    insert_at(node, 0, ld(first, 0), ld(first, 1), ld(bd, B_ROOT))
    insert_at(node, 1, owner, value, identity)
    sto(bd, B_ROOT, fresh)
    sto(bd, B_HEIGHT, ld(bd, B_HEIGHT) + 1)


@kernel
def take_out(bd: int, level: int) -> None:
    """Take out the entry at the place that was noted at a level; empty nodes are freed."""
    while True:
        node, place = ld(bd, B_PATH + 2 * level), ld(bd, B_PATH + 2 * level + 1)
        count = ld(node, 0) - 1
        move_entries(entry_of(node, place), entry_of(node, place + 1), count - place)
        sto(node, 0, count)
        if count > 0 or level == 0:
            break
        free_node(bd, node)
        level -= 1
    if level == 0 and ld(bd, B_HEIGHT) > 0 and ld(node_of(bd, ld(bd, B_ROOT)), 0) == 0:
        sto(bd, B_HEIGHT, 0)  # the root has no child: it is an empty leaf


@small
def take_node(bd: int) -> int:
    """Return the id of a node: the last one freed, or the next."""
    freed = ld(bd, B_FREE)
    if freed:
        sto(bd, B_FREE, ld(node_of(bd, freed - 1), 0))
        return freed - 1
    fresh = ld(bd, B_NEXT)
    sto(bd, B_NEXT, fresh + 1)
    return fresh


@small
def free_node(bd: int, node: int) -> None:
    """Keep a node for reuse."""
    sto(node, 0, ld(bd, B_FREE))
    sto(bd, B_FREE, (node - ld(bd, B_NODES)) // (NODE_WORDS * 8) + 1)


@kernel
def count_free_nodes(bd: int) -> int:
    """Count the nodes that are kept for reuse."""
    freed, count = ld(bd, B_FREE), 0
    while freed:
        freed, count = ld(node_of(bd, freed - 1), 0), count + 1
    return count
