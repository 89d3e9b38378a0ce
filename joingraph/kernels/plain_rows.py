"""Tells where rows need no folding: base diffs that did one thing, and never the same row twice.

    insert tweet (7, ..)    rows of one weight, all of them different: they are the view diff

Most batches are like this. Whether rows are different is looked at, base diff by base diff, in a
small table that stays in the cache.

    table   | row + 1 | ...      rows before those of the base diff count as empty slots
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joingraph.kernels.fields import DELETE, O_DIFF, O_KIND
from joingraph.kernels.intrinsics import kernel, ld, mix, sto
from joingraph.kernels.memory import Words, lent
from joingraph.kernels.paths import Paths


def are_plain(ops: Words) -> bool:
    """Hold if every base diff is one insert or delete of one alias."""
    numbers = ops[:, O_DIFF]
    return bool((ops[:, O_KIND] <= DELETE).all() and (np.diff(numbers) > 0).all())


def all_distinct(paths: Paths, told: Sequence[int]) -> bool:
    """Hold if no base diff has two equal rows, as told apart by some of their words."""
    lengths = paths.lengths()
    longest = int(np.bincount(paths.ops, lengths).max()) if len(paths.ops) else 0
    if longest < 2:
        return True
    capacity = 1 << int(4 * longest).bit_length()
    table = np.zeros(capacity, np.int64)
    columns = [np.ascontiguousarray(paths.words[word]) for word in dict.fromkeys(told)]
    places = np.array([each.ctypes.data for each in columns], np.int64)
    ends = paths.ends()
    with lent(table, places, paths.ops, ends, *columns):
        given = [table.ctypes.data, capacity - 1, places.ctypes.data, len(places)]
        given += [paths.ops.ctypes.data, ends.ctypes.data, len(ends)]
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
        for row in range(first, end):
            if not is_new(given, begin, row):
                return 0
        first = end
    return 1


@kernel
def is_new(given: Words, begin: int, row: int) -> int:
    """Enter a row among those of its op, which began at a row; 0 if an equal one is there."""
    table, mask, columns, count = given[0], given[1], given[2], given[3]
    h = 0
    for column in range(count):
        h = mix(h ^ ld(ld(columns, column), row))
    place = (h >> 32) & mask
    while True:
        known = ld(table, place) - 1
        if known < begin:
            sto(table, place, row + 1)
            return 1
        same = 1
        for column in range(count):
            if ld(ld(columns, column), known) != ld(ld(columns, column), row):
                same = 0
                break
        if same:
            return 0
        place = (place + 1) & mask
