"""DuckDB: base tables, and for each batch the delta query that one would write by hand.

    tweets come     INSERT ... ;  SELECT <output> FROM <new tweets> T, follower F, ... WHERE ...

One row at a time, its values are constants of the query; a batch is an Arrow table that joins.
Where a table has several aliases, earlier ones see it with the batch's rows and later ones
without. Where it is `indexed`, the joined columns have indexes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import duckdb
import pyarrow as pa

from benchmarks.harness.checksum import Tally, tally
from benchmarks.rivals.in_python import Row, rows_of, signed
from benchmarks.workloads.catalogue import Entry
from benchmarks.workloads.views import TABLES, JoinView


class Delta(NamedTuple):
    """The query of one alias' diffs, and which values of a row a single one is given."""

    of_batch: str
    of_row: str
    places: tuple[int, ...]


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
        for sign, table, rows in batch:
            if sign < 0:
                self._delete(table, rows)
            found = self._partners(table, rows)
            total += Tally(found.tuples, sign * found.checksum % 2**64)
            if sign > 0:
                self._insert(table, rows)
        return total

    def _partners(self, table: str, rows: pa.Table) -> Tally:
        total = Tally()
        self.database.register("diff", rows)
        values = rows_of(rows)[0] if len(rows) == 1 else None
        for delta in self.deltas[table]:
            total += tally(self._ask(delta, values))
        return total

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
