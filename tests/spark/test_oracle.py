"""Random views and feeds of the oracle, through files and Spark: the view is what DuckDB says.

`JOINGRAPH_SPARK_CASES=500` runs more.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import joingraph as jg
from joingraph.pipeline.sink import Memory
from tests.bags import bag
from tests.oracle.ask import arrow, declared
from tests.oracle.case import Case, Entry, Table
from tests.oracle.generate import case as drawn
from tests.oracle.judges import Model

pytestmark = pytest.mark.spark
CASES = int(os.environ.get("JOINGRAPH_SPARK_CASES", "10"))
FIRST_MTIME = 1_700_000_000


def said(table: Table, entries: Sequence[Entry]) -> pa.Table:
    """Write the entries of one table as rows that say what happened to them."""
    rows, ops = [], []
    for entry in entries:
        for diff in entry.diffs():
            is_update = diff.kind == "update"
            rows += [*diff.rows, *diff.post]
            ops += ["update_preimage", "update_postimage"] if is_update else [diff.kind]
    return arrow(table, tuple(rows)).append_column("_op", pa.array(ops, pa.string()))


def write(case: Case, folder: Path) -> dict[str, Any]:
    """Write a case's feed as files, one a batch and table; give the sources."""
    sources: dict[str, Any] = {}
    for number, table in enumerate(case.tables):
        place = folder / str(number)
        place.mkdir()
        sources[table.name] = {"format": "parquet", "path": str(place), "operation": "_op"}
        for turn, entries in enumerate([case.load, *(batch.entries for batch in case.batches)]):
            rows = said(table, [entry for entry in entries if entry.table == table.name])
            if len(rows):
                path = place / f"{turn}.parquet"
                pq.write_table(rows, path)
                os.utime(path, (FIRST_MTIME + turn, FIRST_MTIME + turn))
    return sources


@pytest.mark.parametrize("seed", range(CASES))
def test_a_random_case_gives_the_view_of_duckdb(spark: Any, tmp_path: Path, seed: int) -> None:
    case = drawn(seed)
    model, sink = Model(case), Memory()
    for entries in [case.load, *(batch.entries for batch in case.batches)]:
        model.apply(entries)
    try:
        expected = model.view()
    except duckdb.Error:
        pytest.skip("the judge has no answer to this case")
    view = jg.View(case.view.sql, tables=declared(case), dialect=case.dialect)
    used = {alias.table for alias in view.definition.aliases}
    sources = {name: each for name, each in write(case, tmp_path).items() if name in used}
    pipeline = jg.spark.pipeline(
        view, sources=sources, sink=sink, engine="reference", spark=spark
    ).run()
    found = pipeline.graph.to_arrow()
    columns = [column.to_pylist() for column in found.columns]
    assert bag(zip(*columns, strict=True)) == expected
