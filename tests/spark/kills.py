"""Kills a pipeline at random moments: `python -m tests.spark.kills --kills 50`.

    feed a little -> run the pipeline -> SIGKILL the driver, or one of its Python workers -> again

A pipeline that lost a worker goes on, or fails and is started again. In the end it runs once as it
should, and what its sink holds is the view that DuckDB computes, each batch once.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from redis import Redis

from benchmarks.harness.origin import origin
from joingraph.pipeline.sinks.embedded import Server
from tests.spark.conftest import GROUPS, SQL

ROOT = Path(__file__).parent.parent.parent
COLUMNS = {"follower": ("userId", "followerId", "note"), "tweet": ("userId", "tweetId", "text")}
FIRST_MTIME = 1_700_000_000
TURNS, DIFFS = 4, 40  # a feed is so many micro-batches, each of so many diffs a table
LATEST_S = 0.5  # a kill comes at most so long after a line of the pipeline
Row = tuple[object, ...]


class Campaign:
    """A pipeline's sources and sink, what its base tables hold, and what was killed so far."""

    def __init__(
        self, folder: Path, url: str, rng: random.Random, *, engine: str, sql: str
    ) -> None:
        self.folder, self.url, self.rng, self.engine, self.sql = folder, url, rng, engine, sql
        self.left: dict[str, list[Row]] = {name: [] for name in COLUMNS}
        self.turns = 0
        self.killed: Counter[str] = Counter()  # by kind of process
        self.failures = 0  # micro-batches that lost their worker
        (folder / "follower").mkdir()

    def feed(self, kills: int) -> None:
        """Add so much to the sources that the pipeline does not end before it is killed."""
        with Redis.from_url(self.url) as redis:
            for _ in range(TURNS * kills):
                self.turns += 1
                said = [
                    diff for _ in range(DIFFS) for diff in changes(self.left["tweet"], self.rng)
                ]
                for op, row in said:
                    record = dict(zip(COLUMNS["tweet"], row, strict=True)) | {"op": op}
                    redis.xadd("tweet", {"json": json.dumps(record)})
                self._write_file()

    def _write_file(self) -> None:
        said = [diff for _ in range(DIFFS) for diff in changes(self.left["follower"], self.rng)]
        names = enumerate(COLUMNS["follower"])
        table = {column: [row[at] for _, row in said] for at, column in names}
        path = self.folder / "follower" / f"{self.turns:05d}.parquet"
        pq.write_table(pa.table({**table, "op": [op for op, _ in said]}), path)
        os.utime(path, (FIRST_MTIME + self.turns, FIRST_MTIME + self.turns))

    def run(self, *victims: str) -> None:
        """Run the pipeline; kill its workers or its driver, one after another, until it ends."""
        command = [sys.executable, "-m", "tests.spark.killed", str(self.folder), self.url]
        errors, left = self.folder / "errors", list(victims)
        with (
            errors.open("wb") as log,
            subprocess.Popen(
                [*command, self.engine, self.sql],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            ) as child,
        ):
            assert child.stdout is not None
            moment = self.rng.randint(1, TURNS - 1)
            for line in child.stdout:
                moment -= 1
                self.failures += line.startswith("failed")
                if left and moment <= 0:
                    time.sleep(self.rng.uniform(0, LATEST_S))
                    if self._kill(child.pid, left[0]):
                        left.pop(0)
                        moment = self.rng.randint(1, TURNS - 1)
        is_killed = "driver" in victims and not left
        if child.returncode and not is_killed:
            raise AssertionError(errors.read_text()[:5000])

    def _kill(self, driver: int, victim: str) -> bool:
        """Kill the driver, or any Python process below it; tell if there was one."""
        found = {driver: "driver"} if victim == "driver" else workers(driver)
        if found:
            process = self.rng.choice(sorted(found))
            os.kill(process, signal.SIGKILL)
            self.killed[found[process]] += 1
        return bool(found)

    def check(self) -> None:
        """Compare what the sink holds with the view of what is left of the base tables."""
        found = pq.read_table(self.folder / "out")
        assert sorted(view_of(found)) == sorted(recomputed(self.left, self.sql))
        seqs = sorted(set(found["_seq"].to_pylist()))
        assert seqs == list(range(seqs[0], seqs[-1] + 1)), "a sequence number is missing"
        assert len(list((self.folder / "out").glob("part-*"))) == len(seqs)


def workers(driver: int) -> dict[int, str]:
    """Find the Python processes below a driver: what forks the workers, and each of them."""
    said = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    parents, texts = {}, {}
    for line in said.splitlines():
        process, parent, text = line.split(maxsplit=2)
        parents[int(process)], texts[int(process)] = int(parent), text
    below, found = {driver}, {}
    while more := {each for each in parents if parents[each] in below} - below:
        below |= more
    for each in below - {driver}:
        if "pyspark" in texts[each] and "java" not in texts[each]:
            is_forked = "pyspark.daemon" in texts.get(parents[each], "")
            found[each] = "worker" if is_forked else "daemon"
    return found


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


def view_of(diffs: pa.Table) -> list[Row]:
    """Fold view diffs to the view."""
    counts: dict[Row, int] = {}
    for row in diffs.to_pylist():
        sign = 1 if row["_change_type"] in ("insert", "update_postimage") else -1
        key = (row["followerId"], row["tweetId"], row["text"])
        counts[key] = counts.get(key, 0) + sign * row["_count"]
    assert min(counts.values()) >= 0
    return [row for row, count in counts.items() for _ in range(count)]


def recomputed(left: dict[str, list[Row]], sql: str = SQL) -> list[Row]:
    """Compute the view of the base tables with DuckDB."""
    with duckdb.connect() as db:
        db.execute("CREATE TABLE follower (userId BIGINT, followerId BIGINT, note VARCHAR)")
        db.execute("CREATE TABLE tweet (userId BIGINT, tweetId BIGINT, text VARCHAR)")
        for name, rows in left.items():
            db.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
        return db.sql(sql.partition(" AS ")[2]).fetchall()


def kill_often(folder: Path, kills: int, *, seed: int, engine: str, sql: str = SQL) -> Campaign:
    """Kill a pipeline so many times, drivers and workers in turns, and check what is left."""
    server = Server(None)
    try:
        campaign = Campaign(folder, server.start(), random.Random(seed), engine=engine, sql=sql)
        while (left := kills - campaign.killed.total()) > 0:
            victims = ["worker"] * min(campaign.rng.randint(0, 2), left - 1)
            campaign.feed(1 + len(victims))
            campaign.run(*victims, "driver")
            print(dict(campaign.killed), flush=True)
        campaign.run()
        campaign.check()
    finally:
        server.stop()
    return campaign


def main() -> None:
    """Run one campaign, and write down what it came to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--groups", action="store_true", help="of a view that groups")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    asked = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        campaign = kill_often(
            Path(folder),
            asked.kills,
            seed=asked.seed,
            engine=asked.engine,
            sql=GROUPS if asked.groups else SQL,
        )
        batches = len(list((Path(folder) / "out").glob("part-*")))
    result: dict[str, Any] = {
        "kills": dict(campaign.killed), "failures": campaign.failures,
        "seed": asked.seed, "engine": asked.engine,
        "batches": batches, "missing": 0, "twice": 0, "equals_duckdb": True,
        "seconds": round(time.monotonic() - began_s),
    }  # fmt: skip
    print(json.dumps(result))
    if asked.json:
        asked.json.write_text(json.dumps(result | origin(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
