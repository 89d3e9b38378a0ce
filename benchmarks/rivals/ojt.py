"""The full outer join table: every path of rows that cannot be made longer, gaps where none fits.

    view F - T          F row | T row        a tweet without followers has a gap at F; the
                        joe,bob | joe,t1     view is the rows without gaps
                        joe,cat | joe,t1
                        -       | ann,t2

A new row finds its partners on each side among the rows of this table, each partner once; rows
with a gap where it fits are replaced. Base tables must have keys: two equal rows are one here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import NamedTuple

import pyarrow as pa

from benchmarks.harness.checksum import Tally
from benchmarks.rivals.in_python import ByRow, Change, Row, rows_of, tally_rows
from benchmarks.workloads.views import TABLES, Attribute, JoinView

Path = tuple[Row | None, ...]  # one place for each alias of the view


class Side(NamedTuple):
    """What lies beyond one join of an alias: the aliases there, and how the two ends meet."""

    aliases: frozenset[int]
    column: int  # of the alias' own row
    place: tuple[int, int]  # the neighbour, and its column


class OuterJoin(ByRow):
    """All maximal paths, found by (alias, column, value)."""

    def __init__(self, view: JoinView) -> None:
        self.view = view
        self.names = list(view.aliases)
        self.sides = [self._sides(alias) for alias in self.names]
        places = {side.place for sides in self.sides for side in sides}
        self.paths: dict[tuple[int, int], dict[int, set[Path]]] = {place: {} for place in places}
        self.output = [self._place(attribute) for attribute in view.output]

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Insert the rows of the base tables one by one."""
        for table, rows in tables.items():
            for row in rows_of(rows):
                for alias in self._aliases(table):
                    self._insert(alias, row)

    def apply(self, batch: list[Change]) -> Tally:
        """Apply each diff to each alias of its table."""
        total = Tally()
        for sign, table, row in batch:
            for alias in self._aliases(table):
                found = self._insert(alias, row) if sign > 0 else self._delete(alias, row)
                total += tally_rows(self._complete(found), sign)
        return total

    def _insert(self, alias: int, row: Row) -> Iterable[Path]:
        """Join a row to what is there; give the paths it is part of."""
        choices: list[set[Path]] = []
        for side in self.sides[alias]:
            met = self.paths[side.place].get(row[side.column], set())
            choices.append({_only(path, side.aliases) for path in met})
            self._drop([path for path in met if path[alias] is None])
        empty: Path = (None,) * len(self.names)
        start = _put(empty, alias, row)
        new = [
            _union(start, parts) for parts in product(*(choice or {empty} for choice in choices))
        ]
        self._keep(new)
        return new

    def _delete(self, alias: int, row: Row) -> Iterable[Path]:
        """Take a row out; what is left of its paths stays where nothing else completes it."""
        side = self.sides[alias][0]
        met = self._own(alias, side.column, row)
        old = [path for path in met if path[alias] == row]
        self._drop(old)
        for side in self.sides[alias]:
            if not any(path[alias] for path in self._own(alias, side.column, row)):
                rest = {_only(path, side.aliases) for path in old}
                self._keep([path for path in rest if any(path)])
        return old

    def _own(self, alias: int, column: int, row: Row) -> set[Path]:
        return self.paths[alias, column].get(row[column], set())

    def _keep(self, paths: Iterable[Path]) -> None:
        for path in paths:
            for (alias, column), index in self.paths.items():
                row = path[alias]
                if row is not None:
                    index.setdefault(row[column], set()).add(path)

    def _drop(self, paths: Iterable[Path]) -> None:
        for path in paths:
            for (alias, column), index in self.paths.items():
                row = path[alias]
                if row is not None:
                    index[row[column]].remove(path)
                    if not index[row[column]]:
                        del index[row[column]]

    def _complete(self, paths: Iterable[Path]) -> list[Row]:
        found: list[Row] = []
        for path in paths:
            rows = [row for row in path if row is not None]
            if len(rows) == len(path):
                found.append(tuple(rows[alias][column] for alias, column in self.output))
        return found

    def _aliases(self, table: str) -> list[int]:
        return [
            place for place, alias in enumerate(self.names) if self.view.aliases[alias] == table
        ]

    def _place(self, attribute: Attribute) -> tuple[int, int]:
        alias, column = attribute
        return self.names.index(alias), TABLES[self.view.aliases[alias]].index(column)

    def _sides(self, start: str) -> list[Side]:
        joins = [*self.view.joins, *((right, left) for left, right in self.view.joins)]
        sides: list[Side] = []
        for own, other in joins:
            if own.alias != start:
                continue
            beyond = {other.alias}
            for _ in self.names:
                beyond |= {right.alias for left, right in joins if left.alias in beyond}
                beyond -= {start}
            aliases = frozenset(self.names.index(alias) for alias in beyond)
            sides.append(Side(aliases, self._place(own)[1], self._place(other)))
        return sides


def _only(path: Path, aliases: frozenset[int]) -> Path:
    return tuple(row if place in aliases else None for place, row in enumerate(path))


def _put(path: Path, alias: int, row: Row) -> Path:
    return (*path[:alias], row, *path[alias + 1 :])


def _union(start: Path, parts: Iterable[Path]) -> Path:
    return tuple(
        next((row for row in rows if row), None) for rows in zip(start, *parts, strict=True)
    )
