"""What it costs to keep a graph on disk, and how quickly it is back: ratios within one run.

python -m benchmarks.durability [--folder DIR] [--mib 1024] [--save FILE.json]

cost    rows a second against the same graph in memory: batches of 100,000; 16 callers of 1,000
fsync   batches of 1,000 one by one, against flushing a file that grows by the same bytes: on the
        disk as it is, and as if each flush took 2 ms longer, as many volumes and disks do
replay  opening a log, against applying what is in it without view diffs
stall   the longest batch while a snapshot is taken, and without one
open    a graph of so many MiB, its log empty: opened and read at one key, in a process that has
        loaded the kernels for another graph; and from the start of that process

A tweet has 10 followers, and so each of its rows makes 10 of view diffs. The folder must be on the
disk in question: /tmp may be none.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from time import sleep
from typing import Any

import numpy as np
import pyarrow as pa

import joingraph as jg
from benchmarks.harness.origin import save_figures
from benchmarks.harness.timing import seconds
from joingraph.storage.disk import files
from joingraph.storage.record import Record, encode
from joingraph.tables.batch import Entry

VIEW = jg.View(
    "SELECT F.fan, T.author, T.id, T.at FROM follower F JOIN tweet T ON F.author = T.author",
    {
        "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
        "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT, at BIGINT)",
    },
)
AUTHORS, FOLLOWERS = 50_000, 10
ROUNDS = 5  # of which the middle one counts
ROW_BYTES = 10  # of the graph, for a follower among 60
OPEN = """
import sys, time
began = time.perf_counter()
import joingraph as jg
from benchmarks.durability import VIEW
with jg.JoinGraph(VIEW) as other:
    other.insert("follower", [(1, 1)])
    other.scan("author = 1", limit=10).read_all()
ready = time.perf_counter()
graph = jg.open(sys.argv[1])
rows = graph.scan("author = 7", limit=10).read_all().num_rows
done = time.perf_counter()
print(graph.stats()["bytes"], done - ready, done - began)
"""

Line = dict[str, Any]


def tweets(first: int, rows: int) -> pa.Table:
    """Make tweets by authors at random."""
    authors = np.random.default_rng(first).integers(0, AUTHORS, rows)
    return pa.table({"author": authors, "id": np.arange(first, first + rows), "at": authors})


def made(path: Path | None, durability: str = "fsync") -> jg.JoinGraph:
    """Make a graph in which every user has followers."""
    graph = jg.JoinGraph(VIEW, path, durability=durability)
    graph.snapshot_after = None
    graph.compile()
    fans = np.arange(AUTHORS * FOLLOWERS)
    graph.load({"follower": pa.table({"author": fans % AUTHORS, "fan": fans})})
    return graph


def cost(folder: Path) -> Iterator[Line]:
    """Compare the durabilities with memory, in turns."""
    for rows, callers in ((100_000, 1), (1_000, 16)):
        graphs = {"memory": made(None)}
        graphs |= {each: made(folder / f"{each}-{callers}", each) for each in ("fsync", "os")}
        times: dict[str, list[float]] = {name: [] for name in graphs}
        numbers = count(1)
        for _ in range(ROUNDS):
            at = next(numbers) * 10_000_000
            batches = [tweets(at + n * rows, rows) for n in range(300_000 // rows)]
            for name, graph in graphs.items():
                times[name].append(seconds(partial(applied, graph, batches, callers)))
        for graph in graphs.values():
            graph.close()
        for name in ("fsync", "os"):
            ratio = median(times["memory"]) / median(times[name])
            yield {"figure": f"cost {name}", "batch": rows, "callers": callers, "ratio": ratio}


def applied(graph: jg.JoinGraph, batches: list[pa.Table], callers: int) -> None:
    """Apply batches, by several callers at once."""
    if callers == 1:
        for batch in batches:
            graph.insert("tweet", batch)
    else:
        with ThreadPoolExecutor(callers) as pool:
            list(pool.map(lambda batch: graph.insert("tweet", batch), batches))


def fsync(folder: Path) -> Iterator[Line]:
    """Compare batches one by one with a bare file that grows and is flushed, in turns."""
    for slower_ms in (0, 2):
        with slower_flushes(slower_ms), TemporaryDirectory(dir=folder) as scratch:
            yield one_by_one(Path(scratch)) | {"flushes_slower_ms": slower_ms}


@contextmanager
def slower_flushes(by_ms: float) -> Generator[None]:
    """Let every flush take longer, as if the disk did."""
    sync = files.sync

    def slower(file: files.File, path: Path) -> None:
        sync(file, path)
        sleep(by_ms / 1e3)

    files.sync = slower
    try:
        yield
    finally:
        files.sync = sync


def one_by_one(folder: Path) -> Line:
    """Flush a bare file and apply batches, in turns."""
    entries = [Entry("insert", "tweet", None, tweets(1, 1000))]
    record = [bytes(memoryview(part)) for part in encode(Record("batch", 1, {}, entries), 1, 0)]
    path, graph = folder / "bare", made(folder / "one")
    bare, batches = files.create(path), [tweets(n * 1000, 1000) for n in range(600)]
    applied(graph, batches[:100], 1)
    disk, ours = [], []

    def flushed() -> None:
        files.write(bare, record, path)
        files.sync(bare, path)

    for batch in batches[100:]:
        disk.append(seconds(flushed))
        ours.append(seconds(partial(graph.insert, "tweet", batch)))
    graph.close()
    with made(None) as memory:
        alone = median(seconds(partial(memory.insert, "tweet", each)) for each in batches[:300])
    return {
        "figure": "fsync one by one", "batch": 1000, "ratio": median(disk) / median(ours),
        "disk_ms": 1e3 * median(disk), "batch_ms": 1e3 * median(ours), "memory_ms": 1e3 * alone,
    }  # fmt: skip


def replay(folder: Path) -> Iterator[Line]:
    """Compare opening a log with applying it."""
    batches = [tweets(n * 10_000, 10_000) for n in range(200)]
    with made(folder / "replay", "os") as graph:
        graph.snapshot()
        graph.maintain_only = True
        empty = folder / "empty"
        applying = seconds(lambda: applied(graph, batches, 1))
    with made(empty, "os") as graph:
        graph.snapshot()
    base = seconds(lambda: jg.open(empty).close())
    replaying = seconds(lambda: jg.open(folder / "replay").close()) - base
    with made(None) as graph:
        graph.maintain_only = True
        memory = seconds(lambda: applied(graph, batches, 1))
    yield {"figure": "replay", "ratio": applying / replaying, "of_memory": memory / replaying}


def large(path: Path, mib: int) -> jg.JoinGraph:
    """Make a graph of about so many MiB, with a snapshot."""
    graph = jg.JoinGraph(VIEW, path, durability="none")
    graph.snapshot_after = None
    rows = mib * (1 << 20) // ROW_BYTES
    for first in range(0, rows, 1 << 20):
        fans = np.arange(first, min(first + (1 << 20), rows))
        graph.load({"follower": pa.table({"author": fans // 60, "fan": fans})})
    graph.snapshot()
    graph.close()
    return jg.open(path)


def stall(folder: Path, mib: int) -> Iterator[Line]:
    """Apply batches without a pause, and while a snapshot is taken."""
    with large(folder / "large", mib) as graph:
        size, numbers = graph.stats()["bytes"], count(1)
        graph.compile()  # else it is done meanwhile
        gc.freeze()  # what is there by now, or looking through it would be the longest pause

        def batch() -> float:
            new = tweets(next(numbers) * 1000, 1000)
            return seconds(lambda: graph.insert("tweet", new))

        before = [batch() for _ in range(2000)]
        taking = Thread(target=graph.snapshot)
        taking.start()
        during = []
        while taking.is_alive():
            during.append(batch())
        after = [batch() for _ in range(2000)]
        gc.unfreeze()
        graph.snapshot()
    yield {
        "figure": "stall", "graph_mib": size >> 20, "longest_ms": 1e3 * max(during),
        "longest_without_ms": 1e3 * max(before + after), "snapshot_s": sum(during),
        "median_ms": 1e3 * median(during), "median_without_ms": 1e3 * median(before),
    }  # fmt: skip


def opening(folder: Path) -> Iterator[Line]:
    """Open the large graph in new processes; the first brings its files into memory."""
    found = []
    for _ in range(1 + ROUNDS):
        command = [sys.executable, "-c", OPEN, str(folder / "large")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append([float(each) for each in done.stdout.split()])
    size, opened_s, whole = (median(each) for each in zip(*found[1:], strict=True))
    yield {
        "figure": "open", "graph_mib": int(size) >> 20, "open_and_read_s": opened_s,
        "from_process_start_s": whole, "first_s": found[0][1],
    }  # fmt: skip


def main() -> None:
    """Measure everything; print it, and save it if arguments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability")
    parser.add_argument("--folder", type=Path, help="where the graphs are made (2 GiB of room)")
    parser.add_argument("--mib", type=int, default=1024, help="size of the graph that is opened")
    parser.add_argument("--save", type=Path, help="write the result to this file")
    arguments = parser.parse_args()
    with TemporaryDirectory(dir=arguments.folder) as scratch:
        folder, found = Path(scratch), list[Line]()
        large_ones = (stall(folder, arguments.mib), opening(folder))
        for lines in (cost(folder), fsync(folder), replay(folder), *large_ones):
            for line in lines:
                shown = {k: round(v, 4) if isinstance(v, float) else v for k, v in line.items()}
                print(json.dumps(shown), flush=True)
                found.append(shown)
    save_figures({"runs": found}, arguments.save)


if __name__ == "__main__":
    main()
