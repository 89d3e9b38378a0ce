"""Folds many changes of the same rows into one each.

    insert 10, update 10 -> 11, update 11 -> 12   =   insert 12
    insert 10, delete 10                          =   nothing

Where nobody asks what each diff did to the view, a batch changes the graph only by what is left.
"""

from __future__ import annotations

from collections.abc import Iterable

from joingraph.graph import Diff, Image


def fold(diffs: Iterable[Diff]) -> dict[tuple[int, Image], int]:
    """Sum up, for each alias and image, how many base rows came or went; nothing where equal."""
    net: dict[tuple[int, Image], int] = {}
    for diff in diffs:
        for image, sign in ((diff.pre, -1), (diff.post, +1)):
            if image:
                net[diff.alias, image] = net.get((diff.alias, image), 0) + sign
    return {at: count for at, count in net.items() if count}
