"""The nodes of a bag's tree: entries are put in and taken out, full nodes split, thin ones merged.

    node    | entries | key words, count | key words, count | ...       a leaf
            | entries | key words, child | key words, child | ...       above: a child's least key
    key     | owner | words of a value |                                the least value is the first

A tree's descriptor says how many words a value has, and which of them name texts, whose bytes
decide. A weighed tree has one more word an entry: how many values it counts, above the leaves all
that lie below.

Every node but the root keeps at least a quarter of what fills it, two entries at the least: so the
nodes, and the levels, are bounded by the entries there are, whatever has come and gone before. A
full node is split into halves; a thin one merges with a neighbour that is thin, too, or takes
entries from it. The way to a leaf, which the search has noted, tells where parents lie.
"""

from __future__ import annotations

from collections.abc import Sequence

from joingraph.graph.compiled.machine.kernel import kernel, ld, small, sto

# the descriptor: the nodes, the root's id, how many levels lie above the leaves, ids, entries
B_NODES, B_ROOT, B_HEIGHT, B_NEXT, B_FREE, B_ENTRIES = 0, 1, 2, 3, 4, 5
# the words of a value, and of an entry; whether it is weighed; the texts; how many entries fill a
# node, and stay in it
B_WORDS, B_ENTRY, B_WEIGHED, B_POOL, B_MOST, B_FEWEST = 6, 7, 8, 9, 10, 11
B_KEY, MOST_WORDS = 12, 10  # a key: an owner and a value
B_ORDERS = B_KEY + 1 + MOST_WORDS  # how each word of a value compares
B_PATH = B_ORDERS + MOST_WORDS
MOST_LEVELS = 40
TREE_WORDS = B_PATH + 2 * MOST_LEVELS  # on the way to a leaf: a node and a place a level
NODE_WORDS = 64
NUMBER, TEXT, DOWN, NULLS_FIRST = 0, 1, 2, 4  # how a word compares; a text may also be the others


def tree_words(orders: Sequence[int], pool: int, *, weighed: bool = False) -> list[int]:
    """Return the descriptor of an empty tree, by how each word of a value compares."""
    words = [0] * TREE_WORDS
    words[B_NEXT] = 1  # a root, without entries
    words[B_WORDS], words[B_ENTRY] = len(orders), entry_words(len(orders), weighed=weighed)
    words[B_WEIGHED], words[B_POOL] = int(weighed), pool
    words[B_MOST] = most = most_entries(words[B_ENTRY])
    words[B_FEWEST] = fewest_entries(most)
    words[B_ORDERS : B_ORDERS + len(orders)] = orders
    return words


def entry_words(words: int, *, weighed: bool) -> int:
    """Return the words of an entry: owner, value, count or child, and perhaps its weight."""
    return words + 2 + weighed


def most_entries(entry: int) -> int:
    """Return how many entries of so many words fill a node."""
    return (NODE_WORDS - 1) // entry


def fewest_entries(most: int) -> int:
    """Return how many entries a node keeps of so many that fill it, unless it is the root."""
    return max(2, most // 4)


def most_nodes(entries: int, entry: int) -> int:
    """Bound the nodes for so many entries, each of so many words."""
    return entries // (fewest_entries(most_entries(entry)) - 1) + MOST_LEVELS


@small
def node_of(bd: int, identity: int) -> int:
    """Return the address of a node."""
    return ld(bd, B_NODES) + identity * (NODE_WORDS * 8)


@small
def entry_of(bd: int, node: int, place: int) -> int:
    """Return the address of an entry."""
    return node + (1 + place * ld(bd, B_ENTRY)) * 8


@small
def count_of(bd: int, entry: int) -> int:
    """Return an entry's count, or its child."""
    return ld(entry, 1 + ld(bd, B_WORDS))


@small
def weigh(bd: int, step: int, more: int) -> None:
    """Add to the weight of the entry at a step of the way."""
    entry = entry_of(bd, ld(bd, step), ld(bd, step + 1))
    last = ld(bd, B_ENTRY) - 1
    sto(entry, last, ld(entry, last) + more)


@small
def weight_before(bd: int, node: int, place: int) -> int:
    """Add the weights of a node's entries before a place."""
    total, last = 0, ld(bd, B_ENTRY) - 1
    for at in range(place):
        total += ld(entry_of(bd, node, at), last)
    return total


@small
def weight_of(bd: int, node: int) -> int:
    """Return how many values lie in and below a node; 0 of a tree that is not weighed."""
    return weight_before(bd, node, ld(node, 0)) if ld(bd, B_WEIGHED) else 0


@small
def move_words(to: int, of: int, count: int) -> None:
    """Copy words of another node, or forward within one."""
    for word in range(count):
        sto(to, word, ld(of, word))


@small
def open_gap(node: int, start: int, entry: int) -> None:
    """Move the entries from a word on by one."""
    for word in range((1 + ld(node, 0) * entry) - 1, start - 1, -1):
        sto(node, word + entry, ld(node, word))


@kernel
def put_in(bd: int, level: int, times: int) -> None:
    """Put the key's entry at the place that was noted; full nodes are split, up to the root."""
    key, word, weight = bd + B_KEY * 8, times, times
    most, size = ld(bd, B_MOST), ld(bd, B_ENTRY)
    while True:
        node, place = ld(bd, B_PATH + 2 * level), ld(bd, B_PATH + 2 * level + 1)
        if ld(node, 0) < most:
            insert_at(bd, node, place, key, word)
            insert_weight(bd, node, place, weight)
            return
        identity = take_node(bd)
        other, half = node_of(bd, identity), most // 2
        move_words(entry_of(bd, other, 0), entry_of(bd, node, half), (most - half) * size)
        sto(other, 0, most - half)
        sto(node, 0, half)
        into, at = (node, place) if place <= half else (other, place - half)
        insert_at(bd, into, at, key, word)
        insert_weight(bd, into, at, weight)
        key, word, weight = entry_of(bd, other, 0), identity, weight_of(bd, other)
        if level == 0:
            grow_root(bd, other, identity)
            return
        level -= 1
        if ld(bd, B_WEIGHED):
            weigh(bd, B_PATH + 2 * level, -weight)
        sto(bd, B_PATH + 2 * level + 1, ld(bd, B_PATH + 2 * level + 1) + 1)


@small
def insert_at(bd: int, node: int, place: int, key: int, word: int) -> None:
    """Put an entry at a place of a node that has room."""
    words, entry = ld(bd, B_WORDS), entry_of(bd, node, place)
    open_gap(node, (entry - node) >> 3, ld(bd, B_ENTRY))
    move_words(entry, key, 1 + words)
    sto(entry, 1 + words, word)
    sto(node, 0, ld(node, 0) + 1)


@small
def insert_weight(bd: int, node: int, place: int, weight: int) -> None:
    """Weigh an entry that was put in, if the tree is weighed."""
    if ld(bd, B_WEIGHED):
        sto(entry_of(bd, node, place), ld(bd, B_ENTRY) - 1, weight)


@small
def grow_root(bd: int, other: int, identity: int) -> None:
    """Make a root of two nodes: the one that was it, and the one split off."""
    fresh, old = take_node(bd), node_of(bd, ld(bd, B_ROOT))
    node = node_of(bd, fresh)
    sto(node, 0, 0)
    insert_at(bd, node, 0, entry_of(bd, old, 0), ld(bd, B_ROOT))
    insert_weight(bd, node, 0, weight_of(bd, old))
    insert_at(bd, node, 1, entry_of(bd, other, 0), identity)
    insert_weight(bd, node, 1, weight_of(bd, other))
    sto(bd, B_ROOT, fresh)
    sto(bd, B_HEIGHT, ld(bd, B_HEIGHT) + 1)


@kernel
def take_out(bd: int, level: int) -> None:
    """Take out the entry at the place noted at a level; thin nodes are filled or merged."""
    remove_at(bd, ld(bd, B_PATH + 2 * level), ld(bd, B_PATH + 2 * level + 1))
    while level > 0 and ld(ld(bd, B_PATH + 2 * level), 0) < ld(bd, B_FEWEST):
        level -= 1
        if not merge_or_even(bd, ld(bd, B_PATH + 2 * level), ld(bd, B_PATH + 2 * level + 1)):
            return
    while ld(bd, B_HEIGHT) > 0 and ld(node_of(bd, ld(bd, B_ROOT)), 0) == 1:
        root = node_of(bd, ld(bd, B_ROOT))
        sto(bd, B_ROOT, count_of(bd, entry_of(bd, root, 0)))
        sto(bd, B_HEIGHT, ld(bd, B_HEIGHT) - 1)
        free_node(bd, root)


@small
def remove_at(bd: int, node: int, place: int) -> None:
    """Remove the entry at a place of a node."""
    count, entry = ld(node, 0) - 1, entry_of(bd, node, place)
    move_words(entry, entry_of(bd, node, place + 1), (count - place) * ld(bd, B_ENTRY))
    sto(node, 0, count)


@kernel
def merge_or_even(bd: int, parent: int, place: int) -> bool:
    """Merge a thin child with its neighbour if both are few: True; else give both as many entries.

    The right one is known to the parent by the key of its first child, which no merge takes out.
    """
    at = place if place + 1 < ld(parent, 0) else place - 1
    one, two = entry_of(bd, parent, at), entry_of(bd, parent, at + 1)
    left, right = node_of(bd, count_of(bd, one)), node_of(bd, count_of(bd, two))
    total = ld(left, 0) + ld(right, 0)
    if total < 2 * ld(bd, B_FEWEST):
        shift_left(bd, left, right, ld(right, 0))
        free_node(bd, right)
        remove_at(bd, parent, at + 1)
        weigh_anew(bd, one, left)
        return True
    if ld(left, 0) < total >> 1:
        shift_left(bd, left, right, (total >> 1) - ld(left, 0))
    else:
        shift_right(bd, left, right, ld(left, 0) - (total >> 1))
    move_words(two, entry_of(bd, right, 0), 1 + ld(bd, B_WORDS))
    weigh_anew(bd, one, left)
    weigh_anew(bd, two, right)
    return False


@small
def shift_left(bd: int, left: int, right: int, some: int) -> None:
    """Move the first entries of a node behind those of the one on its left."""
    size, rest = ld(bd, B_ENTRY), ld(right, 0) - some
    move_words(entry_of(bd, left, ld(left, 0)), entry_of(bd, right, 0), some * size)
    move_words(entry_of(bd, right, 0), entry_of(bd, right, some), rest * size)
    sto(left, 0, ld(left, 0) + some)
    sto(right, 0, rest)


@small
def shift_right(bd: int, left: int, right: int, some: int) -> None:
    """Move the last entries of a node before those of the one on its right."""
    size, rest = ld(bd, B_ENTRY), ld(left, 0) - some
    for word in range(ld(right, 0) * size, 0, -1):
        sto(right, word + some * size, ld(right, word))
    move_words(entry_of(bd, right, 0), entry_of(bd, left, rest), some * size)
    sto(left, 0, rest)
    sto(right, 0, ld(right, 0) + some)


@small
def weigh_anew(bd: int, entry: int, node: int) -> None:
    """Write what a child weighs into its parent's entry, if the tree is weighed."""
    if ld(bd, B_WEIGHED):
        sto(entry, ld(bd, B_ENTRY) - 1, weight_of(bd, node))


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
