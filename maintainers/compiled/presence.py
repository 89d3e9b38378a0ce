"""Finds the base diffs that remove a row which is not there, before anything is changed.

In: the ops of a batch, in order. Out: for each op whether its base diff is admitted. A row is
judged by what each alias keeps of it: by how many the graph holds, and what the batch has added
to them so far, net. The graph is searched only when that is not enough, and only for as many.

    slot    address of the row, generation << 32 | alias, net      open addressing, one a row

The slots stay from batch to batch; those of an older generation count as empty.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import (
    bound,
    identity_at,
    length_at,
    link_of,
    list_at,
    node_at,
)
from joingraph.graph.compiled.list_index import count_found, is_row, same_node
from joingraph.graph.compiled.machine.kernel import kernel, ld, small, sto
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent
from joingraph.graph.compiled.ops import SLOT_WORDS, slots_for
from joingraph.graph.compiled.prefetch import alias_of, ask, forget_hints, op_at
from joingraph.graph.compiled.vertex_table import hash_of, same_key
from joingraph.maintainers.compiled.link import are_alike, find_place, find_values, shortest_link


def admit(st: int, ops: Words, matrices: tuple[Words, ...]) -> npt.NDArray[np.bool_]:
    """Return a mask of the ops whose base diff is admitted."""
    admitted = np.ones(len(ops), np.int64)
    if (ops[:, f.O_KIND] != f.INSERT).any():
        mask = slots_for(len(ops)) - 1
        with lent(ops, admitted, *matrices):
            args = np.array([mask, address_of(admitted)])
            admit_all(st, address_of(ops), len(ops), args)
    return admitted.astype(bool)


@kernel
def admit_all(st: int, ops: int, count: int, args: Words) -> None:
    """Go through the base diffs in order, keeping running counts of the admitted ones."""
    mask, admitted = args[0], args[1]
    sto(st, f.GENERATION, ld(st, f.GENERATION) + 1)
    sto(st, f.OPS, ops)
    forget_hints(st)
    first = 0
    while first < count:
        end = first
        while end < count and ld(ops, end * f.OP_WORDS + f.O_DIFF) == ld(
            ops, first * f.OP_WORDS + f.O_DIFF
        ):
            ask_removals(st, end, count)
            end += 1
        holds = True
        for place in range(first, end):
            op = ops + place * (f.OP_WORDS * 8)
            if ld(op, f.O_KIND) != f.INSERT:
                slot = row_slot(st, mask, ld(op, f.O_ALIAS), ld(op, f.O_ROW))
                if ld(slot, 2) <= 0 and not held(st, op, 1 - ld(slot, 2)):
                    holds = False
        for place in range(first, end):
            if holds:
                note(st, mask, ops + place * (f.OP_WORDS * 8))
            else:
                sto(admitted, place, 0)
        first = end


@kernel
def ask_removals(st: int, at: int, end: int) -> None:
    """Prefetch what later ops that remove a row will touch."""
    ask_removal(st, at + f.AHEAD_SLOT, end, f.AHEAD_SLOT)
    ask_removal(st, at + f.AHEAD_RECORD, end, f.AHEAD_RECORD)
    ask_removal(st, at + f.AHEAD_LIST, end, f.AHEAD_LIST)


@small
def ask_removal(st: int, at: int, end: int, stage: int) -> None:
    """Do one stage of prefetch for an op that removes a row."""
    if at < end and ld(op_at(st, at), f.O_KIND) != f.INSERT:
        ask(st, at, stage)


@kernel
def note(st: int, mask: int, op: int) -> None:
    """Count what an admitted op takes away and what it brings."""
    kind, alias, row = ld(op, f.O_KIND), ld(op, f.O_ALIAS), ld(op, f.O_ROW)
    if kind in (f.DELETE, f.UPDATE, f.MOVE):
        slot = row_slot(st, mask, alias, row)
        sto(slot, 2, ld(slot, 2) - 1)
    if kind in (f.UPDATE, f.MOVE):
        ad = ld(st, f.ALIASES) + alias * (f.ALIAS_WORDS * 8)
        row += ld(ad, f.A_WIDTH) * 8
    if kind in (f.INSERT, f.UPDATE, f.MOVE):
        slot = row_slot(st, mask, alias, row)
        sto(slot, 2, ld(slot, 2) + 1)


@kernel
def row_slot(st: int, mask: int, alias: int, row: int) -> int:
    """Find a row's slot."""
    ad = ld(st, f.ALIASES) + alias * (f.ALIAS_WORDS * 8)
    width, whose = ld(ad, f.A_WIDTH), (ld(st, f.GENERATION) << 32) | alias
    place = (hash_of(row, width) ^ alias) & mask
    while True:
        slot = ld(st, f.RUNNING) + place * (SLOT_WORDS * 8)
        if ld(slot, 1) >> 32 != ld(st, f.GENERATION):
            sto(slot, 0, row)
            sto(slot, 1, whose)
            sto(slot, 2, 0)
            return slot
        if ld(slot, 1) == whose and same_key(ld(slot, 0), row, width):
            return slot
        place = (place + 1) & mask


@kernel
def held(st: int, op: int, least: int) -> bool:
    """True if the graph has so many rows that are equal to an op's; notes where one is."""
    ad, row = alias_of(st, op), ld(op, f.O_ROW)
    sto(op, f.O_PLACE, -1)
    if not find_values(st, ad, row):
        return False
    sto(op, f.O_PLACE, find_place(st, ad, row))
    if ld(op, f.O_PLACE) < 0 or least == 1:
        return ld(op, f.O_PLACE) >= 0
    return count_equal(st, ad, row, least) >= least


@kernel
def count_equal(st: int, ad: int, row: int, most: int) -> int:
    """Count the rows of an alias in the graph that are equal to one, up to a number if many."""
    kind, projected = ld(ad, f.A_KIND), row + ld(ad, f.A_KEY_WORDS) * 8
    near = shortest_link(st, ad)
    ln = link_of(ad, near)
    length = length_at(ln, bound(st, ln))
    if are_alike(ad):
        return length
    if length > ld(st, f.LONG):
        return count_found(st, ad, row, most)
    found, entries = 0, list_at(st, ln, bound(st, ln))
    for at in range(length):
        if kind == f.LEAF:
            found += is_row(st, ad, bound(st, ln), at, row)
        elif kind == f.EDGE:
            far = link_of(ad, 1 - near)
            found += ld(entries, at) >> 32 == identity_at(far, bound(st, far))
        else:
            found += same_node(st, ad, node_at(ad, ld(entries, at)), projected)
    return found
