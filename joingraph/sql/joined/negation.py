"""NOT brought inwards, in a condition that asks subqueries, so that EXISTS stands under AND.

    NOT (a.k > 3 OR EXISTS (...))   ->   NOT a.k > 3 AND NOT EXISTS (...)

That holds of three truth values as well. What asks no subquery stays as it is written.
"""

from __future__ import annotations

from sqlglot import exp


def asks(node: exp.Expr) -> bool:
    """True if there is a subquery in an expression."""
    return node.find(exp.Query) is not None


def inwards(node: exp.Expr, *, is_negated: bool = False) -> exp.Expr:
    """Return a condition, or its negation, with NOT before no AND, OR and NOT that asks."""
    bare = node.unnest()
    if isinstance(bare, exp.Not) and asks(bare):
        return inwards(bare.this, is_negated=not is_negated)
    if isinstance(bare, (exp.And, exp.Or)) and asks(bare):
        kind = exp.And if isinstance(bare, exp.And) is not is_negated else exp.Or
        sides = [inwards(each, is_negated=is_negated) for each in (bare.this, bare.expression)]
        found: exp.Expr = kind(this=sides[0], expression=sides[1])
    elif is_negated:
        found = exp.Not(this=node)
    else:
        return node
    found.parent = node.parent
    return found
