"""More text than 32-bit offsets reach, through every door: `python -m tests.crash.texts_size`.

    one tweet of 50,000 characters, --rows fans     view diffs and reads of 10 GiB, streamed
    the same of 60,000 fans                         view diffs, i-diffs, nested lists of 2.8 GiB
    --rows / 5 tweets of 50,000 characters each     base rows of 2 GiB in a log and a snapshot
    one value of 2 GiB                              refused by name

Each step runs in a process of its own, whose peak memory is told. As the largest takes 12 GiB,
nothing begins with less; `make test` does the same with bounds lowered to a few bytes.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa

import joingraph as jg
from joingraph.expressions import texts
from tests.crash.record import add_option, record

NEEDED_BYTES = 14 << 30
GROWTH_MAX_MIB = 600  # of a process that streams 10 GiB
LETTERS = 50_000
JOIN = "FROM follower F JOIN tweet T ON F.author = T.author"
TABLES = {
    "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT, name STRING)",
    "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT PRIMARY KEY, text STRING)",
}
KEPT = f"SELECT F.fan, T.id, T.text {JOIN}"
MADE = f"SELECT F.fan, T.id, T.text || F.name AS text {JOIN}"
Blocks = Iterable[pa.RecordBatch]


def graph(sql: str, fans: int, engine: str, path: Path | None = None) -> jg.JoinGraph:
    """One author with many fans and a short tweet."""
    made = jg.JoinGraph(jg.View(sql, TABLES), path, engine=engine)
    names = pa.array([f"n{fan}" for fan in range(fans)])
    authors, numbers = np.ones(fans, np.int64), np.arange(fans)
    made.load({"follower": pa.table([authors, numbers, names], names=["author", "fan", "name"])})
    made.insert("tweet", [(1, 0, "short")])
    return made


def tweet(number: int) -> tuple[str, str, list[tuple[int, int, str]]]:
    """Insert a long tweet."""
    return "insert", "tweet", [(1, number, chr(97 + number % 26) * LETTERS)]


def peak_mib() -> int:
    """How much memory this process has had at most."""
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit


def measured(blocks: Blocks) -> tuple[int, int]:
    """Count rows and bytes of text, and make sure that no block is too large."""
    rows = length = 0
    for block in blocks:
        size = int(texts.sizes(block.columns, len(block)).sum())
        assert size <= texts.BLOCK_BYTES or len(block) == 1, f"a block has {size:,} bytes of text"
        rows, length = rows + len(block), length + size
    return rows, length


def streamed(sql: str, rows: int) -> str:
    """Stream and scan a view of 10 GiB in little memory."""
    made = graph(sql, rows, "compiled")
    before = peak_mib()
    found = measured(made.stream([tweet(1)]))
    assert found[0] == rows
    scanned = measured(made.scan(where="id = 1"))
    parts = [measured(part.read()) for part in made.partitions(4, where="id = 1")]
    assert found == scanned == tuple(map(sum, zip(*parts, strict=True)))
    assert measured(made.scan())[0] == made.count() == 2 * rows
    grown = peak_mib() - before
    assert grown <= GROWTH_MAX_MIB, f"memory grew by {grown:,} MiB"
    return f"{found[1] / 2**30:.1f} GiB streamed and read, memory {before:,} + {grown:,} MiB"


def every_form(engine: str, rows: int) -> str:
    """Ask for all that a batch and a graph can be asked."""
    made, row = graph(KEPT, rows, engine), (5, 1, "b" * LETTERS)
    diff = made.apply([tweet(1)])
    assert len(diff) == rows
    diff.changes().validate(full=True)
    assert diff.to_arrow(net=True).num_rows == rows
    del diff
    assert len(made.apply([tweet(2)], form="idiffs").idiffs()) == rows
    renamed = made.update("tweet", [(1, 2, "c" * LETTERS)], [(1, 2, "d" * LETTERS)], form="idiffs")
    assert len(renamed.idiffs()) == 1
    nested = made.apply([tweet(3)], form="factorised")
    assert nested.factorised().tables["T"].num_rows == 1
    assert len(nested) == rows
    del nested
    assert made.fanout([tweet(4)]) == (rows, True)
    assert made.count() == 4 * rows
    assert len(made.why(row)) == 1 and not made.why_not(row)
    assert measured(made.scan(order_by="fan", limit=10))[0] == 10
    assert measured(made.scan(where="text <> 'short'"))[0] == 3 * rows
    made.check()
    return f"{rows * LETTERS / 2**30:.1f} GiB in all forms ({engine}), memory {peak_mib():,} MiB"


def on_disk(engine: str, tweets: int) -> str:
    """Keep base rows of over 2 GiB: what is in memory is what is on the disk."""
    rows = pa.table(
        {
            "author": pa.array(np.full(tweets, 1)),
            "id": pa.array(np.arange(1, tweets + 1)),
            "text": pa.array(
                [f"{at:08}" * (LETTERS // 8) for at in range(tweets)], pa.large_string()
            ),
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph"
        with graph(KEPT, 1, engine, path) as made:
            made.snapshot_after = None
            assert measured(made.stream([("insert", "tweet", rows)]))[0] == tweets
            made.update("tweet", rows.slice(0, 1), rows.slice(0, 1))
            said = made.seq, made.count()
        for snapshot in (True, False):
            with jg.open(path) as opened:
                assert (opened.seq, opened.count()) == said, "memory and disk part"
                assert measured(opened.scan(where="fan = 0"))[0] == tweets + 1
                if snapshot:
                    opened.snapshot()
        with jg.open(path) as opened:
            assert len(opened.delete("tweet", rows)) == tweets
            opened.check()
    length = tweets * LETTERS / 2**30
    return f"{length:.1f} GiB of base rows on disk ({engine}), memory {peak_mib():,} MiB"


def too_long() -> str:
    """Hand in one value that no column can hold."""
    made, length = graph(KEPT, 2, "compiled"), texts.ARRAY_BYTES_MAX + 1
    for text in ("x" * length, pa.array(["x" * length], pa.large_string())):
        rows = (
            pa.table({"author": [1], "id": [7], "text": text})
            if isinstance(text, pa.Array)
            else [(1, 7, text)]
        )
        try:
            made.insert("tweet", rows)
        except jg.DiffError as error:
            said = str(error)
            assert (
                "tweet, row 0" in said and f'"text" is STRING, found a value of {length:,}' in said
            )
        else:
            raise AssertionError("a value of 2 GiB was taken")
    made.check()
    return f"a value of {length:,} bytes refused by name, memory {peak_mib():,} MiB"


def free_bytes() -> int:
    """How much memory there is for a new process; where that is not told, enough."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return NEEDED_BYTES
    (line,) = (each for each in lines if each.startswith("MemAvailable:"))
    return int(line.split()[1]) << 10


def alone(step: Callable[..., str], *given: str | int) -> str:
    """Run a step in a process of its own."""
    began = time.monotonic()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        told = pool.submit(step, *given).result()
    told = f"texts: {told}, in {time.monotonic() - began:.0f} s"
    print(told, flush=True)
    return told


def main() -> None:
    """Run all steps, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=215_000, help="fans of the streamed tweet")
    add_option(parser)
    arguments = parser.parse_args()
    free, rows = free_bytes(), arguments.rows
    if free < NEEDED_BYTES:
        parser.exit(
            1,
            f"texts: skipped nothing, ran nothing: this needs {NEEDED_BYTES >> 30} GiB of free"
            f" memory, and there are {free / 2**30:.1f}; free some, or run it elsewhere\n",
        )
    steps = [alone(streamed, sql, rows) for sql in (KEPT, MADE)]
    steps += [alone(every_form, "compiled", 60_000), alone(every_form, "reference", 45_000)]
    steps += [alone(on_disk, "compiled", rows // 5), alone(too_long)]
    record(arguments.save, steps)


if __name__ == "__main__":
    main()
