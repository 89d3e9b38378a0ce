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

from joingraph.generators.compiled.odometer import begin, reachable, walk
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import bound, link_of, node_at, own_source
from joingraph.graph.compiled.list_index import has_places, rename
from joingraph.graph.compiled.lists import step_of
from joingraph.graph.compiled.live_flags import complete, is_anyone
from joingraph.graph.compiled.machine.kernel import call3, kernel, ld, small, sto
from joingraph.graph.compiled.prefetch import (
    alias_of,
    forget_hints,
    op_at,
    prefetch_beyond,
    prefetch_far,
    prefetch_near,
)
from joingraph.maintainers.compiled.groups.change_lists import tell_change
from joingraph.maintainers.compiled.groups.messages import tell
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
    cursor, end = ld(st, f.CURSOR), ld(st, f.OP_COUNT)
    forget_hints(st)
    while cursor < end:
        stop = inserts_until(st, cursor, end)
        if ld(st, f.AHEAD) and stop - cursor < MOST_INSERTS:  # else what follows are such inserts
            prefetch_beyond(st, cursor, stop, end)
        if stop > cursor:
            ad = alias_of(st, op_at(st, cursor))
            ended = call3(ld(ad, f.A_INSERT), st, cursor, stop)
            cursor = ld(st, f.CURSOR)
            if ended == f.DONE:
                continue
            if ended == f.FULL or ld(st, f.ROWS) > 0:
                return f.FULL
        elif ld(st, f.AHEAD):
            prefetch_near(st, cursor, cursor, end)
            prefetch_far(st, cursor, cursor, end)
        ended = carry_out(st, op_at(st, cursor))
        while ended == f.FULL and ld(st, f.SINK):
            hand_over(st)
            ended = carry_out(st, op_at(st, cursor))
        if ended != f.DONE:
            return ended
        cursor += 1
        sto(st, f.CURSOR, cursor)
        sto(st, f.PHASE, f.P_START)
        if ld(st, f.SINK):
            hand_over(st)
        elif ld(st, f.ROWS) >= ld(st, f.LIMIT) and may_be_full(st, cursor, end):
            return f.FULL
    return f.DONE


@small
def may_be_full(st: int, cursor: int, end: int) -> bool:
    """True if a block may end here: a group that a base diff touches twice is told once."""
    if ld(st, f.GROUPS) == 0 or cursor == end:
        return True
    return ld(op_at(st, cursor), f.O_DIFF) != ld(op_at(st, cursor - 1), f.O_DIFF)


@kernel
def hand_over(st: int) -> None:
    """Call the consumer with what the block holds, and empty it."""
    call3(ld(st, f.SINK), st, 0, 0)
    sto(st, f.ROWS, 0)
    sto(st, f.SEGMENT_COUNT, 0)


@kernel
def inserts_until(st: int, cursor: int, end: int) -> int:
    """Find the end of the inserts of one alias that its own kernel can carry out from here on."""
    op = op_at(st, cursor)
    alias = ld(op, f.O_ALIAS)
    if ld(st, f.PHASE) != f.P_START or ld(alias_of(st, op), f.A_INSERT) == 0:
        return cursor
    stop, end = cursor, min(end, cursor + MOST_INSERTS)
    while stop < end and ld(op, f.O_KIND) == f.INSERT and ld(op, f.O_ALIAS) == alias:
        op += f.OP_WORDS * 8
        stop += 1
    return stop


@kernel
def carry_out(st: int, op: int) -> int:
    """Take an op from where it stands to its end, or to a full block; or miss its row.

    Flips of what others look for come last, as they are the same before and after.
    """
    if ld(st, f.PHASE) < f.P_FLIPS:
        ended = carry_row_out(st, op)
        if ended != f.DONE or ld(st, f.FLIP_COUNT) == 0:
            return ended
        sto(st, f.PHASE, f.P_FLIPS)
    return emit_flips(st)


@kernel
def emit_flips(st: int) -> int:
    """Emit the rows around values whose seats flipped, to the last flip or to a full block."""
    while ld(st, f.FLIP_NEXT) < ld(st, f.FLIP_COUNT):
        flip = ld(st, f.FLIPS) + ld(st, f.FLIP_NEXT) * (f.FLIP_WORDS * 8)
        ln, record, turn = ld(flip, f.I_LINK), ld(flip, f.I_RECORD), ld(flip, f.I_TURN)
        is_under_way = ld(st, f.PHASE) == f.P_WALK_FLIP
        if not is_under_way and (record == 0 or ld(st, f.SILENT) or not is_around(ln, record)):
            sto(st, f.FLIP_NEXT, ld(st, f.FLIP_NEXT) + 1)
            continue
        if emit_around(st, flip) == f.FULL:
            return f.FULL
        sto(st, f.PHASE, f.P_FLIPS)
        if ld(ln, f.L_MODE) == f.MARK and turn == 0:
            sto(flip, f.I_TURN, 1)
        else:
            sto(st, f.FLIP_NEXT, ld(st, f.FLIP_NEXT) + 1)
    sto(st, f.FLIP_COUNT, 0)
    sto(st, f.FLIP_NEXT, 0)
    return f.DONE


@kernel
def emit_around(st: int, flip: int) -> int:
    """Emit the rows around a value, by the plug if there is one, to the last or to a full block."""
    ln, record, turn = ld(flip, f.I_LINK), ld(flip, f.I_RECORD), ld(flip, f.I_TURN)
    mode, up = ld(ln, f.L_MODE), ld(flip, f.I_IS_UP)
    program = ld(ln, f.L_AROUND_NOT if turn else f.L_AROUND)
    if ld(st, f.PHASE) == f.P_FLIPS:
        comes = up != turn if mode == f.MARK else up == (mode == f.SEMI)
        weight, plug = 1 if comes else -1, ld(ln, f.L_PLUG_NOT if turn else f.L_PLUG)
        if plug:
            if call3(plug, st, record, weight) != f.OVERFLOW:
                return f.DONE
            if ld(st, f.ROWS) > 0:
                return f.FULL
        sto(ld(st, f.SOURCES), 2 * ld(ln, f.L_NUMBER), record)
        begin(st, program, weight)
        sto(st, f.PHASE, f.P_WALK_FLIP)
    return walk(st, program)


@small
def is_around(ln: int, record: int) -> bool:
    """True if all others at a value are as they are wanted, and one that is shown is there."""
    vd, ad = ld(ln, f.L_VERTEX), ld(ln, f.L_ALIAS)
    return complete(vd, record, ad, ad) and is_anyone(vd, record, ad)


@kernel
def carry_row_out(st: int, op: int) -> int:
    """Take an op's row from where it stands to its end, or to a full block; or miss it."""
    ad = alias_of(st, op)
    kind, row = ld(op, f.O_KIND), ld(op, f.O_ROW)
    sto(st, f.FLAGGING, ld(st, f.LOOKAHEAD) == f.GLOBAL and kind != f.MOVE)
    if ld(st, f.PHASE) == f.P_START:
        if kind == f.INSERT:
            put_values(st, ad, row)
            link_row(st, ad, row)
        elif not is_there(st, ad, op):
            return f.MISSED
        elif kind == f.NOTHING:
            return f.DONE
        sto(st, f.PHASE, f.P_EMIT)
    if ld(st, f.PHASE) <= f.P_WALK:
        if emit(st, ad, row, 1 if kind == f.INSERT else -1) == f.FULL:
            return f.FULL
        if kind == f.INSERT:
            return f.DONE
        sto(st, f.PHASE, f.P_MIDDLE)
    if ld(st, f.PHASE) == f.P_MIDDLE:
        if kind == f.DELETE:
            unlink_row(st, ad, ld(op, f.O_PLACE))
            return f.DONE
        if kind == f.UPDATE:
            unlink_row(st, ad, ld(op, f.O_PLACE))
            put_values(st, ad, row + ld(ad, f.A_WIDTH) * 8)
            link_row(st, ad, row + ld(ad, f.A_WIDTH) * 8)
        else:
            replace_row(st, ad, row, ld(op, f.O_PLACE))
        sto(st, f.PHASE, f.P_EMIT_POST)
    return emit(st, ad, row + ld(ad, f.A_WIDTH) * 8, 1)


@kernel
def is_there(st: int, ad: int, op: int) -> bool:
    """Find the row of an op that removes it, and note its place."""
    if not find_values(st, ad, ld(op, f.O_ROW)):
        return False
    at = find_again(st, ad, ld(op, f.O_ROW))
    sto(op, f.O_PLACE, at)
    return at >= 0


@kernel
def emit(st: int, ad: int, row: int, weight: int) -> int:
    """Emit the paths through a row whose vertex values are bound, by the plug if there is one.

    In silence no path is walked, and a walk that was cut short, perhaps to be undone, ends there.
    Groups hear of every row. Rows that are only asked for have no program: flips tell of them.
    """
    if ld(st, f.GROUPS):
        if ld(ad, f.A_PLUG):
            return call3(ld(ad, f.A_PLUG), st, row, weight)
        if ld(ld(st, f.GROUPS), f.G_LISTS):
            tell_change(st, ad, row, weight)
        else:
            tell(st, ad, row, weight)
        return f.DONE
    if ld(st, f.SILENT):
        return f.DONE
    if ld(st, f.PHASE) == f.P_EMIT or ld(st, f.PHASE) == f.P_EMIT_POST:
        if ld(ad, f.A_PROGRAM) == 0 or not reachable(st, ad):
            return f.DONE
        if ld(ad, f.A_PLUG):
            if call3(ld(ad, f.A_PLUG), st, row, weight) != f.OVERFLOW:
                return f.DONE
            if ld(st, f.ROWS) > 0:
                return f.FULL
        own_source(st, ad, row)
        begin(st, ld(ad, f.A_PROGRAM), weight)
        sto(st, f.PHASE, ld(st, f.PHASE) + 1)
    return walk(st, ld(ad, f.A_PROGRAM))


@kernel
def walk_linked(st: int, end: int) -> int:
    """Emit the paths of inserts that are linked already, to the last one or to a full block.

    The state is a walker's own, and the graph stands still: no word but the state's is written.
    """
    cursor = ld(st, f.CURSOR)
    forget_hints(st)
    while cursor < end:
        op = op_at(st, cursor)
        ad, row = alias_of(st, op), ld(op, f.O_ROW)
        if ld(st, f.AHEAD):
            prefetch_near(st, cursor, cursor, end)
            prefetch_far(st, cursor, cursor, end)
        if ld(st, f.PHASE) == f.P_START:
            find_values(st, ad, row)
            sto(st, f.PHASE, f.P_EMIT)
        if emit(st, ad, row, 1) == f.FULL:
            return f.FULL
        cursor += 1
        sto(st, f.CURSOR, cursor)
        sto(st, f.PHASE, f.P_START)
        if ld(st, f.ROWS) >= ld(st, f.LIMIT):
            return f.FULL
    return f.DONE


@kernel
def replace_row(st: int, ad: int, pre: int, at: int) -> None:
    """Give the row at a place the projected words of the row behind it."""
    projected = pre + (ld(ad, f.A_WIDTH) + ld(ad, f.A_KEY_WORDS)) * 8
    place, step, ln = 0, 8, link_of(ad, 0)
    record, position = bound(st, ln), at
    if ld(ad, f.A_KIND) == f.NODE:
        position = ld(node_at(ad, at), 1) & f.LOW
    kept = has_places(st, ad, record)
    if kept:
        rename(st, ad, record, position, 0)
    if ld(ad, f.A_KIND) == f.LEAF:
        group = record + ld(ln, f.L_OFFSET) * 8
        place, step = ld(st, f.HEAP) + (ld(group, 0) + at) * 8, step_of(group)
    elif ld(ad, f.A_KIND) == f.NODE:
        place = node_at(ad, at) + (1 + ld(ad, f.A_LINK_COUNT)) * 8
    for word in range(ld(ad, f.A_PROJECTED)):
        sto(place + word * step, 0, ld(projected, word))
    if kept:
        rename(st, ad, record, position, 1)
