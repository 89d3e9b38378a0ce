"""The database that executes a file's statements, so that we learn which rows they change.

A row is told from others by the database's own row id, so an UPDATE gives pairs of images.
"""

from __future__ import annotations

import sqlite3
from typing import Protocol

import duckdb
import pyarrow as pa

Row = tuple[object, ...]
Rows = dict[int, Row]  # by row id

AFFINITIES = {"INT": pa.int64(), "CHAR": pa.string(), "TEXT": pa.string(), "CLOB": pa.string(),
              "REAL": pa.float64(), "FLOA": pa.float64(), "DOUB": pa.float64()}  # fmt: skip
DUCKDB_TYPES = frozenset(
    [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
        "VARCHAR",
        "BLOB",
        "DATE",
        "TIMESTAMP",
    ]
)
PYTHON_TYPES = {pa.int64(): int, pa.string(): str, pa.float64(): float}


class Refused(Exception):
    """A table that joingraph cannot be given, and why."""


class Database(Protocol):
    """What a replay asks of the database that executes a file."""

    def execute(self, sql: str) -> list[Row]:
        """Execute a statement or a query; any error of the database passes through."""

    def tables(self) -> list[str]:
        """Name the base tables there are."""

    def schema(self, table: str) -> pa.Schema:
        """Give a table's columns; Refused if they have no type of ours."""

    def rows(self, table: str) -> Rows:
        """Read a table with its row ids."""


class Lite:
    """SQLite, whose columns hold what they like: a value of another type refuses the table."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)

    def execute(self, sql: str) -> list[Row]:
        """Execute a statement or a query."""
        return self.connection.execute(sql).fetchall()

    def tables(self) -> list[str]:
        """Name the base tables there are."""
        asked = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        return [str(name) for (name,) in self.execute(asked)]

    def schema(self, table: str) -> pa.Schema:
        """Type each column by its affinity."""
        fields = []
        for _, name, declared, *_ in self.execute(f'PRAGMA table_info("{table}")'):
            type = next((t for a, t in AFFINITIES.items() if a in str(declared).upper()), None)
            if type is None:
                raise Refused(f"column of type {declared or 'none'}")
            fields.append(pa.field(str(name), type))
        return pa.schema(fields)

    def rows(self, table: str) -> Rows:
        """Read a table; refuse it if a value is not of its column's type."""
        types = [PYTHON_TYPES[field.type] for field in self.schema(table)]
        found: Rows = {}
        try:
            present = self.execute(f'SELECT rowid, * FROM "{table}"')
        except sqlite3.OperationalError as error:
            raise Refused("no row ids") from error
        for id, *row in present:
            for value, type in zip(row, types, strict=True):
                if value is not None and not isinstance(value, type):
                    raise Refused(f"{value!r:.40} in a column of type {type.__name__}")
            found[int(str(id))] = tuple(row)
        return found


class Duck:
    """DuckDB, whose columns have types."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})

    def execute(self, sql: str) -> list[Row]:
        """Execute a statement or a query."""
        return self.connection.execute(sql).fetchall()

    def tables(self) -> list[str]:
        """Name the base tables there are, the temporary ones too."""
        asked = "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'"
        return [str(name) for (name,) in self.execute(asked)]

    def schema(self, table: str) -> pa.Schema:
        """Ask for the columns' Arrow types."""
        for _, type, *_ in self.execute(f'DESCRIBE "{table}"'):
            if str(type).partition("(")[0] not in DUCKDB_TYPES:
                raise Refused(f"column of type {type}")
        return self.connection.sql(f'SELECT * FROM "{table}" LIMIT 0').to_arrow_table().schema

    def rows(self, table: str) -> Rows:
        """Read a table."""
        return {
            int(str(id)): tuple(row) for id, *row in self.execute(f'SELECT rowid, * FROM "{table}"')
        }


def connect(dialect: str) -> Database:
    """Open an empty database in memory that speaks a dialect."""
    return Lite() if dialect == "sqlite" else Duck()
