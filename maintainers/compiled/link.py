"""Links a base row into the graph and takes it out again, whatever its alias' kind.

In: an alias' descriptor and the address of a row (key words, projected words); the records of its
vertex values have been found and lie in the state's sources, at the vertex' number. Invariant:
after each call all lists, back references and (if kept) live counts agree.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import (
    bind,
    bound,
    group_at,
    identity_at,
    length_at,
    link_of,
    list_at,
    node_at,
    record_at,
)
from joingraph.graph.compiled.list_index import (
    exchange,
    find_long,
    forget,
    has_places,
    is_row,
    move,
    note_appended,
    same_node,
)
from joingraph.graph.compiled.lists import (
    append,
    append_row,
    find_row,
    find_word,
    remove_row,
    shorten,
)
from joingraph.graph.compiled.live_flags import deaden, enliven, is_met, lay_dead, settle, spread
from joingraph.graph.compiled.machine.kernel import kernel, ld, small, sto
from joingraph.graph.compiled.prefetch import op_at
from joingraph.graph.compiled.vertex_table import drop, find, put


@kernel
def put_values(st: int, ad: int, row: int) -> None:
    """Find or make the vertex values of a row."""
    for link in range(ld(ad, f.A_LINK_COUNT)):
        ln = link_of(ad, link)
        bind(st, ln, put(ld(ln, f.L_VERTEX), row + ld(ln, f.L_KEY) * 8))


@kernel
def find_values(st: int, ad: int, row: int) -> bool:
    """Find the vertex values of a row; false if one does not exist."""
    for link in range(ld(ad, f.A_LINK_COUNT)):
        ln = link_of(ad, link)
        record = find(ld(ln, f.L_VERTEX), row + ld(ln, f.L_KEY) * 8)
        if record == 0:
            return False
        bind(st, ln, record)
    return True


@kernel
def link_row(st: int, ad: int, row: int) -> None:
    """Add a row to the lists of its vertex values."""
    kind = ld(ad, f.A_KIND)
    sto(ad, f.A_ROWS, ld(ad, f.A_ROWS) + 1)
    if kind == f.EDGE:
        link_edge(st, ad)
    elif kind > f.EDGE:
        link_node(st, ad, row)
    else:
        ln = link_of(ad, 0)
        record = bound(st, ln)
        if kind == f.COUNT:
            sto(record, ld(ln, f.L_LENGTH), ld(record, ld(ln, f.L_LENGTH)) + 1)
        else:
            group, own = group_at(ln, record), ld(ad, f.A_PROJECTED)
            append_row(st, group, ld(ln, f.L_SHAPE), own, row + ld(ad, f.A_KEY_WORDS) * 8)
            note_appended(st, ad, record, length_at(ln, record) - 1)
        if length_at(ln, record) == 1 and ld(st, f.LOOKAHEAD) >= f.GLOBAL:
            spread(st, ln, record, ad, 1)
    settle(st)


@kernel
def unlink_row(st: int, ad: int, at: int) -> None:
    """Take the row at a place out of the lists of its vertex values."""
    kind = ld(ad, f.A_KIND)
    sto(ad, f.A_ROWS, ld(ad, f.A_ROWS) - 1)
    if kind == f.EDGE:
        unlink_edge(st, ad, at)
    elif kind > f.EDGE:
        unlink_node(st, ad, at)
    else:
        ln = link_of(ad, 0)
        record = bound(st, ln)
        if kind == f.COUNT:
            sto(record, ld(ln, f.L_LENGTH), ld(record, ld(ln, f.L_LENGTH)) - 1)
        else:
            remove_leaf(st, ad, record, at)
        if length_at(ln, record) == 0 and ld(st, f.LOOKAHEAD) == f.EXACT:
            spread(st, ln, record, ad, 0)
    settle(st)
    drop_values(st, ad)


@kernel
def remove_leaf(st: int, ad: int, record: int, at: int) -> None:
    """Remove a row from a leaf's list; the last one takes its place."""
    ln = link_of(ad, 0)
    last = length_at(ln, record) - 1
    if has_places(st, ad, record):
        forget(st, ad, record, at)
        if at != last and has_places(st, ad, record):
            move(st, ad, record, last, at)
    remove_row(st, group_at(ln, record), ld(ln, f.L_SHAPE), at)


@kernel
def drop_values(st: int, ad: int) -> None:
    """Free the vertex values that have lost their last row."""
    for link in range(ld(ad, f.A_LINK_COUNT)):
        ln = link_of(ad, link)
        vd, record = ld(ln, f.L_VERTEX), bound(st, ln)
        if ld(vd, f.V_KEY) > 0 and empty(vd, record):
            forget_flips(st, record)
            drop(vd, record)


@kernel
def forget_flips(st: int, record: int) -> None:
    """Forget that seats of a value flipped which is freed: no row is around it."""
    for at in range(ld(st, f.FLIP_COUNT)):
        item = ld(st, f.FLIPS) + at * (f.FLIP_WORDS * 8)
        if ld(item, f.I_RECORD) == record:
            sto(item, f.I_RECORD, 0)


@kernel
def empty(vd: int, record: int) -> bool:
    """True if no alias has a row at a vertex value."""
    seat = ld(vd, f.V_SEATS)
    for _ in range(ld(vd, f.V_SEAT_COUNT)):
        if (ld(record, ld(seat, f.S_LENGTH)) & f.LENGTH) != 0:
            return False
        seat += f.SEAT_WORDS * 8
    return True


@kernel
def find_again(st: int, ad: int, row: int) -> int:
    """Find the row of the present op: where it was a while ago, if it is still there."""
    guess, kind = ld(op_at(st, ld(st, f.CURSOR)), f.O_PLACE), ld(ad, f.A_KIND)
    record, ln = bound(st, link_of(ad, 0)), link_of(ad, 0)
    if kind in (f.LEAF, f.EDGE):
        known = 0 <= guess < length_at(ln, record)
    else:
        known = kind == f.NODE and 0 <= guess < ld(ad, f.A_NEXT) and ld(node_at(ad, guess), 0) != 0
    if known and is_row(st, ad, record, guess, row):
        return guess
    return find_place(st, ad, row)


@small
def are_alike(ad: int) -> bool:
    """True if all rows that an alias has at a value are equal, be they listed for their groups."""
    kind = ld(ad, f.A_KIND)
    return kind == f.COUNT or (kind == f.LEAF and ld(ad, f.A_PROJECTED) == 0)


@kernel
def find_place(st: int, ad: int, row: int) -> int:
    """Find a row: its position in a leaf's list, an edge's at link 0, a node's id; or -1."""
    kind, ln = ld(ad, f.A_KIND), link_of(ad, 0)
    if are_alike(ad):
        return length_at(ln, bound(st, ln)) - 1
    projected = row + ld(ad, f.A_KEY_WORDS) * 8
    if least(st, ad) > ld(st, f.LONG):
        return find_long(st, ad, row)
    if kind == f.LEAF:
        group = group_at(ln, bound(st, ln))
        return find_row(st, group, ld(ad, f.A_PROJECTED), projected)
    if kind == f.EDGE:
        return find_edge(st, ad)
    return find_node(st, ad, projected)


@kernel
def shortest_link(st: int, ad: int) -> int:
    """Choose the link whose list is the shortest at the bound values."""
    best, least = 0, f.LENGTH
    for link in range(ld(ad, f.A_LINK_COUNT)):
        ln = link_of(ad, link)
        length = length_at(ln, bound(st, ln))
        if length < least:
            best, least = link, length
    return best


@small
def least(st: int, ad: int) -> int:
    """Return the length of the shortest list at the bound values."""
    ln = link_of(ad, shortest_link(st, ad))
    return length_at(ln, bound(st, ln))


@kernel
def find_edge(st: int, ad: int) -> int:
    """Find an edge between the bound values: its position in the list at link 0, or -1."""
    near = shortest_link(st, ad)
    ln, far = link_of(ad, near), link_of(ad, 1 - near)
    entries = list_at(st, ln, bound(st, ln))
    wanted = identity_at(far, bound(st, far))
    at = find_word(entries, length_at(ln, bound(st, ln)), wanted, 32)
    return at if near == 0 or at < 0 else ld(entries, at) & f.LOW


@kernel
def find_node(st: int, ad: int, projected: int) -> int:
    """Find a node of the bound values with the projected words at an address, or -1."""
    ln = link_of(ad, shortest_link(st, ad))
    entries = list_at(st, ln, bound(st, ln))
    for at in range(length_at(ln, bound(st, ln)) - 1, -1, -1):
        if same_node(st, ad, node_at(ad, ld(entries, at)), projected):
            return ld(entries, at)
    return -1


@kernel
def link_edge(st: int, ad: int) -> None:
    """Add an edge between the two bound values."""
    one, two = link_of(ad, 0), link_of(ad, 1)
    near, far = bound(st, one), bound(st, two)
    at_near = length_at(one, near)
    at_far = length_at(two, far)
    entry = append(st, group_at(one, near), ld(one, f.L_SHAPE))
    sto(entry, 0, (identity_at(two, far) << 32) | at_far)
    entry = append(st, group_at(two, far), ld(two, f.L_SHAPE))
    sto(entry, 0, (identity_at(one, near) << 32) | at_near)
    note_appended(st, ad, near, at_near)
    mode = ld(st, f.LOOKAHEAD)
    if mode == f.GLOBAL or (mode == f.EXACT and is_met(two, far, ad)):
        enliven(st, ad, 0, near, at_near)
    if mode == f.GLOBAL or (mode == f.EXACT and is_met(one, near, ad)):
        enliven(st, ad, 1, far, at_far)


@kernel
def unlink_edge(st: int, ad: int, at: int) -> None:
    """Remove the edge at a position of the list at link 0."""
    one, two = link_of(ad, 0), link_of(ad, 1)
    near = bound(st, one)
    entry = ld(list_at(st, one, near), at)
    far = record_at(two, entry >> 32)
    remove_entry(st, ad, 0, near, at)
    remove_entry(st, ad, 1, far, entry & f.LOW)
    if has_places(st, ad, near):
        forget(st, ad, near, length_at(one, near) - 1)
    shorten(st, group_at(one, near), ld(one, f.L_SHAPE))
    shorten(st, group_at(two, far), ld(two, f.L_SHAPE))


@kernel
def remove_entry(st: int, ad: int, link: int, record: int, at: int) -> None:
    """Move an entry to the end of its list, out of the live ones first."""
    ln = link_of(ad, link)
    if ld(st, f.LOOKAHEAD) >= f.GLOBAL and at < ld(record, ld(ln, f.L_LIVE)):
        if ld(st, f.LOOKAHEAD) == f.EXACT:
            deaden(st, ad, link, record, at)
        else:
            lay_dead(st, ad, link, record, at)
        at = ld(record, ld(ln, f.L_LIVE))
    exchange(st, ad, link, record, at, length_at(ln, record) - 1)


@kernel
def link_node(st: int, ad: int, row: int) -> None:
    """Add a node for the bound values, with the row's projected words."""
    identity, links = take_node(ad), ld(ad, f.A_LINK_COUNT)
    node, completed = node_at(ad, identity), 0
    for link in range(links):
        ln = link_of(ad, link)
        record = bound(st, ln)
        at = length_at(ln, record)
        sto(append(st, group_at(ln, record), ld(ln, f.L_SHAPE)), 0, identity)
        sto(node, 1 + link, (identity_at(ln, record) << 32) | at)
        if is_met(ln, record, ad):
            completed += (1 << 32) | link
    for word in range(ld(ad, f.A_PROJECTED)):
        sto(node, 1 + links + word, ld(row, ld(ad, f.A_KEY_WORDS) + word))
    sto(node, 0, f.USED | completed)
    sto(st, f.LAST_NODE, identity)
    note_appended(st, ad, bound(st, link_of(ad, 0)), ld(node, 1) & f.LOW)
    if ld(st, f.LOOKAHEAD) >= f.GLOBAL:
        missing = links - (completed >> 32)
        last = links * (links - 1) // 2 - (completed & f.LOW)
        for link in range(links):
            alone = missing == 1 and last == link
            if missing == 0 or alone or ld(st, f.LOOKAHEAD) == f.GLOBAL:
                record = bound(st, link_of(ad, link))
                enliven(st, ad, link, record, ld(node, 1 + link) & f.LOW)


@kernel
def unlink_node(st: int, ad: int, identity: int) -> None:
    """Remove a node from the lists of its values and free it."""
    node, first = node_at(ad, identity), bound(st, link_of(ad, 0))
    if has_places(st, ad, first):
        forget(st, ad, first, ld(node, 1) & f.LOW)
    for link in range(ld(ad, f.A_LINK_COUNT)):
        ln = link_of(ad, link)
        remove_entry(st, ad, link, bound(st, ln), ld(node, 1 + link) & f.LOW)
        shorten(st, group_at(ln, bound(st, ln)), ld(ln, f.L_SHAPE))
    sto(node, 0, 0)
    sto(node, 1, ld(ad, f.A_FREE))
    sto(ad, f.A_FREE, identity + 1)


@kernel
def take_node(ad: int) -> int:
    """Return a node's id: the last one freed, or the next."""
    freed = ld(ad, f.A_FREE)
    if freed:
        sto(ad, f.A_FREE, ld(node_at(ad, freed - 1), 1))
        return freed - 1
    fresh = ld(ad, f.A_NEXT)
    sto(ad, f.A_NEXT, fresh + 1)
    return fresh
