"""Runs the compiled form beside the reference form, and makes batches to run them on."""

from __future__ import annotations

from collections import Counter
from random import Random

from joingraph.common.progress import shown_progress
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.engines.contract import Applied, Engine
from joingraph.engines.plain import ReferenceEngine
from joingraph.plan.view import View
from joingraph.tables.batch import Entry, read_batch
from joingraph.tables.table import Table
from tests.shapes import TABLES

Row = tuple[object, ...]


class Twins:
    """Both forms of one view; whatever is done to one is done to the other and compared."""

    def __init__(self, sql: str, lookahead: str, *, own_kernels: bool = True) -> None:
        self.view = View(sql, TABLES)
        self.reference: Engine = ReferenceEngine(self.view.plan, lookahead)
        self.compiled = CompiledEngine(self.view.plan, lookahead)
        if own_kernels:
            self.compiled.compile(shown_progress("kernels"))

    def load(self, entries: list[Entry]) -> None:
        """Load both."""
        self.reference.load(entries)
        self.compiled.load(entries)
        self.agree()

    def apply(self, entries: list[Entry]) -> None:
        """Apply a batch to both: they give the same view diffs and refuse the same diffs."""
        expected = self.reference.apply(entries, skip=True, generate=True)
        found = self.compiled.apply(entries, skip=True, generate=True)
        assert found.refused == expected.refused
        assert bag(found) == bag(expected)
        self.agree()

    def agree(self) -> None:
        """Both hold the same view, and all invariants."""
        self.compiled.check()
        assert self.compiled.count() == self.reference.count()
        assert scanned(self.compiled) == scanned(self.reference)


def bag(applied: Applied) -> Counter[str]:
    """Count the rows of a view diff, with their base diff."""
    return Counter(map(repr, applied.changes.table.to_pylist()))


def scanned(engine: Engine) -> Counter[str]:
    """Count the rows of the view."""
    return Counter(repr(row) for batch in engine.scan() for row in batch.to_pylist())


class Feed:
    """Random batches over the tables of the shapes, with updates, deletes and missing rows."""

    def __init__(self, seed: int, values: int, tables: dict[str, Table]) -> None:
        self.random, self.values, self.tables = Random(seed), values, tables
        self.held: dict[str, list[Row]] = {"r": [], "s": []}

    def row(self, table: str) -> Row:
        """Make a row; small numbers, so that they meet."""
        numbers = [self.number() for _ in range(4)]
        if table == "r":
            return tuple(numbers)
        return numbers[0], self.random.choice([None, "", "x", "yy", "a long text " * 3])

    def number(self) -> int | None:
        """Give a small number, now and then NULL."""
        return None if self.random.random() < 0.05 else self.random.randrange(self.values)

    def inserts(self, size: int) -> list[Entry]:
        """Make rows to load."""
        loaded = []
        for table in ("r", "s"):
            rows = [self.row(table) for _ in range(size)]
            self.held[table] += rows
            loaded.append(("insert", table, rows))
        return read_batch(loaded, self.tables)

    def batch(self, size: int) -> list[Entry]:
        """Make a batch of single-row entries and one of many rows."""
        entries = [self.entry() for _ in range(size)]
        rows = [self.row("r") for _ in range(size)]
        self.held["r"] += rows
        return read_batch([*entries, ("insert", "r", rows)], self.tables)

    def entry(self) -> tuple[object, ...]:
        """Make one insert, delete or update; every tenth removal is of a row that may not exist."""
        table = self.random.choice("rrs")
        held, kind = self.held[table], self.random.random()
        if kind < 0.4 or not held:
            held.append(self.row(table))
            return "insert", table, [held[-1]]
        gone = held.pop(self.random.randrange(len(held)))
        if self.random.random() < 0.1:
            held.append(gone)
            gone = self.row(table)
        if kind < 0.7:
            return "delete", table, [gone]
        held.append(self.changed(gone))
        return "update", table, [gone], [held[-1]]

    def changed(self, row: Row) -> Row:
        """Change one column of a row, or nothing."""
        place = self.random.randrange(len(row))
        other = self.row("r" if len(row) == 4 else "s")
        return (*row[:place], other[place], *row[place + 1 :])
