"""What is to be read of a view: which rows, in which order, how many.

    scan(where="fan = 'bob' AND a + b > 3", order_by="date DESC", limit=20)
    ->  Reading(conditions, order, limit)

This is settled before the graph is looked at, for every form of the graph alike; where a walk
starts is chosen in access_paths.py, what it does from there is a program (plan/arrange.py).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from joingraph.common.errors import ViewError
from joingraph.common.names import did_you_mean, quoted, short_repr
from joingraph.expressions.order import Order
from joingraph.expressions.show import show
from joingraph.expressions.tree import Expression
from joingraph.plan.view import View
from joingraph.sql.conditions import bind_order, bind_where
from joingraph.sql.definition import Definition


@dataclass(frozen=True, slots=True)
class Reading:
    """Which rows of the view are read, in which order, how many at the most.

    `part` = (i, n): only those whose start is the i-th, the i+n-th, ... of all starts.
    """

    conditions: tuple[Expression, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    part: tuple[int, int] = (0, 1)


@dataclass(slots=True)
class Touched:
    """How much of the graph a read has visited so far."""

    join_tuples: int = 0
    projected_tuples: int = 0


def make_reading(definition: Definition, where: object, order_by: object, limit: object) -> Reading:
    """Bind what a caller asks to read."""
    entries = [] if order_by is None else order_by
    if not isinstance(entries, (list, tuple)):
        entries = [entries]
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise ViewError(f"limit: a whole number, 0 or more, is needed; found {short_repr(limit)}")
    return Reading(
        () if where is None else bind_where(where, definition),
        tuple(bind_order(each, definition) for each in entries) or definition.order,
        None if limit is None else min(limit, sys.maxsize),
    )


def indexable(view: View, column: object) -> str:
    """Find an output column that can have an index, whatever the case of its name."""
    definition, plan = view.definition, view.plan
    if not isinstance(column, str):
        raise ViewError(f"index: a column is named by a text, found {short_repr(column)}")
    if definition.grouping is not None:
        raise ViewError(f"index: the rows of {definition.name} are groups, which have no index")
    names = {each.name.lower(): each for each in definition.output}
    found = names.get(column.lower())
    if found is None:
        hint = did_you_mean(column, definition.schema.names)
        raise ViewError(f"index: {definition.name} has no column {quoted(column)}{hint}")
    if found.value not in plan.slots or found.value in plan.marks:
        raise ViewError(
            f"index: {quoted(found.name)} is computed on the path, as {show(found.value)}, and "
            "kept nowhere; index a column of one table"
        )
    return found.name
