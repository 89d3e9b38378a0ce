"""Carries out a batch's ops on the graph and emits their view rows, block by block.

    ops   | diff, alias, kind, row | ...   in the order of the diffs, an alias after the other

    insert   link the row, then walk from it          delete   walk from the row, then unlink it
    update   walk from the old row (-), unlink it, link the new one, walk from it (+)
    move     walk from the old row (-), replace its projected words, walk from the new one (+)

`run` ends when the ops do, or when a block is full; called again, it goes on where it stood.
A row of a block costs the same whether its diff fits: the odometer resumes, and a plugged
traversal that would overflow has written nothing that counts, so the odometer takes its diff.
"""

from __future__ import annotations

from joingraph.kernels.entries import link_of, node_at
from joingraph.kernels.fields import (
    A_INSERT,
    A_KEY_WORDS,
    A_KIND,
    A_LINK_COUNT,
    A_PLUG,
    A_PROJECTED,
    A_TOUR,
    A_WIDTH,
    AHEAD,
    ALIAS_WORDS,
    ALIASES,
    CURSOR,
    DELETE,
    DONE,
    FULL,
    HEAP,
    INSERT,
    L_KEY,
    L_OFFSET,
    L_VERTEX,
    LEAF,
    LENGTH,
    LIMIT,
    NODE,
    O_ALIAS,
    O_KIND,
    O_ROW,
    OP_COUNT,
    OP_WORDS,
    OPS,
    OVERFLOW,
    P_EMIT,
    P_EMIT_POST,
    P_MIDDLE,
    P_START,
    P_WALK,
    PHASE,
    ROWS,
    S_ALIAS,
    S_KIND,
    S_LENGTH,
    S_OFFSET,
    SEAT_WORDS,
    SEGMENT_COUNT,
    SILENT,
    SINK,
    UPDATE,
    V_SEAT_COUNT,
    V_SEATS,
)
from joingraph.kernels.intrinsics import call3, kernel, ld, prefetch, small, sto
from joingraph.kernels.link import (
    bound,
    find_place,
    find_values,
    link_row,
    put_values,
    unlink_row,
)
from joingraph.kernels.lists import step_of
from joingraph.kernels.odometer import begin, own_source, reachable, walk
from joingraph.kernels.table import likely_record, prefetch_slot


@kernel
def run(st: int) -> int:
    """Carry out ops until none is left (DONE) or a block must be taken (FULL)."""
    cursor, end = ld(st, CURSOR), ld(st, OP_COUNT)
    while cursor < end:
        if ld(st, AHEAD):
            look_ahead(st, cursor, end)
        if carry_out(st, ld(st, OPS) + cursor * (OP_WORDS * 8)) == FULL:
            return FULL
        cursor += 1
        sto(st, CURSOR, cursor)
        sto(st, PHASE, P_START)
        if ld(st, SINK):
            call3(ld(st, SINK), st, 0, 0)
            sto(st, ROWS, 0)
            sto(st, SEGMENT_COUNT, 0)
        elif ld(st, ROWS) >= ld(st, LIMIT):
            return FULL
    return DONE


@kernel
def carry_out(st: int, op: int) -> int:
    """Take an op from where it stands to its end, or to a full block."""
    ad = ld(st, ALIASES) + ld(op, O_ALIAS) * (ALIAS_WORDS * 8)
    kind, row = ld(op, O_KIND), ld(op, O_ROW)
    if ld(st, PHASE) == P_START:
        if kind == INSERT and ld(ad, A_INSERT):
            if call3(ld(ad, A_INSERT), st, row, 1) != OVERFLOW:
                return DONE
            if ld(st, ROWS) > 0:
                sto(st, PHASE, P_EMIT)
                return FULL
        elif kind == INSERT:
            put_values(st, ad, row)
            link_row(st, ad, row)
        else:
            find_values(st, ad, row)
        sto(st, PHASE, P_EMIT)
    if ld(st, PHASE) <= P_WALK:
        if emit(st, ad, row, 1 if kind == INSERT else -1) == FULL:
            return FULL
        if kind == INSERT:
            return DONE
        sto(st, PHASE, P_MIDDLE)
    if ld(st, PHASE) == P_MIDDLE:
        if kind == DELETE:
            unlink_row(st, ad, row)
            return DONE
        if kind == UPDATE:
            unlink_row(st, ad, row)
            put_values(st, ad, row + ld(ad, A_WIDTH) * 8)
            link_row(st, ad, row + ld(ad, A_WIDTH) * 8)
        else:
            replace_row(st, ad, row)
        sto(st, PHASE, P_EMIT_POST)
    return emit(st, ad, row + ld(ad, A_WIDTH) * 8, 1)


@kernel
def emit(st: int, ad: int, row: int, weight: int) -> int:
    """Emit the paths through a row whose vertex values are bound, by the plug if there is one."""
    if ld(st, PHASE) == P_EMIT or ld(st, PHASE) == P_EMIT_POST:
        if ld(st, SILENT) or not reachable(st, ad):
            return DONE
        if ld(ad, A_PLUG):
            if call3(ld(ad, A_PLUG), st, row, weight) != OVERFLOW:
                return DONE
            if ld(st, ROWS) > 0:
                return FULL
        own_source(st, ad, row)
        begin(st, ld(ad, A_TOUR), weight)
        sto(st, PHASE, ld(st, PHASE) + 1)
    return walk(st, ld(ad, A_TOUR))


@kernel
def replace_row(st: int, ad: int, pre: int) -> None:
    """Give a row the projected words of the row behind it."""
    at = find_place(st, ad, pre)
    projected = pre + (ld(ad, A_WIDTH) + ld(ad, A_KEY_WORDS)) * 8
    place, step = 0, 8
    if ld(ad, A_KIND) == LEAF:
        ln = link_of(ad, 0)
        group = bound(st, ln) + ld(ln, L_OFFSET) * 8
        place, step = ld(st, HEAP) + (ld(group, 0) + at) * 8, step_of(group)
    elif ld(ad, A_KIND) == NODE:
        place = node_at(ad, at) + (1 + ld(ad, A_LINK_COUNT)) * 8
    for word in range(ld(ad, A_PROJECTED)):
        sto(place + word * step, 0, ld(projected, word))


@small
def look_ahead(st: int, cursor: int, end: int) -> None:
    """Ask for what the ops ahead will touch: index slots, then records, then lists."""
    ops = ld(st, OPS)
    if cursor + 24 < end:
        prefetch_op(st, ops + (cursor + 24) * (OP_WORDS * 8), 0)
    if cursor + 16 < end:
        prefetch_op(st, ops + (cursor + 16) * (OP_WORDS * 8), 1)
    if cursor + 8 < end:
        prefetch_op(st, ops + (cursor + 8) * (OP_WORDS * 8), 2)


@small
def prefetch_op(st: int, op: int, stage: int) -> None:
    """Ask for one stage of what an op will touch."""
    ad = ld(st, ALIASES) + ld(op, O_ALIAS) * (ALIAS_WORDS * 8)
    for link in range(ld(ad, A_LINK_COUNT)):
        ln = link_of(ad, link)
        vd, key = ld(ln, L_VERTEX), ld(op, O_ROW) + ld(ln, L_KEY) * 8
        if stage == 0:
            prefetch_slot(vd, key)
        else:
            record = likely_record(vd, key)
            if record and stage == 1:
                prefetch(record, 0)
            elif record:
                prefetch_lists(st, ad, vd, record)


@small
def prefetch_lists(st: int, ad: int, vd: int, record: int) -> None:
    """Ask for the lists at a value: the ends of the alias' own, the starts of the others."""
    seat = ld(vd, V_SEATS)
    for _ in range(ld(vd, V_SEAT_COUNT)):
        if ld(seat, S_KIND) >= LEAF:
            at = ld(record, ld(seat, S_OFFSET))
            if ld(seat, S_ALIAS) == ad:
                at += ld(record, ld(seat, S_LENGTH)) & LENGTH
            prefetch(ld(st, HEAP), at)
        seat += SEAT_WORDS * 8
