"""Messages: what a row changes is told from vertex to vertex, up to the groups.

    R + (t2, 9)     R tells v1 <t2>: its part (1, 9)
                    T's entries there: each brings (1, 9) times what its other vertices are told,
                    and T tells v0 <its author>
                    F's rows there: each one's group adds it; F is the root

Sums are linear, so a change alone travels, and what lies beside the way is read, not walked. All
entries are visited, dead ones too: what a vertex is told must be right when the row comes that
completes a path. A sum is an integer that wraps, of a word where it counts paths, of two where it
adds values, of more where these are floats: insert and delete cancel exactly.

A row of a root that is an alias has the number of its group, found when the row is linked.

In: an alias' descriptor and a row whose vertex values are bound; plan/groups/messages.py says who
tells whom, graph/compiled/groups/group_memory.py where that lies.
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
from joingraph.graph.compiled.machine.kernel import kernel, ld, mul128, small, sto
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.prefetch import op_at
from joingraph.graph.compiled.vertex_table import identity_of, put
from joingraph.maintainers.compiled.groups.best_values import (
    change_bags,
    move_values,
    refresh_told,
    save_told,
)
from joingraph.maintainers.compiled.groups.group_table import (
    begin_sum,
    count_row,
    end_batch,
    group_of,
    is_zero,
    number_row,
    numbered,
    touch,
)
from joingraph.maintainers.compiled.groups.long_sums import multiply_float, multiply_wide
from joingraph.maintainers.compiled.groups.told import (
    add_vector,
    is_met,
    is_without,
    message_at,
    paths_at,
    tell_missing,
    times,
    turn,
)


@kernel
def tell(st: int, ad: int, row: int, weight: int) -> None:
    """Tell of a row of an alias that came (1) or goes (-1)."""
    gd = ld(st, f.GROUPS)
    told = ld(gd, f.G_TELLS) + ld(ad, f.A_NUMBER) * (f.TELL_WORDS * 8)
    begin_diff(st, gd)
    own_source(st, ad, row)
    record = 0
    if ld(told, f.N_NUMBERED):
        record = number_row(st, ad, weight)
    if ld(gd, f.G_MISSING) and ld(told, f.N_MEET) == 0:
        tell_flip(st, gd, ad, weight)
    if not brought(st, told, weight, 0):
        return
    if not ld(gd, f.G_IS_LINEAR):
        tell_bests(st, told, record, weight)
    elif record:
        touch(st, record, ld(told, f.N_VECTOR))
    else:
        tell_on(st, told)


@small
def begin_diff(st: int, gd: int) -> None:
    """Note where the notes of a base diff begin, if it is another one; or of a folded batch."""
    diff = 0 if ld(gd, f.G_FOLDS) else ld(op_at(st, ld(st, f.CURSOR)), f.O_DIFF)
    if diff != ld(gd, f.G_DIFF):
        sto(gd, f.G_DIFF, diff)
        sto(gd, f.G_FIRST, ld(gd, f.G_SERIAL))


@kernel
def tell_flip(st: int, gd: int, ad: int, weight: int) -> None:
    """Tell the group of NULLs of a root's row that is the first at its value, or was the last."""
    ln = link_of(ad, ld(ld(gd, f.G_MISSING), f.M_TOP_LINK))
    if length_at(ln, bound(st, ln)) == 1:
        tell_all_missing(st, gd, bound(st, ln), -weight)


@kernel
def tell_all_missing(st: int, gd: int, record: int, sign: int) -> None:
    """Tell the group of NULLs of all that a value is told, at which the root has no row."""
    meet, told = ld(gd, f.G_MISSING), ld(gd, f.G_WHOLE_SIDE)
    if told:
        ln = link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK))
        tell_missing(st, message_at(told, ln, record), ld(told, f.N_SIZES), sign)
    elif met(st, meet, record, 0):
        tell_missing(st, ld(meet, f.M_VECTOR), ld(meet, f.M_SIZES), sign)


@kernel
def tell_on(st: int, told: int) -> int:
    """Add what lies in an alias' vector to its group, or to what its vertex is told; climb on."""
    meet = ld(told, f.N_MEET)
    if meet == 0:
        touch(st, group_of(st), ld(told, f.N_VECTOR))
        return 0
    ln = link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK))
    record = bound(st, ln)
    if ld(told, f.N_BLOCK):
        add_vector(message_at(told, ln, record), told)
    gd, top = ld(st, f.GROUPS), ld(meet, f.M_TOP)
    is_missing = meet == ld(gd, f.G_MISSING) and is_without(top, meet, record)
    if is_missing and ld(gd, f.G_WHOLE_SIDE):
        tell_missing(st, ld(told, f.N_VECTOR), ld(told, f.N_SIZES), 1)
    if ld(told, f.N_MODE) != f.REQ and not turn(told, ln, record):
        return 0
    if not met(st, meet, record, told):
        return 0
    if is_missing and ld(gd, f.G_WHOLE_SIDE) == 0:
        tell_missing(st, ld(meet, f.M_VECTOR), ld(meet, f.M_SIZES), 1)
    if top == 0:
        touch(st, group_of(st), ld(meet, f.M_VECTOR))
        return 0
    ad, link = ld(top, f.N_ALIAS), ld(meet, f.M_TOP_LINK)
    for at in range(rows_at(ad, link_of(ad, link), record)):
        weight = bind_row(st, ad, link, record, at)
        if not brought(st, top, weight, meet):
            continue
        if ld(top, f.N_NUMBERED):
            touch(st, numbered(st, ad), ld(top, f.N_VECTOR))
        else:
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
    ad, vector, sizes = ld(told, f.N_ALIAS), ld(told, f.N_VECTOR), ld(told, f.N_SIZES)
    below, belows = ld(told, f.N_BELOW), ld(told, f.N_BELOWS)
    for place in range(below):
        meet = ld(belows, 2 * place + 1)
        record = bound(st, link_of(ad, ld(belows, 2 * place)))
        if meet != via and not met(st, meet, record, 0):
            return False
    for part in range(ld(told, f.N_PARTS)):
        to, words = vector + ld(sizes, 2 * part) * 8, ld(sizes, 2 * part + 1)
        begin_sum(to, words, weight)
        for place in range(below):
            meet = ld(belows, 2 * place + 1)
            size = ld(meet, f.M_SIZES) + ld(ld(told, f.N_PICKS), part * below + place) * 16
            times(to, words, ld(meet, f.M_VECTOR) + ld(size, 0) * 8, ld(size, 1))
        for term in range(ld(ld(told, f.N_OWN), part), ld(ld(told, f.N_OWN), part + 1)):
            multiply(st, to, words, ld(told, f.N_TERMS) + term * (f.TERM_WORDS * 8))
    return True


@small
def multiply(st: int, to: int, words: int, term: int) -> None:
    """Multiply a sum by what a term takes of a bound row; NULL gives 0."""
    place = ld(st, f.SOURCES) + ld(term, f.T_SOURCE) * 16
    kind, step = ld(term, f.T_KIND), ld(place, 1)
    value = ld(place, 0) + ld(term, f.T_WORD) * step
    low = last = ld(value, 0)
    high, operand = low >> 63, ld(term, f.T_OPERAND)
    if kind == f.WIDE_VALUE:
        high = last = ld(value + step, 0)
    if ld(term, f.T_NULLABLE) and last == f.NULL_WORD:
        low = high = 0
    elif kind == f.KNOWN or (kind == f.EQUAL and low == operand):
        return
    elif kind == f.EQUAL:
        low = high = 0
    elif kind >= f.DOUBLE:
        multiply_float(to, words, low, term)
        return
    if words > 2:
        multiply_wide(to, words, low, high)
    elif words == 1:
        sto(to, 0, ld(to, 0) * low)
    else:
        mul128(to, low, high)


@kernel
def met(st: int, meet: int, record: int, teller: int) -> bool:
    """Multiply what a value is told, part by part, into its vertex' vector; False: by no path.

    What the teller tells lies in its vector: a change.
    """
    if ld(ld(st, f.GROUPS), f.G_IS_SET):
        sto(ld(meet, f.M_VECTOR), 0, 1)
        return is_met(meet, record, teller)
    sides, count = ld(meet, f.M_SIDES), ld(meet, f.M_SIDE_COUNT)
    for part in range(ld(meet, f.M_PARTS)):
        size = ld(meet, f.M_SIZES) + part * 16
        to, words = ld(meet, f.M_VECTOR) + ld(size, 0) * 8, ld(size, 1)
        begin_sum(to, words, 1)
        for side in range(count):
            told, pick = ld(sides, side), ld(ld(meet, f.M_PICKS), part * count + side)
            ln = link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK))
            of, of_size = ld(told, f.N_VECTOR), ld(told, f.N_SIZES) + pick * 16
            if told != teller:
                of = message_at(told, ln, record) if pick else paths_at(told, ln, record)
            times(to, words, of + ld(of_size, 0) * 8, ld(of_size, 1))
        if part == 0 and is_zero(to, words) and not (teller and is_met(meet, record, teller)):
            return False
    return True


@kernel
def tell_bests(st: int, told: int, record: int, weight: int) -> None:
    """Tell of a bound row whose vector is computed, where not only sums travel."""
    gd = ld(st, f.GROUPS)
    if ld(told, f.N_MEET) == 0:
        record = record or group_of(st)
        change_bags(st, told, number_of(gd, record), weight)
        touch(st, record, ld(told, f.N_VECTOR))
        return
    ln, meet = link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK)), ld(told, f.N_MEET)
    value = bound(st, ln)
    owner, before = identity_at(ln, value), is_met(meet, value, 0)
    save_told(told, value)
    add_vector(message_at(told, ln, value), told)
    change_bags(st, told, owner, weight)
    changed = refresh_told(told, value, owner)
    if ld(told, f.N_MODE) == f.REQ or turn(told, ln, value) or changed:
        climb(st, told, value, is_met(meet, value, 0) - before, changed)


@kernel
def climb(st: int, told: int, value: int, flip: int, changed: bool) -> int:
    """Go on from a value that was told of a change, by which it came (1), went (-1), or stayed."""
    gd, meet = ld(st, f.GROUPS), ld(told, f.N_MEET)
    is_set = ld(gd, f.G_IS_SET)
    if not met(st, meet, value, told) or (is_set and flip == 0 and not changed):
        return 0
    if is_set:
        sto(ld(meet, f.M_VECTOR), 0, flip)
        if flip == 0 and not is_met(meet, value, 0):
            return 0
    top = ld(meet, f.M_TOP)
    if top == 0:
        touch(st, group_of(st), ld(meet, f.M_VECTOR))
        return 0
    ad, link = ld(top, f.N_ALIAS), ld(meet, f.M_TOP_LINK)
    for at in range(rows_at(ad, link_of(ad, link), value)):
        weight = bind_row(st, ad, link, value, at)
        if not brought(st, top, weight, meet):
            continue
        if ld(top, f.N_MEET) == 0:
            record = numbered(st, ad) if ld(top, f.N_NUMBERED) else group_of(st)
            move_values(st, top, number_of(gd, record), told, flip, weight)
            touch(st, record, ld(top, f.N_VECTOR))
            continue
        up, beyond = link_of(ad, ld(top, f.N_LINK)), ld(top, f.N_MEET)
        other = bound(st, up)
        owner, before = identity_at(up, other), is_met(beyond, other, 0)
        save_told(top, other)
        add_vector(message_at(top, up, other), top)
        move_values(st, top, owner, told, flip, weight)
        altered = refresh_told(top, other, owner)
        if ld(top, f.N_MODE) == f.REQ or turn(top, up, other) or altered:
            climb(st, top, other, is_met(beyond, other, 0) - before, altered)
    return 0


@small
def number_of(gd: int, record: int) -> int:
    """Return the number of a group."""
    return identity_of(ld(gd, f.G_TABLE), record)


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
    if ld(gd, f.G_MISSING):
        tell_where_missing(st, gd)
    end_batch(gd)


@kernel
def tell_all(st: int, told: int) -> None:
    """Let an alias tell of all its rows, to vertices that were told nothing; sides come first."""
    ad = ld(told, f.N_ALIAS)
    ln = link_of(ad, ld(told, f.N_LINK))
    for value in range(ld(ld(ln, f.L_VERTEX), f.V_NEXT)):
        record = record_at(ln, value)
        bind(st, ln, record)
        for at in range(rows_at(ad, ln, record)):
            weight = bind_row(st, ad, ld(told, f.N_LINK), record, at)
            group = count_row(st, ad) if ld(told, f.N_NUMBERED) else 0
            if not brought(st, told, weight, 0):
                continue
            if ld(told, f.N_MEET) == 0:
                group = group or group_of(st)
                change_bags(st, told, number_of(ld(st, f.GROUPS), group), weight)
                touch(st, group, ld(told, f.N_VECTOR))
            elif ld(told, f.N_BLOCK):
                add_vector(message_at(told, ln, record), told)
                change_bags(st, told, identity_at(ln, record), weight)
                refresh_told(told, record, identity_at(ln, record))


@kernel
def tell_where_missing(st: int, gd: int) -> None:
    """Tell the group of NULLs of all values at which the root has no row."""
    meet = ld(gd, f.G_MISSING)
    top = ld(meet, f.M_TOP)
    ln = link_of(ld(top, f.N_ALIAS), ld(meet, f.M_TOP_LINK))
    for value in range(ld(ld(ln, f.L_VERTEX), f.V_NEXT)):
        record = record_at(ln, value)
        if is_without(top, meet, record):
            tell_all_missing(st, gd, record, 1)


@kernel
def tell_groups(st: int, meet: int, vd: int) -> None:
    """Make the groups of a root that is a vertex, of what its values are told."""
    for value in range(ld(vd, f.V_NEXT)):
        record = ld(vd, f.V_RECORDS) + value * ld(vd, f.V_STRIDE) * 8
        sto(ld(st, f.SOURCES), 2 * ld(vd, f.V_NUMBER), record)
        if met(st, meet, record, 0):
            touch(st, group_of(st), ld(meet, f.M_VECTOR))
