"""Best values: a side tells the least or the greatest of what lies beyond it, when that changes.

    MAX(R.n)   R: n 5, 3 at t1   ->   v1 t1 is told 5        a bag holds 5, 3, so that 5 may go
               T: t1 at 7        ->   v0 7 is told 5         its bag holds what each row is told
               F: ann follows 7  ->   ann's bag holds 5      one value for each row of F

A value climbs only where what a vertex is told has changed: another best value, or that a path is
there at all. Where nothing is counted (DISTINCT, MIN and MAX alone) a count is of rows, not of
paths, and "there" is all that it tells.

A bag's words are such that the least is the best. In: what messages.py is given.
"""

from __future__ import annotations

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.entries import bound, identity_at, link_of
from joingraph.graph.compiled.groups.bag_tree import change_word, least
from joingraph.graph.compiled.machine.kernel import kernel, ld, small, sto
from joingraph.graph.compiled.vertex_table import identity_of
from joingraph.maintainers.compiled.groups.bag_rows import read_row


@small
def best_of(told: int, place: int) -> int:
    """Return the description of a best value that an alias tells."""
    return ld(told, f.N_BESTS) + place * (f.BEST_FIELDS * 8)


@small
def told_best(told: int, record: int, place: int) -> int:
    """Return where a vertex value has a best value that an alias tells it: is there one, and it."""
    ln = link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK))
    block = ld(told, f.N_BLOCK) + identity_at(ln, record) * ld(told, f.N_WORDS) * 8
    return block + (ld(told, f.N_BEST_AT) + 2 * place) * 8


@small
def value_at(st: int, best: int) -> int:
    """Return where a bound row has a best value, of its own or told by an alias below.

    Its own is written behind the description, as the words of what is told.
    """
    if ld(best, f.C_IS_OWN) == 0:
        told = ld(best, f.C_TELL)
        ln = link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK))
        return told_best(told, bound(st, ln), ld(best, f.C_PLACE))
    own = best + f.C_TELL * 8
    sto(own, 0, read_row(st, ld(best, f.C_ROW), own + 8))
    return own


@kernel
def change_bags(st: int, told: int, owner: int, weight: int) -> None:
    """Let the bags of an owner hear of a bound row that came or goes."""
    for place in range(ld(told, f.N_CARRIED)):
        best = best_of(told, place)
        value = value_at(st, best)
        if ld(value, 0):
            change_word(ld(best, f.C_TREE), owner, ld(value, 1), weight)


@kernel
def move_values(st: int, told: int, owner: int, via: int, flip: int, weight: int) -> None:
    """Let the bags of an owner hear of a bound row beyond which something changed.

    `via` is the alias that tells of it; what it told before lies in its old values. The row, which
    stands for so many, came (1) or went (-1) by that, or is there as before (0).
    """
    for place in range(ld(told, f.N_CARRIED)):
        best = best_of(told, place)
        new = value_at(st, best)
        old = new
        if ld(best, f.C_IS_OWN) == 0 and ld(best, f.C_TELL) == via:
            old = ld(via, f.N_OLD) + ld(best, f.C_PLACE) * 16
        was, now = flip <= 0 and ld(old, 0) != 0, flip >= 0 and ld(new, 0) != 0
        if was and now and ld(old, 1) == ld(new, 1):
            continue
        if was:
            change_word(ld(best, f.C_TREE), owner, ld(old, 1), -weight)
        if now:
            change_word(ld(best, f.C_TREE), owner, ld(new, 1), weight)


@kernel
def save_told(told: int, record: int) -> None:
    """Keep the best values that a vertex value was told until now."""
    for place in range(ld(told, f.N_CARRIED)):
        at, old = told_best(told, record, place), ld(told, f.N_OLD) + place * 16
        sto(old, 0, ld(at, 0))
        sto(old, 1, ld(at, 1))


@kernel
def refresh_told(told: int, record: int, owner: int) -> bool:
    """Tell a vertex value the best values of its bags; true if one is another."""
    changed = False
    for place in range(ld(told, f.N_CARRIED)):
        at, old = told_best(told, record, place), ld(told, f.N_OLD) + place * 16
        write_best(ld(best_of(told, place), f.C_TREE), owner, at)
        changed |= ld(at, 0) != ld(old, 0) or ld(at, 1) != ld(old, 1)
    return changed


@small
def write_best(tree: int, owner: int, to: int) -> None:
    """Write whether an owner's bag has a value, and the best one."""
    entry = least(tree, owner)
    sto(to, 0, entry != 0)
    sto(to, 1, ld(entry, 1) if entry else 0)


@kernel
def refresh_group(st: int, gd: int, record: int, to: int) -> None:
    """Write a group's best values: of its bags, or as the vertex is told that is the root."""
    told, vd = ld(gd, f.G_BEST_TELL), ld(gd, f.G_TABLE)
    if told:
        owner = identity_of(vd, record)
        for place in range(ld(told, f.N_CARRIED)):
            best = best_of(told, place)
            write_best(ld(best, f.C_TREE), owner, to + ld(best, f.C_NUMBER) * 16)
        return
    meet = ld(gd, f.G_BEST_MEET)
    for side in range(ld(meet, f.M_SIDE_COUNT)):
        told = ld(ld(meet, f.M_SIDES), side)
        ln = link_of(ld(told, f.N_ALIAS), ld(told, f.N_LINK))
        for place in range(ld(told, f.N_CARRIED)):
            at = told_best(told, bound(st, ln), place)
            number = ld(best_of(told, place), f.C_NUMBER)
            sto(to, 2 * number, ld(at, 0))
            sto(to, 2 * number + 1, ld(at, 1))
