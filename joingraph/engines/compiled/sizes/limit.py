"""Finds out whether a batch has room in a graph's memory limit, before anything is changed.

    strings   all bytes of the batch's texts       then only those of texts that are unknown
    rows      every row new everywhere             then the records, slots and blocks they will take
              every list moved                     that are not free (allotting.py)

The first is quick and knows nothing of the graph but its size; the second is asked if the first
says no; the engine asks once more after it has forgotten texts that no row has. What only
removes rows, or changes them where they lie, takes nothing and always passes. What is
counted is the graph; a batch's view diffs come on top of it and are the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from joingraph.common.errors import LimitError
from joingraph.engines.compiled.sizes.allotting import WORD, Allotment, untouched_bytes
from joingraph.engines.compiled.sizes.size import sizes
from joingraph.expressions.texts import is_text
from joingraph.filters.compiled.rows_to_ops import Feed, Feeder
from joingraph.generators.compiled.reads.column_walk import Walker
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.layout import AliasLayout
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.memory.tables import grown
from joingraph.graph.compiled.op_rows import came
from joingraph.tables.batch import Entry

SLOT_BYTES = 16
INTERNED_BYTES = 16 + 8  # of an entry, and what its end is rounded up by


class Room:
    """The memory limit of one graph."""

    def __init__(self, walker: Walker, limit: int) -> None:
        self.walker, self.limit = walker, limit

    def feed(self, feeder: Feeder, entries: Sequence[Entry]) -> Feed:
        """Filter entries, or refuse them."""
        self.check_strings(entries)
        feed = feeder.feed(entries)
        self.check_rows(feed)
        return feed

    def check_strings(self, entries: Sequence[Entry]) -> None:
        """Refuse a batch whose texts have no room."""
        columns = [
            chunk
            for entry in entries
            if entry.post is not None
            for column in entry.post.columns
            if is_text(column.type)
            for chunk in column.chunks
        ]
        count = sum(map(len, columns))
        if count and not self.fits(self.interned(count, sum(each.nbytes for each in columns), 0)):
            self.refuse(self.unknown(columns))

    def unknown(self, columns: Sequence[pa.Array]) -> int:
        """Return what the texts take that are not kept yet."""
        interner = self.walker.interner
        found = [interner.unknown(each.unique()) for each in columns]
        count, data = (sum(each) for each in zip(*found, strict=True))
        return self.interned(count, data, interner.free_ids) if count else 0

    def interned(self, count: int, data: int, free: int) -> int:
        """Return what so many texts of so many bytes take, some of whose ids are free."""
        slots, used = self.walker.interner.filling
        fresh = max(0, count - free)
        index = max(0, grown(slots, used + fresh) - slots)
        return data + WORD * count + (INTERNED_BYTES - WORD) * fresh + WORD * index

    def check_rows(self, feed: Feed) -> None:
        """Refuse a batch whose rows have no room."""
        if not self.fits(self.quick(feed.ops)) and feed.rows:
            self.walker.memory.release()
            self.walker.memory.forget_places()
            self.refuse(self.taken(feed))

    def taken(self, feed: Feed) -> int:
        """Return how many bytes more the rows take."""
        return Allotment(self.walker, feed).bytes()

    def held(self) -> int:
        """Return how many bytes the graph takes."""
        return sum(sizes(self.walker).values())

    def fits(self, more: int) -> bool:
        """True if so many bytes more have room."""
        return self.held() + more <= self.limit

    def refuse(self, more: int) -> None:
        """Refuse a batch that takes so many bytes more, if they are too many."""
        held = self.held() - untouched_bytes(self.walker) if more else 0
        if held + more > self.limit:
            raise LimitError(
                f"memory_limit={self.limit:,}: the graph takes {held:,} bytes and this batch takes"
                f" {more:,} more; nothing was changed: raise the limit, or apply less at once"
            )

    def has_room(self, rows: Mapping[int, int], texts: int, size: int) -> bool:
        """True if so many rows of aliases surely have room, and texts of so many bytes."""
        strings = self.interned(texts, size, 0) if texts else 0
        return self.fits(strings + self.bound(rows))

    def quick(self, ops: Words) -> int:
        """Bound what ops take, knowing nothing of the graph but its size."""
        aliases = range(len(self.walker.layout.aliases))
        return self.bound({number: len(came(ops, number)) for number in aliases})

    def bound(self, rows_of: Mapping[int, int]) -> int:
        """Bound what so many rows of aliases take."""
        held, most = sizes(self.walker), 0
        for number, alias in enumerate(self.walker.layout.aliases):
            rows = rows_of.get(number, 0)
            most += rows * (alias.stride * WORD + 2 * SLOT_BYTES)
            for link in alias.links:
                vertex = self.walker.layout.vertices[link.vertex]
                most += rows * WORD * (vertex.stride + 4 * words_a_row(alias))
                most += self.index_growth(link.vertex, rows)
        return most + 4 * held["lists"] + 2 * held["places"]

    def index_growth(self, vertex: int, fresh: int) -> int:
        """Bound what a vertex' index takes for new values: the next tables, beside the old one."""
        descriptor = self.walker.memory.vertex(vertex)
        slots, values = int(descriptor[f.V_MASK]) + 1, int(descriptor[f.V_LIVE])
        return 2 * WORD * max(0, grown(slots, values + fresh) - slots)


def words_a_row(alias: AliasLayout) -> int:
    """Return how many words a row takes in each of its alias' lists."""
    return alias.projected + alias.is_numbered if alias.kind == f.LEAF else 1
