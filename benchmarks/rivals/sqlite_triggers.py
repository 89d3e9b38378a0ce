"""SQLite: triggers on the base tables write the view's diffs into a table, which is then read.

    INSERT INTO tweet   ->  AFTER INSERT:   INSERT INTO view_diff SELECT 1, ... one per alias
    DELETE FROM tweet   ->  BEFORE DELETE:  INSERT INTO view_diff SELECT -1, ...

A row is in its table while its trigger runs: where a table has several aliases, the later ones
leave it out by its rowid. Joined columns are indexed, the database is in memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

import pyarrow as pa

from benchmarks.harness.checksum import Tally
from benchmarks.rivals.in_python import ByRow, Change, Row, rows_of, tally_rows
from benchmarks.workloads.views import TABLES, JoinView


class Sqlite(ByRow):
    """A database in memory; a batch is a transaction."""

    def __init__(self, view: JoinView) -> None:
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        self.view = view

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Create, fill and index the base tables; then add the triggers."""
        self.database.execute("BEGIN")
        for table, rows in tables.items():
            columns = ", ".join(f"{name} INTEGER" for name in TABLES[table])
            self.database.execute(f'CREATE TABLE "{table}" ({columns})')
            marks = ", ".join("?" for _ in TABLES[table])
            self.database.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows_of(rows))
        for table, column in self.view.joined:
            self.database.execute(f'CREATE INDEX "{table}_{column}" ON "{table}" ({column})')
        places = ", ".join(f"c{place} INTEGER" for place in range(len(self.view.output)))
        self.database.execute(f"CREATE TABLE view_diff (sign INTEGER, {places})")
        for alias, table in self.view.aliases.items():
            for event, sign, image in (("AFTER INSERT", 1, "NEW"), ("BEFORE DELETE", -1, "OLD")):
                query = self._query(alias, sign, image)
                self.database.execute(
                    f'CREATE TRIGGER "{event} {alias}" {event} ON "{table}" '
                    f"BEGIN INSERT INTO view_diff {query}; END"
                )
        self.database.execute("COMMIT")
        self.database.execute("ANALYZE")

    def apply(self, batch: list[Change]) -> Tally:
        """Change the base tables, then read and empty the table of view diffs."""
        self.database.execute("BEGIN")
        for sign, table, row in batch:
            if sign > 0:
                marks = ", ".join("?" for _ in row)
                self.database.execute(f'INSERT INTO "{table}" VALUES ({marks})', row)
            else:
                same = " AND ".join(f"{name} = ?" for name in TABLES[table])
                self.database.execute(f'DELETE FROM "{table}" WHERE {same}', row)
        found: list[Row] = self.database.execute("SELECT * FROM view_diff").fetchall()
        self.database.execute("DELETE FROM view_diff")
        self.database.execute("COMMIT")
        total = Tally()
        for sign in (1, -1):
            total += tally_rows([row[1:] for row in found if row[0] == sign], sign)
        return total

    def _query(self, start: str, sign: int, image: str) -> str:
        """Write the view's diffs of one alias' row, which is `image` to its trigger."""
        aliases = self.view.aliases
        order = list(aliases)
        later = order[order.index(start) + 1 :]
        others = [f"{each}.rowid <> {image}.rowid" for each in later
                  if aliases[each] == aliases[start]]  # fmt: skip
        sources = [f'"{aliases[alias]}" {alias}' for alias in order if alias != start]
        found = self.view.delta_sql(start, f"{image}.{{}}", sources, *others)
        return f"SELECT {sign}, * FROM ({found})"
