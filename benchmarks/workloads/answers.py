"""What a view is in the end, by DuckDB: the diffs are applied to its tables, then it is queried.

For workloads of which no rival keeps the view: a run of joingraph must end with the same view.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

from benchmarks.workloads.catalogue import find, read


def answer(name: str, folder: Path) -> pa.Table:
    """Return the view after all diffs of a workload; none is an update."""
    database, inputs = duckdb.connect(), read(name, folder)
    for table, rows in inputs.tables.items():
        database.register("loaded", rows)
        database.execute(f"CREATE TABLE {table} AS SELECT * FROM loaded")
    for operation, table, rows, _ in inputs.diffs:
        database.register("diff", rows)
        if operation == "insert":
            database.execute(f"INSERT INTO {table} SELECT * FROM diff")
        else:
            same = " AND ".join(f"{table}.{name} = diff.{name}" for name in rows.column_names)
            database.execute(f"DELETE FROM {table} USING diff WHERE {same}")
    return database.sql(find(name).view.sql()).to_arrow_table()
