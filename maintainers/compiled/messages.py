"""Messages: what a row changes is told from vertex to vertex, up to the groups.

    R + (t2, 9)     R tells v1 <t2>: its part (1, 9)
                    T's entries there: each brings (1, 9) times what its other vertices are told,
                    and T tells v0 <its author>
                    F's rows there: each one's group adds it; F is the root

Sums are linear, so a change alone travels, and what lies beside the way is read, not walked. All
entries are visited, dead ones too: what a vertex is told must be right when the row comes that
completes a path. A sum is an integer of 128 bits that wraps: insert and delete cancel exactly.

In: an alias' descriptor and a row whose vertex values are bound; plan/messages.py says who tells
whom, graph/compiled/memory/groups.py where that lies.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import (
    bind,
    bound,
    identity_at,
    length_at,
    link_of,
    list_at,
    node_at,
    own_source,
    record_at,
    set_source,
)
from joingraph.graph.compiled.lists import step_of
from joingraph.graph.compiled.machine.kernel import add128, kernel, ld, mul128, small, sto
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.prefetch import op_at
from joingraph.graph.compiled.vertex_table import drop, put

SUM = 16  # bytes of a sum


@kernel
def tell(st: int, ad: int, row: int, weight: int) -> None:
    """Tell of a row of an alias that came (1) or goes (-1)."""
    told = ld(ld(st, f.GROUPS), f.G_TELLS) + ld(ad, f.A_NUMBER) * (f.TELL_WORDS * 8)
    own_source(st, ad, row)
    if brought(st, told, weight, 0):
        tell_on(st, told)


@kernel
def tell_on(st: int, told: int) -> int:
    """Add what lies in an alias' vector to its group, or to what its vertex is told; climb on."""
    if ld(told, f.N_MEET) == 0:
        touch(st, ld(told, f.N_VECTOR))
        return 0
    ln = link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK))
    record = bound(st, ln)
    if ld(told, f.N_BLOCK):
        add_vector(message_at(told, ln, record), ld(told, f.N_VECTOR), ld(told, f.N_PARTS))
    meet = ld(told, f.N_MEET)
    if not met(st, meet, record, told):
        return 0
    top = ld(meet, f.M_TOP)
    if top == 0:
        touch(st, ld(meet, f.M_VECTOR))
        return 0
    ad = ld(top, f.N_ALIAS)
    entrance = link_of(ad, ld(meet, f.M_TOP_LINK))
    for at in range(rows_at(ad, entrance, record)):
        weight = bind_row(st, ad, ld(meet, f.M_TOP_LINK), record, at)
        if brought(st, top, weight, meet):
            tell_on(st, top)
    return 0


@small
def rows_at(ad: int, ln: int, record: int) -> int:
    """Return how many rows an alias has at a value that differ; those of a count are alike."""
    length = length_at(ln, record)
    return min(length, 1) if ld(ad, f.A_KIND) == f.COUNT else length


@small
def bind_row(st: int, ad: int, link: int, record: int, at: int) -> int:
    """Bind a row of a list, and the values at its other links; gives how many rows it is."""
    ln, kind = link_of(ad, link), ld(ad, f.A_KIND)
    if kind == f.COUNT:
        return length_at(ln, record)
    entries = list_at(st, ln, record)
    if kind == f.LEAF:
        step = step_of(record + ld(ln, f.L_OFFSET) * 8)
        set_source(st, ld(ad, f.A_SOURCE), entries + at * 8, step)
    elif kind == f.EDGE:
        far = link_of(ad, 1 - link)
        bind(st, far, record_at(far, ld(entries, at) >> 32))
    else:
        node, links = node_at(ad, ld(entries, at)), ld(ad, f.A_LINK_COUNT)
        set_source(st, ld(ad, f.A_SOURCE), node + (1 + links) * 8, 8)
        for other in range(links):
            if other != link:
                far = link_of(ad, other)
                bind(st, far, record_at(far, ld(node, 1 + other) >> 32))
    return 1


@kernel
def brought(st: int, told: int, weight: int, via: int) -> bool:
    """Compute what a bound row brings, part by part, into its alias' vector.

    Each vertex below tells its part; `via` is the one whose vector holds a change already. False
    if some vertex has no path: then the row brings nothing.
    """
    ad = ld(told, f.N_ALIAS)
    below, belows = ld(told, f.N_BELOW), ld(told, f.N_BELOWS)
    for place in range(below):
        meet = ld(belows, 2 * place + 1)
        record = bound(st, link_of(ad, ld(belows, 2 * place)))
        if meet != via and not met(st, meet, record, 0):
            return False
    for part in range(ld(told, f.N_PARTS)):
        to = ld(told, f.N_VECTOR) + part * SUM
        sto(to, 0, weight)
        sto(to, 1, weight >> 63)
        for place in range(below):
            of = ld(ld(belows, 2 * place + 1), f.M_VECTOR)
            of += ld(ld(told, f.N_PICKS), part * below + place) * SUM
            mul128(to, ld(of, 0), ld(of, 1))
        for term in range(ld(ld(told, f.N_OWN), part), ld(ld(told, f.N_OWN), part + 1)):
            multiply(st, to, ld(told, f.N_TERMS) + term * (f.TERM_WORDS * 8))
    return True


@small
def multiply(st: int, to: int, term: int) -> None:
    """Multiply a sum by what a term takes of a bound row; NULL gives 0."""
    place = ld(st, f.SOURCES) + ld(term, f.T_SOURCE) * 16
    kind, step = ld(term, f.T_KIND), ld(place, 1)
    value = ld(place, 0) + ld(term, f.T_WORD) * step
    low = last = ld(value, 0)
    high = low >> 63
    if kind == f.WIDE_VALUE:
        high = last = ld(value + step, 0)
    if ld(term, f.T_NULLABLE) and last == f.NULL_WORD:
        low = high = 0
    elif kind == f.KNOWN or (kind == f.TRUE and low == 1):
        return
    mul128(to, low, high)


@kernel
def met(st: int, meet: int, record: int, teller: int) -> bool:
    """Multiply what a value is told, part by part, into its vertex' vector; False: by no path.

    What the teller tells lies in its vector: a change.
    """
    sides, count = ld(meet, f.M_SIDES), ld(meet, f.M_SIDE_COUNT)
    for part in range(ld(meet, f.M_PARTS)):
        to = ld(meet, f.M_VECTOR) + part * SUM
        sto(to, 0, 1)
        sto(to, 1, 0)
        for side in range(count):
            told, pick = ld(sides, side), ld(ld(meet, f.M_PICKS), part * count + side)
            ln = link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK))
            if told == teller:
                of = ld(told, f.N_VECTOR) + pick * SUM
                mul128(to, ld(of, 0), ld(of, 1))
            elif ld(told, f.N_BLOCK):
                of = message_at(told, ln, record) + pick * SUM
                mul128(to, ld(of, 0), ld(of, 1))
            else:
                mul128(to, length_at(ln, record), 0)
        if part == 0 and ld(to, 0) == 0 and ld(to, 1) == 0:
            return False
    return True


@small
def message_at(told: int, ln: int, record: int) -> int:
    """Return where a value keeps what an alias tells it."""
    return ld(told, f.N_BLOCK) + identity_at(ln, record) * ld(told, f.N_PARTS) * SUM


@small
def add_vector(to: int, vector: int, count: int) -> None:
    """Add sums to sums."""
    for place in range(count):
        of = vector + place * SUM
        add128(to + place * SUM, ld(of, 0), ld(of, 1))


@kernel
def touch(st: int, vector: int) -> None:
    """Add sums to the group of the bound path, and note what it was and is."""
    gd = ld(st, f.GROUPS)
    record, sums = group_of(st, gd), ld(gd, f.G_SUMS)
    states = record + ld(gd, f.G_STATE) * 8
    mark = states + sums * SUM
    note = 0 if ld(st, f.SILENT) else noted(st, gd, record, states, mark)
    add_vector(states, vector, sums)
    if note:
        for word in range(2 * sums):
            sto(note, 2 + 2 * sums + word, ld(states, word))
    if ld(states, 0) == 0 and ld(states, 1) == 0 and ld(mark, 1) == 0:
        sto(mark, 1, 1)
        count = ld(gd, f.G_EMPTY_COUNT)
        sto(ld(gd, f.G_EMPTY), count, record)
        sto(gd, f.G_EMPTY_COUNT, count + 1)


@small
def group_of(st: int, gd: int) -> int:
    """Find or make the group of the bound path."""
    vd, keys, key = ld(gd, f.G_TABLE), ld(gd, f.G_KEYS), ld(gd, f.G_KEY)
    for word in range(ld(vd, f.V_KEY)):
        part = keys + word * (f.KEY_WORDS * 8)
        place = ld(st, f.SOURCES) + ld(part, 0) * 16
        value = ld(ld(place, 0) + ld(part, 1) * ld(place, 1), 0)
        if ld(part, 2) == f.FLOAT_64 and value == f.NEGATIVE_ZERO_64:
            value = 0
        if ld(part, 2) == f.FLOAT_32 and value == f.NEGATIVE_ZERO_32:
            value = 0
        sto(key, word, value)
    return put(vd, key)


@small
def noted(st: int, gd: int, record: int, states: int, mark: int) -> int:
    """Find the note of a group in this base diff, or make it with the sums that it has now.

    A mark may be of another base diff, or of a block that was taken: the note itself tells.
    """
    diff = ld(op_at(st, ld(st, f.CURSOR)), f.O_DIFF)
    notes, width, rows = ld(gd, f.G_NOTES), ld(gd, f.G_NOTE_WORDS) * 8, ld(st, f.ROWS)
    vd = ld(gd, f.G_TABLE)
    identity = (record - ld(vd, f.V_RECORDS)) // (ld(vd, f.V_STRIDE) * 8)
    at = ld(mark, 0) - 1
    note = notes + at * width
    if 0 <= at < rows and ld(note, 0) == diff and ld(note, 1) == identity:
        return note
    note = notes + rows * width
    sto(note, 0, diff)
    sto(note, 1, identity)
    for word in range(2 * ld(gd, f.G_SUMS)):
        sto(note, 2 + word, ld(states, word))
    sto(st, f.ROWS, rows + 1)
    sto(mark, 0, rows + 1)
    sto(gd, f.G_TOUCHED, ld(gd, f.G_TOUCHED) + 1)
    return note


@kernel
def drop_empty(gd: int) -> None:
    """Free the groups that have no path left, once what they were has been told."""
    vd = ld(gd, f.G_TABLE)
    for place in range(ld(gd, f.G_EMPTY_COUNT)):
        record = ld(ld(gd, f.G_EMPTY), place)
        states = record + ld(gd, f.G_STATE) * 8
        sto(states, 2 * ld(gd, f.G_SUMS) + 1, 0)
        if ld(states, 0) == 0 and ld(states, 1) == 0 and ld(vd, f.V_KEY) > 0:
            drop(vd, record)
    sto(gd, f.G_EMPTY_COUNT, 0)


@kernel
def make_groups(st: int, gd: int, order: Words, meet: int, vd: int) -> None:
    """Make groups of all rows: aliases tell in an order in which sides come first.

    One kernel, so that no exception halves it: groups are known once it is done.
    """
    sto(st, f.GROUPS, gd)
    sto(st, f.SILENT, 1)
    if ld(ld(gd, f.G_TABLE), f.V_KEY) == 0:  # one group, which is there without any row
        put(ld(gd, f.G_TABLE), ld(gd, f.G_KEY))
    for place in range(len(order)):
        tell_all(st, order[place])
    if meet:
        tell_groups(st, meet, vd)


@kernel
def tell_all(st: int, told: int) -> None:
    """Let an alias tell of all its rows, to vertices that were told nothing; sides come first."""
    ad = ld(told, f.N_ALIAS)
    ln, parts = link_of(ad, ld(told, f.N_LINK)), ld(told, f.N_PARTS)
    for value in range(ld(ld(ln, f.L_VERTEX), f.V_NEXT)):
        record = record_at(ln, value)
        bind(st, ln, record)
        for at in range(rows_at(ad, ln, record)):
            weight = bind_row(st, ad, ld(told, f.N_LINK), record, at)
            if not brought(st, told, weight, 0):
                continue
            if ld(told, f.N_MEET) == 0:
                touch(st, ld(told, f.N_VECTOR))
            elif ld(told, f.N_BLOCK):
                add_vector(message_at(told, ln, record), ld(told, f.N_VECTOR), parts)


@kernel
def tell_groups(st: int, meet: int, vd: int) -> None:
    """Make the groups of a root that is a vertex, of what its values are told."""
    for value in range(ld(vd, f.V_NEXT)):
        record = ld(vd, f.V_RECORDS) + value * ld(vd, f.V_STRIDE) * 8
        sto(ld(st, f.SOURCES), 2 * ld(vd, f.V_NUMBER), record)
        if met(st, meet, record, 0):
            touch(st, ld(meet, f.M_VECTOR))
