"""I-diffs as SQL: names quoted, values as parameters, never a value inside a text.

    update T tweetId 7 | text 'b'
    ->   UPDATE "feed" SET "text" = $1 WHERE "tweetId" = $2    ('b', 7)

Two ways: one statement with many rows of parameters (SQLite, PostgreSQL), or one statement that
reads a whole table of diffs (DuckDB). An upsert asks for no unique index on the target, so none is
used: the old row is deleted, or updated, and the new one inserted. SQL holds -0.0 and 0.0 equal.
Only keys that have a NULL, as a group's may, are compared by what holds between NULLs: few indexes
serve that.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.expressions.consolidation import consolidate
from joingraph.expressions.python_values import python_values, shown
from joingraph.expressions.texts import is_text, take_rows, whole
from joingraph.expressions.words import normal

if TYPE_CHECKING:
    from joingraph.view_diffs.idiffs import IDiff, IDiffs

TableName = str | tuple[str, ...]  # ("schema", "table") where one name is not enough


class Statement(NamedTuple):
    """A statement with placeholders, to be executed once for each row of parameters."""

    sql: str
    parameters: list[tuple[object, ...]]


class Dialect(NamedTuple):
    """What the two dialects write differently."""

    placeholder: Callable[[int], str]
    same: str  # equality that holds between NULLs
    row_name: str  # by which a row without a key is named
    value: Callable[[Any], object]


def sqlite_value(value: Any) -> object:
    """Return a value as SQLite has it: decimals, dates and times are text there."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    return value.isoformat() if isinstance(value, dt.date) else value


SQLITE = Dialect(lambda _: "?", "IS", "rowid", sqlite_value)
POSTGRES = Dialect(lambda at: f"${at}", "IS NOT DISTINCT FROM", "ctid", lambda value: value)


def idiffs_sql(idiffs: IDiffs, table: TableName) -> list[Statement]:
    """Write i-diffs as PostgreSQL reads them, to be executed in order in one transaction.

    >>> from joingraph.view_diffs.idiffs import IDiff, IDiffs
    >>> part = IDiff("delete", "T", ("tweetId",), pa.table({"tweetId": [8]}))
    >>> idiffs_sql(IDiffs(pa.schema({"tweetId": pa.int64()}), (part,)), "feed")
    [Statement(sql='DELETE FROM "feed" WHERE "tweetId" = $1', parameters=[(8,)])]
    """
    return [each for part in idiffs.parts for each in part_statements(part, table, POSTGRES)]


def part_statements(part: IDiff, table: TableName, dialect: Dialect) -> Iterator[Statement]:
    """Write one part for one dialect."""
    into = table_identifier(table)
    if part.counted and part.kind == "delete":
        yield delete_counted(part, into, dialect)
        return
    for some, same in by_equality(part, dialect) if part.key else ():
        marks, sets = placeholders(dialect), part.values if part.kind == "update" else ()
        assigned = ", ".join(f"{identifier(name)} = {next(marks)}" for name in sets)
        what = f"UPDATE {into} SET {assigned}" if sets else f"DELETE FROM {into}"
        sql = f"{what} WHERE {conjunction(part.key, same, marks)}"
        yield Statement(sql, parameter_rows(some, (*sets, *part.key), dialect))
    if part.kind == "insert":
        names = part.columns
        marks = placeholders(dialect)
        marked = ", ".join(next(marks) for _ in names)
        sql = f"INSERT INTO {into} ({identifiers(names)}) VALUES ({marked})"
        yield Statement(sql, parameter_rows(part.repeated(), names, dialect))


def by_equality(part: IDiff, dialect: Dialect) -> Iterator[tuple[IDiff, str]]:
    """Yield the diffs whose keys = finds, and those with a NULL in it, each with what compares."""
    null = has_null(part)
    for mask, same in ((pc.invert(null), "="), (null, dialect.same)):
        if pc.any(mask).as_py():
            yield replace(part, table=part.table.filter(mask)), same


def has_null(part: IDiff) -> pa.ChunkedArray:
    """Return a mask of the diffs whose key has a NULL."""
    return reduce(pc.or_, (part.table.column(name).is_null() for name in part.key))


def delete_counted(part: IDiff, into: str, dialect: Dialect) -> Statement:
    """Delete as many rows as are counted of those that agree on the shared columns."""
    name, marks = dialect.row_name, placeholders(dialect)
    found = f"SELECT {name} FROM {into} WHERE {conjunction(part.key, dialect.same, marks)}"
    sql = f"DELETE FROM {into} WHERE {name} IN ({found} LIMIT {next(marks)})"
    return Statement(sql, parameter_rows(part, part.table.column_names, dialect))


def placeholders(dialect: Dialect) -> Iterator[str]:
    """Yield the placeholders of one statement, numbered as they are written."""
    return map(dialect.placeholder, count(1))


def conjunction(names: Iterable[str], sign: str, marks: Iterator[str]) -> str:
    """Compare columns with placeholders."""
    return " AND ".join(f"{identifier(name)} {sign} {next(marks)}" for name in names)


def parameter_rows(part: IDiff, names: Sequence[str], dialect: Dialect) -> list[tuple[object, ...]]:
    """List the parameters of a statement, row by row."""
    found = (python_values(part.table.column(name)) for name in names)
    columns = [[dialect.value(parameter(value)) for value in column] for column in found]
    return list(zip(*columns, strict=True))


def parameter(value: object) -> object:
    """Write what Python cannot hold as text, which a database reads as its column's type."""
    return shown(value) if isinstance(value, pa.Scalar) else value


def identifier(name: str) -> str:
    """Quote an identifier."""
    return '"' + name.replace('"', '""') + '"'


def identifiers(names: Iterable[str]) -> str:
    """Quote a list of identifiers."""
    return ", ".join(map(identifier, names))


def table_identifier(table: TableName) -> str:
    """Quote a table's name, or its schema's and its own."""
    return ".".join(map(identifier, (table,) if isinstance(table, str) else table))


def set_statements(part: IDiff, table: TableName, source: str) -> Iterator[str]:
    """Write one part for DuckDB, its diffs being rows of `source` with columns c0, c1, ...

    A counted delete finds in column n how many rows go, and in `at` a number of its own.
    """
    into = table_identifier(table)
    names = list(part.columns)
    of = {name: f"{source}.c{at}" for at, name in enumerate(names)}
    is_safe = part.counted or (part.key and pc.any(has_null(part)).as_py())
    same = "IS NOT DISTINCT FROM" if is_safe else "="
    meet = " AND ".join(f"{into}.{identifier(name)} {same} {of[name]}" for name in part.key)
    assigned = ", ".join(f"{identifier(name)} = {of[name]}" for name in part.values)
    if part.kind == "delete" and part.counted:
        nth = f"row_number() OVER (PARTITION BY {source}.at)"
        found = (
            f"SELECT {into}.rowid AS r, {source}.n, {nth} AS i FROM {into} JOIN {source} ON {meet}"
        )
        yield f"DELETE FROM {into} WHERE rowid IN (SELECT r FROM ({found}) WHERE i <= n)"
    elif part.kind == "delete":
        yield f"DELETE FROM {into} USING {source} WHERE {meet}"
    if part.kind != "delete" and part.key and assigned:
        yield f"UPDATE {into} SET {assigned} FROM {source} WHERE {meet}"
    if part.kind == "insert":
        new = f" WHERE NOT EXISTS (SELECT 1 FROM {into} WHERE {meet})" if part.key else ""
        listed = ", ".join(of[name] for name in names)
        yield f"INSERT INTO {into} ({identifiers(names)}) SELECT {listed} FROM {source}{new}"


def source_table(part: IDiff) -> pa.Table:
    """Return the diffs of a part as `set_statements` reads them.

    Counted deletes that SQL cannot tell apart, since 0.0 = -0.0, are one: two would find the same
    rows to delete.
    """
    if part.kind == "insert":
        part = part.repeated()
    names = [f"c{at}" for at in range(len(part.columns))]
    if not part.counted or part.kind == "insert":
        return part.table.select(part.columns).rename_columns(names)
    columns = [each if is_text(each.type) else normal(whole(each)) for each in part.table.columns]
    rows = pa.table(columns[:-1], names=names)
    found = consolidate(rows, part.table.column(-1).to_numpy())
    summed = take_rows(rows, found.at).append_column("n", pa.array(found.counts))
    return summed.append_column("at", pa.array(np.arange(summed.num_rows)))
