"""What the columns of an optional side are where no row of it is there: NULL, whatever they say.

    a LEFT JOIN (SELECT k, 1 AS found FROM b) s ON ...
    ->  s.found = CASE WHEN is_there(b.k) THEN 1 END

A plain column is NULL by itself there; so is what is NULL wherever its columns are.
"""

from __future__ import annotations

from dataclasses import replace

from joingraph.expressions.strict import is_null
from joingraph.expressions.tree import Call, Expression, Literal, aliases_of
from joingraph.sql.binder import FlatView
from joingraph.sql.functions.comparisons import choose
from joingraph.sql.joined.trees import Rows, aliases_in, is_presence, presence
from joingraph.sql.limits import Size
from joingraph.sql.scope import Field, Relation, Scope


def optional(rows: Rows, flat: FlatView) -> Scope:
    """Return the names of an optional side as they are read above its join."""
    relations, own = rows.scope.relations, aliases_in(rows.joined)
    listed = [field for each in relations.values() for field in each.fields]
    fields = {id(field): field for field in (*listed, *rows.scope.fields)}
    if all(_is_null_alone(field.value, own) for field in fields.values()):
        return rows.scope
    test = presence(rows.joined, flat)
    asked = Size(2 + len(_parts(test)), 2)

    def seen(field: Field) -> Field:
        if _is_null_alone(field.value, own):
            return field
        value = choose([test], [field.value, Literal(None, field.value.type)])
        size = Size(field.size.nodes + asked.nodes, field.size.depth + asked.depth)
        return replace(field, value=value, size=size)

    new = {at: seen(field) for at, field in fields.items()}
    return Scope(
        {
            name: Relation(each.name, tuple(new[id(field)] for field in each.fields))
            for name, each in relations.items()
        },
        tuple(new[id(field)] for field in rows.scope.fields),
        rows.scope.around,
    )


def _is_null_alone(value: Expression, own: frozenset[str]) -> bool:
    """True if a value is known to be NULL where all aliases of its side are missing."""
    match value:
        case Call("coalesce", args):
            return all(_is_null_alone(each, own) for each in args)
        case Call("case", (test, _, Literal(None))) if all(map(is_presence, _parts(test))):
            return True
        case _:
            return value == Literal(None, value.type) or any(
                is_null(value, alias) for alias in aliases_of(value) & own
            )


def _parts(test: Expression) -> tuple[Expression, ...]:
    return test.args if isinstance(test, Call) and test.function == "or" else (test,)
