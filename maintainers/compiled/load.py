"""Loads many rows at once, by counting: each list is laid out at its size, then filled.

    rows    | key words, projected words | ...     of one alias that has none yet
    1       the records of each row's values, found or made; each value counts its rows
    2       a block for each list, in the order of the values
    3       the rows, each at the next place of its lists
    4       live counts, once for the whole graph, from the outside in: an alias' entries at a
            vertex after those that lie beyond it

Row by row would give the same lists, but for the order of their entries; it moves each list
whenever it grows, and frees its old block.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import (
    group_at,
    identity_at,
    length_at,
    link_of,
    list_at,
    node_at,
    record_at,
)
from joingraph.graph.compiled.layout import Layout
from joingraph.graph.compiled.list_index import exchange
from joingraph.graph.compiled.lists import resize, step_of
from joingraph.graph.compiled.live_flags import is_met, opens
from joingraph.graph.compiled.machine.kernel import kernel, ld, prefetch, small, sto
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.graph.compiled.vertex_table import likely_record, prefetch_slot, put, same_key

FAR, NEAR = 24, 8  # rows ahead, what is asked for
PART = 5  # words of a part: its alias, how many rows and where, their values, a row's bytes


def empty_aliases(memory: GraphMemory) -> tuple[int, ...]:
    """Return the aliases that have no rows."""
    aliases = range(len(memory.layout.aliases))
    return tuple(alias for alias in aliases if not memory.alias(alias)[f.A_ROWS])


def load(memory: GraphMemory, parts: Sequence[tuple[int, Words]]) -> list[int]:
    """Insert the rows of aliases that have none, if that pays; return the parts that are left.

    Counting anew what lives costs as much as the graph is large: so it must at least double.
    """
    aliases = range(len(memory.layout.aliases))
    known = sum(int(memory.alias(alias)[f.A_ROWS]) for alias in aliases)
    if sum(len(rows) for _, rows in parts) < max(1, known):
        return list(range(len(parts)))
    fresh = [(n, *each) for n, each in enumerate(parts) if not memory.alias(each[0])[f.A_ROWS]]
    # Of two parts of one alias, the second finds rows there.
    numbers = {alias: number for number, alias, _ in reversed(fresh)}
    load_rows(memory, [parts[number] for number in numbers.values()])
    return [number for number in range(len(parts)) if number not in numbers.values()]


def load_rows(memory: GraphMemory, parts: Sequence[tuple[int, Words]]) -> None:
    """Insert the rows of aliases that have none: one kernel, so that no exception halves it."""
    words, lengths = list[int](), [len(memory.layout.aliases[alias].links) for alias, _ in parts]
    found = [
        np.empty((links, len(rows)), np.int64)
        for links, (_, rows) in zip(lengths, parts, strict=True)
    ]
    for (alias, rows), values in zip(parts, found, strict=True):
        words += [address_of(memory.alias(alias)), len(rows), rows.ctypes.data]
        words += [address_of(values), rows.strides[0]]
    order = [
        word
        for alias, link in outside_in(memory.layout)
        for word in (address_of(memory.alias(alias)), link)
    ]
    nodes = [address_of(memory.alias(alias)) for alias in memory.nodes]
    with lent(*(rows for _, rows in parts), *found):
        load_parts(
            memory.st,
            np.array(words, np.int64),
            np.array(order, np.int64),
            np.array(nodes, np.int64),
        )


def outside_in(layout: Layout) -> list[tuple[int, int]]:
    """Order the links of aliases with entries: what lies beyond an alias comes before it."""
    order: dict[tuple[int, int], None] = {}

    def visit(alias: int, link: int) -> None:
        if (alias, link) in order:
            return
        for other in layout.aliases[alias].links:
            for seat in layout.vertices[other.vertex].seats:
                beyond = other.vertex != layout.aliases[alias].links[link].vertex
                if beyond and seat.alias != alias and seat.kind >= f.EDGE:
                    visit(seat.alias, seat.link)
        order[alias, link] = None

    for number, alias in enumerate(layout.aliases):
        if alias.kind >= f.EDGE:
            for link in range(len(alias.links)):
                visit(number, link)
    return list(order)


@kernel
def load_parts(st: int, parts: Words, order: Words, nodes: Words) -> None:
    """Insert the rows of each part, then count what lives in the whole graph."""
    for part in range(len(parts) // PART):
        ad, args = parts[part * PART], parts[part * PART + 1 : (part + 1) * PART]
        for link in range(ld(ad, f.A_LINK_COUNT)):
            count_rows(ad, link, args)
            make_lists(st, ad, link)
        fill(st, ad, args)
    if ld(st, f.LOOKAHEAD) >= f.GLOBAL:
        for at in range(len(order) // 2):
            count_live(st, order[2 * at], order[2 * at + 1])
        for ad in nodes:
            note_complete(ad)


@kernel
def count_rows(ad: int, link: int, args: Words) -> None:
    """Find or make the value of each row at a link, and count the value's rows."""
    count, rows, values, step = args[0], args[1], args[2] + link * args[0] * 8, args[3]
    ln = link_of(ad, link)
    vd, key, length = ld(ln, f.L_VERTEX), ld(ln, f.L_KEY) * 8, ld(ln, f.L_LENGTH)
    words = ld(vd, f.V_KEY)
    for row in range(-FAR, count):
        if 0 <= row + FAR < count:
            prefetch_slot(vd, rows + (row + FAR) * step + key)
        if 0 <= row + NEAR < count:
            likely = likely_record(vd, rows + (row + NEAR) * step + key)
            prefetch(likely, 0)
            sto(values, row + NEAR, likely)
        if row >= 0:
            at = rows + row * step + key
            record = ld(values, row)
            if record == 0 or not same_key(record, at, words):
                record = put(vd, at)
            sto(record, length, ld(record, length) + 1)
            sto(values, row, record)


@kernel
def make_lists(st: int, ad: int, link: int) -> None:
    """Give each value a list that holds as many rows as were counted, and is empty."""
    ln = link_of(ad, link)
    for value in range(ld(ld(ln, f.L_VERTEX), f.V_NEXT) if ld(ad, f.A_KIND) != f.COUNT else 0):
        record = record_at(ln, value)
        rows, log2 = ld(record, ld(ln, f.L_LENGTH)), 0
        if rows > 0:
            while 1 << log2 < rows:
                log2 += 1
            sto(record, ld(ln, f.L_LENGTH), 0)
            resize(st, group_at(ln, record), ld(ln, f.L_SHAPE), log2)


@kernel
def fill(st: int, ad: int, args: Words) -> None:
    """Put each row at the next place of its lists."""
    count, rows, values, step, kind = args[0], args[1], args[2], args[3], ld(ad, f.A_KIND)
    links = ld(ad, f.A_LINK_COUNT)
    for row in range(-FAR, count if kind != f.COUNT else 0):
        for link in range(links):
            ln, known = link_of(ad, link), values + link * count * 8
            if 0 <= row + FAR < count:
                prefetch(ld(known, row + FAR), 0)
            if 0 <= row + NEAR < count:
                record = ld(known, row + NEAR)
                length = length_at(ln, record)
                prefetch(list_at(st, ln, record), length)
        if row >= 0 and kind == f.LEAF:
            fill_leaf(st, ad, ld(values, row), rows + row * step)
        elif row >= 0 and kind == f.EDGE:
            fill_edge(st, ad, ld(values, row), ld(values, count + row))
        elif row >= 0:
            fill_node(st, ad, args, row)
    sto(ad, f.A_ROWS, count)


@small
def next_place(ln: int, record: int) -> int:
    """Lengthen a list that has room; gives the position of its new row."""
    sized = ld(record, ld(ln, f.L_LENGTH))
    sto(record, ld(ln, f.L_LENGTH), sized + 1)
    return sized & f.LENGTH


@small
def fill_leaf(st: int, ad: int, record: int, row: int) -> None:
    """Write a row's projected words into its list."""
    ln = link_of(ad, 0)
    group = group_at(ln, record)
    place = ld(st, f.HEAP) + (ld(group, 0) + next_place(ln, record)) * 8
    projected, step = row + ld(ad, f.A_KEY_WORDS) * 8, step_of(group)
    for column in range(ld(ad, f.A_PROJECTED)):
        sto(place + column * step, 0, ld(projected, column))


@small
def fill_edge(st: int, ad: int, near: int, far: int) -> None:
    """Write an edge into its two lists."""
    one, two = link_of(ad, 0), link_of(ad, 1)
    at_near, at_far = next_place(one, near), next_place(two, far)
    sto(list_at(st, one, near), at_near, (identity_at(two, far) << 32) | at_far)
    sto(list_at(st, two, far), at_far, (identity_at(one, near) << 32) | at_near)


@small
def fill_node(st: int, ad: int, args: Words, number: int) -> None:
    """Write a node, and its id into the lists of its values."""
    identity, links, row = ld(ad, f.A_NEXT), ld(ad, f.A_LINK_COUNT), args[1] + number * args[3]
    node = node_at(ad, identity)
    sto(ad, f.A_NEXT, identity + 1)
    sto(node, 0, f.USED)
    for link in range(links):
        ln, record = link_of(ad, link), ld(args[2], link * args[0] + number)
        at = next_place(ln, record)
        sto(list_at(st, ln, record), at, identity)
        sto(node, 1 + link, (identity_at(ln, record) << 32) | at)
    for word in range(ld(ad, f.A_PROJECTED)):
        sto(node, 1 + links + word, ld(row, ld(ad, f.A_KEY_WORDS) + word))


@kernel
def count_live(st: int, ad: int, link: int) -> None:
    """Bring the entries at a link that lead on to the front of their lists, and count them.

    The global look-ahead may take all for live: walks find those that lead nowhere.
    """
    ln = link_of(ad, link)
    for value in range(ld(ld(ln, f.L_VERTEX), f.V_NEXT)):
        record = record_at(ln, value)
        live = length = length_at(ln, record)
        if length > 0 and ld(st, f.LOOKAHEAD) == f.EXACT:
            live = live_first(st, ad, link, record)
        sto(record, ld(ln, f.L_LIVE), live)


@kernel
def live_first(st: int, ad: int, link: int, record: int) -> int:
    """Bring the entries of a list that lead on to its front; gives how many."""
    ln, far, kind = link_of(ad, link), link_of(ad, 1 - link), ld(ad, f.A_KIND)
    entries, live, length = list_at(st, ln, record), 0, length_at(ln, record)
    for at in range(-NEAR, length):
        if 0 <= at + NEAR < length and kind == f.EDGE:
            prefetch(record_at(far, ld(entries, at + NEAR) >> 32), 0)
        if at >= 0 and opens(ad, link, ld(entries, at)):
            exchange(st, ad, link, record, at, live)
            live += 1
    return live


@kernel
def note_complete(ad: int) -> None:
    """Note in each node which of its values are complete."""
    for identity in range(ld(ad, f.A_NEXT)):
        node, completed = node_at(ad, identity), 0
        if ld(node, 0) != 0:
            for link in range(ld(ad, f.A_LINK_COUNT)):
                ln = link_of(ad, link)
                record = record_at(ln, ld(node, 1 + link) >> 32)
                if is_met(ln, record, ad):
                    completed += (1 << 32) | link
            sto(node, 0, f.USED | completed)
