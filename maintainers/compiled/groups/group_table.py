"""Groups: a table of sums by key, in which what a base diff touches is noted once.

    record   | key words | sums | serial number of its note | rows that have its number |

    touch    the group's sums are noted before the first change in a base diff, and after each
    number   a row of a root's alias has the number of its group behind its own words, so that
             a path finds it without a key; a group lasts as long as it has such a row or a path

In: the address of the groups' descriptor (graph/compiled/groups/group_memory.py).
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import bound, group_at, length_at, link_of, list_at, node_at
from joingraph.graph.compiled.lists import step_of
from joingraph.graph.compiled.machine.kernel import add128, kernel, ld, small, sto
from joingraph.graph.compiled.prefetch import op_at
from joingraph.graph.compiled.vertex_table import drop, identity_of, put
from joingraph.maintainers.compiled.groups.bags import change_bags_of
from joingraph.maintainers.compiled.groups.best_values import refresh_group
from joingraph.maintainers.compiled.groups.long_sums import add_long


@small
def begin_sum(to: int, words: int, number: int) -> None:
    """Let a sum be a number."""
    sto(to, 0, number)
    for word in range(1, words):
        sto(to, word, number >> 63)


@small
def is_zero(of: int, words: int) -> bool:
    """True if a sum is 0."""
    return ld(of, 0) == 0 and (words == 1 or ld(of, 1) == 0)


@small
def add_sums(to: int, vector: int, sizes: int, parts: int) -> None:
    """Add sums to sums."""
    for part in range(parts):
        place = ld(sizes, 2 * part) * 8
        words = ld(sizes, 2 * part + 1)
        if words == 1:
            sto(to + place, 0, ld(to + place, 0) + ld(vector + place, 0))
        elif words == 2:
            add128(to + place, ld(vector + place, 0), ld(vector + place, 1))
        else:
            add_long(to + place, vector + place, words)


@small
def group_of(st: int) -> int:
    """Find or make the group of the bound path."""
    gd = ld(st, f.GROUPS)
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


@kernel
def touch(st: int, record: int, vector: int) -> None:
    """Add sums to a group, and note what it was and is."""
    gd = ld(st, f.GROUPS)
    states, words, quiet = record + ld(gd, f.G_STATE) * 8, ld(gd, f.G_WORDS), ld(st, f.SILENT)
    note = 0 if quiet else noted(st, gd, record, states)
    add_sums(states, vector, ld(gd, f.G_SIZES), ld(gd, f.G_PARTS))
    if ld(gd, f.G_BESTS):
        refresh_group(st, gd, record, states + ld(gd, f.G_BESTS_AT) * 8)
    if ld(gd, f.G_BAGS) and ld(vector, 0) != 0:
        change_bags_of(st, gd, identity_of(ld(gd, f.G_TABLE), record), states, ld(vector, 0))
    now = ld(gd, f.G_NOTES) + (1 + ld(gd, f.G_STATE) + words) * ld(gd, f.G_COLUMN)
    for word in range(0 if quiet else words):
        sto(now + word * ld(gd, f.G_COLUMN), note, ld(states, word))
    list_empty(gd, states)


@small
def noted(st: int, gd: int, record: int, states: int) -> int:
    """Find the note of a group in this base diff, or make it with the sums that it has now."""
    words, keys, rows = ld(gd, f.G_WORDS), ld(gd, f.G_STATE), ld(st, f.ROWS)
    serial, following, column = ld(states, words), ld(gd, f.G_SERIAL), ld(gd, f.G_COLUMN)
    if serial >= ld(gd, f.G_FIRST):
        return serial - (following - rows)
    vd, notes = ld(gd, f.G_TABLE), ld(gd, f.G_NOTES)
    sto(notes, rows, (ld(gd, f.G_DIFF) << 32) | identity_of(vd, record))
    for word in range(keys + words):
        sto(notes + (1 + word) * column, rows, ld(record, word))
    sto(states, words, following)
    sto(gd, f.G_SERIAL, following + 1)
    sto(st, f.ROWS, rows + 1)
    sto(gd, f.G_TOUCHED, ld(gd, f.G_TOUCHED) + 1)
    return rows


@small
def list_empty(gd: int, states: int) -> None:
    """List a group that has neither paths nor rows, to be freed once it was told."""
    rows = states + (ld(gd, f.G_WORDS) + 1) * 8
    if ld(rows, 0) == 0 and is_zero(states, ld(ld(gd, f.G_SIZES), 1)):
        sto(rows, 0, f.LISTED)
        count = ld(gd, f.G_EMPTY_COUNT)
        sto(ld(gd, f.G_EMPTY), count, states - ld(gd, f.G_STATE) * 8)
        sto(gd, f.G_EMPTY_COUNT, count + 1)


@kernel
def number_row(st: int, ad: int, weight: int) -> int:
    """Write the number of its group behind a row that came; gives the group, which counts rows."""
    gd, record = ld(st, f.GROUPS), group_of(st)
    vd, states = ld(gd, f.G_TABLE), record + ld(gd, f.G_STATE) * 8
    rows = states + (ld(gd, f.G_WORDS) + 1) * 8
    sto(rows, 0, ld(rows, 0) + weight)
    list_empty(gd, states)
    if weight > 0:
        place = number_place(st, ad)
        sto(place, 0, identity_of(vd, record))
    return record


@small
def number_place(st: int, ad: int) -> int:
    """Return where the row that was linked last has its number; a move's lies where it was."""
    op, kind, own = op_at(st, ld(st, f.CURSOR)), ld(ad, f.A_KIND), ld(ad, f.A_PROJECTED)
    is_move = ld(op, f.O_KIND) == f.MOVE
    if kind == f.NODE:
        node = node_at(ad, ld(op, f.O_PLACE) if is_move else ld(st, f.LAST_NODE))
        return node + (1 + ld(ad, f.A_LINK_COUNT) + own) * 8
    ln = link_of(ad, 0)
    record = bound(st, ln)
    at = ld(op, f.O_PLACE) if is_move else length_at(ln, record) - 1
    return list_at(st, ln, record) + at * 8 + own * step_of(group_at(ln, record))


@small
def count_row(st: int, ad: int) -> int:
    """Number a bound row, which its group counts; gives the group."""
    gd, record = ld(st, f.GROUPS), group_of(st)
    vd, rows = ld(gd, f.G_TABLE), record + (ld(gd, f.G_STATE) + ld(gd, f.G_WORDS) + 1) * 8
    sto(rows, 0, ld(rows, 0) + 1)
    sto(number_at(st, ad), 0, identity_of(vd, record))
    return record


@small
def numbered(st: int, ad: int) -> int:
    """Return the group of a bound row, by its number."""
    vd = ld(ld(st, f.GROUPS), f.G_TABLE)
    return ld(vd, f.V_RECORDS) + ld(number_at(st, ad), 0) * ld(vd, f.V_STRIDE) * 8


@small
def number_at(st: int, ad: int) -> int:
    """Return where a bound row has its number."""
    place = ld(st, f.SOURCES) + ld(ad, f.A_SOURCE) * 16
    return ld(place, 0) + ld(ad, f.A_PROJECTED) * ld(place, 1)


@kernel
def note_now(gd: int, count: int) -> None:
    """Note what the groups of a folded batch are now, of which each has one note."""
    vd, words, notes = ld(gd, f.G_TABLE), ld(gd, f.G_WORDS), ld(gd, f.G_NOTES)
    now = notes + (1 + ld(gd, f.G_STATE) + words) * ld(gd, f.G_COLUMN)
    for note in range(count):
        number = ld(notes, note) & f.LOW
        record = ld(vd, f.V_RECORDS) + number * ld(vd, f.V_STRIDE) * 8
        for word in range(words):
            sto(now + word * ld(gd, f.G_COLUMN), note, ld(record, ld(gd, f.G_STATE) + word))


@kernel
def end_batch(gd: int) -> None:
    """Free the groups that have neither paths nor rows, once what they were has been told."""
    vd = ld(gd, f.G_TABLE)
    for place in range(ld(gd, f.G_EMPTY_COUNT)):
        record = ld(ld(gd, f.G_EMPTY), place)
        states = record + ld(gd, f.G_STATE) * 8
        rows = states + (ld(gd, f.G_WORDS) + 1) * 8
        sto(rows, 0, ld(rows, 0) & ~f.LISTED)
        is_empty = ld(rows, 0) == 0 and is_zero(states, ld(ld(gd, f.G_SIZES), 1))
        if is_empty and ld(vd, f.V_KEY) > 0:
            drop(vd, record)
    sto(gd, f.G_EMPTY_COUNT, 0)
    sto(gd, f.G_DIFF, -1)
