"""Bags of the root's rows: each path that comes to a group adds its row there, or takes it away.

    set     + 5, + 5, + 7, - 5     sums hear of 5 and 7 when they come, and of 5 when the last goes
    best    + 5, + 5, + 7, - 5     5
    places  + 5, + 5, + 7, - 5     2 rows: 5, 7
    list    + 5, + 5, + 7, - 5     a log has what one base diff has changed: + 5, + 7

In: a bound row of the root, whose vector begins with the change of its paths.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_nodes import B_KEY, B_WORDS, move_words
from joingraph.graph.compiled.groups.bag_tree import at_rank, change, least, rank
from joingraph.graph.compiled.machine.kernel import add128, kernel, ld, mul128, small, sto
from joingraph.maintainers.compiled.groups.bag_rows import read_row


@kernel
def change_bags_of(st: int, gd: int, owner: int, states: int, paths: int) -> None:
    """Let the bags of a group hear that so many paths of a bound row came; below zero: went."""
    for number in range(ld(gd, f.G_BAGS)):
        bag = ld(gd, f.G_BAG_LIST) + number * (f.BAG_FIELDS * 8)
        tree, to, kind = ld(bag, f.K_TREE), states + ld(bag, f.K_AT) * 8, ld(bag, f.K_KIND)
        if kind == f.OF_LIST:
            sto(to, 0, owner)
        if not read_row(st, ld(bag, f.K_ROW), tree + (B_KEY + 1) * 8):
            continue
        sto(tree, B_KEY, owner)
        before = change(tree, paths)
        if kind == f.OF_SET:
            flip = (before + paths != 0) - (before != 0)
            if flip:
                add_row(bag, to, tree + (B_KEY + 1) * 8, flip)
        elif kind == f.OF_BEST:
            entry = least(tree, owner)
            sto(to, 0, entry != 0)
            write_row(tree, to + 8, entry)
        elif kind == f.OF_PLACES:
            sto(to, 0, ld(to, 0) + paths)
            write_places(bag, tree, to, owner)
        elif not ld(st, f.SILENT):
            move_words(ld(bag, f.K_LOG) + B_KEY * 8, tree + B_KEY * 8, 1 + ld(tree, B_WORDS))
            change(ld(bag, f.K_LOG), paths)


@small
def write_row(tree: int, to: int, entry: int) -> None:
    """Write the words of a row, or of none."""
    for word in range(ld(tree, B_WORDS)):
        sto(to, word, ld(entry, 1 + word) if entry else 0)


@kernel
def write_places(bag: int, tree: int, to: int, owner: int) -> None:
    """Write the rows in those places of an owner's that decide."""
    size, words = ld(to, 0), ld(tree, B_WORDS)
    top = ld(bag, f.K_TOP) * (size + ld(bag, f.K_MORE)) + ld(bag, f.K_LESS)
    first, start = top // ld(bag, f.K_BOTTOM), rank(tree, owner)
    for at in range(ld(bag, f.K_COUNT)):
        place = start + min(max(first + at, 0), size - 1)
        write_row(tree, to + (1 + at * words) * 8, at_rank(tree, place) if size else 0)


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
