"""Random feeds: batches that fit a model of the base tables, and now and then one that does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tests.oracle.case import Batch, Entry, Row, Table, View
from tests.oracle.kinds import INTEGERS, greatest

NULLS = 0.08
PATHS_MAX = 1500


class Feed:
    """The base tables as they are by now, and how many rows each may have."""

    def __init__(
        self, random: Random, tables: Sequence[Table], view: View, *, hub: bool = False
    ) -> None:
        self.random = random
        self.tables = {table.name: table for table in tables}
        self.rows: dict[str, list[Row]] = {table.name: [] for table in tables}
        used = view.tables_read
        self.used = sorted(set(used))
        joins = sum(1 for each in view.conditions if len(each.aliases) > 1 and each.bare)
        joins += sum(1 for source in view.sources if source.join)
        # A hub: most rows have the first of a column's values, so that nearly all of them join.
        self.skew = 4 if hub else 2
        self.nulls = NULLS
        paths = PATHS_MAX * (1 if hub else 3**joins)
        self.rows_max = max(3, min(16, int(paths ** (1 / len(used)))))

    def load(self) -> tuple[Entry, ...]:
        """Fill some tables at once."""
        return tuple(self.insert(name, self.random.randint(0, self.rows_max)) for name in self.used)

    def first(self) -> Batch:
        """Fill the tables by diffs."""
        return Batch(self.load())

    def batch(self) -> Batch:
        """Change one table, mostly, or several."""
        count = self.random.choices((0, 1, 2, 3), (1, 64, 25, 10))[0]
        return Batch(tuple(self.entry(self.random.choice(self.used)) for _ in range(count)))

    def entry(self, name: str) -> Entry:
        """Insert, delete or update a few rows; full tables shrink, empty ones grow."""
        present = len(self.rows[name])
        count = self.random.choices((0, 1, 2, 4), (1, 60, 25, 14))[0]
        insert = 0 if present >= self.rows_max else 9 if present < self.rows_max // 2 else 3
        kind = self.random.choices(("insert", "delete", "update"), (insert, 3, 3))[0]
        if kind == "insert" or not present:
            return self.insert(name, min(count, self.rows_max - present))
        if kind == "delete":
            return self.delete(name, min(count, present))
        return self.update(name, count)

    def insert(self, name: str, count: int) -> Entry:
        """Insert random rows, some of them again."""
        rows = self.rows[name]
        for _ in range(count):
            again = rows and self.random.random() < 0.15
            rows.append(self.random.choice(rows) if again else self.row(name))
        return Entry("insert", name, tuple(rows[len(rows) - count :]))

    def delete(self, name: str, count: int) -> Entry:
        """Delete rows that are there."""
        rows = self.rows[name]
        gone = [rows.pop(self.random.randrange(len(rows))) for _ in range(count)]
        return Entry("delete", name, tuple(gone))

    def update(self, name: str, count: int) -> Entry:
        """Change some columns of rows that are there, one row perhaps twice; or nothing of them."""
        rows = self.rows[name]
        pre: list[Row] = []
        post: list[Row] = []
        for _ in range(count):
            at = self.random.randrange(len(rows))
            pre.append(rows[at])
            rows[at] = self.changed(name, rows[at])
            post.append(rows[at])
        return Entry("update", name, tuple(pre), tuple(post))

    def row(self, name: str) -> Row:
        """Make a row of values of the columns' domains, and NULLs."""
        random = self.random
        return tuple(
            None
            if random.random() < self.nulls
            else frequent(random, column.kind.values, self.skew)
            for column in self.tables[name].columns
        )

    def changed(self, name: str, row: Row) -> Row:
        """Change up to two columns of a row."""
        fresh = self.row(name)
        count = self.random.choices((0, 1, 2), (8, 70, 22))[0]
        touched = self.random.sample(range(len(row)), min(count, len(row)))
        return tuple(fresh[i] if i in touched else value for i, value in enumerate(row))

    def missing(self, name: str) -> Entry:
        """Delete or update a row that the table never had."""
        fresh: Row = tuple(column.kind.fresh for column in self.tables[name].columns)
        if self.random.random() < 0.5:
            return Entry("delete", name, (fresh,))
        return Entry("update", name, (fresh,), (self.row(name),))

    def poison(self, view: View) -> tuple[Entry, ...]:
        """Insert rows like those that are there, with values that may leave no result; or none.

        Other rows come before and after them, which must be taken back with them.
        """
        found = list[Entry]()
        for name, column, which in view.grouping.fragile if view.grouping else ():
            names = [each.name for each in self.tables[name].columns]
            at = names.index(column)
            kind, rows = self.tables[name].columns[at].kind, self.rows[name]
            value = greatest(kind) if which == "greatest" else kind.fresh
            row = self.random.choice(rows) if rows else self.row(name)
            bad = (*row[:at], value, *row[at + 1 :])
            found.append(Entry("insert", name, (self.row(name), bad, bad, self.row(name))))
        return tuple(found)

    def overflowing(self) -> Batch:
        """Insert a row with the largest integers there are, one diff: it applies whole or not."""
        name = self.random.choice(self.used)
        row = tuple(
            2 ** (column.kind.arrow.bit_width - 1) - 1
            if column.kind in INTEGERS and self.random.random() < 0.5
            else value
            for column, value in zip(self.tables[name].columns, self.row(name), strict=True)
        )
        return Batch((Entry("insert", name, (row,)),))


def frequent(random: Random, values: Sequence[object], skew: int = 2) -> object:
    """Choose a value, the earlier ones more often, so that joins meet."""
    return values[min(random.randrange(len(values)) for _ in range(skew))]


def telling(tables: Mapping[str, Table], view: View) -> str | None:
    """Name a table of which a missing row is sure to be noticed; None if there is none.

    Nothing may filter it out: no condition but equalities of columns, none of them NULL in a row
    that no table has. And an alias must keep a column in which such a row shows.
    """
    simple = all(each.bare and len(each.aliases) > 1 for each in view.conditions)
    if view.style == "using" or not simple or any("WHERE" in s.sql + s.cte for s in view.sources):
        return None
    joined = {place for each in view.conditions for place in each.columns}
    kept = joined | {place for each in view.outputs if each.bare for place in each.columns}
    for source in view.sources:
        kinds = {column.name: column.kind for column in source.columns}
        mine = {name for alias, name in kept if alias == source.alias}
        passes = all(kinds[n].fresh is not None for a, n in joined if a == source.alias)
        if source.sql in tables and passes and any(kinds[n].fresh is not None for n in mine):
            return source.sql
    return None
