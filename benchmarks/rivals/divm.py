"""Classic incremental view maintenance: the base tables with an index on each joined column.

    a row of T comes  ->  for each alias of T: look its partners up, alias by alias  ->  view rows

Nothing is kept of the joins: every diff walks them anew. Where a table has several aliases, a
row meets itself in the earlier ones and not in the later ones, so that no pair is met twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import NamedTuple

import pyarrow as pa

from benchmarks.harness.checksum import Tally
from benchmarks.rivals.in_python import ByRow, Change, Row, rows_of, tally_rows
from benchmarks.workloads.views import TABLES, Attribute, JoinView

Index = dict[int, list[Row]]


class Step(NamedTuple):
    """Enter an alias: its rows in `entries` under the value at `place` of the path so far."""

    entries: Index
    place: int
    skips_self: bool


class Walk(NamedTuple):
    """From one alias' row to all view rows with it; a path is the rows met, end to end."""

    steps: tuple[Step, ...]
    output: Callable[[Row], Row]


class Divm(ByRow):
    """The base tables, indexed, and the walks that the view needs."""

    def __init__(self, view: JoinView) -> None:
        self.indexes: dict[tuple[str, str], Index] = {place: {} for place in view.joined}
        self.walks: dict[str, list[Walk]] = {table: [] for table in view.tables}
        for alias, table in view.aliases.items():
            self.walks[table].append(self._walk(view, alias))

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Index the rows of the base tables."""
        for table, rows in tables.items():
            for row in rows_of(rows):
                self._insert(table, row)

    def apply(self, batch: list[Change]) -> Tally:
        """Walk from each diff; its row is in the tables while it does."""
        total = Tally()
        for sign, table, row in batch:
            if sign > 0:
                self._insert(table, row)
                total += tally_rows(self._partners(table, row))
            else:
                stored = self._find(table, row)
                total += tally_rows(self._partners(table, stored), -1)
                self._delete(table, stored)
        return total

    def _walk(self, view: JoinView, start: str) -> Walk:
        """Order the other aliases so that each is joined to one before it."""
        names = list(view.aliases)
        path = [Attribute(start, column) for column in TABLES[view.aliases[start]]]
        steps: list[Step] = []
        for known, new in view.walk(start):
            table = view.aliases[new.alias]
            later = names.index(new.alias) > names.index(start)
            skips_self = later and table == view.aliases[start]
            steps.append(Step(self.indexes[table, new.column], path.index(known), skips_self))
            path += [Attribute(new.alias, column) for column in TABLES[table]]
        return Walk(tuple(steps), itemgetter(*(path.index(each) for each in view.output)))

    def _partners(self, table: str, row: Row) -> list[Row]:
        found: list[Row] = []
        for steps, output in self.walks[table]:
            paths = [row]
            for entries, place, skips_self in steps:
                paths = [
                    path + new
                    for path in paths
                    for new in entries.get(path[place], ())
                    if not (skips_self and new is row)
                ]
            found += map(output, paths)
        return found

    def _insert(self, table: str, row: Row) -> None:
        for (owner, column), index in self.indexes.items():
            if owner == table:
                index.setdefault(row[TABLES[table].index(column)], []).append(row)

    def _delete(self, table: str, row: Row) -> None:
        for (owner, column), index in self.indexes.items():
            if owner == table:
                value = row[TABLES[table].index(column)]
                index[value].remove(row)
                if not index[value]:
                    del index[value]

    def _find(self, table: str, row: Row) -> Row:
        """Find the stored row that equals one: a walk tells rows apart by identity."""
        for (owner, column), index in self.indexes.items():
            if owner == table:
                rows = index[row[TABLES[table].index(column)]]
                return rows[rows.index(row)]
        raise LookupError(f"{table} is joined to nothing")
