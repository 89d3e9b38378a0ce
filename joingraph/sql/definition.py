"""What a view says once its SQL is understood: aliases, conditions, output. No SQL text beyond.

    SELECT F.followerId, T.tweetId FROM follower F JOIN tweet T ON F.userId = T.userId
    ->  aliases     F = follower, T = tweet
        conditions  F.userId = T.userId          (the conjuncts of every ON and WHERE)
        output      followerId = F.followerId, tweetId = T.tweetId

    SELECT F.fan, R.by FROM follower F LEFT JOIN retweet R ON R.fan = F.fan WHERE F.fan > 3
    ->  tree        Inner((Outer(Leaf(F), Leaf(R), (R.fan = F.fan,)),), (F.fan > 3,))
        conditions  none: the tree has them

    SELECT F.fan, COUNT(*) AS n, SUM(T.score) + 1 AS s FROM ... GROUP BY F.fan HAVING COUNT(*) > 1
    ->  joined      a Definition of its own, with the columns F.fan, T.score
        grouping    keys F.fan   uses COUNT(*), SUM(T.score)   having COUNT(*) > 1
        output      fan, n, s: over the values of a group, which are its keys and uses

joingraph/sql makes a Definition, joingraph/plan takes it. Subqueries in FROM and CTEs are
already flattened into aliases of their own ("recent.T"), USING and NATURAL into equalities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pyarrow as pa

from joingraph.aggregates.contract import Asked
from joingraph.expressions.order import Order
from joingraph.expressions.show import show
from joingraph.expressions.tree import Column, Expression, columns_of
from joingraph.tables.table import Table

# Columns that view diffs have beside the view's.
META_NAMES = ("_change_type", "_count", "_diff", "_seq")


@dataclass(frozen=True, slots=True)
class Alias:
    """One use of a base table in the view; a self-join has two of one table."""

    name: str
    table: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """An alias in a join tree."""

    alias: str


@dataclass(frozen=True, slots=True)
class Inner:
    """Parts of which each row has one of every part, where all conditions are TRUE."""

    parts: tuple[Joined, ...]
    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Outer:
    """LEFT JOIN, or FULL: what finds no partner stays, with NULLs in the partner's place."""

    left: Joined
    right: Joined
    conditions: tuple[Expression, ...]
    is_full: bool = False


@dataclass(frozen=True, slots=True)
class Probe:
    """The left side, asked whether the right one has a row on which all conditions are TRUE.

    semi and anti keep the rows for which it has one, or none; mark keeps all, and `mark` is a
    column that says so, by which conditions and outputs above call it.
    """

    kind: Literal["semi", "anti", "mark"]
    left: Joined
    right: Joined
    conditions: tuple[Expression, ...]
    mark: Column | None = None


Joined: TypeAlias = Leaf | Inner | Outer | Probe


def conditions_within(tree: Joined) -> Iterator[Expression]:
    """Yield the conditions of a join tree, wherever they stand."""
    match tree:
        case Leaf():
            return
        case Inner(parts, conditions):
            below = parts
        case Outer(left, right, conditions) | Probe(_, left, right, conditions):
            below = (left, right)
    yield from conditions
    for part in below:
        yield from conditions_within(part)


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the view."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Use:
    """An aggregate of a view, and the columns of the joined rows that it reads."""

    asked: Asked
    columns: tuple[int, ...]
    condition: int | None  # of FILTER
    type: pa.DataType
    text: str  # as it is written

    @property
    def value(self) -> Column:
        """The column by which expressions over a group call it."""
        return Column("", self.text, self.type)


@dataclass(frozen=True, slots=True)
class Grouping:
    """How a view groups the rows of a join, of which the first `keys` columns are grouped by.

    A group's values are its keys and its aggregates: `value` names them for expressions.
    """

    joined: Definition
    keys: int
    uses: tuple[Use, ...]
    having: Expression | None
    is_whole: bool  # all rows are one group, which is there even where no row is

    @property
    def values(self) -> tuple[Column, ...]:
        """The columns by which expressions over a group call its values."""
        keys = [key_value(each.value) for each in self.joined.output[: self.keys]]
        return (*keys, *(each.value for each in self.uses))


def key_value(key: Expression) -> Column:
    """Name what a group is grouped by, as a value of the group."""
    return Column("", show(key), key.type)


@dataclass(frozen=True, slots=True)
class Definition:
    """The view, flattened: a bag of rows, one for each choice of rows that meets all conditions.

    One that groups has a row a group; its output is over a group's values.
    """

    name: str
    sql: str
    dialect: str
    tables: Mapping[str, Table]
    aliases: tuple[Alias, ...]
    conditions: tuple[Expression, ...]
    output: tuple[Output, ...]
    grouping: Grouping | None = None
    order: tuple[Order, ...] = ()  # in which scan() reads it, where the caller asks for none
    tree: Joined | None = None  # how aliases are joined; None: all by inner joins
    places: Mapping[Expression, int] = field(default_factory=dict, repr=False, compare=False)
    # Derived, since Arrow takes long to make one: the view's columns as an Arrow schema.
    schema: pa.Schema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = pa.schema([pa.field(each.name, each.value.type) for each in self.output])
        object.__setattr__(self, "schema", columns)

    @property
    def joined(self) -> Definition:
        """The rows that are joined: those that a view groups, or else its own."""
        return self if self.grouping is None else self.grouping.joined

    @property
    def all_conditions(self) -> tuple[Expression, ...]:
        """All conditions of ON, WHERE and subqueries, wherever in the joins they stand."""
        below = () if self.tree is None else conditions_within(self.tree)
        return (*self.conditions, *below)

    def place_of(self, condition: Expression | None) -> int:
        """Return where in the text a condition begins, or one that it is a part of."""
        read = frozenset() if condition is None else frozenset(columns_of(condition))
        around = (at for each, at in self.places.items() if read <= frozenset(columns_of(each)))
        found = None if condition is None else self.places.get(condition)
        return next(around, 0) if found is None else found

    def key_columns(self, alias: str, table: str) -> tuple[Column, ...]:
        """Return the columns of a table's declared key as one of its aliases calls them."""
        schema, key = self.tables[table].schema, self.tables[table].key
        return tuple(Column(alias, name, schema.field(name).type) for name in key)
