"""How long it takes to read a page of a view that is stored nowhere, on the large data.

python -m benchmarks.reads --data DIR [--size large] [--save benchmarks/results/reads.json]

q1 is every tweet for every follower of its author. A page is the newest 20 tweets for one
subscriber; 20 of them follow 10, 100 and 1,000 authors each, chosen at random. Two views hold it:

    q1         followerId is in follower alone: graph.index("followerId") says where to look
    timeline   U.userId = F.followerId joins user: the join vertex is index enough, none is declared

Each page is read 10 times, the subscribers taking turns. `first` is the middle time of those read
for the first time, when the question is new; `again` of all others; `touched` the tuples of one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.harness.origin import save_figures
from benchmarks.workloads.catalogue import prepare, read
from benchmarks.workloads.model import SIZES, read_columns
from benchmarks.workloads.views import TABLES
from joingraph import JoinGraph, View

SUBSCRIBERS, TURNS = 20, 10
ORDER, LIMIT = "tweetDate DESC", 20
FOLLOWEES = (10, 100, 1_000)
FIRST_SUBSCRIBER = 10**9
VIEWS = {
    "q1": "SELECT F.followerId, T.userId, T.tweetId, T.tweetDate FROM follower F"
    " JOIN tweet T ON F.userId = T.userId",
    "timeline": "SELECT U.userId AS followerId, T.userId, T.tweetId, T.tweetDate FROM user U"
    " JOIN follower F ON U.userId = F.followerId JOIN tweet T ON F.userId = T.userId",
}


def main(argv: Sequence[str] | None = None) -> None:
    """Load each view, read its pages, and what one author is part of."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reads")
    parser.add_argument("--data", type=Path, required=True, help="raw columns; made if missing")
    parser.add_argument("--size", choices=SIZES, help="of data made by this run (small)")
    parser.add_argument("--save", type=Path, help="write the result to this file")
    arguments = parser.parse_args(argv)
    prepare("q1", arguments.data, SIZES[arguments.size] if arguments.size else None)
    tables = with_subscribers(arguments.data)
    lines = [line for name in VIEWS for line in measured(name, tables)]
    for line in lines:
        print(json.dumps(line))
    save_figures({"runs": lines}, arguments.save)


def with_subscribers(folder: Path) -> dict[str, pa.Table]:
    """Read the base tables and add subscribers who follow random authors."""
    tables = dict(read("q1", folder).tables)
    tables["user"] = pa.table(read_columns(folder / "user"))
    rng = np.random.default_rng(5)
    authors = tables["tweet"]["userId"].unique().to_numpy()
    for group, count in enumerate(FOLLOWEES):
        for subscriber in subscribers(group):
            followed = rng.choice(authors, min(count, len(authors)), replace=False)
            ids = np.full(len(followed), subscriber)
            more = pa.table({"userId": followed, "followerId": ids})
            tables["follower"] = pa.concat_tables([tables["follower"], more])
            tables["user"] = pa.concat_tables([tables["user"], pa.table({"userId": ids[:1]})])
    return tables


def subscribers(group: int) -> range:
    """Number the subscribers who follow equally many authors."""
    first = FIRST_SUBSCRIBER + group * SUBSCRIBERS
    return range(first, first + SUBSCRIBERS)


def measured(name: str, tables: dict[str, pa.Table]) -> list[dict[str, Any]]:
    """Read pages of one view, and everything of one author."""
    used = {table: rows for table, rows in tables.items() if f"{table} " in VIEWS[name]}
    declared = {table: declaration(table) for table in used}
    graph = JoinGraph(View(VIEWS[name], declared))
    graph.load(used)
    if name == "q1":
        graph.index("followerId")
    of = {"view": name, "rows": graph.count(), "bytes": graph.stats()["bytes"]}
    found = []
    for group, count in enumerate(FOLLOWEES):
        wheres = [f"followerId = {each}" for each in subscribers(group)]
        found.append({**of, "followees": count, **page_times(graph, wheres)})
    author = tables["tweet"]["userId"][0].as_py()
    how = graph.explain(f"userId = {author}")
    rows = how.read().read_all().num_rows
    return [*found, {**of, "author": author, "author_rows": rows, **touched(how)}]


def declaration(table: str) -> str:
    """Write CREATE TABLE."""
    return f"CREATE TABLE {table} ({', '.join(f'{each} BIGINT' for each in TABLES[table])})"


def page_times(graph: JoinGraph, wheres: list[str]) -> dict[str, Any]:
    """Read each page several times, in turns."""
    seconds: list[list[float]] = []
    for _ in range(TURNS):
        turn = []
        for where in wheres:
            start = perf_counter()
            page = graph.scan(where, order_by=ORDER, limit=LIMIT).read_all()
            turn.append(perf_counter() - start)
            assert 0 < page.num_rows <= LIMIT
        seconds.append(turn)
    how = graph.explain(wheres[0], order_by=ORDER, limit=LIMIT)
    how.read().read_all()
    first, again = median(seconds[0]), median([each for turn in seconds[1:] for each in turn])
    times = {"first_ms": round(first * 1e3, 3), "again_ms": round(again * 1e3, 3)}
    return {**times, "least_ms": round(min(map(min, seconds)) * 1e3, 3), **touched(how)}


def touched(how: Any) -> dict[str, Any]:
    """Return where a read has started and what it has touched."""
    counts = {"join_tuples": how.touched.join_tuples, "projected": how.touched.projected_tuples}
    return {"start": how.text.splitlines()[1].removeprefix("start").strip(), "touched": counts}


if __name__ == "__main__":
    main()
