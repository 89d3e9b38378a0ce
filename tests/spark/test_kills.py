"""A pipeline killed at random moments: what its sink holds in the end is the view, each batch once.

`JOINGRAPH_KILLS=50` kills more often.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.conftest import SQL

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parent.parent.parent
KILLS = int(os.environ.get("JOINGRAPH_KILLS", "5"))
FILES_MIN, ROWS = 16, 40
Row = tuple[object, ...]


def fill(folder: Path, rng: random.Random, files: int) -> dict[str, list[Row]]:
    """Write files of diffs, and give what is left of the base tables."""
    names = {"follower": ("userId", "followerId", "note"), "tweet": ("userId", "tweetId", "text")}
    left: dict[str, list[Row]] = {name: [] for name in names}
    for number in range(files):
        for name, columns in names.items():
            said = [diff for _ in range(ROWS) for diff in changes(left[name], rng)]
            table = {column: [row[at] for _, row in said] for at, column in enumerate(columns)}
            (folder / name).mkdir(exist_ok=True)
            rows = pa.table({**table, "op": [op for op, _ in said]})
            path = folder / name / f"{number:04d}.parquet"
            pq.write_table(rows, path)
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return left


def changes(rows: list[Row], rng: random.Random) -> list[tuple[str, Row]]:
    """Change a table at random."""
    new = (rng.randrange(30), rng.randrange(200), f"text {rng.randrange(5)}")
    choice = rng.random()
    if not rows or choice < 0.6:
        rows.append(new)
        return [("insert", new)]
    at = rng.randrange(len(rows))
    old, rows[at] = rows[at], new
    if choice < 0.8:
        return [("update_preimage", old), ("update_postimage", new)]
    del rows[at]
    return [("delete", old)]


def run(folder: Path, kill_after: tuple[int, float] | None) -> bool:
    """Run the pipeline, killing it so many micro-batches and seconds later; tell if it ended."""
    command = [sys.executable, "-m", "tests.spark.killed", str(folder)]
    errors = (folder / "errors").open("ab")
    with (
        errors,
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as child,
    ):
        assert child.stdout is not None
        seen = 0
        for line in child.stdout:
            if line.startswith("end"):
                return child.wait() == 0
            seen += line.startswith("batch")
            if kill_after is not None and seen == kill_after[0]:
                time.sleep(kill_after[1])
                child.send_signal(signal.SIGKILL)
                return False
        raise AssertionError((folder / "errors").read_text()[-3000:])


def test_what_is_left_after_kills_is_the_view_and_no_batch_is_lost_or_twice(tmp_path: Path) -> None:
    rng = random.Random(KILLS)
    left = fill(tmp_path, rng, max(FILES_MIN, 4 * KILLS))
    for _ in range(KILLS):
        assert not run(tmp_path, (rng.randint(1, 2), rng.uniform(0, 0.4)))
    assert run(tmp_path, None)
    found = pq.read_table(tmp_path / "out")
    assert sorted(view_of(found)) == sorted(recomputed(left))
    seqs = sorted(set(found["_seq"].to_pylist()))
    assert seqs == list(range(seqs[0], seqs[-1] + 1))
    assert len(list((tmp_path / "out").glob("part-*"))) == len(seqs)


def view_of(diffs: pa.Table) -> list[Row]:
    """Fold view diffs to the view."""
    counts: dict[Row, int] = {}
    for row in diffs.to_pylist():
        sign = 1 if row["_change_type"] in ("insert", "update_postimage") else -1
        key = (row["followerId"], row["tweetId"], row["text"])
        counts[key] = counts.get(key, 0) + sign * row["_count"]
    assert min(counts.values()) >= 0
    return [row for row, count in counts.items() for _ in range(count)]


def recomputed(left: dict[str, list[Row]]) -> list[Row]:
    """Compute the view of the base tables with DuckDB."""
    with duckdb.connect() as db:
        db.execute("CREATE TABLE follower (userId BIGINT, followerId BIGINT, note VARCHAR)")
        db.execute("CREATE TABLE tweet (userId BIGINT, tweetId BIGINT, text VARCHAR)")
        for name, rows in left.items():
            db.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
        return db.sql(SQL.partition(" AS ")[2]).fetchall()
