"""Carries out a batch's ops on the graph and emits their view rows, block by block.

    ops   | diff, alias, kind, row | ...   in the order of the diffs, an alias after the other

    insert   link the row, then walk from it          delete   walk from the row, then unlink it
    update   walk from the old row (-), unlink it, link the new one, walk from it (+)
    move     walk from the old row (-), replace its projected words, walk from the new one (+);
             both in the same order, so no entry may be laid dead between

Inserts of one alias in a row are carried out together, by its own kernel if it has one.
An op that only says that its row is there looks for it. `run` ends when the ops do, when a block
is full, or at an op whose row is missing, before it changes anything; called again, it goes on.
A row of a block costs the same whether its diff fits: the odometer resumes, and a plugged
traversal that would overflow has written nothing that counts, so the odometer takes its diff.
"""

from __future__ import annotations

from joingraph.generators.compiled.odometer import begin, own_source, reachable, walk
from joingraph.graph.compiled.entries import bound, link_of, node_at
from joingraph.graph.compiled.fields import (
    A_INSERT,
    A_KEY_WORDS,
    A_KIND,
    A_LINK_COUNT,
    A_PLUG,
    A_PROGRAM,
    A_PROJECTED,
    A_WIDTH,
    AHEAD,
    CURSOR,
    DELETE,
    DONE,
    FLAGGING,
    FULL,
    GLOBAL,
    HEAP,
    INSERT,
    L_OFFSET,
    LEAF,
    LIMIT,
    LOOKAHEAD,
    LOW,
    MISSED,
    MOVE,
    NODE,
    NOTHING,
    O_ALIAS,
    O_KIND,
    O_PLACE,
    O_ROW,
    OP_COUNT,
    OP_WORDS,
    OVERFLOW,
    P_EMIT,
    P_EMIT_POST,
    P_MIDDLE,
    P_START,
    P_WALK,
    PHASE,
    ROWS,
    SEGMENT_COUNT,
    SILENT,
    SINK,
    UPDATE,
)
from joingraph.graph.compiled.list_index import has_places, rename
from joingraph.graph.compiled.lists import step_of
from joingraph.graph.compiled.machine.kernel import call3, kernel, ld, sto
from joingraph.graph.compiled.prefetch import (
    alias_of,
    forget_hints,
    look_ahead,
    look_beyond,
    look_further,
    op_at,
)
from joingraph.maintainers.compiled.link import (
    find_again,
    find_values,
    link_row,
    put_values,
    unlink_row,
)

MOST_INSERTS = 1 << 10  # carried out together: a block may be full long before the ops end


@kernel
def run(st: int) -> int:
    """Carry out ops until none is left (DONE), a block must be taken (FULL), or one is MISSED."""
    cursor, end = ld(st, CURSOR), ld(st, OP_COUNT)
    forget_hints(st)
    while cursor < end:
        stop = inserts_until(st, cursor, end)
        if ld(st, AHEAD) and stop - cursor < MOST_INSERTS:  # else what follows are such inserts
            look_beyond(st, cursor, stop, end)
        if stop > cursor:
            ad = alias_of(st, op_at(st, cursor))
            ended = call3(ld(ad, A_INSERT), st, cursor, stop)
            cursor = ld(st, CURSOR)
            if ended == DONE:
                continue
            if ended == FULL or ld(st, ROWS) > 0:
                return FULL
        elif ld(st, AHEAD):
            look_ahead(st, cursor, cursor, end)
            look_further(st, cursor, cursor, end)
        ended = carry_out(st, op_at(st, cursor))
        while ended == FULL and ld(st, SINK):
            hand_over(st)
            ended = carry_out(st, op_at(st, cursor))
        if ended != DONE:
            return ended
        cursor += 1
        sto(st, CURSOR, cursor)
        sto(st, PHASE, P_START)
        if ld(st, SINK):
            hand_over(st)
        elif ld(st, ROWS) >= ld(st, LIMIT):
            return FULL
    return DONE


@kernel
def hand_over(st: int) -> None:
    """Call the consumer with what the block holds, and empty it."""
    call3(ld(st, SINK), st, 0, 0)
    sto(st, ROWS, 0)
    sto(st, SEGMENT_COUNT, 0)


@kernel
def inserts_until(st: int, cursor: int, end: int) -> int:
    """Find the end of the inserts of one alias that its own kernel can carry out from here on."""
    op = op_at(st, cursor)
    alias = ld(op, O_ALIAS)
    if ld(st, PHASE) != P_START or ld(alias_of(st, op), A_INSERT) == 0:
        return cursor
    stop, end = cursor, min(end, cursor + MOST_INSERTS)
    while stop < end and ld(op, O_KIND) == INSERT and ld(op, O_ALIAS) == alias:
        op += OP_WORDS * 8
        stop += 1
    return stop


@kernel
def carry_out(st: int, op: int) -> int:
    """Take an op from where it stands to its end, or to a full block; or miss its row."""
    ad = alias_of(st, op)
    kind, row = ld(op, O_KIND), ld(op, O_ROW)
    sto(st, FLAGGING, ld(st, LOOKAHEAD) == GLOBAL and kind != MOVE)
    if ld(st, PHASE) == P_START:
        if kind == INSERT:
            put_values(st, ad, row)
            link_row(st, ad, row)
        elif not is_there(st, ad, op):
            return MISSED
        elif kind == NOTHING:
            return DONE
        sto(st, PHASE, P_EMIT)
    if ld(st, PHASE) <= P_WALK:
        if emit(st, ad, row, 1 if kind == INSERT else -1) == FULL:
            return FULL
        if kind == INSERT:
            return DONE
        sto(st, PHASE, P_MIDDLE)
    if ld(st, PHASE) == P_MIDDLE:
        if kind == DELETE:
            unlink_row(st, ad, ld(op, O_PLACE))
            return DONE
        if kind == UPDATE:
            unlink_row(st, ad, ld(op, O_PLACE))
            put_values(st, ad, row + ld(ad, A_WIDTH) * 8)
            link_row(st, ad, row + ld(ad, A_WIDTH) * 8)
        else:
            replace_row(st, ad, row, ld(op, O_PLACE))
        sto(st, PHASE, P_EMIT_POST)
    return emit(st, ad, row + ld(ad, A_WIDTH) * 8, 1)


@kernel
def is_there(st: int, ad: int, op: int) -> bool:
    """Find the row of an op that removes it, and note its place."""
    if not find_values(st, ad, ld(op, O_ROW)):
        return False
    at = find_again(st, ad, ld(op, O_ROW))
    sto(op, O_PLACE, at)
    return at >= 0


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
        begin(st, ld(ad, A_PROGRAM), weight)
        sto(st, PHASE, ld(st, PHASE) + 1)
    return walk(st, ld(ad, A_PROGRAM))


@kernel
def walk_linked(st: int, end: int) -> int:
    """Emit the paths of inserts that are linked already, to the last one or to a full block.

    The state is a walker's own, and the graph stands still: no word but the state's is written.
    """
    cursor = ld(st, CURSOR)
    forget_hints(st)
    while cursor < end:
        op = op_at(st, cursor)
        ad, row = alias_of(st, op), ld(op, O_ROW)
        if ld(st, AHEAD):
            look_ahead(st, cursor, cursor, end)
            look_further(st, cursor, cursor, end)
        if ld(st, PHASE) == P_START:
            find_values(st, ad, row)
            sto(st, PHASE, P_EMIT)
        if emit(st, ad, row, 1) == FULL:
            return FULL
        cursor += 1
        sto(st, CURSOR, cursor)
        sto(st, PHASE, P_START)
        if ld(st, ROWS) >= ld(st, LIMIT):
            return FULL
    return DONE


@kernel
def replace_row(st: int, ad: int, pre: int, at: int) -> None:
    """Give the row at a place the projected words of the row behind it."""
    projected = pre + (ld(ad, A_WIDTH) + ld(ad, A_KEY_WORDS)) * 8
    place, step, ln = 0, 8, link_of(ad, 0)
    record, position = bound(st, ln), at
    if ld(ad, A_KIND) == NODE:
        position = ld(node_at(ad, at), 1) & LOW
    kept = has_places(st, ad, record)
    if kept:
        rename(st, ad, record, position, 0)
    if ld(ad, A_KIND) == LEAF:
        group = record + ld(ln, L_OFFSET) * 8
        place, step = ld(st, HEAP) + (ld(group, 0) + at) * 8, step_of(group)
    elif ld(ad, A_KIND) == NODE:
        place = node_at(ad, at) + (1 + ld(ad, A_LINK_COUNT)) * 8
    for word in range(ld(ad, A_PROJECTED)):
        sto(place + word * step, 0, ld(projected, word))
    if kept:
        rename(st, ad, record, position, 1)
