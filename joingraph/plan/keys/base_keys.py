"""Prepares a view for an index of base keys: the graph then keeps the keys of these tables."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

import pyarrow as pa

from joingraph.common.errors import ViewError
from joingraph.common.names import short_repr
from joingraph.plan.build import build
from joingraph.plan.view import View
from joingraph.tables.batch import find_table
from joingraph.tables.table import Table


def with_key_index(view: View, names: object) -> tuple[View, tuple[str, ...]]:
    """Make a view that keeps the keys of tables, if there are any; and give the tables' names."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        found = short_repr(names)
        raise ViewError(f"key_index is a list of base tables, found {found}; write [{found}]")
    tables = [find_table(name, view.tables) for name in names]
    for table in tables:
        check_key(table)
    if not tables:
        return view, ()
    names_indexed = tuple(table.name for table in tables)
    keys = [
        column
        for alias in view.definition.aliases
        if alias.table in names_indexed
        for column in view.definition.key_columns(alias.name, alias.table)
    ]
    indexed = copy(view)
    indexed.plan = build(view.definition.joined, keys)
    return indexed, names_indexed


def check_key(table: Table) -> None:
    """Refuse a table that cannot be indexed."""
    if not table.key:
        raise ViewError(
            f"key_index: {table.name} declares no key; add PRIMARY KEY (...) to its declaration"
        )
    for name in table.key:
        kind = table.schema.field(name).type
        if pa.types.is_floating(kind):
            raise ViewError(f"key_index: {table.name}.{name} is {kind}, which finds no row safely")
