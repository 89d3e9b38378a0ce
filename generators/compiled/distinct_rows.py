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

from joingraph.generators.compiled.fold import DELETED, INSERTED, POST_IMAGE, PRE_IMAGE, Folded
from joingraph.graph.compiled.fields import MOVE, O_DIFF, O_KIND, OP_WORDS
from joingraph.graph.compiled.machine.kernel import kernel, ld, mix, sto
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent


def in_pairs(paths: Paths, told: Sequence[int], ops: Words) -> Folded:
    """Put the rows after a move next to those before it; moves that the view does not show go.

    Nothing else folds: all rows of a base diff are different, but for such moves.
    """
    columns = [np.ascontiguousarray(paths.words[word]) for word in dict.fromkeys(told)]
    places = np.array([address_of(each) for each in columns], np.int64)
    ends, ops = paths.ends(), np.ascontiguousarray(ops)
    found = np.empty((4, max(1, len(paths))), np.int64)
    with lent(places, paths.ops, paths.weights, ends, ops, found, *columns):
        given = [address_of(places), len(places), address_of(paths.ops), address_of(ends)]
        given += [address_of(paths.weights), len(ends), address_of(ops), address_of(found)]
        count = write_pairs(np.array([*given, found.shape[1]]))
    rows, kinds, counts, diffs = (each[:count] for each in found)
    return Folded(rows, kinds.astype(np.int8), counts, diffs)


@kernel
def write_pairs(given: Words) -> int:
    """Go through the segments op by op; gives how many rows are told."""
    segments, ends, weights, count, ops = given[2], given[3], given[4], given[5], given[6]
    at, first, written = 0, 0, 0
    while at < count:
        op = ops + ld(segments, at) * (OP_WORDS * 8)
        end, begin, last, half = at, first, first, first
        while end < count and ld(segments, end) == ld(segments, at):
            last = ld(ends, end)
            if ld(weights, end) < 0:
                half = last
            end += 1
        is_move = ld(op, O_KIND) == MOVE
        if is_move and half < last and same_rows(given, begin, half):
            at, first = end, last
            continue
        for segment in range(at, end):
            weight = ld(weights, segment)
            for row in range(first, ld(ends, segment)):
                if is_move and weight < 0:
                    written = tell(given, written, row, PRE_IMAGE, op, -weight)
                    written = tell(given, written, row + half - begin, POST_IMAGE, op, -weight)
                elif not is_move:
                    kind = INSERTED if weight > 0 else DELETED
                    written = tell(given, written, row, kind, op, abs(weight))
            first = ld(ends, segment)
        at = end
    return written


@kernel
def same_rows(given: Words, one: int, two: int) -> bool:
    """Compare two rows."""
    columns, count = given[0], given[1]
    for column in range(count):  # kernels have no generators
        if ld(ld(columns, column), one) != ld(ld(columns, column), two):
            return False
    return True


@kernel
def tell(given: Words, at: int, row: int, kind: int, op: int, times: int) -> int:
    """Write what happened to a row; gives the next place."""
    found, stride = given[7], given[8]
    sto(found, at, row)
    sto(found, stride + at, kind)
    sto(found, 2 * stride + at, times)
    sto(found, 3 * stride + at, ld(op, O_DIFF))
    return at + 1


def all_distinct(paths: Paths, told: Sequence[int], mark: npt.NDArray[np.bool_]) -> bool:
    """True if no base diff has two equal rows, as far as its segments are marked."""
    lengths = np.where(mark, paths.lengths(), 0)
    longest = int(np.bincount(paths.ops, lengths).max()) if len(paths.ops) else 0
    if longest < 2:
        return True
    capacity = 1 << int(4 * longest).bit_length()
    table = np.zeros(capacity, np.int64)
    columns = [np.ascontiguousarray(paths.words[word]) for word in dict.fromkeys(told)]
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
