"""The view as far as it is flattened: aliases so far, and how names and conditions are bound.

A relation of a subquery gets an alias of its own, named after both: "recent.T". A condition is
split into its conjuncts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from joingraph.common.names import quoted, suggest
from joingraph.expressions.order import Order
from joingraph.expressions.tree import Column, Expression, Literal
from joingraph.expressions.types import sql_name
from joingraph.sql.definition import Alias, Leaf
from joingraph.sql.functions.scalars import bind
from joingraph.sql.limits import Size, check_size, survey
from joingraph.sql.scope import Cte, Field, Scope
from joingraph.sql.text.refusal import Mistake
from joingraph.tables.table import Table

if TYPE_CHECKING:
    from joingraph.sql.grouping import Grouped

ALIASES_MAX = 256
_LEAF = Size(1, 1)


class FlatView:
    """What flattening gathers while it walks the text, over tables known by name."""

    def __init__(self, tables: Mapping[str, Table], dialect: str) -> None:
        self.tables, self.dialect = tables, dialect
        self.aliases: list[Alias] = []
        self.table_of: dict[str, Table] = {}  # by alias
        self.ctes: list[Cte] = []
        self.nodes = self.marks = 0
        self.grouped: Grouped | None = None
        self.order: list[Order] = []
        self.written: dict[Expression, exp.Expr] = {}  # conditions, and where they stand
        self._taken: set[str] = set()
        self._tables = {name.lower(): name for name in tables}

    def table(self, node: exp.Table) -> str:
        """Find a declared table by its name, whatever the case."""
        written = ".".join(part.name for part in node.parts)
        found = self._tables.get(written.lower())
        if found is None:
            near = self._tables.get(node.name.lower()) or suggest(written, self.tables)
            hint = f"; did you mean {quoted(near)}?" if near else ""
            raise Mistake(node, f"no table is declared as {quoted(written)}{hint}")
        return found

    def alias(self, node: exp.Expr, wanted: str, table: str) -> tuple[tuple[Field, ...], Leaf]:
        """Add one more use of a base table; return its columns, and itself."""
        if len(self.aliases) >= ALIASES_MAX:
            raise Mistake(
                node,
                f"this view has over {ALIASES_MAX} tables once its subqueries are written out; "
                "that many are not taken",
            )
        name, number = wanted, 1
        while name.lower() in self._taken:
            number += 1
            name = f"{wanted}#{number}"
        self._taken.add(name.lower())
        self.aliases.append(Alias(name, table))
        self.table_of[name] = self.tables[table]
        fields = tuple(
            Field(field.name, wanted, Column(name, field.name, field.type), _LEAF)
            for field in self.tables[table].schema
        )
        return fields, Leaf(name)

    def value(self, node: exp.Expr, find: Callable[[exp.Column], Field]) -> Field:
        """Bind an expression, its names resolved by `find`; it is measured on the way."""
        size, columns = survey(node)
        read: list[Field] = [find(each) for each in columns]
        size = Size(
            size.nodes + sum(field.size.nodes for field in read),
            size.depth + max((field.size.depth for field in read), default=0),
        )
        self.nodes += size.nodes
        check_size(node, size._replace(nodes=self.nodes))
        bound = bind(node, lambda column: find(column).value, self.dialect)
        return Field("", "", bound, size)

    def require(self, node: exp.Expr, scope: Scope) -> list[Expression]:
        """Return the conjuncts of a condition; one that is always true is dropped."""
        return [each for term in conjuncts(node) for each in self.conjunct(term, scope.find)]

    def conjunct(
        self, node: exp.Expr, find: Callable[[exp.Column], Field]
    ) -> tuple[Expression, ...]:
        """Bind one conjunct; return none if it is always true."""
        bound = self.value(node, find).value
        if isinstance(bound, Literal) and bound.value is None:
            bound = Literal(None, pa.bool_())
        if not pa.types.is_boolean(bound.type):
            raise Mistake(
                node,
                f"a condition must be BOOLEAN, and this is {sql_name(bound.type)}; compare it "
                "with something",
            )
        self.written.setdefault(bound, node)
        return () if bound == Literal(True, pa.bool_()) else (bound,)


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """Split a condition at its ANDs, also inside parentheses, in written order."""
    bare = node.unnest()
    if not isinstance(bare, exp.And):
        return [bare]
    return [term for each in bare.flatten(unnest=False) for term in conjuncts(each)]
