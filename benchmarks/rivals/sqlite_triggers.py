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
from benchmarks.rivals.in_python import Change, Row, changes, options, rows_of, run, tally_rows
from benchmarks.workloads.catalogue import Entry
from benchmarks.workloads.views import TABLES, JoinView


class Sqlite:
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
        ends = [end for join in self.view.joins for end in join]
        for table, column in dict.fromkeys((self.view.aliases[a], c) for a, c in ends):
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

    def prepare(self, batch: list[Entry]) -> list[Change]:
        """Take the diffs as tuples."""
        return changes(batch)

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
        order = list(self.view.aliases)
        selected = [self._text(f"{a}.{column}", start, image) for a, column in self.view.output]
        where = [self._text(text, start, image) for text in self.view.equalities]
        for alias in order[order.index(start) + 1 :]:
            if self.view.aliases[alias] == self.view.aliases[start]:
                where.append(f"{alias}.rowid <> {image}.rowid")
        sources = [f'"{self.view.aliases[alias]}" {alias}' for alias in order if alias != start]
        return (
            f"SELECT {sign}, {', '.join(selected)} FROM {', '.join(sources)} "
            f"WHERE {' AND '.join(where)}"
        )

    def _text(self, text: str, start: str, image: str) -> str:
        """Put the row that comes or goes in the place of its alias."""
        words = text.split()
        renamed = [
            word.replace(f"{start}.", f"{image}.", 1) if word.startswith(f"{start}.") else word
            for word in words
        ]
        return " ".join(renamed)


if __name__ == "__main__":
    print(run(Sqlite, options(__doc__).parse_args()).line())
