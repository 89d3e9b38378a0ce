"""A consumer of view rows in compiled code: called after every base diff, it reads every value.

    Arrow batch -> ops -> | graph and rows of one diff -> checksum | next diff | ...

What a program in Rust measures of itself: from columns in memory to view rows that were written
out and read, one diff after the other, without Python and Arrow for the rows that come out.

Of a view that groups there is a note, by column, for each group that the diff changed:

    group words | state before | state after            (benchmarks/harness/checksum.py)

Where no groups are kept it has changes, and the words of the groups that each goes to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast, runtime_checkable

import numba
import numpy as np

from benchmarks.harness.checksum import Tally
from joingraph import JoinGraph
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.machine.kernel import kernel, ld, sto
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.tables.batch import Entry, read_batch

SUM, TUPLES = 30, 31  # words of the state that are otherwise unused


@runtime_checkable
class Draining(Protocol):
    """An engine that calls compiled code with a block after every base diff."""

    memory: GraphMemory

    def drain(self, entries: Sequence[Entry], consumer: int) -> None:
        """Apply a batch; `consumer` is an address, called with that of the graph's state."""


@kernel
def consume_notes(st: int, gd: int) -> None:
    """Add the notes of groups to the checksum: keys, sums before and sums now."""
    column, rows, total = ld(gd, f.G_COLUMN), ld(st, f.ROWS), 0
    for place in range(ld(gd, f.G_STATE) + 2 * ld(gd, f.G_WORDS) if rows else 0):
        notes = ld(gd, f.G_NOTES) + (1 + place) * column
        of_column = ld(notes, 0)
        for row in range(1, rows):
            of_column += ld(notes, row)
        total += of_column * (place + 1)
    sto(st, SUM, ld(st, SUM) + total)
    sto(st, TUPLES, ld(st, TUPLES) + rows)


@kernel
def consume_lists(st: int, gd: int) -> None:
    """Add changes to the checksum, and the keys of the groups that they go to."""
    total, words = 0, ld(st, f.SEGMENT_COUNT) * (1 + ld(gd, f.G_WORDS))
    for place in range(ld(gd, f.G_STATE)):
        keys, of_column = ld(gd, f.G_NOTES) + place * ld(gd, f.G_COLUMN), 0
        for row in range(ld(st, f.ROWS)):
            of_column += ld(keys, row)
        total += of_column * (place + 1)
    for word in range(words):
        total += ld(ld(gd, f.G_CHANGES), word)
    sto(st, SUM, ld(st, SUM) + total)
    sto(st, TUPLES, ld(st, TUPLES) + ld(st, f.ROWS))


@numba.cfunc("int64(int64, int64, int64)")
def consume(st: int, _: int, __: int) -> int:
    """Add what the block holds to the checksum; a column's first row is read apart from the rest.

    Most diffs make a row or two, for which a loop that takes eight at a time is slow to begin.
    """
    if ld(st, f.GROUPS):
        if ld(ld(st, f.GROUPS), f.G_LISTS):
            consume_lists(st, ld(st, f.GROUPS))
        else:
            consume_notes(st, ld(st, f.GROUPS))
        return 0
    out, stride, segments = ld(st, f.OUT), ld(st, f.STRIDE), ld(st, f.SEGMENTS)
    count, columns = ld(st, f.SEGMENT_COUNT), ld(st, f.COLUMN_COUNT)
    for segment in range(count):
        first, weight = ld(segments, 3 * segment), ld(segments, 3 * segment + 2)
        last = ld(segments, 3 * segment + 3) if segment + 1 < count else ld(st, f.ROWS)
        total = 0
        for column in range(columns if last > first else 0):
            place = out + (column * stride + first) * 8
            of_column = ld(place, 0)
            for row in range(1, last - first):
                of_column += ld(place, row)
            total += of_column * (column + 1)
        sto(st, SUM, ld(st, SUM) + total * weight)
        sto(st, TUPLES, ld(st, TUPLES) + (last - first) * abs(weight))
    return 0


def consume_each(graph: JoinGraph, batch: list[tuple[Any, ...]]) -> Tally:
    """Apply a batch; give what the consumer read."""
    engine = cast(Draining, graph.engine)  # which the caller has looked at
    engine.drain(read_batch(batch, graph.view.tables), int(consume.address or 0))
    words = engine.memory.words
    found = Tally(int(words[TUPLES]), int(np.uint64(words[SUM])))
    words[SUM] = words[TUPLES] = 0
    return found
