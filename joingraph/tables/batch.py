"""A batch as the stages see it: entries in order, each over one table, rows by column.

    ("update", "tweet", pre rows, post rows)  ->  Entry("update", "tweet", pre=Table, post=Table)

In: what a caller handed to `apply`. Out: entries whose columns have the declared names, order and
types, or a DiffError; sides of an update have equal lengths. Where a table's key is indexed, rows
that go may have the columns of the key alone, in its order.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.common.errors import DiffError
from joingraph.common.names import did_you_mean, plain, quoted, short_repr
from joingraph.expressions import texts
from joingraph.tables.rows_in import to_table
from joingraph.tables.table import Table

JOINED = {"insert": "insert into", "delete": "delete from", "update": "update of"}
SIDES = {"insert": ("post",), "delete": ("pre",), "update": ("pre", "post")}


class Entry(NamedTuple):
    """Diffs of one kind of one table: `pre` rows go, `post` rows come, paired by position."""

    operation: str
    table: str
    pre: pa.Table | None
    post: pa.Table | None

    @property
    def length(self) -> int:
        """How many base diffs the entry holds."""
        rows = self.pre if self.pre is not None else self.post
        assert rows is not None, "every operation has a side"
        return int(rows.num_rows)


def read_batch(
    batch: object, tables: Mapping[str, Table], key_index: Container[str] = ()
) -> list[Entry]:
    """Check a whole batch against the declared tables; `key_index` names those found by key."""
    if isinstance(batch, (str, bytes, Mapping)) or not isinstance(batch, Iterable):
        raise DiffError(
            f'a batch is a list of diffs, [("insert", table, rows), ...]; found {short_repr(batch)}'
        )
    return [read_entry(entry, place, tables, key_index) for place, entry in enumerate(batch)]


def read_entry(
    entry: object, place: int, tables: Mapping[str, Table], key_index: Container[str]
) -> Entry:
    """Check one entry: its operation, its table, its rows."""
    parts: list[Any] = list(entry) if isinstance(entry, (tuple, list)) else []
    operation = plain(parts[0]) if len(parts) > 1 and isinstance(parts[0], str) else ""
    if operation not in SIDES:
        raise DiffError(
            f"entry {place} of the batch is no diff: {short_repr(entry, 200)}; write it as"
            ' ("insert", table, rows), ("delete", table, rows) or'
            ' ("update", table, pre_rows, post_rows)'
        )
    sides, rows = SIDES[operation], parts[2:]
    if len(rows) != len(sides):
        wanted = "pre_rows and post_rows" if len(sides) == 2 else "rows"
        raise DiffError(
            f"entry {place} of the batch: {operation} takes {wanted}, found {len(rows)} lists"
        )
    table = find_table(parts[1], tables)
    where = f"{JOINED[operation]} {table.name}"
    read = {
        side: to_table(each, table, where if len(sides) == 1 else f"{where} ({side} rows)")
        for side, each in zip(sides, rows, strict=True)
        if side == "post" or not is_key_alone(each, table)
    }
    if "pre" in sides and "pre" not in read:
        read["pre"] = read_keys(rows[0], table, where, is_indexed=table.name in key_index)
    found = Entry(operation, table.name, read.get("pre"), read.get("post"))
    if found.pre is not None and found.post is not None:
        same_length(found.pre, found.post, where)
    return found


def is_key_alone(rows: Any, table: Table) -> bool:
    """True if rows have the columns of the table's key and no others."""
    if not table.key or len(table.key) == len(table.schema):
        return False
    schema: Any = getattr(rows, "schema", None)
    names: Iterable[object] = schema.names if isinstance(schema, pa.Schema) else ()
    first = next(iter(rows), None) if isinstance(rows, (list, tuple)) else rows
    if isinstance(first, Mapping):
        names = first
    found, key = {str(name).lower() for name in names}, {name.lower() for name in table.key}
    return found == key


def read_keys(rows: object, table: Table, where: str, *, is_indexed: bool) -> pa.Table:
    """Read rows given by their keys alone, where there is an index to find them by."""
    keys = ", ".join(table.key)
    if not is_indexed:
        raise DiffError(
            f"{where}: rows given by their key ({keys}) alone are found through an index of it;"
            f" give whole rows, or make the graph with JoinGraph(view, key_index=[{table.name!r}])"
        )
    return to_table(rows, table.key_alone(), where)


def same_length(pre: pa.Table, post: pa.Table, where: str) -> None:
    """Refuse an update whose rows cannot be paired."""
    if pre.num_rows != post.num_rows:
        raise DiffError(
            f"{where}: {pre.num_rows} pre rows and {post.num_rows} post rows;"
            " they are paired by position, so there must be as many"
        )


def find_table(name: object, tables: Mapping[str, Table]) -> Table:
    """Find a declared table by its name, whatever its case."""
    if isinstance(name, str) and name in tables:
        return tables[name]
    by_name = {each.lower(): table for each, table in tables.items()}
    if isinstance(name, str) and name.lower() in by_name:
        return by_name[name.lower()]
    asked = name if isinstance(name, str) else short_repr(name)
    hint = did_you_mean(asked, tables, f"; there are {', '.join(tables)}")
    raise DiffError(f"the view has no base table {quoted(asked)}{hint}")


def without(entries: Sequence[Entry], refused: Iterable[tuple[int, int]]) -> list[Entry]:
    """Leave rows out of a batch, each given by its entry and its place in it."""
    out: dict[int, list[int]] = {}
    for entry, row in refused:
        out.setdefault(entry, []).append(row)
    return [
        each if at not in out else entry_rows(each, np.delete(np.arange(each.length), out[at]))
        for at, each in enumerate(entries)
    ]


def entry_rows(entry: Entry, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Entry:
    """Return an entry of some of its rows."""
    pre, post = (None if side is None else texts.take_rows(side, rows) for side in entry[2:])
    return Entry(entry.operation, entry.table, pre, post)


class Refused(NamedTuple):
    """A diff that removes a row which is not there, by its place in the batch."""

    entry: int
    row: int
