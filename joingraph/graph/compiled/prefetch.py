"""Prefetches what later ops will touch, whatever their aliases and kinds are.

    op at + 24   index slots of its vertex values          at + 4   the first value beyond an edge
         at + 16 the records (kept in a ring)              at + 2   the lists there
         at + 8  the lists at those values

An alias' own kernel does each stage (engines/codegen/prefetch.py writes it); where there is none,
the plain form here does. A record in the ring may have been freed since: it is then empty, and
asking for it does no harm.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import link_of, record_at
from joingraph.graph.compiled.machine.kernel import call3, kernel, ld, prefetch, small, sto
from joingraph.graph.compiled.vertex_table import likely_record, prefetch_slot

SEARCHED_ROWS = 64  # of a list that will be searched: what lies beyond, the machine asks for


@small
def op_at(st: int, at: int) -> int:
    """Return an op."""
    return ld(st, f.OPS) + at * (f.OP_WORDS * 8)


@small
def alias_of(st: int, op: int) -> int:
    """Return the descriptor of an op's alias."""
    return ld(st, f.ALIASES) + ld(op, f.O_ALIAS) * (f.ALIAS_WORDS * 8)


@small
def sides_of(st: int, op: int) -> int:
    """Return how many rows of an op have values to be found: an update has two."""
    return 2 if ld(op, f.O_KIND) == f.UPDATE else 1


@small
def hint_at(st: int, at: int, side: int, link: int) -> int:
    """Return where the ring has the record of a link's value at an op."""
    which = side * ld(st, f.MOST_LINKS) + link
    return ld(st, f.HINTS) + (which * f.RING_SLOTS + (at & (f.RING_SLOTS - 1))) * 8


@kernel
def forget_hints(st: int) -> None:
    """Empty the ring: what it names may be of other ops."""
    for slot in range(2 * ld(st, f.MOST_LINKS) * f.RING_SLOTS):
        sto(ld(st, f.HINTS), slot, 0)


@kernel
def prefetch_near(st: int, cursor: int, first: int, end: int) -> None:
    """Prefetch what the ops ahead will touch, from `first` on: slots, then records, then lists."""
    ask_within(st, cursor + f.AHEAD_SLOT, first, end, f.AHEAD_SLOT)
    ask_within(st, cursor + f.AHEAD_RECORD, first, end, f.AHEAD_RECORD)
    ask_within(st, cursor + f.AHEAD_LIST, first, end, f.AHEAD_LIST)


@kernel
def prefetch_far(st: int, cursor: int, first: int, end: int) -> None:
    """Prefetch what the first steps of the walks from the ops ahead will touch."""
    if ld(st, f.SILENT) == 0:
        ask_within(st, cursor + f.AHEAD_NEXT, first, end, f.AHEAD_NEXT)
        ask_within(st, cursor + f.AHEAD_LAST, first, end, f.AHEAD_LAST)


@small
def ask_within(st: int, at: int, first: int, end: int, stage: int) -> None:
    """Do one stage for an op, if it lies within the ops that may be asked for."""
    if first <= at < end:
        ask(st, at, stage)


@small
def ask(st: int, at: int, stage: int) -> None:
    """Do one stage for an op, which is named by how far ahead the op is."""
    op = op_at(st, at)
    own = ld(alias_of(st, op), f.A_AHEAD)
    if own:
        call3(own, st, at, stage)
    elif stage == f.AHEAD_SLOT:
        ask_slots(st, op)
    elif stage == f.AHEAD_RECORD:
        ask_records(st, at)
    elif stage == f.AHEAD_LIST:
        ask_lists(st, at)
    else:
        ask_next(st, at, stage == f.AHEAD_LAST)


@kernel
def prefetch_beyond(st: int, cursor: int, stop: int, end: int) -> None:
    """Prefetch, from the ops that a kernel of one alias will do, for those that follow on them."""
    for at in range(max(cursor, stop - f.AHEAD_SLOT), stop):
        prefetch_near(st, at, stop, end)
        prefetch_far(st, at, stop, end)


@kernel
def ask_slots(st: int, op: int) -> None:
    """Ask for the index slots of an op's values."""
    ad = alias_of(st, op)
    for side in range(sides_of(st, op)):
        row = ld(op, f.O_ROW) + side * ld(ad, f.A_WIDTH) * 8
        for link in range(ld(ad, f.A_LINK_COUNT)):
            ln = link_of(ad, link)
            prefetch_slot(ld(ln, f.L_VERTEX), row + ld(ln, f.L_KEY) * 8)


@kernel
def ask_records(st: int, at: int) -> None:
    """Find the records of an op's values by their hash, and ask for them."""
    op = op_at(st, at)
    ad = alias_of(st, op)
    for side in range(sides_of(st, op)):
        row = ld(op, f.O_ROW) + side * ld(ad, f.A_WIDTH) * 8
        for link in range(ld(ad, f.A_LINK_COUNT)):
            ln = link_of(ad, link)
            record = likely_record(ld(ln, f.L_VERTEX), row + ld(ln, f.L_KEY) * 8)
            sto(hint_at(st, at, side, link), 0, record)
            prefetch(record, 0)


@kernel
def ask_lists(st: int, at: int) -> None:
    """Ask for the lists at an op's values."""
    op = op_at(st, at)
    ad = alias_of(st, op)
    for side in range(sides_of(st, op)):
        for link in range(ld(ad, f.A_LINK_COUNT)):
            record = ld(hint_at(st, at, side, link), 0)
            if record:
                ask_lists_at(st, ld(link_of(ad, link), f.L_VERTEX), record, op)


@kernel
def ask_lists_at(st: int, vd: int, record: int, op: int) -> None:
    """Ask for the lists at a value: where the op's alias changes its own, where others begin."""
    ad, seat, heap = alias_of(st, op), ld(vd, f.V_SEATS), ld(st, f.HEAP)
    for _ in range(ld(vd, f.V_SEAT_COUNT)):
        if ld(seat, f.S_KIND) >= f.LEAF:
            place = ld(record, ld(seat, f.S_OFFSET))
            if ld(seat, f.S_ALIAS) == ad:
                prefetch(heap, place + (ld(record, ld(seat, f.S_LENGTH)) & f.LENGTH))
                if ld(op, f.O_KIND) != f.INSERT:
                    ask_row(
                        heap, place, ld(record, ld(seat, f.S_LENGTH)) & f.LENGTH, ld(op, f.O_PLACE)
                    )
            elif not ld(st, f.SILENT):
                prefetch(heap, place)
        seat += f.SEAT_WORDS * 8


@small
def ask_row(heap: int, list_: int, length: int, place: int) -> None:
    """Ask for a row of a list; for its end, where a search begins, if it is not known where."""
    if place >= 0:
        prefetch(heap, list_ + place)
        return
    for row in range(max(0, length - SEARCHED_ROWS), length, 8):
        prefetch(heap, list_ + row)


@kernel
def ask_next(st: int, at: int, lists: bool) -> None:
    """Ask for the values beyond the first live edges at an op's values, or for the lists there."""
    op = op_at(st, at)
    ad = alias_of(st, op)
    for side in range(sides_of(st, op)):
        for link in range(ld(ad, f.A_LINK_COUNT)):
            record = ld(hint_at(st, at, side, link), 0)
            if record:
                ask_beyond(st, ld(link_of(ad, link), f.L_VERTEX), record, ad if lists else -ad)


@kernel
def ask_beyond(st: int, vd: int, record: int, but: int) -> None:
    """Ask for the lists at the values beyond a value's first live edges; below 0, for these."""
    seat = ld(vd, f.V_SEATS)
    for _ in range(ld(vd, f.V_SEAT_COUNT)):
        edge = ld(seat, f.S_KIND) == f.EDGE and ld(seat, f.S_ALIAS) != abs(but)
        if edge and (ld(record, ld(seat, f.S_LIVE)) & f.LENGTH) > 0:
            entry = ld(ld(st, f.HEAP) + ld(record, ld(seat, f.S_OFFSET)) * 8, 0)
            far = link_of(ld(seat, f.S_ALIAS), 1 - ld(seat, f.S_LINK))
            if but < 0:
                prefetch(record_at(far, entry >> 32), 0)
            else:
                ask_leaves(st, ld(far, f.L_VERTEX), record_at(far, entry >> 32))
        seat += f.SEAT_WORDS * 8


@kernel
def ask_leaves(st: int, vd: int, record: int) -> None:
    """Ask for the beginnings of the leaves' lists at a value."""
    seat = ld(vd, f.V_SEATS)
    for _ in range(ld(vd, f.V_SEAT_COUNT)):
        if ld(seat, f.S_KIND) == f.LEAF:
            for row in range(0, min(ld(record, ld(seat, f.S_LENGTH)) & f.LENGTH, 32), 8):
                prefetch(ld(st, f.HEAP), ld(record, ld(seat, f.S_OFFSET)) + row)
        seat += f.SEAT_WORDS * 8
