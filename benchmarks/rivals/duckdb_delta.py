"""DuckDB: base tables, and for each batch the delta query that one would write by hand.

    tweets come     INSERT ... ;  SELECT <output> FROM <new tweets> T, follower F, ... WHERE ...

One row at a time, its values are constants of the query; a batch is an Arrow table that joins.
Where a table has several aliases, earlier ones see it with the batch's rows and later ones
without. Where it is `indexed`, the joined columns have indexes.

A view that counts by group has a table of its groups:

    tweets come     changes = SELECT group, COUNT(*) FROM (<the delta query>) GROUP BY group
                    images  = changes LEFT JOIN the table: group, count before, count after
                    MERGE INTO the table USING images;  the images are what comes out
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.harness.checksum import Tally, tally
from benchmarks.rivals.in_python import Row, rows_of, signed
from benchmarks.workloads.catalogue import Entry
from benchmarks.workloads.views import TABLES, JoinView


class Delta(NamedTuple):
    """The query of one alias' diffs, and which values of a row a single one is given."""

    of_batch: str
    of_row: str
    places: tuple[int, ...]


IMAGES = """
SELECT {keys}, COALESCE(G.n, 0) AS before, COALESCE(G.n, 0) + C.n AS after
FROM (SELECT {keys}, SUM(n)::BIGINT AS n FROM changes GROUP BY {keys} HAVING SUM(n) <> 0) C
LEFT JOIN view_groups G USING ({keys})"""
MERGE = """
MERGE INTO view_groups USING images USING ({keys})
WHEN MATCHED AND after = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET n = after
WHEN NOT MATCHED THEN INSERT VALUES ({keys}, after)"""


class Duckdb:
    """A database in memory, with as many threads as it likes."""

    def __init__(self, view: JoinView, *, indexed: bool = False) -> None:
        self.database = duckdb.connect()
        self.view = view
        self.indexed = indexed
        self.deltas: dict[str, list[Delta]] = {table: [] for table in view.tables}
        for alias, table in view.aliases.items():
            self.deltas[table].append(self._delta(alias))

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Create and fill the base tables."""
        for table, rows in tables.items():
            self.database.register("loaded", rows)
            self.database.execute(f'CREATE TABLE "{table}" AS SELECT * FROM loaded')
        self.database.unregister("loaded")
        if self.indexed:
            for table, column in self.view.joined:
                self.database.execute(f'CREATE INDEX "{table}_{column}" ON "{table}" ({column})')

    def prepare(self, batch: list[Entry]) -> list[tuple[int, str, pa.Table]]:
        """Leave the diffs in Arrow."""
        return list(signed(batch))

    def apply(self, batch: list[tuple[int, str, pa.Table]]) -> Tally:
        """Ask for the view's diffs while the table is as it is without the batch's rows."""
        total = Tally()
        for sign, found in self._deltas(batch):
            told = tally(found)
            total += Tally(told.tuples, sign * told.checksum % 2**64)
        return total

    def _deltas(self, batch: list[tuple[int, str, pa.Table]]) -> Iterator[tuple[int, pa.Table]]:
        """Change the base tables, and yield what each delta query found, with its sign."""
        for sign, table, rows in batch:
            if sign < 0:
                self._delete(table, rows)
            self.database.register("diff", rows)
            values = rows_of(rows)[0] if len(rows) == 1 else None
            for delta in self.deltas[table]:
                yield sign, self._ask(delta, values)
            if sign > 0:
                self._insert(table, rows)

    def _ask(self, delta: Delta, row: Row | None) -> pa.Table:
        if row is None:
            result = self.database.execute(delta.of_batch)
        else:
            result = self.database.execute(delta.of_row, [row[place] for place in delta.places])
        # The quickest way out for a single row, and no slower than Arrow for many.
        return pa.table(result.fetchnumpy())

    def _insert(self, table: str, rows: pa.Table) -> None:
        if len(rows) == 1:
            marks = ", ".join("?" for _ in rows.column_names)
            self.database.execute(f'INSERT INTO "{table}" VALUES ({marks})', rows_of(rows)[0])
        else:
            self.database.execute(f'INSERT INTO "{table}" SELECT * FROM diff')

    def _delete(self, table: str, rows: pa.Table) -> None:
        self.database.register("diff", rows)
        same = " AND ".join(f'"{table}".{name} = diff.{name}' for name in rows.column_names)
        self.database.execute(f'DELETE FROM "{table}" USING diff WHERE {same}')

    def _delta(self, start: str) -> Delta:
        """Write the query of one alias' diffs, for a batch and for a single row."""
        columns = TABLES[self.view.aliases[start]]
        sources = [self._source(alias, start) for alias in self.view.aliases if alias != start]
        ends = [*self.view.output, *(end for join in self.view.joins for end in join)]
        return Delta(
            self.view.delta_sql(start, f"{start}.{{}}", [f"diff {start}", *sources]),
            self.view.delta_sql(start, "?::BIGINT", sources),
            tuple(columns.index(column) for alias, column in ends if alias == start),
        )

    def _source(self, alias: str, start: str) -> str:
        table = self.view.aliases[alias]
        order = list(self.view.aliases)
        if table == self.view.aliases[start] and order.index(alias) < order.index(start):
            return f'(SELECT * FROM "{table}" UNION ALL SELECT * FROM diff) {alias}'
        return f'"{table}" {alias}'


class DuckdbGroups(Duckdb):
    """The same for a view that counts by group: the table of groups is merged a batch at a time."""

    def __init__(self, view: JoinView, *, indexed: bool = False) -> None:
        self.keys = ", ".join(f"c{place}" for place in range(len(view.output)))
        super().__init__(view, indexed=indexed)

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Count the groups of the base tables, too."""
        super().load(tables)
        names = f"view_groups({self.keys}, n)"
        self.database.execute(f"CREATE TABLE view_groups AS FROM ({self.view.sql()}) {names}")

    def apply(self, batch: list[tuple[int, str, pa.Table]]) -> Tally:
        """Ask for the changes of groups, and bring their table from before to after."""
        parts = [
            found.set_column(len(found.column_names) - 1, "n", pc.multiply(found["n"], sign))
            for sign, found in self._deltas(batch)
        ]
        self.database.register("changes", pa.concat_tables(parts))
        result = self.database.execute(IMAGES.format(keys=self.keys))
        images = pa.table(result.fetchnumpy())
        self.database.register("images", images)
        self.database.execute(MERGE.format(keys=self.keys))
        return tally(images)

    def _delta(self, start: str) -> Delta:
        """Count the rows of an alias' diffs by group."""
        found = super()._delta(start)
        of_batch, of_row = (
            f"SELECT {self.keys}, COUNT(*) AS n FROM ({query}) GROUP BY {self.keys}"
            for query in (found.of_batch, found.of_row)
        )
        return Delta(of_batch, of_row, found.places)


def duckdb_rival(view: JoinView, *, indexed: bool = False) -> Duckdb:
    """Choose what the view needs."""
    return (DuckdbGroups if view.counts else Duckdb)(view, indexed=indexed)
