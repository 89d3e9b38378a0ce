"""Turns outer joins into inner ones where a condition above rejects the rows that only they have.

    (A LEFT JOIN B ON A.k = B.k) WHERE B.x > 3     ->   A JOIN B ON A.k = B.k WHERE B.x > 3

`rejected` are the aliases without which a condition above is not TRUE.
"""

from __future__ import annotations

from collections.abc import Iterator

from joingraph.expressions.strict import rejected as rejected_by
from joingraph.sql.definition import Inner, Joined, Leaf, Outer, Probe


def visible(tree: Joined) -> frozenset[str]:
    """Name the aliases whose columns can be called from above."""
    match tree:
        case Leaf(alias):
            return frozenset({alias})
        case Inner(parts):
            return frozenset().union(*map(visible, parts))
        case Outer(left, right):
            return visible(left) | visible(right)
        case Probe(_, left):
            return visible(left)


def simplified(tree: Joined, rejected: frozenset[str] = frozenset()) -> Joined:
    """Return a tree of the same rows with fewer outer joins, as far as conditions allow."""
    match tree:
        case Leaf():
            return tree
        case Inner():
            return simplified_inner(tree, rejected)
        case Probe(kind, left, right, conditions):
            below = rejected_by(conditions)
            above = rejected | below if kind == "semi" else rejected
            sides = simplified(left, above & visible(left)), simplified(right, below)
            return Probe(kind, *sides, conditions, tree.mark)
        case Outer(is_full=True):
            return simplified_full(tree, rejected)
        case Outer(left, right, conditions):
            if rejected & visible(right):
                return simplified(Inner((left, right), conditions), rejected)
            below = rejected_by(conditions) & visible(right)
            return Outer(simplified(left, rejected), simplified(right, below), conditions)


def simplified_full(tree: Outer, rejected: frozenset[str]) -> Joined:
    """Simplify FULL: rows without a left side are rejected, or those without a right one."""
    left, right, conditions = tree.left, tree.right, tree.conditions
    no_left, no_right = bool(rejected & visible(left)), bool(rejected & visible(right))
    if no_left and no_right:
        return simplified(Inner((left, right), conditions), rejected)
    if no_left:
        return simplified(Outer(left, right, conditions), rejected)
    if no_right:
        return simplified(Outer(right, left, conditions), rejected)
    return Outer(simplified(left), simplified(right), conditions, is_full=True)


def simplified_inner(tree: Inner, rejected: frozenset[str]) -> Joined:
    """Make one inner join of nested ones; what is found below may reject more."""
    rejected |= rejected_by(tree.conditions)
    parts = [simplified(part, rejected & visible(part)) for part in tree.parts]
    flat = tuple(leaf for part in parts for leaf in parts_of(part))
    conditions = (
        *tree.conditions,
        *(c for p in parts if isinstance(p, Inner) for c in p.conditions),
    )
    if len(conditions) > len(tree.conditions):
        return simplified(Inner(flat, conditions), rejected)
    return Inner(flat, conditions)


def parts_of(tree: Joined) -> Iterator[Joined]:
    """Yield what an inner join joins; anything else is one part."""
    if isinstance(tree, Inner):
        yield from tree.parts
    else:
        yield tree
