"""What the columns of an optional side are where no row of it is there: NULL, whatever they say.

    a LEFT JOIN (SELECT k, 1 AS found FROM b) s ON ...
    ->  s.found = CASE WHEN is_there(b.k) THEN 1 END

A plain column is NULL by itself there; so is what is NULL wherever its columns are.
"""

from __future__ import annotations

from dataclasses import replace

from joingraph.expressions.tree import Call, Column, Expression, Literal
from joingraph.sql.binder import FlatView
from joingraph.sql.functions.comparisons import choose
from joingraph.sql.joined.trees import Rows, is_presence, presence
from joingraph.sql.limits import Size
from joingraph.sql.scope import Field, Relation, Scope


def optional(rows: Rows, flat: FlatView) -> Scope:
    """Return the names of an optional side as they are read above its join."""
    relations = rows.scope.relations
    fields = [field for each in relations.values() for field in each.fields]
    values = {id(field): field.value for field in (*fields, *rows.scope.fields)}
    if all(map(_is_null_alone, values.values())):
        return rows.scope
    test = presence(rows.joined, flat)
    asked = Size(2 + len(_parts(test)), 2)

    def seen(field: Field) -> Field:
        if _is_null_alone(field.value):
            return field
        value = choose([test], [field.value, Literal(None, field.value.type)])
        size = Size(field.size.nodes + asked.nodes, field.size.depth + asked.depth)
        return replace(field, value=value, size=size)

    new = {id(field): seen(field) for field in (*fields, *rows.scope.fields)}
    return Scope(
        {
            name: Relation(each.name, tuple(new[id(field)] for field in each.fields))
            for name, each in relations.items()
        },
        tuple(new[id(field)] for field in rows.scope.fields),
        rows.scope.around,
    )


def _is_null_alone(value: Expression) -> bool:
    """True if a value is known to be NULL on a row of NULLs."""
    match value:
        case Column(alias):
            return bool(alias)  # a mark is FALSE there
        case Literal():
            return value.value is None
        case Call("coalesce", args):
            return all(map(_is_null_alone, args))
        case Call("case", (test, _, Literal(None))):
            return any(map(is_presence, _parts(test)))
        case _:
            return False


def _parts(test: Expression) -> tuple[Expression, ...]:
    return test.args if isinstance(test, Call) and test.function == "or" else (test,)
