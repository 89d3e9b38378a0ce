"""Puts together what a base diff tells a group several times, where no groups are kept.

    changes   diff 0: (+1) to ann, bob    diff 0: (+1) to bob, eve     diff 0: (-1) to eve
    folded    diff 0: (+1) to ann         diff 0: (+2) to bob          diff 0: (0) to eve

Diff by diff in one table, in which older diffs' groups count as empty slots. Most batches tell a
group once a base diff, which declared keys say or `all_distinct` sees; then nothing is folded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joingraph.generators.compiled.fold import hash_row, same_rows
from joingraph.graph.compiled.groups.list_memory import Listed
from joingraph.graph.compiled.machine.kernel import add128, kernel, ld, small, sto
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent


def folded(listed: Listed, sizes: Sequence[int]) -> Listed:
    """Return one change for each group of a base diff; sums have so many words."""
    rows, words = len(listed), listed.sums.shape[1]
    capacity = 1 << int(2 * rows + 16).bit_length()
    table, firsts, diffs = (np.zeros(size, np.int64) for size in (capacity, rows, rows))
    sums, places = np.zeros((rows, words), np.int64), np.array(sizes, np.int64)
    keys = np.array([address_of(each) for each in listed.words], np.int64)
    ends, of, old = listed.ends(), np.ascontiguousarray(listed.ops), listed.sums.copy()
    with lent(table, firsts, diffs, sums, places, keys, ends, of, old, *listed.words):
        given = [address_of(table), capacity - 1, address_of(keys), len(listed.words)]
        given += [address_of(of), address_of(ends), len(ends), address_of(old)]
        given += [address_of(places), len(sizes), words]
        given += [address_of(firsts), address_of(diffs), address_of(sums)]
        count = fold_changes(np.array(given))
    firsts = firsts[:count]
    found = [each[firsts] for each in listed.words]
    return Listed(found, np.arange(count), diffs[:count], listed.weights, count, sums[:count])


@kernel
def fold_changes(given: Words) -> int:
    """Add each change to the groups that it goes to; gives how many there are in all diffs."""
    ops, ends, old, words = given[4], given[5], given[7], given[10]
    first, diff, begin, made = 0, -1, 0, 0
    for change in range(given[6]):
        if ld(ops, change) != diff:
            diff, begin = ld(ops, change), made
        end = ld(ends, change)
        for row in range(first, end):
            at = group_at(given, begin, made, row)
            if at == made:
                sto(given[11], made, row)
                sto(given[12], made, diff)
                made += 1
            add_change(given, given[13] + at * words * 8, old + change * words * 8)
        first = end
    return made


@small
def group_at(given: Words, begin: int, made: int, row: int) -> int:
    """Find a row's group among those of its diff, of which `begin` is the first, or add it."""
    table, mask, keys, width = given[0], given[1], given[2], given[3]
    place = hash_row(keys, width, row) & mask
    while True:
        known = ld(table, place) - 1
        if known < begin:
            sto(table, place, made + 1)
            return made
        if same_rows(keys, width, ld(given[11], known), row):
            return known
        place = (place + 1) & mask


@small
def add_change(given: Words, to: int, change: int) -> None:
    """Add the sums of a change to those of a group."""
    word = 0
    for part in range(given[9]):
        if ld(given[8], part) == 1:
            sto(to, word, ld(to, word) + ld(change, word))
        else:
            add128(to + word * 8, ld(change, word), ld(change, word + 1))
        word += ld(given[8], part)
