"""The rows of bags: words of a bound row, changed so that equal values are one, in their order.

In: the description of a bag's row (graph/compiled/groups/bag_layout.py).
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.machine.kernel import kernel, ld, small, sto


@kernel
def read_row(st: int, row: int, to: int) -> bool:
    """Read a bag's row off a bound one; false if it is left out."""
    if not is_wanted(st, row):
        return False
    for at in range(ld(row, f.R_PART_COUNT)):
        part = ld(row, f.R_PARTS) + at * (f.PART_FIELDS * 8)
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
def is_wanted(st: int, row: int) -> bool:
    """True if the condition of a bag is TRUE of a bound row."""
    if ld(row, f.R_IF_SOURCE) < 0:
        return True
    place = ld(st, f.SOURCES) + ld(row, f.R_IF_SOURCE) * 16
    return ld(ld(place, 0) + ld(row, f.R_IF_WORD) * ld(place, 1), 0) == 1


@small
def changed_word(part: int, word: int) -> int:
    """Change a word of a value that is not NULL."""
    if word == ld(part, f.X_ZERO):
        word = 0
    if word < 0:
        word ^= ld(part, f.X_MASK)
    word ^= ld(part, f.X_XOR)
    if ld(part, f.X_IS_UP):
        return word + 1 if word < ld(part, f.X_HOLE) else word
    return word - 1 if word > ld(part, f.X_HOLE) else word
