"""A view: SQL text, understood and planned once, before any data."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import networkx as nx
import pyarrow as pa

from joingraph.common.errors import ViewError
from joingraph.plan.build import build
from joingraph.plan.outer.pieces import RefusedJoin
from joingraph.plan.show import explain, mermaid, tree_graph
from joingraph.sql import define
from joingraph.sql.ddl.tables import declare_all
from joingraph.sql.text.place import pointed
from joingraph.tables.table import Table


def check_view(call: str, view: object) -> None:
    """Raise TypeError if a call's argument is no view."""
    if not isinstance(view, View):
        raise TypeError(
            f"{call} takes a joingraph.View, found {type(view).__name__}; write View(sql, tables)"
        )


class View:
    """A join view over declared base tables, refused here and now if it is not one we maintain.

    >>> view = View(
    ...     "CREATE VIEW feed AS SELECT F.fan, T.text FROM follower F JOIN tweet T USING (author)",
    ...     tables={
    ...         "follower": "CREATE TABLE follower (author STRING, fan STRING)",
    ...         "tweet": "CREATE TABLE tweet (author STRING, text STRING)",
    ...     },
    ... )
    >>> view.name, view.schema.names
    ('feed', ['fan', 'text'])
    """

    def __init__(self, sql: str, tables: Mapping[str, object], dialect: str = "spark") -> None:
        self._understand(sql, declare_all(tables, dialect), dialect, is_stored=False)

    @classmethod
    def stored(cls, sql: str, tables: Mapping[str, Table], dialect: str) -> View:
        """Make a view that a folder holds, whatever names its columns have."""
        made = cls.__new__(cls)
        made._understand(sql, declare_all(tables, dialect), dialect, is_stored=True)
        return made

    def _understand(
        self, sql: str, tables: Mapping[str, Table], dialect: str, *, is_stored: bool
    ) -> None:
        self.sql, self.dialect = sql, dialect
        self.tables = tables
        self.definition = define(sql, tables, dialect, is_stored=is_stored)
        try:
            self.plan = build(self.definition.joined)
        except RefusedJoin as error:
            at = self.definition.joined.place_of(error.condition)
            raise ViewError(pointed(str(error), sql, at)) from None

    def __repr__(self) -> str:
        return f"View({self.name}: {', '.join(self.schema.names)})"

    @property
    def name(self) -> str:
        """The name that CREATE VIEW gave, or "view"."""
        return self.definition.name

    @property
    def schema(self) -> pa.Schema:
        """The view's columns."""
        return self.definition.schema

    def explain(self) -> str:
        """Return the plan: aliases, filters, vertices, join tree, residual predicates, output."""
        return explain(self.definition, self.plan)

    def kernels(self) -> dict[str, str]:
        """Return the code that joingraph writes for this view and compiles, by alias and kernel.

        There are none for groups that are made of the rows of outer joins, EXISTS or IN.
        """
        kernels = import_module("joingraph.engines.codegen.kernels")  # above this room
        found: dict[str, str] = kernels.kernels_of(self.plan, self.definition.grouping)
        return found

    def to_mermaid(self) -> str:
        """Draw the join tree as a Mermaid flowchart."""
        return mermaid(self.plan)

    def to_networkx(self) -> nx.Graph[str]:
        """Return the join tree as a graph of aliases and join vertices."""
        return tree_graph(self.plan)
