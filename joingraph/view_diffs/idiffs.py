"""Diffs of the view named by part of its key: one for a base row, however many rows it is part of.

    tweet 7: text 'a' -> 'b'           update  T  tweetId 7 | text 'b'        not one row a follower
    tweet 8 deleted                    delete  T  tweetId 8
    follower (ann, bob) inserted       insert  -  whole rows of the view

    kind     named by                        says
    update   the columns of alias' key       set the other columns of every row so named
    delete   the columns of alias' key       every row so named goes
    insert   the view's whole key            the row is there, like this (an upsert)
    delete   the view's whole key, alias ""  the row is not there
    insert   -                 counted       so many more of this row
    delete   shared columns    counted       so many less of the rows that have these values

All of a batch agree with the view after it, so they give it in whichever order they are applied
(the printed NOT IN test on whole rows does not: an insert must look for its key). That is why a
counted delete leaves out columns that an update may have set: rows with the same shared columns are
the same row (plan/keys/keyed.py). Rows that an i-diff names and the view lacks do no harm.

Precondition: what is declared as a key is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.expressions.consolidation import Balances, consolidate
from joingraph.expressions.texts import take_rows
from joingraph.expressions.words import Word
from joingraph.plan.keys.keyed import Keyed, shared_columns, view_key
from joingraph.plan.model import Plan
from joingraph.sql.definition import Definition
from joingraph.view_diffs.apply_idiffs import apply_to_copy
from joingraph.view_diffs.idiffs_sql import Statement, TableName, idiffs_sql
from joingraph.view_diffs.view_diff import META, signed_counts, word_rows

COUNT = "_count"
Words = tuple[Word, ...]
Mask = npt.NDArray[np.bool_]
Target = TypeVar("Target")


@dataclass(frozen=True, slots=True)
class IDiff:
    """Diffs of one kind: `key` are the columns that name rows; a counted one ends with a count."""

    kind: str
    alias: str
    key: tuple[str, ...]
    table: pa.Table
    counted: bool = False

    def repeated(self) -> IDiff:
        """Write each row as often as it counts."""
        if not self.counted:
            return self
        counts = self.table.column(-1).to_numpy()
        return replace(self, table=take_rows(self.table, np.repeat(np.arange(len(counts)), counts)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the view it has."""
        return tuple(self.table.column_names[: -1 if self.counted else None])

    @property
    def values(self) -> tuple[str, ...]:
        """Those that are not its key: what an update sets."""
        return tuple(name for name in self.columns if name not in self.key)


@dataclass(frozen=True, slots=True)
class IDiffs:
    """The i-diffs of one batch, in no particular order.

    >>> import pyarrow as pa
    >>> text = pa.table({"tweetId": [7], "text": ["b"]})
    >>> schema = pa.schema({"fan": pa.string(), "tweetId": pa.int64(), "text": pa.string()})
    >>> diffs = IDiffs(schema, (IDiff("update", "T", ("tweetId",), text),))
    >>> diffs.tables()["T", "update"].to_pylist()
    [{'tweetId': 7, 'text': 'b'}]
    """

    schema: pa.Schema
    parts: tuple[IDiff, ...]

    def __len__(self) -> int:
        return sum(part.table.num_rows for part in self.parts)

    def apply_idiffs(self, target: Target, table: TableName | None = None) -> Target:
        """Apply them to a stored copy of the view, an Arrow table, and return the new one.

        Or to a table of DuckDB or SQLite, named behind its connection, in one transaction.
        """
        return apply_to_copy(target, self, table)

    def sql(self, table: TableName) -> list[Statement]:
        """Write them as PostgreSQL reads them, to be executed in order in one transaction."""
        return idiffs_sql(self, table)

    def tables(self) -> dict[tuple[str, str], pa.Table]:
        """Return the diffs by alias and kind; whole rows, which are of no alias, by ""."""
        return {(part.alias, part.kind): part.table for part in self.parts}


def apply_idiffs(target: Target, idiffs: object, table: TableName | None = None) -> Target:
    """Apply `ViewDiff.idiffs()` to an Arrow table, or to a table behind a connection.

    Return the new Arrow table, or the connection.

    >>> feed = pa.table({"fan": ["bob", "eve"], "tweetId": [7, 7], "text": ["a", "a"]})
    >>> text = pa.table({"tweetId": [7], "text": ["b"]})
    >>> update = IDiffs(feed.schema, (IDiff("update", "T", ("tweetId",), text),))
    >>> apply_idiffs(feed, update)["text"].to_pylist()
    ['b', 'b']
    """
    if not isinstance(idiffs, IDiffs):
        raise TypeError(
            "apply_idiffs(target, idiffs) takes what ViewDiff.idiffs() gives; found"
            f" {type(idiffs).__name__}"
        )
    return idiffs.apply_idiffs(target, table)


@dataclass(frozen=True, slots=True)
class KeyedDiffs:
    """What a batch did to the base rows of one keyed alias: a table each, keys before values."""

    deletes: pa.Table
    updates: pa.Table


def make_idiffs(
    plan: Plan, keyed: Mapping[int, Keyed], diffs: Mapping[int, KeyedDiffs], changes: pa.Table
) -> IDiffs:
    """Put a batch's i-diffs together: what the keyed aliases say, and the rows that are left.

    `changes` are the batch's view diffs (view_diff.py). Those that only say again what the keyed
    aliases say may be among them or not: the outcome is the same.
    """
    schema = plan.definition.schema
    parts: list[IDiff] = []
    deletes: list[Deleted] = []
    for index, of in diffs.items():
        names = keyed[index].names
        key, alias = tuple(schema.names[at] for at in names), keyed[index].alias.name
        parts.append(IDiff("update", alias, key, of.updates))
        parts.append(IDiff("delete", alias, key, of.deletes))
        deletes.append(Deleted(names, set(word_rows(of.deletes, len(names)))))
    rows = changes.select(range(len(schema)))
    balances = balances_of(changes, shared_columns(plan, keyed), deletes)
    named_by = view_key(plan, keyed)
    if named_by is None:
        parts += counted_rows(rows, shared_columns(plan, keyed), balances)
    else:
        parts += keyed_rows(rows, named_by, balances)
    return IDiffs(schema, tuple(part for part in parts if part.table.num_rows))


def group_idiffs(definition: Definition, changes: pa.Table) -> IDiffs:
    """Name a batch's diffs of groups by their keys; by whole rows, where not all keys are shown."""
    schema, key = definition.schema, group_key(definition)
    rows, whole = changes.select(range(len(schema))), tuple(range(len(schema)))
    balances = balances_of(changes, whole, ())
    parts = keyed_rows(rows, key, balances) if key else counted_rows(rows, whole, balances)
    return IDiffs(schema, tuple(part for part in parts if part.table.num_rows))


def group_key(definition: Definition) -> tuple[int, ...] | None:
    """Return the view's columns that hold what it groups by; None if it does not show all of it.

    A view of one group has no such column, and needs none.
    """
    grouping = definition.grouping
    assert grouping is not None, "a view of groups"
    shown = [each.value for each in definition.output]
    keys = grouping.values[: grouping.keys]
    return tuple(map(shown.index, keys)) if all(key in shown for key in keys) else None


class Deleted(NamedTuple):
    """The keys that a delete i-diff removes, and the view's columns that hold them."""

    names: tuple[int, ...]
    keys: set[Words]


def rows_without(keys: set[Words], rows: pa.Table) -> Mask:
    """Return a mask of the rows that are none of the keys."""
    if not keys:
        return np.ones(len(rows), bool)
    return np.array([row not in keys for row in word_rows(rows, rows.num_columns)], bool)


def balances_of(changes: pa.Table, shared: tuple[int, ...], deletes: Iterable[Deleted]) -> Balances:
    """Add up the rows that no delete i-diff removes, by their shared columns."""
    width = changes.num_columns - len(META)
    rows = changes.select(range(width))
    left = consolidate(rows, signed_counts(changes, width))
    for names, keys in deletes:
        left = left.where(rows_without(keys, take_rows(rows.select(names), left.at)))
    left = left.where(np.argsort(left.at))
    found = consolidate(take_rows(rows.select(shared), left.at), left.counts)
    return Balances(left.at[found.at], found.counts)


def counted_rows(rows: pa.Table, shared: tuple[int, ...], balances: Balances) -> Iterator[IDiff]:
    """Insert and delete rows as often as it takes."""
    come, gone = balances.where(balances.counts > 0), balances.where(balances.counts < 0)
    names = tuple(rows.column_names[at] for at in shared)
    yield IDiff("insert", "", (), with_counts(rows, come), counted=True)
    less = with_counts(rows.select(shared), gone)
    yield IDiff("delete", "", names, less, counted=True)


def keyed_rows(rows: pa.Table, key: tuple[int, ...], balances: Balances) -> Iterator[IDiff]:
    """Insert rows by the view's key, and delete those whose key no inserted row has."""
    names = tuple(rows.column_names[at] for at in key)
    come = take_rows(rows, balances.at[balances.counts > 0])
    gone = take_rows(rows.select(names), balances.at[balances.counts < 0])
    come_keys = set(word_rows(come.select(names), len(names))) if len(gone) else set[Words]()
    yield IDiff("insert", "", names, come)
    left = np.flatnonzero(rows_without(come_keys, gone))
    yield IDiff("delete", "", names, take_rows(gone, left))


def with_counts(rows: pa.Table, balances: Balances) -> pa.Table:
    """Take the rows that balances point at, with their counts, all above zero."""
    found, counts = take_rows(rows, balances.at), pa.array(np.abs(balances.counts))
    return pa.table([*found.columns, counts], names=[*found.column_names, COUNT])
