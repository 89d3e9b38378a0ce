"""Joins of two scopes: conditions go to the flat view, the names in reach into one scope.

tweet T JOIN retweet R USING (tweetId)
condition  T.tweetId = R.tweetId          fields  tweetId (T's), then the others of T, of R
"""

from __future__ import annotations

from sqlglot import exp

from joingraph.common.names import quoted
from joingraph.sql.binder import FlatView
from joingraph.sql.scope import Field, Scope, repeated
from joingraph.sql.text.refusal import Mistake

_MERGED_FIRST = ("spark", "postgres")  # `*` lists the columns of USING first, as the standard says
_COMMA_IS_JOIN = ("spark", "sqlite")  # elsewhere the comma binds weaker than JOIN


def starts_group(join: exp.Join, dialect: str) -> bool:
    """True for a comma that binds weaker than the joins to its right."""
    bare = not any(join.args.get(name) for name in ("on", "using", "kind", "method"))
    return bare and dialect not in _COMMA_IS_JOIN


def join_scopes(left: Scope, right: Scope, join: exp.Join, flat: FlatView) -> Scope:
    """Join two scopes as ON, USING or NATURAL says; by nothing, it is their product."""
    names: list[exp.Expr] = join.args.get("using") or []
    if join.args.get("method"):
        names = _shared(left, right, join)
    twice = repeated(names)
    if twice is not None:
        raise Mistake(twice, f"USING names {quoted(twice.name)} twice")
    pairs = [
        (left.find_unqualified(name, name.name), right.find_unqualified(name, name.name))
        for name in names
    ]
    for pair, name in zip(pairs, names, strict=True):
        _require_equal(pair, name, flat)
    scope = merge(left, right, join)
    if pairs:
        scope = Scope(scope.relations, _once(scope.fields, pairs, flat.dialect))
    if join.args.get("on") is not None:
        flat.require(join.args["on"], scope)
    return scope


def merge(left: Scope, right: Scope, place: exp.Expr) -> Scope:
    """Return two scopes side by side; a name may call one table only."""
    for name, relation in right.relations.items():
        if name in left.relations:
            raise Mistake(
                place.this,
                f"two tables here are called {quoted(relation.name)}; rename one with AS",
            )
    return Scope({**left.relations, **right.relations}, left.fields + right.fields)


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


def _require_equal(pair: tuple[Field, Field], name: exp.Expr, flat: FlatView) -> None:
    left, right = (exp.column(name.copy(), table=side) for side in ("left", "right"))
    equal = exp.EQ(this=left, expression=right)
    equal.parent = name.parent
    flat.add(equal, lambda column: pair[0] if column.table == "left" else pair[1])


def _once(
    fields: tuple[Field, ...], pairs: list[tuple[Field, Field]], dialect: str
) -> tuple[Field, ...]:
    """Keep of each pair the left column only, where the dialect's `*` lists it."""
    gone = {id(other) for _, other in pairs}
    if dialect not in _MERGED_FIRST:
        return tuple(field for field in fields if id(field) not in gone)
    first = tuple(mine for mine, _ in pairs)
    gone |= {id(mine) for mine in first}
    return first + tuple(field for field in fields if id(field) not in gone)
