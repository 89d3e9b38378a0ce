"""Random views and feeds of the oracle, through files and Spark: is the view what DuckDB says?

python -m tests.spark.cases --cases 500 --json benchmarks/results/spark-oracle.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import joingraph as jg
from benchmarks.harness.origin import origin
from joingraph.pipeline.sinks.contract import Memory
from tests.bags import bag
from tests.oracle.ask import arrow, declared
from tests.oracle.case import Case, Entry, Table
from tests.oracle.generate import case as drawn
from tests.oracle.judges import Model
from tests.spark.conftest import QUICK

FIRST_MTIME = 1_700_000_000
AGREES, DIFFERS, NO_ANSWER = "agrees", "differs", "the judge has no answer"


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


def judge(spark: Any, seed: int, folder: Path, engine: str) -> str:
    """Take one case through Spark, and compare the view with DuckDB's."""
    case = drawn(seed)
    model = Model(case)
    for entries in [case.load, *(batch.entries for batch in case.batches)]:
        model.apply(entries)
    try:
        expected = model.view()
    except duckdb.Error:
        return NO_ANSWER
    view = jg.View(case.view.sql, tables=declared(case), dialect=case.dialect)
    used = {alias.table for alias in view.definition.aliases}
    sources = {name: each for name, each in write(case, folder).items() if name in used}
    pipeline = jg.spark.pipeline(view, sources=sources, sink=Memory(), engine=engine, spark=spark)
    found = pipeline.run().graph.to_arrow()
    columns = [column.to_pylist() for column in found.columns]
    return AGREES if bag(zip(*columns, strict=True)) == expected else DIFFERS


def main() -> int:
    """Judge many cases, and write down what came out; 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1000, help="the first case's seed")
    parser.add_argument("--engine", default="reference")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    asked = parser.parse_args()
    spark, began_s = jg.spark.session(QUICK, master="local[2]"), time.monotonic()
    found: Counter[str] = Counter()
    for seed in range(asked.seed, asked.seed + asked.cases):
        with tempfile.TemporaryDirectory() as folder:
            verdict = judge(spark, seed, Path(folder), asked.engine)
        found[verdict] += 1
        print(f"seed {seed} {verdict}: {dict(found)}", flush=True)
    result: dict[str, Any] = {
        "cases": dict(found), "seeds": [asked.seed, asked.seed + asked.cases - 1],
        "engine": asked.engine, "seconds": round(time.monotonic() - began_s),
    }  # fmt: skip
    print(json.dumps(result))
    if asked.json:
        asked.json.write_text(json.dumps(result | origin(), indent=1) + "\n", encoding="utf-8")
    return 1 if found[DIFFERS] else 0


if __name__ == "__main__":
    sys.exit(main())
