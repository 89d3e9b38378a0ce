"""Joined rows as a table of their own, of which a view's groups are made.

    SELECT F.fan, SUM(T.x * R.y) FROM ... GROUP BY F.fan
    joined    | c0 = F.fan | c1 = T.x * R.y |            computed on paths
    grouping  SUM(c1) by c0, over one alias: its messages need no other

What must be seen together is seen on a path; what becomes of it is told by its columns alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from joingraph.expressions.tree import Column
from joingraph.plan.build import build
from joingraph.plan.groups.messages import Messages, messages_of
from joingraph.plan.model import Plan
from joingraph.sql.definition import Alias, Definition, Grouping, Output
from joingraph.tables.table import Table

NAME = "joined"


class JoinedPlan(NamedTuple):
    """The plan of a table of joined rows, and what they tell groups."""

    plan: Plan
    messages: Messages


def plan_of_joined(grouping: Grouping) -> JoinedPlan | None:
    """Return the plan of the joined rows of a view; None: they cannot be told by columns."""
    fields = [(f"c{at}", each.value.type) for at, each in enumerate(grouping.joined.output)]
    output = tuple(Output(name, Column(NAME, name, kind)) for name, kind in fields)
    tables = {NAME: Table(NAME, pa.schema(fields))}
    aliases = (Alias(NAME, NAME),)
    rows = Definition(NAME, "", grouping.joined.dialect, tables, aliases, (), output)
    plan = build(rows)
    messages = messages_of(plan, replace(grouping, joined=rows))
    return None if messages is None else JoinedPlan(plan, messages)
