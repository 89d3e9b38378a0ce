"""DuckDB where rows may be missing, or are asked for: the view's rows of the keys that change.

    tweets and retweets come     keys   = the tweets that they name
                                 before = SELECT ... WHERE T.tweetId IN keys;  INSERT ...
                                 after  = the same query;  the view diff is what either has alone

No delta query says which rows of NULLs go, or which rows come, as a first partner does: what one
writes by hand is the view itself over the keys that a batch touches.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.harness.checksum import Tally, tally
from benchmarks.rivals.in_python import signed
from benchmarks.workloads.catalogue import Entry
from benchmarks.workloads.outer import OuterView

ONLY = "SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other}"


class DuckdbKeys:
    """A database in memory, with as many threads as it likes."""

    def __init__(self, view: OuterView) -> None:
        self.database = duckdb.connect()
        self.view = view
        where = f"{view.key} IN (SELECT id FROM keys)"
        text = view.sql()
        self.query = f"{text} AND {where}" if " WHERE " in text else f"{text} WHERE {where}"

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Create and fill the base tables."""
        for table, rows in tables.items():
            self.database.register("loaded", rows)
            self.database.execute(f"CREATE TABLE {table} AS SELECT * FROM loaded")
        self.database.unregister("loaded")

    def prepare(self, batch: list[Entry]) -> list[tuple[int, str, pa.Table]]:
        """Leave the diffs in Arrow, but for updates row by row; put those of a table together."""
        changes = list(signed(batch))
        if not all(sign > 0 for sign, *_ in changes):
            return changes
        tables = dict.fromkeys(table for _, table, _ in changes)
        return [
            (1, name, pa.concat_tables([rows for _, table, rows in changes if table == name]))
            for name in tables
        ]

    def apply(self, batch: list[tuple[int, str, pa.Table]]) -> Tally:
        """Ask for the view's rows before and after, and for what either has alone."""
        ids = [rows[self.view.changed[table]] for _, table, rows in batch]
        keys = pc.unique(pa.chunked_array([each for part in ids for each in part.chunks]))
        self.database.register("keys", pa.table({"id": keys}))
        self.database.execute(f"CREATE OR REPLACE TEMP TABLE before AS {self.query}")
        for sign, table, rows in batch:
            self._change(sign, table, rows)
        self.database.execute(f"CREATE OR REPLACE TEMP TABLE after AS {self.query}")
        gone, come = (
            tally(self.database.sql(ONLY.format(one=one, other=other)).to_arrow_table())
            for one, other in (("before", "after"), ("after", "before"))
        )
        return Tally(gone.tuples + come.tuples, (come.checksum - gone.checksum) % 2**64)

    def _change(self, sign: int, table: str, rows: pa.Table) -> None:
        """Insert rows into a base table, or delete them."""
        self.database.register("diff", rows)
        if sign > 0:
            self.database.execute(f"INSERT INTO {table} SELECT * FROM diff")
            return
        same = " AND ".join(f"{table}.{name} = diff.{name}" for name in rows.column_names)
        self.database.execute(f"DELETE FROM {table} USING diff WHERE {same}")
