"""What a view says once its SQL is understood: aliases, conditions, output. No SQL text beyond.

    SELECT F.followerId, T.tweetId FROM follower F JOIN tweet T ON F.userId = T.userId
    ->  aliases     F = follower, T = tweet
        conditions  F.userId = T.userId          (the conjuncts of every ON and WHERE)
        output      followerId = F.followerId, tweetId = T.tweetId

joingraph/sql makes a Definition, joingraph/plan takes it. Subqueries in FROM and CTEs are
already flattened into aliases of their own ("recent.T"), USING and NATURAL into equalities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from joingraph.expressions.tree import Column, Expression
from joingraph.tables.table import Table

# Columns that view diffs have beside the view's.
META_NAMES = ("_change_type", "_count", "_diff", "_seq")


@dataclass(frozen=True, slots=True)
class Alias:
    """One use of a base table in the view; a self-join has two of one table."""

    name: str
    table: str


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the view."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Definition:
    """The view, flattened: a bag of rows, one for each choice of rows that meets all conditions."""

    name: str
    sql: str
    dialect: str
    tables: Mapping[str, Table]
    aliases: tuple[Alias, ...]
    conditions: tuple[Expression, ...]
    output: tuple[Output, ...]
    # Derived, since Arrow takes long to make one: the view's columns as an Arrow schema.
    schema: pa.Schema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = pa.schema([pa.field(each.name, each.value.type) for each in self.output])
        object.__setattr__(self, "schema", columns)

    def key_columns(self, alias: str, table: str) -> tuple[Column, ...]:
        """Return the columns of a table's declared key as one of its aliases calls them."""
        schema, key = self.tables[table].schema, self.tables[table].key
        return tuple(Column(alias, name, schema.field(name).type) for name in key)
