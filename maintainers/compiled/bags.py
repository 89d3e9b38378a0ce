"""Bags of the root's rows: each path that comes to a group adds its row there, or takes it away.

    set     + 5, + 5, + 7, - 5     sums hear of 5 and 7 when they come, and of 5 when the last goes

In: a bound row of the root, whose vector begins with the change of its paths.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_tree import B_KEY, change
from joingraph.graph.compiled.machine.kernel import add128, kernel, ld, mul128, small, sto


@kernel
def change_bags_of(st: int, gd: int, owner: int, states: int, paths: int) -> None:
    """Let the bags of a group hear that so many paths of a bound row came; below zero: went."""
    for number in range(ld(gd, f.G_BAGS)):
        bag = ld(gd, f.G_BAG_LIST) + number * (f.BAG_FIELDS * 8)
        tree = ld(bag, f.K_TREE)
        if not is_wanted(st, bag) or not read_row(st, bag, tree + (B_KEY + 1) * 8):
            continue
        sto(tree, B_KEY, owner)
        before = change(tree, paths)
        flip = (before + paths != 0) - (before != 0)
        if flip:
            add_row(bag, states + ld(bag, f.K_AT) * 8, tree + (B_KEY + 1) * 8, flip)


@small
def is_wanted(st: int, bag: int) -> bool:
    """True if a bag's condition is TRUE of a bound row."""
    if ld(bag, f.K_IF_SOURCE) < 0:
        return True
    place = ld(st, f.SOURCES) + ld(bag, f.K_IF_SOURCE) * 16
    return ld(ld(place, 0) + ld(bag, f.K_IF_WORD) * ld(place, 1), 0) == 1


@small
def read_row(st: int, bag: int, to: int) -> bool:
    """Read a bag's row off a bound one; false if it is left out, as a value is NULL."""
    for at in range(ld(bag, f.K_PART_COUNT)):
        part = ld(bag, f.K_PARTS) + at * (f.PART_FIELDS * 8)
        place = ld(st, f.SOURCES) + ld(part, f.X_SOURCE) * 16
        base, step, test = ld(place, 0), ld(place, 1), ld(part, f.X_TEST)
        if test >= 0 and ld(base + test * step, 0) == f.NULL_WORD:
            if ld(part, f.X_SKIP):
                return False
            sto(to, at, ld(part, f.X_NULL))
        else:
            sto(to, at, changed_word(part, ld(base + ld(part, f.X_WORD) * step, 0)))
    return True


@small
def changed_word(part: int, word: int) -> int:
    """Change a word so that equal values are one, in their order."""
    if word == ld(part, f.X_ZERO):
        word = 0
    if word < 0:
        word ^= ld(part, f.X_MASK)
    word ^= ld(part, f.X_XOR)
    return word - 1 if word > ld(part, f.X_HOLE) else word


@kernel
def add_row(bag: int, to: int, row: int, times: int) -> None:
    """Add to a set's sums a row that came (1), or went (-1)."""
    vector, factor = ld(bag, f.K_VECTOR), ld(bag, f.K_FACTORS)
    for at in range(ld(bag, f.K_SUMS)):
        words, end = ld(ld(bag, f.K_SIZES), at), ld(ld(bag, f.K_ENDS), at)
        sto(vector, 0, times)
        sto(vector, 1, times >> 63)
        while factor < end:
            multiply_row(vector, factor, row)
            factor += f.FACTOR_FIELDS * 8
        if words == 1:
            sto(to, 0, ld(to, 0) + ld(vector, 0))
        else:
            add128(to, ld(vector, 0), ld(vector, 1))
        to += words * 8


@small
def multiply_row(vector: int, factor: int, row: int) -> None:
    """Multiply a sum by what a factor takes of a bag's row; NULL gives 0."""
    kind, at = ld(factor, f.Y_KIND), ld(factor, f.Y_WORD)
    low = ld(row, at)
    high = ld(row, at + 1) if kind == f.WIDE_VALUE else low >> 63
    if ld(factor, f.Y_NULLABLE) and (high if kind == f.WIDE_VALUE else low) == f.NULL_WORD:
        low = high = 0
    elif kind == f.KNOWN or kind == f.TRUE:
        low, high = kind == f.KNOWN or low == 1, 0
    mul128(vector, low, high)
