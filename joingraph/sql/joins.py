"""Joins of two parts of FROM: how their aliases are joined, and the names in reach above.

tweet T LEFT JOIN retweet R USING (tweetId)
joined  Outer(T, R, T.tweetId = R.tweetId)      fields  tweetId (T's), then the others of T, of R
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeGuard

from sqlglot import exp

from joingraph.common.names import quoted
from joingraph.expressions.tree import Call, Expression
from joingraph.sql.binder import FlatView
from joingraph.sql.definition import Joined, Outer, Probe
from joingraph.sql.joined.missing import optional
from joingraph.sql.joined.probes import Expand, Probes
from joingraph.sql.joined.questions import refuse_questions
from joingraph.sql.joined.trees import Rows, inner
from joingraph.sql.scope import Field, Scope, repeated, stand_in
from joingraph.sql.text.refusal import Mistake

_MERGED_FIRST = ("spark", "postgres")  # `*` lists the columns of USING first, as the standard says
_COMMA_IS_JOIN = ("spark", "sqlite")  # elsewhere the comma binds weaker than JOIN
_MAY_LACK_A_CONDITION = ("spark", "sqlite")  # elsewhere an outer, semi or anti join has one
_ASKED_OF_PAIRS = (
    "which rows have partners would depend on the rows of one more table",
    "join a subquery whose WHERE asks it, or ask it in WHERE",
)
_NOWHERE = Scope({}, ())


class Pair(NamedTuple):
    """What both sides call by a name of USING."""

    name: exp.Expr
    left: Field
    right: Field


def starts_group(join: exp.Join, dialect: str) -> bool:
    """True for a comma that binds weaker than the joins to its right."""
    bare = not any(join.args.get(name) for name in ("on", "using", "side", "kind", "method"))
    return bare and dialect not in _COMMA_IS_JOIN


def join(left: Rows, right: Rows, node: exp.Join, flat: FlatView, *, expand: Expand) -> Rows:
    """Join two parts of FROM as ON, USING or NATURAL says; by nothing, all rows with all."""
    word = _word(node)
    names = _names(left.scope, right.scope, node)
    pairs = _pairs(names, left.scope, right.scope)
    conditions = [each for pair in pairs for each in _equal(pair, flat)]
    scope = merge(left.scope, right.scope, node)
    on = node.args.get("on")
    joined: Joined
    if not word:
        rows = Rows(scope, inner((left.joined, right.joined), conditions))
        probes = Probes(rows, flat, expand)
        if on is not None:
            probes.require(on)
        joined = probes.joined
    else:
        if on is None and not names and flat.dialect not in _MAY_LACK_A_CONDITION:
            raise Mistake(node, f"{word} JOIN has no condition; write ON, USING or ON TRUE")
        if on is not None:
            refuse_questions(on, f"ON of {word} JOIN", _ASKED_OF_PAIRS)
            conditions += flat.require(on, scope)
        joined = _joined(word, left.joined, right.joined, tuple(conditions))
        mine = optional(left, flat) if word in ("RIGHT", "FULL") else left.scope
        other = optional(right, flat) if word in ("LEFT", "FULL") else right.scope
        pairs = _pairs(names, mine, other)
        scope = mine if word in ("SEMI", "ANTI") else merge(mine, other, node)
    if pairs:
        merged = [_merged(pair, word, flat) for pair in pairs]
        fields = _once(scope.fields, pairs, merged, flat.dialect)
        scope = Scope(scope.relations, fields, scope.around)
    return Rows(scope, joined)


def merge(left: Scope, right: Scope, place: exp.Expr) -> Scope:
    """Return two scopes side by side; a name may call one table only."""
    for name, relation in right.relations.items():
        if name in left.relations:
            raise Mistake(
                place.this,
                f"two tables here are called {quoted(relation.name)}; rename one with AS",
            )
    relations = {**left.relations, **right.relations}
    return Scope(relations, left.fields + right.fields, left.around)


def _word(node: exp.Join) -> str:
    """Return what a join does to rows without a partner, or with one; nothing for inner ones."""
    kind = str(node.args.get("kind") or "").upper()
    return kind if kind in ("SEMI", "ANTI") else str(node.args.get("side") or "").upper()


def _joined(
    word: str, left: Joined, right: Joined, conditions: tuple[Expression, ...]
) -> Outer | Probe:
    """Join two trees; a RIGHT JOIN is a LEFT JOIN turned round."""
    match word:
        case "SEMI":
            return Probe("semi", left, right, conditions)
        case "ANTI":
            return Probe("anti", left, right, conditions)
        case "RIGHT":
            return Outer(right, left, conditions)
        case _:
            return Outer(left, right, conditions, is_full=word == "FULL")


def _names(left: Scope, right: Scope, join: exp.Join) -> list[exp.Expr]:
    """Return the names of the columns that USING or NATURAL joins on."""
    names: list[exp.Expr] = join.args.get("using") or []
    if join.args.get("method"):
        names = _shared(left, right, join)
    twice = repeated(names)
    if twice is not None:
        raise Mistake(twice, f"USING names {quoted(twice.name)} twice")
    return names


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
    left, right = _stand_ins(pair)
    equal = exp.EQ(this=left, expression=right)
    equal.parent = pair.name.parent
    return flat.conjunct(equal, _NOWHERE.find)


def _stand_ins(pair: Pair) -> tuple[exp.Expr, exp.Expr]:
    name = pair.name.sql()
    return stand_in(pair.left, f"left.{name}"), stand_in(pair.right, f"right.{name}")


def _merged(pair: Pair, word: str, flat: FlatView) -> Field:
    """Return what a common name means above a join: the column of the side that is there."""
    is_by_row = flat.dialect == "sqlite" and pair.left.value.type != pair.right.value.type
    if word != "FULL" and not (word == "RIGHT" and is_by_row):
        return pair.right if word == "RIGHT" else pair.left
    left, right = _stand_ins(pair)
    either = exp.Coalesce(this=left, expressions=[right])
    either.parent = pair.name.parent
    found = flat.value(either, _NOWHERE.find)
    value, first = found.value, pair.left.value
    if _is_coalesce(value) and _is_coalesce(first) and value.args[0] == first:
        value = Call("coalesce", (*first.args, *value.args[1:]), value.type)
        size = found.size._replace(depth=max(pair.left.size.depth, pair.right.size.depth + 1))
        found = replace(found, value=value, size=size)
    return replace(found, name=pair.left.name)


def _is_coalesce(value: Expression) -> TypeGuard[Call]:
    """True for what a FULL JOIN's common name means, and the next one of a chain can add to."""
    return isinstance(value, Call) and value.function == "coalesce"


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
