"""Finds out whether a batch has room in a graph's memory limit, before anything is changed.

    strings   all bytes of the batch's texts, as if none were known      before they are interned
    quick     every row new everywhere, every list moved                 no look at the graph
    probed    the lists that the rows would really go to                 if quick says no

A list that is full moves to a block of twice its size, and its old block may not be needed by
anybody else: so a list of length n counts for four times n at the worst. What is counted is the
graph; the view diffs of a batch come on top of it and are the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joingraph.batch import Entry
from joingraph.errors import LimitError
from joingraph.kernels import fields as f
from joingraph.kernels.layout import AliasLayout, Link
from joingraph.kernels.memory import Words, lent
from joingraph.kernels.pieces import Walker
from joingraph.kernels.rows import came, rows_of
from joingraph.kernels.stats import sizes
from joingraph.kernels.words import is_text

WORD = 8
SLOT_BYTES = 16
INTERNED_BYTES = 16 + 8  # of an entry, and what its end is rounded up by


class Room:
    """The memory limit of one graph."""

    def __init__(self, walker: Walker, limit: int) -> None:
        self.walker, self.limit = walker, limit

    def check_strings(self, entries: Sequence[Entry]) -> None:
        """Refuse a batch whose texts may not fit."""
        columns = [
            column
            for entry in entries
            for side in entry[2:]
            if side is not None
            for column in side.columns
            if is_text(column.type)
        ]
        count = sum(map(len, columns))
        data = sum(int(column.nbytes) for column in columns)
        slots, used = self.walker.interner.filling
        index = 2 * WORD * grown(slots, used + count)
        self.refuse(data + INTERNED_BYTES * count + index)

    def check_rows(self, ops: Words, matrices: tuple[Words, ...]) -> None:
        """Refuse a batch whose rows may not fit."""
        if self.held() + self.quick(ops) > self.limit:
            self.refuse(self.probed(ops, matrices))

    def held(self) -> int:
        """Tell how many bytes the graph takes."""
        return sum(sizes(self.walker).values())

    def refuse(self, more: int) -> None:
        """Refuse a batch that may take so many bytes more, if they are too many."""
        held = self.held()
        if held + more > self.limit:
            raise LimitError(
                f"memory_limit={self.limit:,}: the graph takes {held:,} bytes and this batch may"
                f" take {more:,} more; nothing was changed: raise the limit, or apply less at once"
            )

    def quick(self, ops: Words) -> int:
        """Bound what rows take, knowing nothing of the graph but its size."""
        held, most = sizes(self.walker), 0
        for number, alias in enumerate(self.walker.layout.aliases):
            rows = len(came(ops, number))
            most += rows * (alias.stride * WORD + 2 * SLOT_BYTES)
            for link in alias.links:
                vertex = self.walker.layout.vertices[link.vertex]
                most += rows * WORD * (vertex.stride + 4 * columns_of(alias))
                most += self.index_growth(link.vertex, rows)
        return most + 4 * held["lists"] + 2 * held["places"]

    def probed(self, ops: Words, matrices: tuple[Words, ...]) -> int:
        """Bound what rows take by the lists that they go to."""
        most = 0
        with lent(*matrices):
            for number, alias in enumerate(self.walker.layout.aliases):
                mine = came(ops, number)
                rows = rows_of(mine, self.walker.layout, number, post=True)
                found = self.walker.begun(number, rows)
                most += len(mine) * alias.stride * WORD
                for link in alias.links:
                    ids = found.values[link.vertex]
                    most += self.at_link(alias, link, ids)
        words = self.walker.memory.words
        places = int(words[f.PLACE_COUNT]) + (len(ops) if most else 0)
        return most + 2 * SLOT_BYTES * grown(int(words[f.PLACES_MASK]) + 1, places)

    def at_link(self, alias: AliasLayout, link: Link, ids: Words) -> int:
        """Bound what rows take at one of their vertices: new values, and lists that move."""
        fresh = int((ids < 0).sum())
        most = fresh * self.walker.layout.vertices[link.vertex].stride * WORD
        most += self.index_growth(link.vertex, fresh)
        if link.seat.kind == f.COUNT:
            return most
        known, more = np.unique(ids[ids >= 0], return_counts=True)
        sized = self.walker.records(link.vertex)[known, link.seat.length]
        length, size = sized & f.LENGTH, sized >> 40
        moved = (length + more)[length + more > (1 << size) >> 1]
        return most + WORD * columns_of(alias) * (4 * int(moved.sum()) + 4 * fresh)

    def index_growth(self, vertex: int, fresh: int) -> int:
        """Bound what a vertex' index takes for new values: the next tables, beside the old one."""
        descriptor = self.walker.memory.vertex(vertex)
        slots, values = int(descriptor[f.V_MASK]) + 1, int(descriptor[f.V_LIVE])
        return 2 * WORD * grown(slots, values + fresh)


def columns_of(alias: AliasLayout) -> int:
    """Say how many words a row takes in each of its alias' lists."""
    return alias.projected if alias.kind == f.LEAF else 1


def grown(slots: int, used: int) -> int:
    """Say how many slots a table grows to that doubles when it is two thirds full; 0: it stays."""
    needed = slots
    while 3 * (used + 1) > 2 * (needed - 1):
        needed *= 2
    return needed if needed > slots else 0
