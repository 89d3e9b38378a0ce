"""A graph whose view diffs and reads DuckDB confirms, batch by batch, over tables a, b, c and d."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import duckdb

import joingraph as jg
from tests.bags import bag, fold, shift

CREATE = {name: f"CREATE TABLE {name} (k INTEGER, x INTEGER, y INTEGER)" for name in "abcd"}
VALUES = (None, 0, 1, 2)
ROWS_MAX = 6  # of a table in a random feed

Row = tuple[Any, ...]


class Judged:
    """One view: its graph, and DuckDB's tables beside it."""

    def __init__(self, sql: str, lookahead: str = "exact") -> None:
        self.graph = jg.JoinGraph(jg.View(sql, tables=CREATE), lookahead=lookahead)
        self.duckdb, self.sql = duckdb.connect(), sql
        for create in CREATE.values():
            self.duckdb.execute(create)
        self.rows: Counter[str] = self.judged()

    def judged(self) -> Counter[str]:
        """Compute the view."""
        return bag(self.duckdb.execute(self.sql).fetchall())

    def apply(self, *batch: tuple[Any, ...]) -> list[Any]:
        """Apply a batch, and compare; return the view diffs."""
        for kind, table, rows, *post in batch:
            if kind != "insert":
                self.remove(table, rows)
            for row in rows if kind == "insert" else next(iter(post), ()):
                self.duckdb.execute(f"INSERT INTO {table} VALUES (?, ?, ?)", row)
        changes = self.graph.apply(list(batch)).rows()
        self.rows = shift(self.rows, fold(changes))
        assert self.rows == self.judged()
        found = self.graph.to_arrow()
        assert bag(zip(*(each.to_pylist() for each in found.columns), strict=True)) == self.rows
        assert self.graph.count() == self.rows.total()
        self.graph.check()
        return changes

    def remove(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        """Delete one row for each that is given."""
        same = " AND ".join(f"{column} IS NOT DISTINCT FROM ?" for column in "kxy")
        for row in rows:
            found = f"SELECT min(rowid) FROM {table} WHERE {same}"
            self.duckdb.execute(f"DELETE FROM {table} WHERE rowid = ({found})", row)

    def feed(self, seed: int, batches: int) -> None:
        """Apply random batches of one to three diffs to the tables of the view, and compare."""
        random = Random(seed)
        held: dict[str, list[Row]] = {name: [] for name in self.graph.view.tables}
        for _ in range(batches):
            self.apply(*(random_entry(random, held) for _ in range(random.choice((1, 1, 1, 2, 3)))))


def random_entry(random: Random, held: dict[str, list[Row]]) -> tuple[Any, ...]:
    """Insert, delete or update a row; at times one that is there already."""
    table = random.choice(sorted(held))
    rows = held[table]
    row = tuple(random.choice(VALUES) for _ in "kxy")
    if rows and random.random() < 0.2:
        row = random.choice(rows)
    kinds = ["insert"] * (len(rows) < ROWS_MAX) + ["delete", "update"] * bool(rows)
    kind = random.choice(kinds)
    old = [] if kind == "insert" else [rows.pop(random.randrange(len(rows)))]
    if kind == "delete":
        return kind, table, old
    rows.append(row)
    return kind, table, *([old] if old else []), [row]
