"""Finds the base diffs that remove a row which is not there, before anything is changed.

In: the ops of a batch, in order. Out: for each op whether its base diff is admitted. A row is
judged by what each alias keeps of it: by how many the graph holds, and the batch's running count.

    table   | 0 or address of the row, alias, count | ...      open addressing, one slot a row
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from joingraph.kernels.entries import identity_at, link_of, list_at, node_at
from joingraph.kernels.fields import (
    A_KEY_WORDS,
    A_KIND,
    A_PROJECTED,
    A_WIDTH,
    ALIAS_WORDS,
    ALIASES,
    COUNT,
    DELETE,
    EDGE,
    HEAP,
    INSERT,
    L_LENGTH,
    L_OFFSET,
    LEAF,
    LENGTH,
    MOVE,
    O_ALIAS,
    O_DIFF,
    O_KIND,
    O_ROW,
    OP_WORDS,
    UPDATE,
)
from joingraph.kernels.intrinsics import kernel, ld, mix, sto
from joingraph.kernels.link import bound, find_values, same_node, shortest
from joingraph.kernels.lists import step_of
from joingraph.kernels.memory import Words, lent

SLOT_WORDS = 3


def admit(st: int, ops: Words, matrices: tuple[Words, ...]) -> npt.NDArray[np.bool_]:
    """Say of each op whether its base diff is admitted."""
    admitted = np.ones(len(ops), np.int64)
    if (ops[:, O_KIND] != INSERT).any():
        capacity = 1 << int(4 * len(ops) + 16).bit_length()
        table = np.zeros(capacity * SLOT_WORDS, np.int64)
        with lent(table, ops, admitted, *matrices):
            admit_all(
                st,
                ops.ctypes.data,
                len(ops),
                np.array([table.ctypes.data, capacity - 1, admitted.ctypes.data]),
            )
    return admitted.astype(bool)


@kernel
def admit_all(st: int, ops: int, count: int, given: Words) -> None:
    """Go through the base diffs in order, keeping running counts of the admitted ones."""
    table, mask, admitted = given[0], given[1], given[2]
    first = 0
    while first < count:
        end = first
        while end < count and ld(ops, end * OP_WORDS + O_DIFF) == ld(
            ops, first * OP_WORDS + O_DIFF
        ):
            end += 1
        holds = True
        for place in range(first, end):
            op = ops + place * (OP_WORDS * 8)
            if ld(op, O_KIND) != INSERT:
                slot = row_slot(st, table, mask, ld(op, O_ALIAS), ld(op, O_ROW))
                if ld(slot, 2) <= 0:
                    holds = False
        for place in range(first, end):
            if holds:
                note(st, table, mask, ops + place * (OP_WORDS * 8))
            else:
                sto(admitted, place, 0)
        first = end


@kernel
def note(st: int, table: int, mask: int, op: int) -> None:
    """Count what an admitted op takes away and what it brings."""
    kind, alias, row = ld(op, O_KIND), ld(op, O_ALIAS), ld(op, O_ROW)
    if kind in (DELETE, UPDATE, MOVE):
        slot = row_slot(st, table, mask, alias, row)
        sto(slot, 2, ld(slot, 2) - 1)
    if kind in (UPDATE, MOVE):
        ad = ld(st, ALIASES) + alias * (ALIAS_WORDS * 8)
        row += ld(ad, A_WIDTH) * 8
    if kind in (INSERT, UPDATE, MOVE):
        slot = row_slot(st, table, mask, alias, row)
        sto(slot, 2, ld(slot, 2) + 1)


@kernel
def row_slot(st: int, table: int, mask: int, alias: int, row: int) -> int:
    """Find a row's slot; a new one starts with how many the graph holds."""
    ad = ld(st, ALIASES) + alias * (ALIAS_WORDS * 8)
    width, h = ld(ad, A_WIDTH), mix(alias)
    for word in range(width):
        h = mix(h ^ ld(row, word))
    place = (h >> 32) & mask
    while True:
        slot = table + place * (SLOT_WORDS * 8)
        known = ld(slot, 0)
        if known == 0:
            sto(slot, 0, row)
            sto(slot, 1, alias)
            sto(slot, 2, count_rows(st, ad, row))
            return slot
        if ld(slot, 1) == alias and same_words(known, row, width):
            return slot
        place = (place + 1) & mask


@kernel
def same_words(one: int, two: int, count: int) -> bool:
    """Compare two rows."""
    for word in range(count):  # noqa: SIM110  # kernels have no generators
        if ld(one, word) != ld(two, word):
            return False
    return True


@kernel
def count_rows(st: int, ad: int, row: int) -> int:
    """Count the rows of an alias in the graph that are equal to one."""
    if not find_values(st, ad, row):
        return 0
    kind, projected = ld(ad, A_KIND), row + ld(ad, A_KEY_WORDS) * 8
    near = shortest(st, ad)
    ln = link_of(ad, near)
    length = ld(bound(st, ln), ld(ln, L_LENGTH)) & LENGTH
    if kind == COUNT:
        return length
    found, entries = 0, list_at(st, ln, bound(st, ln))
    if kind == EDGE:
        far = link_of(ad, 1 - near)
        wanted = identity_at(far, bound(st, far))
        for at in range(length):
            found += ld(entries, at) >> 32 == wanted
    elif kind == LEAF:
        found = count_in_leaf(st, bound(st, ln) + ld(ln, L_OFFSET) * 8, ad, projected)
    else:
        for at in range(length):
            found += same_node(st, ad, node_at(ad, ld(entries, at)), projected)
    return found


@kernel
def count_in_leaf(st: int, group: int, ad: int, projected: int) -> int:
    """Count the rows of a leaf's list that have the words at an address."""
    block, step, found = ld(st, HEAP) + ld(group, 0) * 8, step_of(group), 0
    first = ld(projected, 0)
    for at in range(ld(group, 1) & LENGTH):
        if ld(block, at) == first:
            same = True
            for column in range(1, ld(ad, A_PROJECTED)):
                if ld(block + column * step, at) != ld(projected, column):
                    same = False
            found += same
    return found
