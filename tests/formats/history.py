"""What the stored folders hold: a view of many types, a feed over it, and what can be asked of it.

A format that is to be kept is told by this view and this feed; add columns, never change them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal

import joingraph as jg

TABLES = {
    "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
    "tweet": (
        "CREATE TABLE tweet (id BIGINT PRIMARY KEY, author BIGINT, text STRING, raw BINARY,"
        " score DOUBLE, price DECIMAL(30, 2), day DATE, at TIMESTAMP, seen BOOLEAN)"
    ),
}
VIEW = jg.View(
    "SELECT F.fan, T.id, T.text, T.raw, T.score, T.price, T.day, T.at, T.seen"
    " FROM follower F JOIN tweet T ON F.author = T.author",
    TABLES,
)
Batch = list[tuple[str, str, list[object]]]


def tweet(id: int) -> tuple[object, ...]:
    """Make a tweet; every third has NULLs."""
    some: tuple[object, ...] = (
        f"text {id} ü",
        bytes([id, 0, 255]),
        id / 4,
        Decimal(f"{id}00000000000000000000.25"),
        date(2024, 2, id),
        datetime(2024, 2, id, 12, 30, 0, 1),
        id % 2 == 0,
    )
    return (id, 1 + id % 3, *(some if id % 3 else [None] * len(some)))


def batches() -> Iterator[Batch]:
    """Yield batches: tweets come and go, by their keys, and some go that were never there."""
    for id in range(1, 29):
        batch: Batch = [("insert", "tweet", [tweet(id)])]
        if id % 4 == 0:
            batch.append(("delete", "tweet", [{"id": id - 1}]))
        if id % 5 == 0:
            batch.append(("delete", "tweet", [{"id": 99}]))
            batch.append(("insert", "follower", [(3, 100 + id)]))
        yield batch


def told(graph: jg.JoinGraph) -> object:
    """Ask a graph what there is, in words that JSON has."""
    return {
        "rows": sorted(map(repr, graph.to_arrow().to_pylist())),
        "seq": graph.seq,
        "positions": graph.positions(),
        "quarantined": [repr(each.pre) for each in graph.quarantined()],
        "indexes": list(graph.stats()["indexes"]),
        "told": [[diff.seq, sorted(map(repr, diff.rows()))] for diff in graph.subscribe("search")],
    }
