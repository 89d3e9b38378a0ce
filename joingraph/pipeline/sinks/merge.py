"""What a batch does to a stored copy of the view, as the source of one MERGE.

    _op      tweetId  followerId  text  _count
    update   7        NULL        'b'   NULL      every row of tweet 7
    delete   8        NULL        NULL  NULL      every row of tweet 8
    row      9        5           'c'   +1        this row, so many times more or less

Where the view has a table's key among its columns and base rows of that table were updated or
deleted, their i-diffs name the rows of the view, however many there are. A key that other changes
of the batch touch as well goes by rows: no row of the view may be named twice in one MERGE.

Precondition: what is declared as a key is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.common.errors import DiffError
from joingraph.view_diffs.idiffs import IDiff, IDiffs
from joingraph.view_diffs.view_diff import ViewDiff, signed_counts

UPDATE, DELETE, ROW = "update", "delete", "row"


class Merge(NamedTuple):
    """The source of a MERGE, the columns by which rows are named, and those an update sets."""

    rows: pa.Table
    key: tuple[str, ...]
    values: tuple[str, ...]


def merge_of(diff: ViewDiff) -> Merge:
    """Write a batch as the source of a MERGE."""
    net = net_rows(diff)
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


def net_rows(diff: ViewDiff) -> pa.Table:
    """Fold a batch to its rows, counted up or down."""
    net = diff.to_arrow(net=True)
    at = net.schema.get_field_index("_count")
    counts = signed_counts(net, at - 1)
    return net.set_column(at, "_count", pa.array(counts)).drop_columns(["_change_type"])


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
