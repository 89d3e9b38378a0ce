"""Applies i-diffs to a stored copy of the view: an Arrow table, or a table of DuckDB or SQLite.

In: the copy as the view was before a batch, and the batch's i-diffs. Out: the copy as the view is
now. A database gets all of them in one transaction, or as part of the one it is in.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.common.errors import DiffError
from joingraph.common.names import quoted
from joingraph.expressions.texts import Numbers, take_rows
from joingraph.expressions.words import Word
from joingraph.view_diffs.idiffs_sql import (
    SQLITE,
    TableName,
    part_statements,
    set_statements,
    source_table,
)
from joingraph.view_diffs.view_diff import word_rows

if TYPE_CHECKING:
    from joingraph.view_diffs.idiffs import IDiff, IDiffs

Target = TypeVar("Target")


def apply_to_copy(target: Target, idiffs: IDiffs, table: TableName | None) -> Target:
    """Apply i-diffs to an Arrow table, and return the new one; or to a table of a database."""
    for part in idiffs.parts:
        check_keys(part)
    opened: Any = target
    if isinstance(opened, pa.Table):
        found: Target = applied_to_table(opened, idiffs)
        return found
    if table is None:
        raise DiffError(
            "apply_idiffs to a database: name the table, apply_idiffs(connection, …, table)"
        )
    if isinstance(opened, sqlite3.Connection):
        apply_to_sqlite(opened, idiffs, table)
    elif type(opened).__name__ == "DuckDBPyConnection":
        apply_to_duckdb(opened, idiffs, table)
    else:
        raise DiffError(
            "apply_idiffs takes a pyarrow.Table, or a connection of duckdb or sqlite3, found"
            f" {type(opened).__name__}; idiffs_sql gives statements for PostgreSQL"
        )
    return target


def check_keys(part: IDiff) -> None:
    """Refuse two diffs of one key: either of them may be meant."""
    if part.counted or not part.key:
        return
    seen: set[tuple[Word, ...]] = set()
    for words in word_rows(part.table.select(part.key), len(part.key)):
        if words in seen:
            pairs = ", ".join(
                f"{name}={word!r}" for name, word in zip(part.key, words, strict=True)
            )
            raise DiffError(
                f"the {part.kind} i-diffs hold two rows with the key ({pairs}); which of them is"
                " meant cannot be told"
            )
        seen.add(words)


def applied_to_table(rows: pa.Table, idiffs: IDiffs) -> Any:
    """Apply i-diffs to an Arrow table, whose columns may stand in another order."""
    if sorted(rows.column_names) != sorted(idiffs.schema.names):
        raise DiffError(
            f"the table has the columns {', '.join(rows.column_names)}; i-diffs of this view need"
            f" {', '.join(idiffs.schema.names)}"
        )
    for part in idiffs.parts:
        rows = applied(rows, part)
    return rows


def applied(rows: pa.Table, part: IDiff) -> pa.Table:
    """Apply one part."""
    if part.kind == "insert":
        kept = without_named(rows, part) if part.key else rows
        new = part.repeated().table.select(rows.column_names)
        return pa.concat_tables([kept, new.cast(rows.schema)])
    if part.kind == "update":
        return updated(rows, part)
    return without_counted(rows, part) if part.counted else without_named(rows, part)


def diff_of_row(rows: pa.Table, part: IDiff) -> Numbers:
    """Return for each row the number of the diff that names it; -1 if none does."""
    width = len(part.key)
    diffs = {key: at for at, key in enumerate(word_rows(part.table.select(part.key), width))}
    found = [diffs.get(key, -1) for key in word_rows(rows.select(part.key), width)]
    return np.array(found, np.int64)


def without_named(rows: pa.Table, part: IDiff) -> pa.Table:
    """Leave out the rows that diffs name."""
    return rows.filter(pa.array(diff_of_row(rows, part) < 0))


def updated(rows: pa.Table, part: IDiff) -> pa.Table:
    """Set the values of the rows that diffs name."""
    diffs = diff_of_row(rows, part)
    sources = np.where(diffs < 0, np.arange(len(diffs)), len(diffs) + diffs)
    for name in part.values:
        at = rows.column_names.index(name)
        new = part.table.column(name).cast(rows.schema.field(at).type)
        both = pa.chunked_array([*rows.column(at).chunks, *new.chunks], new.type)
        set_to = take_rows(pa.table([both], [name]), sources).column(0)
        rows = rows.set_column(at, rows.schema.field(at), set_to)
    return rows


def without_counted(rows: pa.Table, part: IDiff) -> pa.Table:
    """Leave out as many as are counted of the rows that diffs name."""
    counts = part.table.column(-1).to_pylist()
    kept = []
    for at, diff in enumerate(diff_of_row(rows, part).tolist()):
        if diff >= 0 and counts[diff]:
            counts[diff] -= 1
        else:
            kept.append(at)
    return take_rows(rows, np.array(kept, np.int64))


def apply_to_sqlite(connection: sqlite3.Connection, idiffs: IDiffs, table: TableName) -> None:
    """Apply i-diffs to a table of SQLite."""
    connection.execute("SAVEPOINT joingraph")
    try:
        for part in idiffs.parts:
            check_no_nan(part)
            for sql, parameters in part_statements(part, table, SQLITE):
                connection.executemany(sql, parameters)
    except BaseException:
        connection.execute("ROLLBACK TO joingraph")
        raise
    finally:
        connection.execute("RELEASE joingraph")


def check_no_nan(part: IDiff) -> None:
    """Refuse a NaN in a key: SQLite keeps it as NULL, and so a key of its own is another's."""
    for name in () if part.counted else part.key:
        column = part.table.column(name)
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            raise DiffError(
                f"the {part.kind} i-diffs have a NaN in {quoted(name)}, which is part of their key,"
                " and SQLite keeps NaN as NULL; keep the copy in Arrow or DuckDB, or make the view"
                " without NaN there"
            )


def apply_to_duckdb(connection: Any, idiffs: IDiffs, table: TableName) -> None:
    """Apply i-diffs to a table of DuckDB, each part shown to it as a table of its own."""
    is_own = not is_in_transaction(connection)
    names = [f"joingraph_{uuid4().hex}" for _ in idiffs.parts]
    if is_own:
        connection.begin()
    try:
        for name, part in zip(names, idiffs.parts, strict=True):
            connection.register(name, source_table(part))
            for sql in set_statements(part, table, name):
                connection.execute(sql)
            connection.unregister(name)
    except BaseException:
        if is_own:
            connection.rollback()
        raise
    if is_own:
        connection.commit()


def is_in_transaction(connection: Any) -> bool:
    """True if DuckDB is in a transaction: its number stays. To try BEGIN would abort it."""
    one, other = (connection.execute("SELECT txid_current()").fetchall() for _ in range(2))
    return bool(one == other)
