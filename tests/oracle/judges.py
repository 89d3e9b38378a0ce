"""Judges: what the view should hold, recomputed from scratch by systems that are not ours."""

from __future__ import annotations

import atexit
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

import duckdb
import pyarrow as pa

from tests.bags import bag
from tests.oracle.ask import arrow
from tests.oracle.case import Case, Entry, Row, Table
from tests.oracle.values import with_paths


class Judge(Protocol):
    """Base tables kept by the same diffs, and the view computed over them."""

    def set(self, table: Table, rows: Sequence[Row]) -> None:
        """Replace the rows of a table."""

    def view(self) -> Counter[str]:
        """Compute the view."""


class Shown:
    """An Arrow table as DuckDB sees it: registered once, then another one is put in its place.

    Columns and types stay, so what was prepared over it stays good; rows are read at every scan.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.table.schema.__arrow_c_schema__()


class DuckJudge:
    """DuckDB, given the view's own text, and shown the base tables as Arrow tables.

    They are quicker to change than its own. The view is prepared, since its text takes longer to
    bind than so few rows take to join. The optimizer is off: with it, DuckDB 2.0 has given rows too
    many for a cyclic join (seed 80005231), where SQL's own definition and our graph agreed.
    """

    connection = duckdb.connect(config={"threads": 1})
    atexit.register(connection.close)  # or it tells of what it holds as the process ends

    def __init__(self, case: Case) -> None:
        self.connection.execute("PRAGMA disable_optimizer")
        self.shown = {table.name: Shown(arrow(table, ())) for table in case.tables}
        for name, shown in self.shown.items():
            self.connection.register(name, shown)
        self.asked = case.view
        self.connection.execute(f"PREPARE view_of_case AS {case.view.judged}")

    def set(self, table: Table, rows: Sequence[Row]) -> None:
        """Replace the rows of a table."""
        self.shown[table.name].table = arrow(table, tuple(rows))

    def view(self) -> Counter[str]:
        """Compute the view."""
        return bag(row for row, _ in self.with_paths())

    def with_paths(self) -> list[tuple[Row, int]]:
        """Compute the view's rows; of one that groups each with how many paths it has."""
        found = self.connection.execute("EXECUTE view_of_case").fetchall()
        return with_paths(self.asked, found)


class LiteJudge:
    """SQLite, for views that mean the same in it."""

    def __init__(self, case: Case) -> None:
        self.connection = sqlite3.connect(":memory:")
        for table in case.tables:
            self.connection.execute(table.create)
        self.asked = case.view

    def set(self, table: Table, rows: Sequence[Row]) -> None:
        """Replace the rows of a table."""
        self.connection.execute(f"DELETE FROM {table.name}")
        marks = ", ".join("?" for _ in table.columns)
        self.connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)

    def view(self) -> Counter[str]:
        """Compute the view."""
        found = self.connection.execute(self.asked.judged).fetchall()
        return bag(row for row, _ in with_paths(self.asked, found))


def usual_judges(case: Case) -> list[Judge]:
    """Choose who judges a case."""
    return [DuckJudge(case), LiteJudge(case)] if case.plain else [DuckJudge(case)]


# What judges raise where the view has no value.
NO_VALUE = (duckdb.Error, sqlite3.Error, OverflowError)


class Model:
    """The base tables as plain bags of rows, changed by the same diffs, shown to every judge."""

    def __init__(self, case: Case, judges: Sequence[Judge] = ()) -> None:
        self.tables = {table.name: table for table in case.tables}
        self.rows: dict[str, dict[str, list[Row]]] = {name: {} for name in self.tables}
        self.judges = list(judges) or usual_judges(case)

    def apply(self, entries: Iterable[Entry]) -> None:
        """Change the tables diff by diff, in order, then tell the judges."""
        touched = set()
        for entry in entries:
            touched.add(entry.table)
            rows = self.rows[entry.table]
            for diff in entry.diffs():
                for row in diff.gone:
                    remove(rows, row)
                for row in diff.come:
                    rows.setdefault(repr(row), []).append(row)
        for name in sorted(touched):
            present = [row for same in self.rows[name].values() for row in same]
            for judge in self.judges:
                judge.set(self.tables[name], present)

    def view(self) -> Counter[str]:
        """Ask every judge; they must agree."""
        first, *others = (judge.view() for judge in self.judges)
        assert all(first == other for other in others), "the judges disagree"
        return first


class NotThere(Exception):
    """A case that deletes a row it does not have: no case at all, met only while shrinking."""


def remove(rows: dict[str, list[Row]], row: Row) -> None:
    """Take one row out of a bag, told by its repr, so that -0.0 is not 0.0."""
    same = rows.get(repr(row))
    if not same:
        raise NotThere(row)
    same.pop()
    if not same:
        del rows[repr(row)]
