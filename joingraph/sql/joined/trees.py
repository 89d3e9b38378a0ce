"""Trees of joins: made with no inner join directly below another, and read for who is there.

(a JOIN b ON x) JOIN c ON y   ->   Inner((a, b, c), (x, y))
WHERE w over it               ->   Inner((a, b, c), (x, y, w))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from joingraph.expressions.tree import Call, Column, Expression, aliases_of
from joingraph.sql.binder import FlatView
from joingraph.sql.definition import Inner, Joined, Leaf, Outer, Probe
from joingraph.sql.scope import Scope


class Rows(NamedTuple):
    """What a part of FROM makes: the names in reach, and how the aliases are joined."""

    scope: Scope
    joined: Joined


def inner(parts: Iterable[Joined], conditions: Iterable[Expression] = ()) -> Joined:
    """Join parts; the parts of an inner join, and its conditions, become those of the new one."""
    below = [each if isinstance(each, Inner) else Inner((each,), ()) for each in parts]
    found = Inner(
        tuple(part for each in below for part in each.parts),
        (*(condition for each in below for condition in each.conditions), *conditions),
    )
    return found.parts[0] if len(found.parts) == 1 and not found.conditions else found


def is_plain(joined: Joined) -> bool:
    """True if aliases are joined by inner joins alone."""
    parts = joined.parts if isinstance(joined, Inner) else (joined,)
    return all(isinstance(each, Leaf) for each in parts)


def aliases_in(joined: Joined) -> frozenset[str]:
    """Name all aliases of a tree."""
    match joined:
        case Leaf(alias):
            return frozenset({alias})
        case Inner(parts):
            return frozenset().union(*map(aliases_in, parts))
        case Outer(left, right) | Probe(_, left, right):
            return aliases_in(left) | aliases_in(right)


def always(joined: Joined) -> frozenset[str]:
    """Name the aliases that have a row in every row of a tree."""
    match joined:
        case Leaf(alias):
            return frozenset({alias})
        case Inner(parts):
            return frozenset().union(*map(always, parts))
        case Outer(is_full=True):
            return frozenset()
        case Outer(left) | Probe(_, left):
            return always(left)


def split(joined: Joined, own: frozenset[str]) -> tuple[Joined, list[Expression]]:
    """Take from a tree what reads other aliases than its own, and holds in all of its rows."""
    match joined:
        case Inner(parts, conditions):
            found = [split(each, own) for each in parts]
            taken = [each for _, below in found for each in below]
            mine = [each for each in conditions if reads(each) <= own]
            taken += [each for each in conditions if not reads(each) <= own]
            return inner((part for part, _ in found), mine), taken
        case Probe(_, left):
            left, taken = split(left, own)
            return replace(joined, left=left), taken
        case _:
            return joined, []


def reads(condition: Expression) -> frozenset[str]:
    """Name the aliases that a condition reads; a mark is of none."""
    return aliases_of(condition) - {""}


def conditions_in(joined: Joined) -> Iterator[Expression]:
    """Yield all conditions of a tree."""
    match joined:
        case Inner(parts, conditions):
            yield from conditions
            for each in parts:
                yield from conditions_in(each)
        case Outer(left, right, conditions) | Probe(_, left, right, conditions):
            yield from conditions
            yield from conditions_in(left)
            yield from conditions_in(right)
        case Leaf():
            pass


def presence(joined: Joined, flat: FlatView) -> Expression:
    """Return what is TRUE of every row of a part, and FALSE of one that stands in for a row."""
    match joined:
        case Leaf(alias):
            first = flat.table_of[alias].schema[0]
            return Call("is_there", (Column(alias, first.name, first.type),), pa.bool_())
        case Inner(parts):
            found = [presence(each, flat) for each in parts]
            return next((each for each in found if is_presence(each)), found[0])
        case Outer(left, right, is_full=True):
            sides = presence(left, flat), presence(right, flat)
            return Call("or", sides, pa.bool_())
        case Outer(left) | Probe(_, left):
            return presence(left, flat)


def is_presence(test: Expression) -> bool:
    """True if a test asks whether one alias is there."""
    return isinstance(test, Call) and test.function == "is_there"
