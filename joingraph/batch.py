"""A batch as the stages see it: entries in order, each over one table, rows by column.

    ("update", "tweet", pre rows, post rows)  ->  Entry("update", "tweet", pre=Table, post=Table)

In: what a caller handed to `apply`. Out: entries whose columns have the declared names, order and
types, or a DiffError; sides of an update have equal lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

import pyarrow as pa

from joingraph.definition import Table
from joingraph.errors import DiffError
from joingraph.rows import to_table

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


def read_batch(batch: Iterable[Sequence[object]], tables: Mapping[str, Table]) -> list[Entry]:
    """Check a whole batch against the declared tables."""
    return [read_entry(entry, place, tables) for place, entry in enumerate(batch)]


def read_entry(entry: Sequence[object], place: int, tables: Mapping[str, Table]) -> Entry:
    """Check one entry: its operation, its table, its rows."""
    operation, name, *rows = entry if isinstance(entry, (tuple, list)) else (entry,) * 2
    sides = SIDES.get(operation) if isinstance(operation, str) else None
    if sides is None:
        raise DiffError(
            f"entry {place} of the batch is no diff: {entry!r:.200}; write it as"
            ' ("insert", table, rows), ("delete", table, rows) or'
            ' ("update", table, pre_rows, post_rows)'
        )
    if len(rows) != len(sides):
        raise DiffError(
            f"entry {place} of the batch: {operation} takes "
            f"{' and '.join(f'{side}_rows' for side in sides)}, found {len(rows)} lists"
        )
    table = find_table(name, tables)
    where = f"{operation} {'of' if operation == 'update' else 'into'} {table.name}"
    read = {side: to_table(each, table, where) for side, each in zip(sides, rows, strict=True)}
    found = Entry(operation, table.name, read.get("pre"), read.get("post"))
    if found.pre is not None and found.post is not None:
        same_length(found.pre, found.post, where)
    return found


def same_length(pre: pa.Table, post: pa.Table, where: str) -> None:
    """Refuse an update whose rows cannot be paired."""
    if pre.num_rows != post.num_rows:
        raise DiffError(
            f"{where}: {pre.num_rows} pre rows and {post.num_rows} post rows;"
            " they are paired by position, so there must be as many"
        )


def find_table(name: object, tables: Mapping[str, Table]) -> Table:
    """Find a declared table by its name, whatever its case."""
    by_name = {each.lower(): table for each, table in tables.items()}
    if isinstance(name, str) and name.lower() in by_name:
        return by_name[name.lower()]
    close = get_close_matches(str(name), tables, 1)
    hint = f'; did you mean "{close[0]}"?' if close else f"; declared: {', '.join(tables)}"
    raise DiffError(f'the view has no base table "{name}"{hint}')
