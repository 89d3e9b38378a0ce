"""Look-ahead that is kept: the live entries of a list come first, counted; the others are dead.

An entry of alias A in the list at a value of v leads on if every other vertex value of its row
is complete beyond A: each other alias there has a live entry (a leaf: a row).

    exact    an entry is live just when it leads on
    global   an entry that leads on is live; one that does not may be either: every new one is
             live, and a traversal that finds out about one lays it dead

An entry that becomes live where none was makes its value complete for the others: those of their
entries that lead on now and are dead come alive, and so on outward. In the exact mode deletes
are the mirror image; in the global mode they do nothing.

A flip waits on a stack as (alias, link, record, up): "seen from the alias, the value of its link
is now complete, or no longer". The join tree has no cycles, so a value flips once per change.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import length_at, link_of, list_at, node_at, record_at
from joingraph.graph.compiled.list_index import exchange
from joingraph.graph.compiled.machine.kernel import kernel, ld, small, sto


@small
def complete(vd: int, record: int, but: int, also: int) -> bool:
    """True if every alias at a vertex value, but for two, is there or not as its mode wants it."""
    seat = ld(vd, f.V_SEATS)
    for _ in range(ld(vd, f.V_SEAT_COUNT)):
        who, mode = ld(seat, f.S_ALIAS), ld(seat, f.S_MODE)
        is_empty, is_asked = (ld(record, ld(seat, f.S_LIVE)) & f.LENGTH) == 0, who != but
        is_asked &= who != also and mode != f.OPT and mode != f.MARK
        if is_asked and is_empty != (mode == f.ANTI):
            return False
        seat += f.SEAT_WORDS * 8
    return True


@small
def is_met(ln: int, record: int, ad: int) -> bool:
    """True if an alias finds all others at a value of its link as it wants them."""
    return ld(ln, f.L_MODE) >= f.SEMI or complete(ld(ln, f.L_VERTEX), record, ad, ad)


@small
def is_anyone(vd: int, record: int, but: int) -> bool:
    """True if an alias that is shown, but for one, has something live at a vertex value."""
    seat = ld(vd, f.V_SEATS)
    for _ in range(ld(vd, f.V_SEAT_COUNT)):
        is_shown = ld(seat, f.S_ALIAS) != but and ld(seat, f.S_MODE) <= f.OPT
        if is_shown and (ld(record, ld(seat, f.S_LIVE)) & f.LENGTH) != 0:
            return True
        seat += f.SEAT_WORDS * 8
    return False


@small
def note_flip(st: int, ln: int, record: int, up: int) -> None:
    """Note that the first live entry came to a seat, or the last one went: rows follow from it.

    Groups that are told by messages follow from them.
    """
    if ld(st, f.SILENT) == 0 and ld(st, f.GROUPS) == 0 and ld(ln, f.L_AROUND) != 0:
        item = ld(st, f.FLIPS) + ld(st, f.FLIP_COUNT) * (f.FLIP_WORDS * 8)
        sto(item, f.I_RECORD, record)
        sto(item, f.I_LINK, ln)
        sto(item, f.I_IS_UP, up)
        sto(item, f.I_TURN, 0)
        sto(st, f.FLIP_COUNT, ld(st, f.FLIP_COUNT) + 1)


@kernel
def spread(st: int, ln: int, record: int, ad: int, up: int) -> None:
    """Put on the stack what follows when an alias' first entry comes alive, or its last dies."""
    mode = ld(ln, f.L_MODE)
    if mode != f.REQ:
        note_flip(st, ln, record, up)
        if mode == f.OPT or mode == f.MARK:
            return
        if mode == f.ANTI:
            up = 1 - up
    spread_on(st, ln, record, ad, up)


@small
def spread_on(st: int, ln: int, record: int, ad: int, up: int) -> None:
    """Put on the stack who finds a value complete now, or no longer, but for an alias itself."""
    vd = ld(ln, f.L_VERTEX)
    seat = ld(vd, f.V_SEATS)
    for _ in range(ld(vd, f.V_SEAT_COUNT)):
        who, looks = ld(seat, f.S_ALIAS), ld(seat, f.S_KIND) >= f.EDGE
        if who == ad or not looks or ld(seat, f.S_MODE) >= f.SEMI:
            seat += f.SEAT_WORDS * 8
            continue
        if complete(vd, record, ad, who):
            top = ld(st, f.STACK_TOP)
            item = ld(st, f.STACK) + top * 32
            sto(item, 0, who)
            sto(item, 1, ld(seat, f.S_LINK))
            sto(item, 2, record)
            sto(item, 3, up)
            sto(st, f.STACK_TOP, top + 1)
        seat += f.SEAT_WORDS * 8


@small
def enliven(st: int, ad: int, link: int, record: int, at: int) -> None:
    """Move an entry to the live ones of its list."""
    ln = link_of(ad, link)
    live = ld(record, ld(ln, f.L_LIVE))
    exchange(st, ad, link, record, at, live)
    sto(record, ld(ln, f.L_LIVE), live + 1)
    if live == 0:
        spread(st, ln, record, ad, 1)


@kernel
def lay_dead(st: int, ad: int, link: int, record: int, at: int) -> None:
    """Move an entry to the dead ones of its list: one found to lead nowhere, if global."""
    ln = link_of(ad, link)
    live = ld(record, ld(ln, f.L_LIVE)) - 1
    exchange(st, ad, link, record, at, live)
    sto(record, ld(ln, f.L_LIVE), live)


@kernel
def deaden(st: int, ad: int, link: int, record: int, at: int) -> None:
    """Move an entry to the dead ones, and spread what follows (exact)."""
    lay_dead(st, ad, link, record, at)
    ln = link_of(ad, link)
    if ld(record, ld(ln, f.L_LIVE)) == 0:
        spread(st, ln, record, ad, 0)


@small
def turn(st: int, ad: int, link: int, record: int, at: int, up: int) -> None:
    """Enliven or deaden an entry."""
    if up:
        enliven(st, ad, link, record, at)
    else:
        deaden(st, ad, link, record, at)


@kernel
def turn_node(st: int, ad: int, node: int, link: int, up: int) -> None:
    """Note in a node that one of its values became complete, or no longer is.

    With all values complete it is live at each link; with all but one, at that one only.
    """
    count = ld(ad, f.A_LINK_COUNT)
    step = (1 << 32) | link
    was = ld(node, 0)
    sto(node, 0, was + step if up else was - step)
    rest = was if up else was - step  # without the value that turned
    others = ((rest >> 32) & 0x3FFFFFFF) - (count - 1)
    if others == 0:
        for each in range(count):
            if each != link:
                turn_entry(st, ad, node, each, up)
    elif others == -1:
        total = count * (count - 1) // 2
        turn_entry(st, ad, node, total - link - (rest & f.LOW), up)


@small
def turn_entry(st: int, ad: int, node: int, link: int, up: int) -> None:
    """Enliven or deaden a node's entry at one of its links."""
    word = ld(node, 1 + link)
    turn(st, ad, link, record_at(link_of(ad, link), word >> 32), word & f.LOW, up)


@kernel
def wake_node(st: int, ad: int, node: int, link: int) -> None:
    """Enliven a node's entries that lead on, now that its value at a link is complete (global)."""
    for other in range(ld(ad, f.A_LINK_COUNT)):
        if other != link and leads_on(ad, node, other):
            wake(st, ad, other, record_at(link_of(ad, other), ld(node, 1 + other) >> 32), node)


@small
def wake(st: int, ad: int, link: int, record: int, node: int) -> None:
    """Enliven a node's entry unless it is alive."""
    at = ld(node, 1 + link) & f.LOW
    if at >= ld(record, ld(link_of(ad, link), f.L_LIVE)):
        enliven(st, ad, link, record, at)


@kernel
def leads_on(ad: int, node: int, link: int) -> bool:
    """True if all values of a node but the one at a link are complete."""
    for other in range(ld(ad, f.A_LINK_COUNT)):
        ln = link_of(ad, other)
        record = record_at(ln, ld(node, 1 + other) >> 32)
        if other != link and not is_met(ln, record, ad):
            return False
    return True


@small
def opens(ad: int, link: int, entry: int) -> bool:
    """True if an entry of a link's list leads on."""
    if ld(ad, f.A_KIND) == f.EDGE:
        far = link_of(ad, 1 - link)
        return is_met(far, record_at(far, entry >> 32), ad)
    return leads_on(ad, node_at(ad, entry), link)


@kernel
def settle(st: int) -> None:
    """Carry out all flips that wait."""
    while ld(st, f.STACK_TOP) > 0:
        top = ld(st, f.STACK_TOP) - 1
        sto(st, f.STACK_TOP, top)
        item = ld(st, f.STACK) + top * 32
        ad, link, record, up = ld(item, 0), ld(item, 1), ld(item, 2), ld(item, 3)
        ln = link_of(ad, link)
        entries = list_at(st, ln, record)
        for at in range(length_at(ln, record)):
            entry = ld(entries, at)
            if ld(ad, f.A_KIND) == f.NODE and ld(st, f.LOOKAHEAD) == f.EXACT:
                turn_node(st, ad, node_at(ad, entry), link, up)
            elif ld(ad, f.A_KIND) == f.NODE:
                wake_node(st, ad, node_at(ad, entry), link)
            else:
                far = link_of(ad, 1 - link)
                other, place = record_at(far, entry >> 32), entry & f.LOW
                if ld(st, f.LOOKAHEAD) == f.EXACT or place >= ld(other, ld(far, f.L_LIVE)):
                    turn(st, ad, 1 - link, other, place, up)
