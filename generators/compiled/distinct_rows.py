"""Tells where rows need no folding: base diffs that did one thing, and never the same row twice.

    insert tweet (7, ..)    rows of one weight, all of them different: they are the view diff

Most batches are like this. Whether rows are different is looked at, base diff by base diff, in a
small table that stays in the cache.

    table   | row + 1 | ...      rows before those of the base diff count as empty slots
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from joingraph.generators.compiled.fold import hash_row, same_rows
from joingraph.graph.compiled.machine.kernel import kernel, ld, sto
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent


def all_distinct(paths: Paths, columns: Sequence[Words], mark: npt.NDArray[np.bool_]) -> bool:
    """True if no base diff has two equal rows, as far as its segments are marked."""
    lengths = np.where(mark, paths.lengths(), 0)
    longest = int(np.bincount(paths.ops, lengths).max()) if len(paths.ops) else 0
    if longest < 2:
        return True
    capacity = 1 << int(4 * longest).bit_length()
    table = np.zeros(capacity, np.int64)
    places = np.array([address_of(each) for each in columns], np.int64)
    ends = paths.ends()
    marks = mark.astype(np.int64)
    with lent(table, places, paths.ops, ends, marks, *columns):
        given = [address_of(table), capacity - 1, address_of(places), len(places)]
        given += [address_of(paths.ops), address_of(ends), len(ends), address_of(marks)]
        return bool(are_distinct(np.array(given)))


@kernel
def are_distinct(given: Words) -> int:
    """Go through the rows of each op; 0 if two of them are equal."""
    ops, ends, segments = given[4], given[5], given[6]
    first = 0
    op, begin = -1, 0
    for segment in range(segments):
        if ld(ops, segment) != op:
            op, begin = ld(ops, segment), first
        end = ld(ends, segment)
        for row in range(first, end if ld(given[7], segment) else first):
            if not is_new(given, begin, row):
                return 0
        first = end
    return 1


@kernel
def is_new(given: Words, begin: int, row: int) -> int:
    """Enter a row among those of its op, which began at a row; 0 if an equal one is there."""
    table, mask, columns, count = given[0], given[1], given[2], given[3]
    place = hash_row(columns, count, row) & mask
    while True:
        known = ld(table, place) - 1
        if known < begin:
            sto(table, place, row + 1)
            return 1
        if same_rows(columns, count, known, row):
            return 0
        place = (place + 1) & mask
