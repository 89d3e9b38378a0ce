"""A stored copy of the view, kept by MERGE: no row named twice, and the copy is the view."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

import joingraph as jg
from joingraph.pipeline.sinks.merge import ROW, Merge, merge_of
from tests.bags import bag

TABLES = {
    "follower": "CREATE TABLE follower (userId BIGINT, followerId BIGINT)",
    "tweet": "CREATE TABLE tweet (userId BIGINT, tweetId BIGINT, text STRING, "
    "PRIMARY KEY (tweetId))",
    "author": "CREATE TABLE author (userId BIGINT, name STRING, PRIMARY KEY (userId))",
}
NAMED = "SELECT F.followerId, T.tweetId, T.text FROM follower F JOIN tweet T ON F.userId = T.userId"
NAMELESS = NAMED.replace("T.tweetId, ", "")
TWICE = (
    "SELECT T.tweetId, T.text, A.userId, A.name FROM tweet T JOIN author A ON T.userId = A.userId"
)
Copy = dict[tuple[object, ...], int]


def merged(copy: Copy, names: list[str], merge: Merge) -> None:
    """Do what a MERGE does to a copy whose rows have counts."""
    matched: Counter[tuple[object, ...]] = Counter()
    result = dict(copy)
    for new in merge.rows.to_pylist():
        compared = names if new["_op"] == ROW else merge.key
        at = [names.index(name) for name in compared]
        key = tuple(new[name] for name in compared)
        found = [row for row in copy if tuple(row[place] for place in at) == key]
        matched.update(found)
        if new["_op"] == ROW:
            row = tuple(new[name] for name in names)
            result[row] = result.get(row, 0) + new["_count"]
        else:
            for row in found:
                count = result.pop(row)
                if new["_op"] == "update":
                    said = zip(names, row, strict=True)
                    after = [new[n] if n in merge.values else old for n, old in said]
                    result[tuple(after)] = count
    assert not matched or max(matched.values()) == 1, "a row of the view is named twice"
    assert all(count >= 0 for count in result.values())
    copy.clear()
    copy.update({row: count for row, count in result.items() if count})


def batch(rng: random.Random, rows: dict[str, list[Any]]) -> list[Any]:
    """Change the tables at random; keys stay keys."""
    diffs: list[Any] = []
    for _ in range(rng.randint(1, 6)):
        name = rng.choice(sorted(rows))
        used = {row[1] if name == "tweet" else row[0] for row in rows[name]}
        free = rng.choice([key for key in range(30) if key not in used])
        new: dict[str, tuple[object, ...]] = {
            "follower": (rng.randrange(5), rng.randrange(4)),
            "tweet": (rng.randrange(5), free, rng.choice(["a", "b", None])),
            "author": (free, rng.choice(["x", "y"])),
        }
        if not rows[name] or rng.random() < 0.4:
            rows[name].append(new[name])
            diffs.append(("insert", name, [new[name]]))
            continue
        at = rng.randrange(len(rows[name]))
        old, after = rows[name][at], new[name]
        if rng.random() < 0.3:
            del rows[name][at]
            diffs.append(("delete", name, [old]))
            continue
        if name != "follower" and rng.random() < 0.7:  # what is not its key
            after = (*old[:-1], after[-1])
        rows[name][at] = after
        diffs.append(("update", name, [old], [after]))
    return diffs


@pytest.mark.parametrize("sql", [NAMED, NAMELESS, TWICE])
@pytest.mark.parametrize("seed", range(20))
def test_a_copy_kept_by_merge_is_the_view(sql: str, seed: int) -> None:
    rng, rows = random.Random(seed), dict[str, list[Any]]()
    view = jg.View(sql, tables=TABLES)
    rows = {alias.table: [] for alias in view.definition.aliases}
    graph, copy = jg.JoinGraph(view, engine="reference"), Copy()
    for _ in range(30):
        merged(copy, view.schema.names, merge_of(graph.apply(batch(rng, rows))))
        held = [tuple(row.values()) for row in graph.to_arrow().to_pylist()]
        assert bag(held) == bag(row for row, count in copy.items() for _ in range(count))


def test_one_row_stands_for_all_that_a_key_names() -> None:
    graph = jg.JoinGraph(jg.View(NAMED, tables=TABLES), engine="reference")
    graph.load({"follower": [(1, fan) for fan in range(50)], "tweet": [(1, 7, "a"), (1, 8, "b")]})
    both = [("update", "tweet", [(1, 7, "a")], [(1, 7, "c")]), ("delete", "tweet", [(1, 8, "b")])]
    assert len(merge_of(graph.apply(both)).rows) == 2
    assert len(merge_of(graph.insert("tweet", [(1, 9, "d")])).rows) == 50


def test_a_key_that_is_touched_otherwise_is_told_by_rows() -> None:
    graph = jg.JoinGraph(jg.View(NAMED, tables=TABLES), engine="reference")
    graph.load({"follower": [(1, 1), (2, 2)], "tweet": [(1, 7, "a"), (2, 8, "b")]})
    said = [
        ("update", "tweet", [(1, 7, "a"), (2, 8, "b")], [(1, 7, "c"), (2, 8, "c")]),
        ("insert", "follower", [(1, 5)]),
    ]
    found = merge_of(graph.apply(said)).rows
    assert sorted(zip(found["_op"].to_pylist(), found["tweetId"].to_pylist(), strict=True)) == [
        ("row", 7), ("row", 7), ("row", 7), ("update", 8),
    ]  # fmt: skip
