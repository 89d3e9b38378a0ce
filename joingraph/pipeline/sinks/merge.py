"""What a batch does to a stored copy of the view, as the source of one MERGE.

    _op      tweetId  followerId  text  _count
    update   7        NULL        'b'   NULL      every row of tweet 7
    delete   8        NULL        NULL  NULL      every row of tweet 8
    row      9        5           'c'   +1        this row, so many times more or less

    _op      fan      n           _count
    group    'ann'    3           1               the row of this group, in the place of its old one
    delete   NULL     2           -1              the row of the group NULL, which was this one

Where the view has a table's key among its columns and base rows of that table were updated or
deleted, their i-diffs name the rows of the view, however many there are. A key that other changes
of the batch touch as well goes by rows: no row of the view may be named twice in one MERGE. Of a
view that shows all it groups by, each group has one row, which its key names.

Precondition: what is declared as a key is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.api.join_graph import JoinGraph
from joingraph.common.errors import DiffError
from joingraph.expressions.consolidation import consolidate
from joingraph.expressions.texts import is_text, take_rows, whole
from joingraph.expressions.words import Word, normal
from joingraph.plan.view import View
from joingraph.sql.definition import Definition
from joingraph.view_diffs.idiffs import IDiff, IDiffs, group_key
from joingraph.view_diffs.view_diff import ViewDiff, signed_counts, word_rows

UPDATE, DELETE, ROW, GROUP = "update", "delete", "row", "group"


class Merge(NamedTuple):
    """The source of a MERGE, the columns by which rows are named, and those an update sets."""

    rows: pa.Table
    key: tuple[str, ...]
    values: tuple[str, ...]


def merge_of(diff: ViewDiff, definition: Definition) -> Merge:
    """Write a batch as the source of a MERGE."""
    net = net_rows(diff)
    key = None if definition.grouping is None else group_key(definition)
    if key is not None:
        return merge_of_groups(net, tuple(net.column_names[at] for at in key))
    return merge_of_rows(diff, equal_rows_folded(net))


def merge_of_groups(net: pa.Table, key: tuple[str, ...]) -> Merge:
    """Put each group that has a row in its place, and delete those that have none any more."""
    come, gone = (net.filter(compare(net["_count"], 0)) for compare in (pc.greater, pc.less))
    there = set(key_words(come, key))
    left = pa.array([each not in there for each in key_words(gone, key)], pa.bool_())
    parts = [with_operation(come, GROUP), with_operation(gone.filter(left), DELETE)]
    values = tuple(name for name in net.column_names[:-1] if name not in key)
    return Merge(pa.concat_tables(parts), key, values)


def key_words(rows: pa.Table, key: tuple[str, ...]) -> list[tuple[Word, ...]]:
    """Return the keys of groups; the one group of a view without GROUP BY has an empty one."""
    return list(word_rows(rows.select(key), len(key))) if key else [()] * len(rows)


def merge_of_rows(diff: ViewDiff, net: pa.Table) -> Merge:
    """Name rows by the key of an alias where its i-diffs do, and all others by all columns."""
    names = tuple(net.column_names[:-1])
    parts = named_parts(diff) if pc.any(pc.less(net["_count"], 0)).as_py() else []
    if not parts:
        return Merge(with_operation(net, ROW), names, ())
    key = parts[0].key
    touched = other_keys(diff.idiffs(), key)
    left = (without_keys(part, key, touched) for part in parts)
    parts = [part for part in left if len(part.table)]
    for part in parts:
        net = net.filter(pc.invert(among(net, part.table, key)))
    values = next((part.values for part in parts if part.kind == UPDATE), ())
    tables = [with_operation(part.table, part.kind) for part in parts]
    found = pa.concat_tables([with_operation(net, ROW), *tables], promote_options="default")
    return Merge(found, key, values)


def rows_over_nothing(view: View) -> pa.Table:
    """Return the rows that a view has before its first batch: of a view of one group, its row."""
    rows = JoinGraph(view, engine="reference").to_arrow()
    return rows.append_column("_count", pa.array([1] * len(rows), pa.int64()))


def net_rows(diff: ViewDiff) -> pa.Table:
    """Fold a batch to its rows, counted up or down."""
    net = diff.to_arrow(net=True)
    at = net.schema.get_field_index("_count")
    counts = signed_counts(net, at - 1)
    return net.set_column(at, "_count", pa.array(counts)).drop_columns(["_change_type"])


def equal_rows_folded(net: pa.Table) -> pa.Table:
    """Fold rows that SQL cannot tell apart, since 0.0 = -0.0: both would name the same rows."""
    *columns, counts = net.columns
    same = [each if is_text(each.type) else normal(whole(each)) for each in columns]
    found = consolidate(pa.table(same, net.column_names[:-1]), counts.to_numpy())
    folded = take_rows(net.drop_columns(["_count"]), found.at)
    return folded.append_column("_count", pa.array(found.counts))


def named_parts(diff: ViewDiff) -> list[IDiff]:
    """Return the i-diffs of the one alias that has any; none if several have, or none are known.

    A batch that comes back from the outbox has its rows alone.
    """
    try:
        parts = diff.idiffs().parts
    except DiffError:
        return []
    found = [part for part in parts if part.alias and len(part.table)]
    return found if len({part.alias for part in found}) == 1 else []


def other_keys(idiffs: IDiffs, key: Sequence[str]) -> pa.Table:
    """Return the keys of the rows that came and went otherwise; every such row has one."""
    parts = [part.table.select(key) for part in idiffs.parts if not part.alias]
    empty = idiffs.schema.empty_table().select(key)
    return pa.concat_tables([empty, *parts], promote_options="permissive")


def without_keys(part: IDiff, key: Sequence[str], touched: pa.Table) -> IDiff:
    """Leave out the keys whose changes go by rows."""
    kept = part.table.filter(pc.invert(among(part.table, touched, key)))
    return IDiff(part.kind, part.alias, part.key, kept)


def among(rows: pa.Table, keys: pa.Table, key: Sequence[str]) -> pa.Array:
    """Mark the rows whose key is among others; no part of a key is NULL."""
    place = pa.array(np.arange(len(rows)))
    mine = rows.select(key).append_column("_at", place)
    found = mine.join(keys.select(key), list(key), join_type="left semi", use_threads=False)
    marks = np.zeros(len(rows), bool)
    marks[found["_at"].to_numpy()] = True
    return pa.array(marks)


def with_operation(rows: pa.Table, op: str) -> pa.Table:
    """Return rows with the operation that MERGE does with them."""
    return rows.append_column("_op", pa.array([op] * len(rows), pa.string()))
