"""One ordered bag of many owners: a B-tree of (owner, value) with a count each, in flat memory.

    owner 1: 3 x2, 7 x1    owner 2: 5 x1        a group's least value is the first of its owner

The nodes are those of bag_nodes.py. In a weighed tree the value at any place of an owner's is found
by its level, not by walking.

In: the address of a tree's descriptor, and that of a key. Room for nodes is made before a batch.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_nodes import (
    B_ENTRIES,
    B_ENTRY,
    B_HEIGHT,
    B_KEY,
    B_ORDERS,
    B_PATH,
    B_POOL,
    B_ROOT,
    B_WEIGHED,
    B_WORDS,
    DOWN,
    NULLS_FIRST,
    NUMBER,
    count_of,
    entry_of,
    node_of,
    put_in,
    take_out,
    weigh,
    weight_before,
)
from joingraph.graph.compiled.groups.text_order import is_text_below
from joingraph.graph.compiled.machine.kernel import kernel, ld, small, sto


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
