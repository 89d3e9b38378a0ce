"""A bag's entries of one owner beside what was changed of them, both in order.

    bag   2: 1, 5: 2    log   + 5, - 9     ->     2: 1, 1    5: 2, 1    9: 0, 1      now and before

In: the trees of both, whose values compare alike.
"""

from __future__ import annotations

from joingraph.graph.compiled.groups.bag_nodes import B_WORDS, count_of, move_words
from joingraph.graph.compiled.groups.bag_tree import following, is_below, is_same, least
from joingraph.graph.compiled.machine.kernel import kernel, ld, sto


@kernel
def merge_entries(bd: int, log: int, owner: int, to: int) -> int:
    """Copy the words of each entry, its count now and before, if there is a place for it.

    Gives how many there are. Without a log (0) nothing was changed.
    """
    found, words = 0, ld(bd, B_WORDS)
    here, gone = least(bd, owner), least(log, owner) if log else 0
    while here or gone:
        is_changed = gone != 0 and (here == 0 or not is_below(bd, here, gone, 0))
        is_there = here != 0 and (not is_changed or is_same(here, gone, 1 + words))
        now = count_of(bd, here) if is_there else 0
        if to:
            move_words(to, (here if is_there else gone) + 8, words)
            sto(to, words, now)
            sto(to, words + 1, now - count_of(log, gone) if is_changed else now)
            to += (words + 2) * 8
        if is_there:
            here = following(bd, owner)
        if is_changed:
            gone = following(log, owner)
        found += 1
    return found
