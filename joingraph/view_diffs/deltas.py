"""What a batch did to the totals of groups, for readers who keep the totals themselves.

    fan   | _diff | n  | mean_sum | mean_count       columns that name a group | base diff | changes
    'bob' | 0     | +1 | +5       | +1
    'eve' | 0     | +1 | +5       | +1

    _diff | n  | mean_sum | mean_count | _groups     factorised: a change once, and whom it goes to
    0     | +1 | +5       | +1         | [{'bob'}, {'eve'}]

Added to what there was, all changes of a group make its totals. A group of which a base diff
changes no total is not told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from operator import add
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from joingraph.aggregates.exact import fitted, integer_of
from joingraph.common.errors import DiffError
from joingraph.common.names import quoted
from joingraph.expressions.python_values import python_values
from joingraph.expressions.texts import Numbers, take_rows, typed, whole
from joingraph.expressions.types import sql_name
from joingraph.expressions.words import Word, words_of
from joingraph.plan.keys.totals import DIFF, GROUPS
from joingraph.view_diffs.factorised import Factorised, fields, in_parts, one_array

Words: TypeAlias = tuple[Word, ...]


def is_deltas(changes: pa.Table) -> bool:
    """True if kept view diffs are deltas: rows end with the number of the base diff."""
    return bool(changes.column_names[-1] != DIFF)


@dataclass(frozen=True, slots=True)
class Deltas:
    """The changes of totals that a batch made, by base diff and group.

    >>> table = pa.table({"fan": ["bob", "bob"], "_diff": [0, 1], "n": [1, -3]})
    >>> Deltas(table).key
    ('fan',)
    >>> Deltas(table).net().to_pylist()
    [{'fan': 'bob', 'n': -2}]
    """

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that name a group."""
        names = self.table.column_names
        return tuple(names[: names.index(DIFF)])

    def group_words(self) -> list[Words]:
        """Return the words that name the group of each change."""
        return words_in(self.table, len(self.key))

    def net(self) -> pa.Table:
        """Return the changes of the whole batch by group, in the order of their first ones."""
        width, first, sums = len(self.key), dict[Words, int](), dict[Words, list[int]]()
        changes = self.table.select(range(width + 1, self.table.num_columns))
        rows = zip(*map(integers_of, changes.columns), strict=True)
        for at, (key, row) in enumerate(zip(self.group_words(), rows, strict=True)):
            first.setdefault(key, at)
            sums[key] = [*map(add, sums[key], row)] if key in sums else [*row]
        left = [key for key, of in sums.items() if any(of)]
        groups = take_rows(self.table, places(first[key] for key in left)).columns[:width]
        columns = [
            pa.array([number(sums[key][at], field) for key in left], field.type)
            for at, field in enumerate(changes.schema)
        ]
        return typed([*groups, *columns], self.table.drop_columns(DIFF).schema)


@dataclass(frozen=True, slots=True)
class FactorisedDeltas(Factorised):
    """Deltas of which each is told once, with the list of groups that it goes to.

    `tables` has one, "groups"; `flatten` gives the table of the deltas. `rows` has their columns,
    and is empty.
    """

    @classmethod
    def of(cls, deltas: Deltas) -> FactorisedDeltas:
        """Put the groups together that a base diff changes alike."""
        table, width = deltas.table, len(deltas.key)
        alike = dict[Words, list[int]]()
        changes = table.select(range(width, table.num_columns))
        for at, change in enumerate(words_in(changes, changes.num_columns)):
            alike.setdefault(change, []).append(at)
        make = partial(with_groups, deltas, list(alike.values()))
        parts = in_parts(make, 0, len(alike)) if alike else [make(0, 0)]
        return cls({"groups": pa.concat_tables(parts)}, table[:0])

    def deltas(self) -> Deltas:
        """Return the deltas, those of a base diff in the order of its factorised ones."""
        return Deltas(self.flatten())

    def flatten(self) -> pa.Table:
        """Return the table of the deltas: a change for each of its groups, by base diff."""
        parts = [flat(batch, self.rows.schema) for batch in self.tables["groups"].to_batches()]
        return pa.concat_tables([self.rows, *parts])


def with_groups(deltas: Deltas, alike: Sequence[list[int]], first: int, end: int) -> pa.Table:
    """Write some of the changes that groups share, and beside each its groups."""
    lists, width = alike[first:end], len(deltas.key)
    rows = places(at for each in lists for at in each)
    columns = [one_array(whole(each)) for each in take_rows(deltas.table, rows).columns[:width]]
    named = [deltas.table.schema.field(at) for at in range(width)]
    offsets = pa.array(np.cumsum([0, *map(len, lists)]), pa.int32())
    groups = pa.ListArray.from_arrays(offsets, structs(columns, named, len(rows)))
    changes = take_rows(deltas.table, places(each[0] for each in lists))
    changes = changes.select(range(width, changes.num_columns))
    return changes.append_column(GROUPS, groups)


def structs(columns: Sequence[pa.Array], named: Sequence[pa.Field], length: int) -> pa.StructArray:
    """Return rows as structs, of no field where groups have no key."""
    if not columns:
        return pa.array([{}] * length, pa.struct([]))
    return pa.StructArray.from_arrays(columns, fields=named)


def flat(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Repeat changes for each of their groups."""
    lists = batch.column(GROUPS)
    times = np.repeat(np.arange(len(lists)), lists.value_lengths().to_numpy())
    changes = take_rows(pa.Table.from_batches([batch]).drop_columns(GROUPS), times)
    return typed([*fields(lists.flatten()).values(), *changes.columns], schema)


def words_in(table: pa.Table, width: int) -> list[Words]:
    """Return rows as words; without columns they are all alike."""
    columns = [words_of(column) for column in table.columns[:width]]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def places(found: Iterable[int]) -> Numbers:
    """Return places of rows as an array."""
    return np.fromiter(found, np.int64)


def integers_of(column: pa.ChunkedArray) -> list[int]:
    """Return numbers as integers of their type's scale."""
    return [integer_of(value, column.type) for value in python_values(column)]


def number(scaled: int, field: pa.Field) -> int | Decimal:
    """Return a number of its type's scale, or raise DiffError where the type does not hold it."""
    try:
        return fitted(scaled, field.type)
    except OverflowError as error:
        raise DiffError(
            f"{quoted(field.name)} changes by {error.args[0]} in the whole batch, which"
            f" {sql_name(field.type)} does not hold; read its changes one by one"
        ) from None
