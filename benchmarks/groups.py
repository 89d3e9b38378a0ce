"""How many groups a diff touches as the fan-out grows, and what MIN and MAX cost in a large group.

python -m benchmarks.groups [--most 1000000] [--save benchmarks/results/groups.json]

    touched    a second tweet of a user with N followers: the groups that the engine touches
    extremes   random rows of a group of N values go, and other ones come: us for both

The file has a line of points (x, y) for each view, which `python -m benchmarks.plots` draws. A view
of an engine that counts no touched groups has no line.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.harness.checksum import tally_groups
from benchmarks.harness.origin import save_figures
from benchmarks.harness.timing import seconds
from benchmarks.workloads.views import declaration
from joingraph import JoinGraph, View

FANOUTS = (1, 10, 30, 100, 300, 1_000)
USERS = 100
VALUES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
CHANGES, ROUNDS = 100, 11

JOINED = "FROM follower F, tweet T WHERE F.userId = T.userId"
TOUCHING = {
    "COUNT(*) without GROUP BY": f"SELECT COUNT(*) AS n {JOINED}",
    "COUNT(*) by F.userId": f"SELECT F.userId AS id, COUNT(*) AS n {JOINED} GROUP BY F.userId",
    "MIN(T.tweetDate) by F.followerId": (
        f"SELECT F.followerId AS id, MIN(T.tweetDate) AS low {JOINED} GROUP BY F.followerId"
    ),
    "DISTINCT F.followerId": f"SELECT DISTINCT F.followerId AS id {JOINED}",
}
OF_GROUP = "FROM part P, reading R WHERE P.id = R.part GROUP BY P.id"
EXTREMES = {
    f"{each}(R.value)": f"SELECT P.id AS id, {each}(R.value) AS found {OF_GROUP}"
    for each in ("MIN", "MAX", "COUNT")
}
READINGS = {
    "part": "CREATE TABLE part (id BIGINT, PRIMARY KEY (id))",
    "reading": "CREATE TABLE reading (part BIGINT, value BIGINT, PRIMARY KEY (value))",
}


class Line(NamedTuple):
    """One view's points in one figure."""

    figure: str
    name: str
    points: Sequence[tuple[int, float]]


def touched(graph: JoinGraph) -> int | None:
    """Return how many groups the graph has touched since it was made; None: it does not count."""
    count: int | None = graph.stats().get("touched")
    return count


def touched_lines(fanouts: Sequence[int]) -> Iterator[Line]:
    """Yield the touched groups a diff, by fan-out."""
    for name, sql in TOUCHING.items():
        view = View(sql, {table: declaration(table) for table in ("follower", "tweet")})
        found = [(fanout, touched_a_diff(view, fanout)) for fanout in fanouts]
        points = [(fanout, count) for fanout, count in found if count is not None]
        if points:
            yield Line("touched", name, points)


def touched_a_diff(view: View, fanout: int) -> float | None:
    """Load users who have their followers and a tweet each; then each has a later one."""
    users = np.arange(USERS)
    follower = {"userId": np.repeat(users, fanout), "followerId": np.arange(USERS * fanout)}
    graph = JoinGraph(view)
    graph.load({"follower": pa.table(follower), "tweet": tweets(users, first=0)})
    before = touched(graph)
    graph.insert("tweet", tweets(users, first=USERS))
    after = touched(graph)
    return None if before is None or after is None else (after - before) / USERS


def tweets(users: Any, *, first: int) -> pa.Table:
    """Make a tweet of each user; ids and dates rise."""
    numbers = first + np.arange(len(users))
    return pa.table({"userId": users, "tweetId": numbers, "tweetDate": numbers})


def extreme_lines(values: Sequence[int]) -> Iterator[Line]:
    """Yield what a delete and an insert cost, by the number of values in their group."""
    for name, sql in EXTREMES.items():
        view = View(sql, READINGS)
        yield Line("extremes", name, [(count, us_a_change(view, count)) for count in values])


def us_a_change(view: View, count: int) -> float:
    """Replace random rows by new ones, in rounds; the first one warms up."""
    graph, rng = JoinGraph(view), np.random.default_rng(count)
    values = rng.integers(2**62, size=count)
    graph.compile()
    graph.load({"part": pa.table({"id": [1]}), "reading": readings(values)})
    times = list[float]()
    for _ in range(ROUNDS):
        places, new = rng.integers(count, size=CHANGES), rng.integers(2**62, size=CHANGES)
        old = np.empty_like(new)
        for at, place in enumerate(places):
            old[at], values[place] = values[place], new[at]
        entry = ("update", "reading", readings(old), readings(new))
        times.append(seconds(partial(consume, graph, entry)))
    return round(median(times[1:]) / CHANGES * 1e6, 2)


def readings(values: Any) -> pa.Table:
    """Make rows of the one group."""
    return pa.table({"part": np.ones(len(values), np.int64), "value": values})


def consume(graph: JoinGraph, entry: tuple[Any, ...]) -> None:
    """Apply one entry and read every value of its view diffs."""
    for block in graph.stream([entry]):
        tally_groups(block, 1)


def written(lines: Sequence[Line]) -> Mapping[str, Any]:
    """Return what the file holds."""
    return {"lines": [line._asdict() for line in lines]}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure both figures; print and save their points."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groups", description=__doc__)
    parser.add_argument("--most", type=int, default=VALUES[-1], help="values in a group")
    parser.add_argument("--save", type=Path, help="write the result to this file")
    arguments = parser.parse_args(argv)
    values = [count for count in VALUES if count <= arguments.most]
    lines = [*touched_lines(FANOUTS), *extreme_lines(values)]
    for line in lines:
        points = "  ".join(f"{x:,}: {y:,.1f}" for x, y in line.points)
        print(f"{line.figure:<10}{line.name:<34}{points}")
    if not any(line.figure == "touched" for line in lines):
        print("touched   the engine counts no touched groups: no lines")
    save_figures(written(lines), arguments.save)


if __name__ == "__main__":
    main()
