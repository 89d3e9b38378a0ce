"""Bounds of what a graph's regions need, for any ops whatever their rows are.

    heap       three times what it is, and five words an entry for each list an op goes to
    others     one record, slot or place more for each op

A list moves when it is full (to twice its capacity) or an eighth full (to a quarter). So each
list may move once by the first op that meets it: all new blocks together are at most twice as large
as all old ones. From then on a list has to double or to lose three quarters first: four words of
new blocks for each row that comes, and less than one for each that goes. Freed blocks may all have
the wrong size, so they do not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.layout import VertexLayout
from joingraph.graph.compiled.machine.kernel import kernel, ld, sto
from joingraph.graph.compiled.memory.regions import table_bytes
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.memory.tables import table_needs
from joingraph.graph.compiled.ops import SLOT_WORDS, slots_for

if TYPE_CHECKING:
    from joingraph.graph.compiled.memory.state import GraphMemory

ENTRY_WORDS = 5
STACKED_BYTES = 32


def needed(memory: GraphMemory, ops: int) -> list[int]:
    """Bound the bytes that each region needs for the next ops."""
    layout, words = memory.layout, memory.words
    vertices = [memory.vertex(number) for number in range(len(layout.vertices))]
    entries = max(sum(link.seat.columns for link in alias.links) for alias in layout.aliases)
    tables = [table_needs(vd, ops) for vd in vertices]
    stacked = [
        (int(vd[f.V_NEXT]) + ops) * STACKED_BYTES * followers(vertex)
        for vd, vertex in zip(vertices, layout.vertices, strict=True)
    ]
    return [
        8 * (3 * int(words[f.TOP]) + ENTRY_WORDS * entries * ops),
        *(records for records, _ in tables),
        *(8 * (int(ad[f.A_NEXT]) + ops) * int(ad[f.A_STRIDE]) for ad in nodes_of(memory)),
        *(index for _, index in tables),
        table_bytes(int(words[f.PLACES_MASK]) + 1, most_places(memory, ops), 16),
        sum(stacked),
        8 * SLOT_WORDS * slots_for(ops),
    ]


def most_places(memory: GraphMemory, ops: int) -> int:
    """Bound the places of long lists: if one may be so long, every row's, and a mark a list."""
    words = memory.words
    rows = [int(memory.alias(number)[f.A_ROWS]) for number in range(len(memory.layout.aliases))]
    if not words[f.PLACE_COUNT] and max(rows) + ops <= words[f.LONG]:
        return 0
    return (sum(rows) + ops) * 3 // 2


def followers(vertex: VertexLayout) -> int:
    """Return how many pairs of aliases a value has of which one may wake or lay dead the other."""
    leading = sum(seat.kind >= f.EDGE for seat in vertex.seats)
    return leading * (len(vertex.seats) - 1)


def nodes_of(memory: GraphMemory) -> list[Words]:
    """Return the descriptors of the aliases that have nodes."""
    return [memory.alias(number) for number in memory.nodes]


@kernel
def shift_lists(vd: int, distance: int) -> None:
    """Correct the offsets of lists that lie in a vertex' records, which moved off the heap."""
    for value in range(ld(vd, f.V_NEXT)):
        record, seat = ld(vd, f.V_RECORDS) + value * ld(vd, f.V_STRIDE) * 8, ld(vd, f.V_SEATS)
        for _ in range(ld(vd, f.V_SEAT_COUNT)):
            group = record + ld(seat, f.S_OFFSET) * 8
            if ld(seat, f.S_SHAPE) >> 32 != 0 and ld(group, 1) >> 40 == 1:
                sto(group, 0, ld(group, 0) + distance)
            seat += f.SEAT_WORDS * 8
