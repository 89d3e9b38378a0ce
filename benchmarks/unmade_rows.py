"""What COUNT and SUM over a join cost whose rows are far too many to be made.

python -m benchmarks.unmade_rows [--data DIR] [--diffs 50000] [--followers 1000]

The join is chainF_5: tweets, and followers of followers five steps away. Tweets come in batches of
a thousand; of the followers half go and come again, one a call. At the end `check()` counts all
anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.harness.timing import seconds
from benchmarks.workloads.catalogue import find, prepare, read
from benchmarks.workloads.model import SIZES, Size
from joingraph import JoinGraph, View

NAME, BATCH = "chainF_5", 1_000


class Part(NamedTuple):
    """Diffs of one kind, as entries of one batch each."""

    name: str
    entries: list[tuple[str, str, pa.Table]]

    @property
    def diffs(self) -> int:
        """How many base diffs these are."""
        return sum(len(rows) for _, _, rows in self.entries)


def counted() -> View:
    """Return the view that counts the rows of the join."""
    query = find(NAME).view.declared()
    joined = query.sql[query.sql.index(" FROM ") :]
    return View(f"SELECT COUNT(*) AS n, SUM(T.tweetId) AS total{joined}", query.tables)


def parts_of(tables: dict[str, pa.Table], tweets: pa.Table, followers: int) -> Iterator[Part]:
    """Yield the diffs: tweets that come, followers that go, and these again."""
    batches = [tweets.slice(at, BATCH) for at in range(0, len(tweets), BATCH)]
    yield Part("tweets come", [("insert", "tweet", each) for each in batches])
    known = tables["follower"]
    chosen = np.random.default_rng(5).choice(len(known), followers // 2, replace=False)
    rows = [known.slice(int(at), 1) for at in chosen]
    yield Part("followers go", [("delete", "follower", each) for each in rows])
    yield Part("followers come", [("insert", "follower", each) for each in rows])


def carry_out(graph: JoinGraph, part: Part) -> None:
    """Apply each entry as a batch of its own, and read its view diff."""
    for entry in part.entries:
        graph.apply([entry]).rows()


def measure(folder: Path, size: Size | None, diffs: int, followers: int) -> None:
    """Load, apply all diffs, and print what each kind costs."""
    prepare(NAME, folder, size)
    inputs = read(NAME, folder)
    tweets = pa.concat_tables([each.rows for each in inputs.diffs if each.table == "tweet"])
    graph = JoinGraph(counted())
    graph.compile()
    print(f"{seconds(partial(graph.load, dict(inputs.tables))):.2f} s to load")
    print(f"{seconds(partial(show, graph)):.2f} s to read it first")
    for part in parts_of(dict(inputs.tables), tweets[: diffs - followers], followers):
        took = seconds(partial(carry_out, graph, part))
        print(f"{part.name:<16}{part.diffs:>8,}  {took / part.diffs * 1e6:10,.1f} us each")
    show(graph)
    graph.check()
    print("checked")


def show(graph: JoinGraph) -> Any:
    """Print the view's one row."""
    (row,) = graph.scan().read_all().to_pylist()
    print(f"{row['n']:,} rows of the join, {int(row['n']).bit_length()} bits; sum {row['total']:,}")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, with data that are kept or made for this run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unmade_rows", description=__doc__)
    parser.add_argument("--data", type=Path, help="raw columns; missing ones are made")
    parser.add_argument("--size", choices=SIZES, help="of data made by this run (small)")
    parser.add_argument("--diffs", type=int, default=50_000, help="base diffs in all")
    parser.add_argument("--followers", type=int, default=1_000, help="of these, in follower")
    asked = parser.parse_args(argv)
    with TemporaryDirectory() as made:
        size = SIZES[asked.size] if asked.size else None
        measure(asked.data or Path(made), size, asked.diffs, asked.followers)


if __name__ == "__main__":
    main()
