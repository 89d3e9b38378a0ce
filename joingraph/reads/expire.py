"""What `expire` asks: a condition over a base table's columns, as each alias of it keeps them.

    expire("tweet", where="tweetDate < DATE '2015-01-01'")   ->   T: T.tweetDate < DATE '2015-01-01'

The graph has no base rows, only what it keeps of them, so a column that one alias of the table
drops cannot be asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from joingraph.common.errors import ViewError
from joingraph.expressions.tree import Call, Column, Expression, columns_of
from joingraph.plan.kept_columns import kept_slot
from joingraph.plan.model import AliasPlan
from joingraph.plan.view import View
from joingraph.sql.conditions import bind_where
from joingraph.sql.definition import Output
from joingraph.tables.table import Table

Conditions = Mapping[int, tuple[Expression, ...]]  # alias -> conjuncts over what it keeps


def bind_expiry(view: View, table: Table, where: object) -> Conditions:
    """Bind a condition for every alias of a table; refuse one that an alias cannot decide."""
    columns = [Column(table.name, field.name, field.type) for field in table.schema]
    output = tuple(Output(column.name, column) for column in columns)
    joined = replace(view.plan.definition, name=table.name, output=output)
    conditions, found = bind_where(where, joined), {}
    for alias in view.plan.aliases:
        if alias.table == table.name:
            found[alias.index] = tuple(of_alias(each, alias) for each in conditions)
            for column in dict.fromkeys(c for each in found[alias.index] for c in columns_of(each)):
                check_kept(view, alias, column)
    return found


def of_alias(condition: Expression, alias: AliasPlan) -> Expression:
    """Return a condition on a table as one on an alias of it."""
    match condition:
        case Column(_, name, type):
            return Column(alias.name, name, type)
        case Call(function, args, type):
            return Call(function, tuple(of_alias(arg, alias) for arg in args), type)
        case _:
            return condition


def check_kept(view: View, alias: AliasPlan, column: Column) -> None:
    """Refuse a column that the graph drops."""
    if kept_slot(view.plan, alias, column) is None:
        name = f"{alias.name}.{column.name}"
        shown = name if view.definition.grouping is None else f"{name}, or MAX({name}),"
        raise ViewError(
            f"where: the graph does not keep {name}, so it cannot tell which rows of {alias.table}"
            f" are meant; put {shown} into the view's SELECT list, or delete the rows themselves"
        )
