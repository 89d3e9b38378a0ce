"""The records and the index of a table (graph/compiled/vertex_table.py): two regions.

records   one after the other, from the region's start
index     one of so many slots lies so many slots behind the region's start
"""

from __future__ import annotations

from collections.abc import Sequence

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.regions import Regions
from joingraph.graph.compiled.memory.reserved import Region, Words, reserve
from joingraph.graph.compiled.vertex_table import DOUBLED_FROM, FIRST_INDEX

Bytes = tuple[int, int]  # of a region that are filled: from where, how many


def grown(slots: int, used: int, doubled_from: int = DOUBLED_FROM) -> int:
    """Return how many slots a table will have for so many entries: two thirds full, it grows."""
    while 3 * (used + 1) > 2 * (slots - 1):
        slots *= 4 if slots < doubled_from else 2
    return slots


def slots_of(vd: Words) -> int:
    """Return how many slots a table's index has."""
    return int(vd[f.V_MASK]) + 1


def table_needs(vd: Words, ops: int) -> tuple[int, int]:
    """Bound the bytes of a table's records, and of its index, after the next ops."""
    records = 8 * (int(vd[f.V_NEXT]) + ops) * int(vd[f.V_STRIDE])
    slots = grown(slots_of(vd), int(vd[f.V_LIVE]) + ops)
    return records, 2 * 8 * slots  # the smaller ones lie before it


def table_used(vd: Words) -> tuple[Bytes, Bytes]:
    """Return which bytes of a table's records, and of its index, are filled."""
    slots = 8 * slots_of(vd)
    return (0, 8 * int(vd[f.V_NEXT]) * int(vd[f.V_STRIDE])), (slots, slots)


def place_table(vd: Words, records: Region, index: Region) -> None:
    """Write into a table's descriptor where its regions lie, and the index by its size."""
    vd[f.V_RECORDS], vd[f.V_INDEX_BASE] = records.address, index.address
    vd[f.V_INDEX] = index.address + 8 * slots_of(vd)


def release_outgrown(vd: Words, index: Region, slots: int) -> int:
    """Give back the indexes that a table has outgrown since it had so many slots; gives its own."""
    now = slots_of(vd)
    if now > slots:
        index.release(slots, now)
    return now


class RecordTable:
    """A table with regions of its own, and perhaps others; `state` is its descriptor."""

    def __init__(self, key: int, stride: int, most_words: Sequence[int]) -> None:
        self.area = Regions([8 * each for each in most_words])
        self.descriptor = reserve(f.VERTEX_WORDS)
        self.state[f.V_MASK] = FIRST_INDEX - 1
        self.state[f.V_KEY], self.state[f.V_STRIDE] = key, stride
        self.find_regions()

    @property
    def state(self) -> Words:
        """The words that say how full it is."""
        return self.descriptor.words

    def needed(self, ops: int) -> list[int]:
        """Bound the bytes that each region needs for the next ops."""
        return [*table_needs(self.state, ops)]

    def used(self) -> list[Bytes]:
        """Return which bytes of each region are filled."""
        return [*table_used(self.state)]

    def find_regions(self) -> None:
        """Write where the regions lie."""
        place_table(self.state, *self.area.regions[:2])
        self._slots = slots_of(self.state)

    def release(self) -> None:
        """Give back the memory of indexes that have been outgrown."""
        self._slots = release_outgrown(self.state, self.area.regions[1], self._slots)

    def finish_move(self) -> None:
        """Bring a move to other regions to its end; called again, do it anew."""
        if self.area.before:
            self.area.copy(self.used())
            self.find_regions()
            self.area.settle()

    def make_filled(self) -> None:
        """Make room for as much as the descriptor says; nothing has been written yet."""
        self.area.resemble(self.area.sizes, self.needed(0))
        self.find_regions()
        self.area.settle()
