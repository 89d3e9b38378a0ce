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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from operator import add
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
        return tuple(self.table.column_names[: key_width(self.table)])

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
        parts = [part for each in by_diffs(deltas.table) for part in factorised(each)]
        return cls({"groups": pa.concat_tables(parts)}, deltas.table[:0])

    def deltas(self) -> Deltas:
        """Return the deltas, those of a base diff in the order of its factorised ones."""
        return Deltas(self.flatten())

    def flatten(self) -> pa.Table:
        """Return the table of the deltas: a change for each of its groups, by base diff."""
        parts = [flat(batch, self.rows.schema) for batch in self.tables["groups"].to_batches()]
        return pa.concat_tables([self.rows, *parts])


def key_width(deltas: pa.Table) -> int:
    """Return how many columns name a group."""
    return int(deltas.column_names.index(DIFF))


def by_diffs(table: pa.Table) -> list[pa.Table]:
    """Return a table as parts that have no base diff in common: its chunks, if these do not."""
    parts = [pa.Table.from_batches([each]) for each in table.to_batches() if len(each)]
    ends = [pc.min_max(each.column(DIFF)).as_py() for each in parts]
    are_apart = all(one["max"] < other["min"] for one, other in pairwise(ends))
    return parts if parts and are_apart else [table]


def factorised(deltas: pa.Table) -> Iterator[pa.Table]:
    """Yield deltas with each change told once, in one table or several."""
    width = key_width(deltas)
    rows, starts = alike(deltas.select(range(width, deltas.num_columns)))
    ordered = deltas if rows is None else take_rows(deltas, rows)
    changes = take_rows(ordered.select(range(width, deltas.num_columns)), starts[:-1])
    yield from with_groups(changes, ordered.select(range(width)), starts)


def with_groups(changes: pa.Table, keys: pa.Table, starts: Numbers) -> Iterator[pa.Table]:
    """Write beside changes the groups of each: the keys from one of the starts to the next.

    There are several tables where the keys' texts do not fit one array.
    """

    def some(first: int, end: int) -> pa.Table:
        of = starts[first : end + 1]
        length, offsets = int(of[-1] - of[0]), pa.array(of - of[0], pa.int32())
        columns = [one_array(whole(each)) for each in keys.slice(of[0], length).columns]
        groups = pa.ListArray.from_arrays(offsets, structs(columns, [*keys.schema], length))
        return changes.slice(first, end - first).append_column(GROUPS, groups)

    return in_parts(some, 0, len(changes))


def alike(changes: pa.Table) -> tuple[Numbers | None, Numbers]:
    """Return rows by change, in the order of the first of each, and where each starts.

    No rows are returned where they stand so already.
    """
    length = len(changes)
    columns = [codes_of(whole(each)) for each in changes.columns]
    heads = heads_of(columns, length)  # of runs of equal rows, which are few
    order = np.lexsort([each[heads] for each in reversed(columns)])
    news = heads_of([each[heads][order] for each in columns], len(heads))
    if len(news) == len(heads):
        return None, np.append(heads, length)
    firsts = order[news]  # the first run of each change, since the sort is stable
    rank = np.argsort(np.argsort(firsts))
    change = np.empty(len(heads), np.int64)  # which a run is of
    change[order] = np.repeat(rank, np.diff(news, append=len(heads)))
    of_rows = np.repeat(change, np.diff(heads, append=length))
    starts = np.concatenate([[0], np.cumsum(np.bincount(of_rows, minlength=len(firsts)))])
    return np.argsort(of_rows, kind="stable"), starts


def heads_of(columns: Sequence[Numbers], length: int) -> Numbers:
    """Return the rows that differ from the row before."""
    is_head = np.zeros(length, bool)
    is_head[:1] = True
    for each in columns:
        is_head[1:] |= each[1:] != each[:-1]
    return np.flatnonzero(is_head)


def codes_of(column: pa.Array) -> Numbers:
    """Return numbers that are equal where values are."""
    is_number = column.type == pa.int64()
    found: Numbers = (column if is_number else column.dictionary_encode().indices).to_numpy()
    return found


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
