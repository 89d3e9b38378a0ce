"""One ordered bag of many owners: a B-tree of (owner, value) with a count each, in flat memory.

    node    | entries | key words, count | key words, count | ...       a leaf
            | entries | key words, child | key words, child | ...       above: a child's least key
    key     | owner | words of a value |                                the least value is the first

A tree's descriptor says how many words a value has, and which of them name texts, whose bytes
decide. A weighed tree has one more word an entry: how many values it counts, above the leaves all
that lie below. So the value at any place of an owner's is found by its level, not by walking.

A group's least value is the first entry of its owner. A node that has lost its last entry is
freed; nodes are not merged, so a tree is at most as high as it was when it was largest.

In: the address of a tree's descriptor, and that of a key. Room for nodes is made before a batch.
"""

from __future__ import annotations

from collections.abc import Sequence

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.text_order import is_text_below
from joingraph.graph.compiled.machine.kernel import kernel, ld, small, sto

# the descriptor: the nodes, the root's id, how many levels lie above the leaves, ids, entries
B_NODES, B_ROOT, B_HEIGHT, B_NEXT, B_FREE, B_ENTRIES = 0, 1, 2, 3, 4, 5
# the words of a value, and of an entry; whether it is weighed; the texts; how many fill a node
B_WORDS, B_ENTRY, B_WEIGHED, B_POOL, B_MOST = 6, 7, 8, 9, 10
B_KEY, MOST_WORDS = 11, 10  # a key: an owner and a value
B_ORDERS = B_KEY + 1 + MOST_WORDS  # how each word of a value compares
B_PATH = B_ORDERS + MOST_WORDS
MOST_LEVELS = 24
TREE_WORDS = B_PATH + 2 * MOST_LEVELS  # on the way to a leaf: a node and a place a level
NODE_WORDS = 64
NUMBER, TEXT, DOWN, NULLS_FIRST = 0, 1, 2, 4  # how a word compares; a text may also be the others


def tree_words(orders: Sequence[int], pool: int, *, weighed: bool = False) -> list[int]:
    """Return the descriptor of an empty tree, by how each word of a value compares."""
    words = [0] * TREE_WORDS
    words[B_NEXT] = 1  # a root, without entries
    words[B_WORDS], words[B_ENTRY] = len(orders), entry_words(len(orders), weighed=weighed)
    words[B_WEIGHED], words[B_POOL] = int(weighed), pool
    words[B_MOST] = most_entries(words[B_ENTRY])
    words[B_ORDERS : B_ORDERS + len(orders)] = orders
    return words


def entry_words(words: int, *, weighed: bool) -> int:
    """Return the words of an entry: owner, value, count or child, and perhaps its weight."""
    return words + 2 + weighed


def most_entries(entry: int) -> int:
    """Return how many entries of so many words fill a node."""
    return (NODE_WORDS - 1) // entry


def most_nodes(entries: int, entry: int) -> int:
    """Bound the nodes for so many entries: a leaf each; nodes above began at least half full."""
    half = most_entries(entry) // 2
    return entries * half // (half - 1) + MOST_LEVELS


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
def is_word_below(bd: int, word: int, one: int, two: int) -> bool:
    """True if a word of a value comes before another one, which differs."""
    order = ld(bd, B_ORDERS + word)
    if order == NUMBER:
        return one < two
    if one == f.NULL_WORD or two == f.NULL_WORD:
        return (one == f.NULL_WORD) == (order & NULLS_FIRST != 0)
    if order & DOWN:
        return is_text_below(ld(bd, B_POOL), two, one)
    return is_text_below(ld(bd, B_POOL), one, two)


@small
def is_below(bd: int, entry: int, key: int, above: int) -> bool:
    """True if an entry's key comes before another one; if they are equal, what is asked for."""
    if ld(entry, 0) != ld(key, 0):
        return ld(entry, 0) < ld(key, 0)
    for word in range(ld(bd, B_WORDS)):
        one, two = ld(entry, 1 + word), ld(key, 1 + word)
        if one != two:
            return is_word_below(bd, word, one, two)
    return above != 0


@small
def places_before(bd: int, node: int, key: int, above: int) -> int:
    """Count the entries below a key; above the leaves also those equal to it."""
    low, high = 0, ld(node, 0)
    while low < high:
        middle = (low + high) >> 1
        if is_below(bd, entry_of(bd, node, middle), key, above):
            low = middle + 1
        else:
            high = middle
    return low


@small
def places_before_owner(bd: int, node: int, owner: int) -> int:
    """Count the entries below all of an owner."""
    low, high = 0, ld(node, 0)
    while low < high:
        middle = (low + high) >> 1
        if ld(entry_of(bd, node, middle), 0) < owner:
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
def descend(bd: int, key: int) -> int:
    """Go to the leaf where a key belongs, noting the way; gives the leaf's address."""
    node = node_of(bd, ld(bd, B_ROOT))
    for level in range(ld(bd, B_HEIGHT)):
        place = max(0, places_before(bd, node, key, 1) - 1)
        note_step(bd, level, node, place)
        node = node_of(bd, count_of(bd, entry_of(bd, node, place)))
    note_step(bd, ld(bd, B_HEIGHT), node, places_before(bd, node, key, 0))
    return node


@kernel
def least(bd: int, owner: int) -> int:
    """Return the entry of an owner's least value, or 0; `following` goes on from there."""
    node, height = node_of(bd, ld(bd, B_ROOT)), ld(bd, B_HEIGHT)
    for level in range(height):
        place = max(0, places_before_owner(bd, node, owner) - 1)
        note_step(bd, level, node, place)
        node = node_of(bd, count_of(bd, entry_of(bd, node, place)))
    note_step(bd, height, node, places_before_owner(bd, node, owner))
    return settled(bd, owner)


@small
def following(bd: int, owner: int) -> int:
    """Go on from an entry of an owner to the next one; gives it, or 0."""
    at = B_PATH + 2 * ld(bd, B_HEIGHT) + 1
    sto(bd, at, ld(bd, at) + 1)
    return settled(bd, owner)


@kernel
def settled(bd: int, owner: int) -> int:
    """Return the entry of an owner at the place that was noted, perhaps behind a leaf's end."""
    height = level = ld(bd, B_HEIGHT)
    node, place = ld(bd, B_PATH + 2 * level), ld(bd, B_PATH + 2 * level + 1)
    while place == ld(node, 0):  # all of this node lies before: the next one's first, if there is
        if level == 0:
            return 0
        level -= 1
        node, place = ld(bd, B_PATH + 2 * level), ld(bd, B_PATH + 2 * level + 1) + 1
    note_step(bd, level, node, place)
    while level < height:
        node = node_of(bd, count_of(bd, entry_of(bd, node, place)))
        place = 0
        level += 1
        note_step(bd, level, node, place)
    entry = entry_of(bd, node, place)
    return entry if ld(entry, 0) == owner else 0


@small
def change_word(bd: int, owner: int, value: int, times: int) -> None:
    """Add a value of one word to an owner's bag so many times."""
    sto(bd, B_KEY, owner)
    sto(bd, B_KEY + 1, value)
    change(bd, times)


@kernel
def change(bd: int, times: int) -> int:
    """Add the value of the key so many times; below zero: take it away. Gives how many it was."""
    key, height = bd + B_KEY * 8, ld(bd, B_HEIGHT)
    node, words = descend(bd, key), ld(bd, B_WORDS)
    place = ld(bd, B_PATH + 2 * height + 1)
    entry = entry_of(bd, node, place)
    if ld(bd, B_WEIGHED):
        for level in range(height):
            weigh(bd, B_PATH + 2 * level, times)
    if place < ld(node, 0) and is_same(entry, key, 1 + words):
        before = ld(entry, 1 + words)
        sto(entry, 1 + words, before + times)
        if ld(bd, B_WEIGHED):
            weigh(bd, B_PATH + 2 * height, times)
        if before + times == 0:
            sto(bd, B_ENTRIES, ld(bd, B_ENTRIES) - 1)
            take_out(bd, height)
        return before
    sto(bd, B_ENTRIES, ld(bd, B_ENTRIES) + 1)
    put_in(bd, height, times)
    return 0


@small
def is_same(one: int, two: int, words: int) -> bool:
    """True if so many words are equal."""
    word = 0
    while word < words and ld(one, word) == ld(two, word):
        word += 1
    return word == words


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


@kernel
def rank(bd: int, owner: int) -> int:
    """Count the values that lie before all of an owner, in a weighed tree."""
    node, total = node_of(bd, ld(bd, B_ROOT)), 0
    for _ in range(ld(bd, B_HEIGHT)):
        place = max(0, places_before_owner(bd, node, owner) - 1)
        total += weight_before(bd, node, place)
        node = node_of(bd, count_of(bd, entry_of(bd, node, place)))
    return total + weight_before(bd, node, places_before_owner(bd, node, owner))


@kernel
def at_rank(bd: int, place: int) -> int:
    """Return the entry of the value before which so many lie, in a weighed tree that has it."""
    node, last, level = node_of(bd, ld(bd, B_ROOT)), ld(bd, B_ENTRY) - 1, 0
    while True:
        at = 0
        while at < ld(node, 0) - 1 and place >= ld(entry_of(bd, node, at), last):
            place -= ld(entry_of(bd, node, at), last)
            at += 1
        entry = entry_of(bd, node, at)
        if level == ld(bd, B_HEIGHT):
            return entry
        node = node_of(bd, count_of(bd, entry))
        level += 1


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
    """Take out the entry at the place that was noted at a level; empty nodes are freed."""
    while True:
        node, place = ld(bd, B_PATH + 2 * level), ld(bd, B_PATH + 2 * level + 1)
        count, entry = ld(node, 0) - 1, entry_of(bd, node, place)
        move_words(entry, entry_of(bd, node, place + 1), (count - place) * ld(bd, B_ENTRY))
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
