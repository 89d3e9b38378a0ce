"""The records and the index of a table (graph/compiled/vertex_table.py): two regions.

records   one after the other, from the region's start
index     one of so many slots lies so many slots behind the region's start
"""

from __future__ import annotations

from collections.abc import Sequence

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.regions import Regions, table_bytes
from joingraph.graph.compiled.memory.reserved import Region, Words, reserve
from joingraph.graph.compiled.vertex_table import FIRST_INDEX

Bytes = tuple[int, int]  # of a region that are filled: from where, how many


def slots_of(vd: Words) -> int:
    """Return how many slots a table's index has."""
    return int(vd[f.V_MASK]) + 1


def table_needs(vd: Words, ops: int) -> tuple[int, int]:
    """Bound the bytes of a table's records, and of its index, after the next ops."""
    records = 8 * (int(vd[f.V_NEXT]) + ops) * int(vd[f.V_STRIDE])
    return records, table_bytes(slots_of(vd), int(vd[f.V_LIVE]) + ops, 8)


def table_used(vd: Words) -> tuple[Bytes, Bytes]:
    """Return which bytes of a table's records, and of its index, are filled."""
    slots = 8 * slots_of(vd)
    return (0, 8 * int(vd[f.V_NEXT]) * int(vd[f.V_STRIDE])), (slots, slots)


def place_table(vd: Words, records: Region, index: Region) -> None:
    """Write into a table's descriptor where its regions lie, and the index by its size."""
    vd[f.V_RECORDS], vd[f.V_INDEX_BASE] = records.address, index.address
    vd[f.V_INDEX] = index.address + 8 * slots_of(vd)


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
