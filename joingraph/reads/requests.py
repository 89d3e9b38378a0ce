"""What is to be read of a view, and when on a walk each condition can be decided.

    scan(where="fan = 'bob' AND a + b > 3", order_by="date DESC", limit=20)
    ->  Reading(conditions, order, limit)
    ->  legs: at the start F.fan = 'bob', after the hop into T  F.a + T.b > 3, ...

This is settled before the graph is looked at, for every form of the graph alike; where a walk
starts is chosen in access_paths.py.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from joingraph.common.errors import ViewError
from joingraph.common.names import quoted, short_repr, suggest
from joingraph.expressions.order import Order
from joingraph.expressions.show import show
from joingraph.expressions.tree import Expression, aliases_of
from joingraph.plan.kept_columns import is_total
from joingraph.plan.model import Leg, Plan
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
        tuple(bind_order(each, definition) for each in entries),
        None if limit is None else min(limit, sys.maxsize),
    )


def indexable(plan: Plan, column: object) -> str:
    """Find an output column that can have an index, whatever the case of its name."""
    if not isinstance(column, str):
        raise ViewError(f"index: a column is named by a text, found {short_repr(column)}")
    names = {each.name.lower(): each for each in plan.definition.output}
    found = names.get(column.lower())
    if found is None:
        near = suggest(column, plan.definition.schema.names)
        hint = f"; did you mean {quoted(near)}?" if near else ""
        raise ViewError(f"index: {plan.definition.name} has no column {quoted(column)}{hint}")
    if found.value not in plan.slots:
        raise ViewError(
            f"index: {quoted(found.name)} is computed on the path, as {show(found.value)}, and "
            "kept nowhere; index a column of one table"
        )
    return found.name


def legs(
    plan: Plan, start: int, conditions: Sequence[Expression]
) -> tuple[tuple[Expression, ...], list[Leg]]:
    """Say what can be decided at the start, and the route with what each hop makes decidable.

    A condition that may raise an error is asked of complete paths only, after all others: one that
    is never completed is no row of the view and must not raise.
    """
    left, late = list[Expression](), list[Expression]()
    for each in conditions:
        (left if is_total(plan, each) else late).append(each)
    bound = {plan.aliases[start].name}
    at_start = tuple(each for each in left if aliases_of(each) <= bound)
    found: list[Leg] = []
    for hop in plan.routes[start]:
        left = [each for each in left if not aliases_of(each) <= bound]
        bound.add(plan.aliases[hop.alias].name)
        now = tuple(each for each in left if aliases_of(each) <= bound)
        found.append(Leg(hop, (*(plan.residuals[i] for i in hop.residuals), *now)))
    if not found:
        return (*at_start, *late), found
    found[-1] = Leg(found[-1].hop, (*found[-1].tests, *late))
    return at_start, found
