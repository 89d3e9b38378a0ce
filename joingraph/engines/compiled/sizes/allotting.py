"""What a batch's rows will really take of a graph's memory: what is free is taken first.

    records, nodes    of values and rows that are new, less those that are free
    blocks            of each capacity that a list grows through, less the free ones of that shape
    slots             of tables that double

A list grows by doubling. A large block takes memory only where it has been touched: so a list in
one counts by its rows, and the pages of a large block that is free are given back.
"""

from __future__ import annotations

import mmap

import numpy as np

from joingraph.filters.compiled.rows_to_ops import Feed
from joingraph.generators.compiled.reads.column_walk import Walker
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.layout import AliasLayout, Link
from joingraph.graph.compiled.lists import count_free
from joingraph.graph.compiled.memory.reserved import Words, lent
from joingraph.graph.compiled.op_rows import came, rows_of

WORD = 8
LARGE_BYTES = 1 << 18  # of a column of a block that is touched page by page


class Allotment:
    """What the rows of one batch take."""

    def __init__(self, walker: Walker, feed: Feed) -> None:
        self.walker, self.feed = walker, feed
        self.fresh = [0] * len(walker.layout.vertices)  # values that are new
        self.blocks: dict[tuple[int, int], int] = {}  # of a shape that lists need
        self.large = 0

    def bytes(self) -> int:
        """Return how many bytes more the rows take."""
        memory, ops, most = self.walker.memory, self.feed.ops, 0
        ops = ops[ops[:, f.O_KIND] != f.MOVE]
        with lent(*self.feed.matrices):
            for number, alias in enumerate(self.walker.layout.aliases):
                mine = came(ops, number)
                if len(mine):
                    rows = rows_of(mine, self.walker.layout, number, post=True)
                    most += self.of_alias(number, alias, rows)
        for (columns, log2), count in self.blocks.items():
            fresh = count - count_free(memory.st, columns, log2, count)
            most += fresh * (columns << log2) * WORD
        return most + self.large + sum(map(self.of_vertex, range(len(self.fresh))))

    def of_alias(self, number: int, alias: AliasLayout, rows: Words) -> int:
        """Take note of the values and blocks of an alias' rows; gives what its nodes take."""
        memory, found = self.walker.memory, self.walker.begun(number, rows)
        for link in alias.links:
            self.at_link(alias, link, found.values[link.vertex], rows)
        slots, places = int(memory.words[f.PLACES_MASK]) + 1, int(memory.words[f.PLACE_COUNT])
        most = 16 * max(0, grown(slots, places + len(rows)) - slots) if places else 0
        if alias.kind == f.NODE:
            ad = memory.alias(number)
            free = int(ad[f.A_NEXT] - ad[f.A_ROWS])
            most += max(0, len(rows) - free) * alias.stride * WORD
        return most

    def at_link(self, alias: AliasLayout, link: Link, ids: Words, rows: Words) -> None:
        """Take note of the values at a vertex that are new, and of the blocks of all lists."""
        width = self.walker.layout.vertices[link.vertex].key
        keys = np.ascontiguousarray(rows[ids < 0][:, link.key : link.key + width])
        of_key = keys.view([("", np.int64)] * width).ravel() if width else keys[:, :0].ravel()
        more = np.unique(of_key, return_counts=True)[1] if len(of_key) else np.empty(0, np.int64)
        self.fresh[link.vertex] += len(more)
        if link.seat.kind == f.COUNT:
            return
        has_room = link.seat.room > 0
        none = np.zeros(len(more), np.int64)
        self.lists(link.seat.columns, none, none + has_room, more)
        known, more = np.unique(ids[ids >= 0], return_counts=True)
        sized = self.walker.records(link.vertex)[known, link.seat.length]
        capacity = (1 << (sized >> 40)) >> 1
        if has_room:
            capacity = np.maximum(capacity, 1)
        self.lists(link.seat.columns, sized & f.LENGTH, capacity, more)

    def lists(self, columns: int, length: Words, capacity: Words, more: Words) -> None:
        """Take note of the blocks that lists of some lengths and capacities grow through."""
        ends = length + more
        log2 = 0
        while len(ends) and (1 << log2) < 2 * int(ends.max()):
            takes = (capacity < 1 << log2) & (2 * ends > 1 << log2)
            if WORD << log2 < LARGE_BYTES:
                shape = columns, log2
                self.blocks[shape] = self.blocks.get(shape, 0) + int(takes.sum())
            log2 += 1
        is_large = WORD * ends >= LARGE_BYTES // 2
        self.large += WORD * columns * int(more[is_large].sum())

    def of_vertex(self, number: int) -> int:
        """Return what a vertex' new values take."""
        vd, fresh = self.walker.memory.vertex(number), self.fresh[number]
        slots, live = int(vd[f.V_MASK]) + 1, int(vd[f.V_LIVE])
        index = max(0, grown(slots, live + fresh) - slots)
        records = max(0, fresh - (int(vd[f.V_NEXT]) - live))
        return WORD * (index + records * self.walker.layout.vertices[number].stride)


def untouched_bytes(walker: Walker) -> int:
    """Release the pages of large free blocks; return how much of the heap takes no memory."""
    memory, page, untouched = walker.memory, mmap.PAGESIZE, 0
    heads = memory.free_lists.reshape(-1, f.FREE_CLASSES)
    first = (LARGE_BYTES // WORD).bit_length() - 1
    heap = memory.heap.words
    for columns, log2 in zip(*np.nonzero(heads[:, first:]), strict=True):
        offset, size = int(heads[columns, first + log2]), int(columns) << int(first + log2)
        while offset:
            memory.heap.release(offset + 1, offset + size)
            untouched += size * WORD - 2 * page
            offset = int(heap[offset])
    if memory.words[f.TOP] * WORD < LARGE_BYTES:
        return untouched
    for number, vertex in enumerate(walker.layout.vertices):
        for seat in vertex.seats:
            sized = walker.records(number)[:, seat.length]
            sized = sized[sized >> 40 > first] if seat.kind != f.COUNT else sized[:0]
            spare = ((1 << (sized >> 40)) >> 1) - (sized & f.LENGTH)
            untouched += seat.columns * int(np.maximum(spare * WORD - page, 0).sum())
    return untouched


def grown(slots: int, used: int) -> int:
    """Return how many slots a table has that doubles when it is two thirds full."""
    while 3 * (used + 1) > 2 * (slots - 1):
        slots *= 2
    return slots
