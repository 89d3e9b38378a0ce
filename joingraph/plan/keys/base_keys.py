"""Prepares a view for an index of base keys: the graph then keeps the keys of these tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

import pyarrow as pa

from joingraph.common.errors import ViewError
from joingraph.common.names import short_repr
from joingraph.expressions.tree import Column
from joingraph.plan.build import build
from joingraph.plan.view import View
from joingraph.tables.batch import find_table
from joingraph.tables.table import Table


def with_key_index(view: View, names: object) -> tuple[View, tuple[str, ...]]:
    """Make a view that keeps the keys of tables, if there are any; and give the tables' names."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        said = short_repr(names)
        raise ViewError(f"key_index is a list of base tables, found {said}; write [{said}]")
    tables = [find_table(name, view.tables) for name in names]
    for table in tables:
        check_key(table)
    if not tables:
        return view, ()
    indexed = copy(view)
    indexed.plan = build(view.definition, list(key_columns(view, tables)))
    return indexed, tuple(table.name for table in tables)


def key_columns(view: View, tables: Sequence[Table]) -> Iterator[Column]:
    """Yield the key columns of tables as each of their aliases calls them."""
    for alias in view.definition.aliases:
        for table in tables:
            if alias.table == table.name:
                for name in table.key:
                    yield Column(alias.name, name, table.schema.field(name).type)


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
