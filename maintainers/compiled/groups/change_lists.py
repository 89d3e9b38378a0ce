"""Where no groups are kept: what a row changes, told once with the keys of the groups it goes to.

    R + (t2, 9)     R tells v1, T tells v0, as messages say; v0 is told (1, 9)
                    F's rows at v0 are the groups: their keys are copied, and no group is touched

    change   | diff << 32 | where its groups begin | sums |      up to where the next begin
    keys     by column of words

A row far from the root may come to one value on many ways. What it brings there is gathered by
value, so that a list is copied once for each row that changes, however many ways there are.
A row that changes in place tells of one list twice: its two changes are added up. What else a base
diff tells a group several times is put together later (generators/compiled/groups).

In: as for messages. Out: changes and keys, in a memory that has room for all of a base diff
(graph/compiled/groups/list_memory.py).
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
    own_source,
)
from joingraph.graph.compiled.lists import step_of
from joingraph.graph.compiled.machine.kernel import copy8, kernel, ld, small, sto
from joingraph.graph.compiled.prefetch import op_at
from joingraph.maintainers.compiled.groups.group_table import add_sums
from joingraph.maintainers.compiled.groups.messages import bind_row, brought, met, rows_at
from joingraph.maintainers.compiled.groups.told import add_vector, message_at

SHORT = 4  # lists below this length are copied row by row


@kernel
def tell_change(st: int, ad: int, row: int, weight: int) -> None:
    """Tell of a row of an alias that came (1) or goes (-1)."""
    gd = ld(st, f.GROUPS)
    told = ld(gd, f.G_TELLS) + ld(ad, f.A_NUMBER) * (f.TELL_WORDS * 8)
    own_source(st, ad, row)
    begin_change(st, gd, told)
    if brought(st, told, weight, 0):
        climb_on(st, told)
        list_gathered(st)


@small
def begin_change(st: int, gd: int, told: int) -> None:
    """Note where the changes of a base diff begin, if it is another one.

    Lists are others once a row of the root has changed.
    """
    diff = ld(op_at(st, ld(st, f.CURSOR)), f.O_DIFF)
    if diff != ld(gd, f.G_DIFF):
        sto(gd, f.G_DIFF, diff)
        sto(gd, f.G_FIRST, ld(st, f.SEGMENT_COUNT))
    if ld(told, f.N_MEET) == 0:
        sto(gd, f.G_WHERE, 0)


@kernel
def climb_on(st: int, told: int) -> int:
    """Add what lies in an alias' vector to what its vertex is told; climb on, up to the lists."""
    meet = ld(told, f.N_MEET)
    if meet == 0:
        list_path(st, ld(told, f.N_VECTOR))
        return 0
    ln = link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK))
    record = bound(st, ln)
    if ld(told, f.N_BLOCK):
        add_vector(message_at(told, ln, record), told)
    if not met(st, meet, record, told):
        return 0
    top = ld(meet, f.M_TOP)
    if top == 0 or ld(top, f.N_MEET) == 0:
        gather(st, told, record)
        return 0
    ad, link = ld(top, f.N_ALIAS), ld(meet, f.M_TOP_LINK)
    for at in range(rows_at(ad, link_of(ad, link), record)):
        weight = bind_row(st, ad, link, record, at)
        if brought(st, top, weight, meet):
            climb_on(st, top)
    return 0


@kernel
def gather(st: int, told: int, record: int) -> None:
    """Add what lies in a vertex' vector to what a value has been told by this row."""
    gd, meet = ld(st, f.GROUPS), ld(told, f.N_MEET)
    if ld(st, f.SILENT):
        return
    ln = link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK))
    place = gathered_at(gd, ln, record)
    if ld(place, 0) == 0:
        sto(place, 0, 1)
        count = ld(gd, f.G_EMPTY_COUNT)
        sto(ld(gd, f.G_EMPTY), count, record)
        sto(gd, f.G_EMPTY_COUNT, count + 1)
        sto(gd, f.G_TELLER, told)
    add_sums(place + 8, ld(meet, f.M_VECTOR), ld(meet, f.M_SIZES), ld(meet, f.M_PARTS))


@small
def gathered_at(gd: int, ln: int, record: int) -> int:
    """Return where a value has what it is told by one row."""
    return ld(gd, f.G_GATHERED) + identity_at(ln, record) * ld(gd, f.G_GATHERED_WORDS) * 8


@kernel
def list_gathered(st: int) -> None:
    """List the groups at the values that a row has told of a change, each value once."""
    gd = ld(st, f.GROUPS)
    count = ld(gd, f.G_EMPTY_COUNT)
    sto(gd, f.G_EMPTY_COUNT, 0)
    for at in range(count):
        told, record = ld(gd, f.G_TELLER), ld(ld(gd, f.G_EMPTY), at)
        meet, ln = ld(told, f.N_MEET), link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK))
        place, vector = gathered_at(gd, ln, record), ld(meet, f.M_VECTOR)
        last = ld(meet, f.M_SIZES) + (ld(meet, f.M_PARTS) - 1) * (f.SIZE_WORDS * 8)
        for word in range(ld(last, 0) + ld(last, 1)):
            sto(vector, word, ld(place, 1 + word))
            sto(place, 1 + word, 0)
        sto(place, 0, 0)
        bind(st, ln, record)
        list_value(st, told, record)


@kernel
def list_value(st: int, told: int, record: int) -> None:
    """List the groups at a bound value that is told of a change, which lies in its vector."""
    meet = ld(told, f.N_MEET)
    top, link = ld(meet, f.M_TOP), ld(meet, f.M_TOP_LINK)
    if top == 0:
        list_path(st, ld(meet, f.M_VECTOR))
        return
    ad = ld(top, f.N_ALIAS)
    if ld(top, f.N_ALIKE):
        if length_at(link_of(ad, link), record) > 0 and brought(st, top, 1, meet):
            list_rows(st, top, link_of(ad, link), record)
        return
    for at in range(rows_at(ad, link_of(ad, link), record)):
        weight = bind_row(st, ad, link, record, at)
        if brought(st, top, weight, meet):
            list_path(st, ld(top, f.N_VECTOR))


@kernel
def list_path(st: int, vector: int) -> None:
    """List the group of the bound path: one more of the last change, if it is the same."""
    gd, row = ld(st, f.GROUPS), ld(st, f.ROWS)
    if ld(st, f.SILENT):
        return
    if row + 1 > ld(gd, f.G_ROOM):
        make_key_room(st, gd)
    for word in range(ld(gd, f.G_STATE)):
        part = ld(gd, f.G_KEYS) + word * (f.KEY_WORDS * 8)
        place = ld(st, f.SOURCES) + ld(part, 0) * 16
        value = ld(ld(place, 0) + ld(part, 1) * ld(place, 1), 0)
        sto(column_of(gd, word), row, key_word(value, ld(part, 2)))
    if not is_last_change(st, gd, vector):
        add_change(st, gd, vector)
    sto(st, f.ROWS, row + 1)


@kernel
def list_rows(st: int, told: int, ln: int, record: int) -> None:
    """List the groups of all rows of the root at a value, which bring what lies in its vector."""
    gd, ad, row = ld(st, f.GROUPS), ld(told, f.N_ALIAS), ld(st, f.ROWS)
    vector, count = ld(told, f.N_VECTOR), length_at(ln, record)
    if ld(gd, f.G_WHERE) == record and ld(st, f.SEGMENT_COUNT) > ld(gd, f.G_FIRST):
        last = change_at(gd, ld(st, f.SEGMENT_COUNT) - 1)
        add_sums(last + 8, vector, ld(gd, f.G_SIZES), ld(gd, f.G_PARTS))
        return
    if row + count > ld(gd, f.G_ROOM):
        make_key_room(st, gd)
    base, step = list_at(st, ln, record), step_of(group_at(ln, record))
    for word in range(ld(gd, f.G_STATE)):
        part = ld(gd, f.G_KEYS) + word * (f.KEY_WORDS * 8)
        to, source, place = column_of(gd, word) + row * 8, ld(part, 0), ld(part, 1)
        if source != ld(ad, f.A_SOURCE):
            value = key_word(ld(ld(ld(st, f.SOURCES), 2 * source), place), ld(part, 2))
            for at in range(count):
                sto(to, at, value)
        elif ld(part, 2) or count < SHORT:
            for at in range(count):
                sto(to, at, key_word(ld(base + place * step, at), ld(part, 2)))
        else:
            for at in range(0, count, 8):
                copy8(to, at, base + place * step, at)
    add_change(st, gd, vector)
    sto(gd, f.G_WHERE, record)
    sto(st, f.ROWS, row + count)


@kernel
def make_key_room(st: int, gd: int) -> None:
    """Move the keys of a block to where as many have room as a base diff may list."""
    for word in range(ld(gd, f.G_STATE)):
        of, to = column_of(gd, word), ld(gd, f.G_ALL) + word * ld(gd, f.G_ALL_COLUMN)
        for row in range(ld(st, f.ROWS)):
            sto(to, row, ld(of, row))
    sto(gd, f.G_NOTES, ld(gd, f.G_ALL))
    sto(gd, f.G_COLUMN, ld(gd, f.G_ALL_COLUMN))
    sto(gd, f.G_ROOM, 1 << 62)


@small
def column_of(gd: int, word: int) -> int:
    """Return where the keys have a word."""
    return ld(gd, f.G_NOTES) + word * ld(gd, f.G_COLUMN)


@small
def key_word(value: int, kind: int) -> int:
    """Return a word of a key: both zeros of a float are one."""
    is_zero = (kind == f.FLOAT_64 and value == f.NEGATIVE_ZERO_64) or (
        kind == f.FLOAT_32 and value == f.NEGATIVE_ZERO_32
    )
    return 0 if is_zero else value


@small
def change_at(gd: int, number: int) -> int:
    """Return where a change lies."""
    return ld(gd, f.G_CHANGES) + number * (1 + ld(gd, f.G_WORDS)) * 8


@small
def is_last_change(st: int, gd: int, vector: int) -> bool:
    """True if the last change of the base diff has the sums that lie in a vector."""
    count = ld(st, f.SEGMENT_COUNT)
    if count <= ld(gd, f.G_FIRST):
        return False
    last = change_at(gd, count - 1)
    others = 0  # kernels have no generators
    for word in range(ld(gd, f.G_WORDS)):
        others += ld(last, 1 + word) != ld(vector, word)
    return others == 0


@small
def add_change(st: int, gd: int, vector: int) -> None:
    """Add a change, whose groups begin at the next row."""
    count = ld(st, f.SEGMENT_COUNT)
    to = change_at(gd, count)
    sto(to, 0, (ld(gd, f.G_DIFF) << 32) | ld(st, f.ROWS))
    for word in range(ld(gd, f.G_WORDS)):
        sto(to, 1 + word, ld(vector, word))
    sto(st, f.SEGMENT_COUNT, count + 1)
