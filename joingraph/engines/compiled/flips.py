"""Emits the rows that come and go as seats flip: where a first partner came, or the last one went.

    flips    | value, link, whether one came, which turn |     as look-ahead noted them, in order

Around a value whose optional seat flips, rows of NULLs come or go; of a seat that is asked for,
rows themselves; of a mark, rows go as they were told before and come as they are told after. Each
walk is by the seat's own kernel, if it has one; what does not fit into a block, by the odometer.
"""

from __future__ import annotations

from joingraph.generators.compiled.odometer import begin, walk
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.live_flags import complete, is_anyone
from joingraph.graph.compiled.machine.kernel import call3, kernel, ld, small, sto


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
