"""Where an alias keeps a column of its base table, whether the view shows it or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from joingraph.expressions.evaluate import LAZY_SAFE
from joingraph.expressions.functions import SAFE
from joingraph.expressions.tree import Call, Column, Expression
from joingraph.plan.classes import bare
from joingraph.plan.model import AliasPlan, Plan, Slot, Vertex


def kept_slot(plan: Plan, alias: AliasPlan, column: Column) -> Slot | None:
    """Find the place of a column: among what paths read, else in a key that holds it exactly."""
    vertices = [plan.vertices[vertex] for vertex in alias.vertices]
    return plan.slots.get(column) or key_slot(alias.index, vertices, column)


def key_slot(alias: int, vertices: Sequence[Vertex], part: Expression) -> Slot | None:
    """Find a part among an alias' keys at its vertices, in one that gives it back exactly."""
    for place, vertex in enumerate(vertices):
        seat = vertex.seat(alias)
        for position, (members, kind) in enumerate(zip(vertex.members, vertex.types, strict=True)):
            # -0.0 and NaN are normalised in keys
            if members[seat] == bare(part) and not pa.types.is_floating(kind):
                return Slot(alias, place, position, kind)
    return None


def key_slots(plan: Plan, alias: AliasPlan) -> tuple[Slot, ...]:
    """Find where an alias keeps its table's key."""
    columns = plan.definition.key_columns(alias.name, alias.table)
    slots = [slot for column in columns if (slot := kept_slot(plan, alias, column))]
    assert len(slots) == len(columns), "the plan was made to keep the keys of indexed tables"
    return tuple(slots)


def takes_all(plan: Plan, alias: AliasPlan, table: str) -> bool:
    """True if an alias of a table can drop no row: no condition, no join attribute that is NULL."""
    if alias.table != table or alias.conditions:
        return False
    schema = plan.definition.tables[table].schema
    return all(
        isinstance(each, Column) and not schema.field(each.name).nullable for each in alias.binding
    )


def is_total(plan: Plan, expression: Expression) -> bool:
    """True if computing an expression of kept values cannot raise an error."""
    if expression in plan.slots or not isinstance(expression, Call):
        return True
    function = expression.function
    known = function in SAFE or function in LAZY_SAFE or bare(expression) != expression
    return known and all(is_total(plan, arg) for arg in expression.args)


def kept_parts(plan: Plan, wanted: Expression) -> Iterator[Expression]:
    """Yield the largest parts of an expression that are kept as they are."""
    if wanted in plan.slots:
        yield wanted
    elif isinstance(wanted, Call):
        for arg in wanted.args:
            yield from kept_parts(plan, arg)
    else:
        assert not isinstance(wanted, Column), "a column that is read is kept, or a part of what is"
