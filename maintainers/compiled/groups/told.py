"""What a seat tells of a value, which its mode makes of the sums over its paths.

    paths told    req p    opt p, or 1 where p is 0    semi 1 where p is not 0    anti 1 where it is

All other sums are told as they are: where there is no path they are 0, and so they are of a row of
NULLs. A change of what is told is that of the sums, but for the paths of a value that got its first
one, or lost its last.

In: the description of who tells (graph/compiled/groups/group_memory.py), and a value's record.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import identity_at, length_at, link_of
from joingraph.graph.compiled.machine.kernel import add128, kernel, ld, mul128, small, sto
from joingraph.graph.compiled.vertex_table import put
from joingraph.maintainers.compiled.groups.group_table import add_sums, begin_sum, is_zero, touch
from joingraph.maintainers.compiled.groups.long_sums import multiply_long


@small
def times(to: int, words: int, of: int, of_words: int) -> None:
    """Multiply a sum by another one, which is not wider."""
    low = ld(of, 0)
    if words > 2:
        multiply_long(to, words, of, of_words)
    elif words == 1:
        sto(to, 0, ld(to, 0) * low)
    elif of_words == 1:
        mul128(to, low, low >> 63)
    else:
        mul128(to, low, ld(of, 1))


@small
def message_at(told: int, ln: int, record: int) -> int:
    """Return where a value has what an alias tells it; where that is a length, a copy of it."""
    block = ld(told, f.N_BLOCK)
    if block:
        return block + identity_at(ln, record) * ld(told, f.N_WORDS) * 8
    length = ld(told, f.N_VECTOR) + ld(told, f.N_WORDS) * 8
    begin_sum(length, ld(ld(told, f.N_SIZES), 1), length_at(ln, record))
    return length


@small
def paths_at(told: int, ln: int, record: int) -> int:
    """Return where a value has how many paths a seat tells it: a row of NULLs is one."""
    of, mode = message_at(told, ln, record), ld(told, f.N_MODE)
    if mode == f.REQ:
        return of
    words = ld(ld(told, f.N_SIZES), 1)
    is_empty = is_zero(of, words)
    if mode == f.OPT and not is_empty:
        return of
    number = ld(told, f.N_VECTOR) + ld(told, f.N_WORDS) * 8
    begin_sum(number, words, is_empty != (mode == f.SEMI))
    return number


@kernel
def turn(told: int, ln: int, record: int) -> bool:
    """Let a vector hold what changes of what a seat tells; false if that is nothing.

    Until now it holds the change of the sums over paths, which a value has been told. A list is as
    long while its row goes as it was before.
    """
    vector, words, mode = ld(told, f.N_VECTOR), ld(ld(told, f.N_SIZES), 1), ld(told, f.N_MODE)
    of, change = message_at(told, ln, record), ld(vector, 0)
    was_empty, is_empty = False, is_zero(of, words)
    if ld(told, f.N_BLOCK) == 0 and change < 0:
        is_empty = ld(of, 0) == -change
    else:
        was_empty = ld(of, 0) == change and (words == 1 or ld(of, 1) == ld(vector, 1))
    flip = int(is_empty) - int(was_empty)
    if mode == f.OPT:
        if words == 1:
            sto(vector, 0, change + flip)
        else:
            add128(vector, flip, flip >> 63)
        return flip == 0 or is_any(told)
    begin_sum(vector, words, flip if mode == f.ANTI else -flip)
    return flip != 0


@small
def is_any(told: int) -> bool:
    """True if a part of an alias' vector is not 0."""
    vector, sizes, last = ld(told, f.N_VECTOR), ld(told, f.N_SIZES), ld(told, f.N_PARTS) - 1
    for word in range(ld(sizes, 2 * last) + ld(sizes, 2 * last + 1)):
        if ld(vector, word) != 0:
            return True
    return False


@small
def add_vector(to: int, told: int) -> None:
    """Add what an alias' vector holds to sums."""
    add_sums(to, ld(told, f.N_VECTOR), ld(told, f.N_SIZES), ld(told, f.N_PARTS))


@small
def is_without(top: int, meet: int, record: int) -> bool:
    """True if the alias above has no row at a value."""
    return length_at(link_of(ld(top, f.N_ALIAS), ld(meet, f.M_TOP_LINK)), record) == 0


@kernel
def tell_missing(st: int, of: int, sizes: int, sign: int) -> None:
    """Add sums that a value is told, at which the root has no row, to the group of NULLs."""
    gd = ld(st, f.GROUPS)
    vector, parts, any_word = ld(gd, f.G_MISSING_VECTOR), ld(gd, f.G_MISSING_PARTS), 0
    for part in range(ld(gd, f.G_PARTS)):
        size, pick = ld(gd, f.G_SIZES) + part * 16, ld(parts, part)
        to, words = vector + ld(size, 0) * 8, ld(size, 1)
        begin_sum(to, words, sign if pick >= 0 else 0)
        if pick >= 0:
            times(to, words, of + ld(sizes, 2 * pick) * 8, ld(sizes, 2 * pick + 1))
        for word in range(words):
            any_word |= ld(to, word)
    if any_word:
        vd, key = ld(gd, f.G_TABLE), ld(gd, f.G_KEY)
        for word in range(ld(vd, f.V_KEY)):
            sto(key, word, f.NULL_WORD)
        touch(st, put(vd, key), vector)


@small
def is_met(meet: int, record: int, teller: int) -> bool:
    """True if each side at a value but one tells of a path, or of a row beyond which some are."""
    for side in range(ld(meet, f.M_SIDE_COUNT)):
        told = ld(ld(meet, f.M_SIDES), side)
        ln = link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK))
        words, mode = ld(ld(told, f.N_SIZES), 1), ld(told, f.N_MODE)
        is_empty = is_zero(message_at(told, ln, record), words)
        if told != teller and mode != f.OPT and is_empty != (mode == f.ANTI):
            return False
    return True
