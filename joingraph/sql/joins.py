"""Joins of two parts of FROM: how their aliases are joined, and the names in reach above.

tweet T LEFT JOIN retweet R USING (tweetId)
joined  Outer(T, R, T.tweetId = R.tweetId)      fields  tweetId (T's), then the others of T, of R
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from joingraph.common.names import quoted
from joingraph.expressions.tree import Expression
from joingraph.sql.binder import FlatView
from joingraph.sql.definition import Joined, Outer
from joingraph.sql.joined.missing import optional
from joingraph.sql.joined.trees import Rows, inner
from joingraph.sql.scope import Field, Scope, repeated
from joingraph.sql.text.refusal import Mistake

_MERGED_FIRST = ("spark", "postgres")  # `*` lists the columns of USING first, as the standard says
_COMMA_IS_JOIN = ("spark", "sqlite")  # elsewhere the comma binds weaker than JOIN


class Pair(NamedTuple):
    """What both sides call by a name of USING."""

    name: exp.Expr
    left: Field
    right: Field

    @property
    def columns(self) -> tuple[exp.Column, exp.Column]:
        """Return both as columns of "left" and "right"."""
        left, right = (exp.column(self.name.copy(), table=side) for side in ("left", "right"))
        return left, right

    def find(self, column: exp.Column) -> Field:
        """Return what a column of "left" or "right" stands for."""
        return self.left if column.table == "left" else self.right


def starts_group(join: exp.Join, dialect: str) -> bool:
    """True for a comma that binds weaker than the joins to its right."""
    bare = not any(join.args.get(name) for name in ("on", "using", "side", "kind", "method"))
    return bare and dialect not in _COMMA_IS_JOIN


def join(left: Rows, right: Rows, node: exp.Join, flat: FlatView) -> Rows:
    """Join two parts of FROM as ON, USING or NATURAL says; by nothing, all rows with all."""
    side = str(node.args.get("side") or "").upper()
    names: list[exp.Expr] = node.args.get("using") or []
    if node.args.get("method"):
        names = _shared(left.scope, right.scope, node)
    twice = repeated(names)
    if twice is not None:
        raise Mistake(twice, f"USING names {quoted(twice.name)} twice")
    pairs = _pairs(names, left.scope, right.scope)
    conditions = [each for pair in pairs for each in _equal(pair, flat)]
    scope = merge(left.scope, right.scope, node)
    if node.args.get("on") is not None:
        conditions += flat.require(node.args["on"], scope)
    if side:
        mine = left.scope if side == "LEFT" else optional(left, flat)
        other = right.scope if side == "RIGHT" else optional(right, flat)
        pairs, scope = _pairs(names, mine, other), merge(mine, other, node)
    if pairs:
        merged = [_merged(pair, side, flat) for pair in pairs]
        scope = Scope(scope.relations, _once(scope.fields, pairs, merged, flat.dialect))
    return Rows(scope, _joined(left.joined, right.joined, side, conditions))


def merge(left: Scope, right: Scope, place: exp.Expr) -> Scope:
    """Return two scopes side by side; a name may call one table only."""
    for name, relation in right.relations.items():
        if name in left.relations:
            raise Mistake(
                place.this,
                f"two tables here are called {quoted(relation.name)}; rename one with AS",
            )
    return Scope({**left.relations, **right.relations}, left.fields + right.fields)


def _joined(left: Joined, right: Joined, side: str, conditions: Sequence[Expression]) -> Joined:
    """Join two trees; a RIGHT JOIN is a LEFT JOIN turned round."""
    if not side:
        return inner((left, right), conditions)
    if side == "RIGHT":
        left, right = right, left
    return Outer(left, right, tuple(conditions), is_full=side == "FULL")


def _shared(left: Scope, right: Scope, join: exp.Join) -> list[exp.Expr]:
    """Name the columns that a NATURAL JOIN joins on: those that both sides have."""
    names: list[exp.Expr] = [
        exp.Identifier(this=name) for name in left.by_name if name in right.by_name
    ]
    if not names:
        raise Mistake(join, "NATURAL JOIN finds no column that both sides have; use CROSS JOIN")
    for name in names:
        name.parent = join.this  # so that an error about it has a place
    return names


def _pairs(names: list[exp.Expr], left: Scope, right: Scope) -> list[Pair]:
    """Find on both sides what is joined by a common name."""
    return [
        Pair(name, left.find_unqualified(name, name.name), right.find_unqualified(name, name.name))
        for name in names
    ]


def _equal(pair: Pair, flat: FlatView) -> tuple[Expression, ...]:
    left, right = pair.columns
    equal = exp.EQ(this=left, expression=right)
    equal.parent = pair.name.parent
    return flat.conjunct(equal, pair.find)


def _merged(pair: Pair, side: str, flat: FlatView) -> Field:
    """Return what a common name means above a join: the column of the side that is there."""
    is_by_row = flat.dialect == "sqlite" and pair.left.value.type != pair.right.value.type
    if side == "FULL" or (side == "RIGHT" and is_by_row):
        left, right = pair.columns
        first = exp.Coalesce(this=left, expressions=[right])
        first.parent = pair.name.parent
        return replace(flat.value(first, pair.find), name=pair.left.name)
    return pair.right if side == "RIGHT" else pair.left


def _once(
    fields: tuple[Field, ...], pairs: list[Pair], merged: list[Field], dialect: str
) -> tuple[Field, ...]:
    """Keep one column of each pair, where the dialect's `*` lists it."""
    gone = {id(pair.right) for pair in pairs}
    if dialect not in _MERGED_FIRST:
        new = {id(pair.left): field for pair, field in zip(pairs, merged, strict=True)}
        return tuple(new.get(id(field), field) for field in fields if id(field) not in gone)
    gone |= {id(pair.left) for pair in pairs}
    return (*merged, *(field for field in fields if id(field) not in gone))
