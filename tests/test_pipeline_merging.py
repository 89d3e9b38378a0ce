"""A stored copy of the view, kept by MERGE: no row named twice, and the copy is the view."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

import joingraph as jg
from joingraph.pipeline.sinks.merge import GROUP, ROW, Merge, merge_of, rows_over_nothing
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


def as_spark(value: object) -> object:
    """Return a value that equals another where Spark's null-safe equality holds between them."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return tuple(value) if isinstance(value, list) else value


def rows_of(graph: jg.JoinGraph) -> list[tuple[object, ...]]:
    return [tuple(map(as_spark, row.values())) for row in graph.to_arrow().to_pylist()]


def merged(copy: Copy, names: list[str], merge: Merge) -> None:
    """Do what a MERGE does to a copy whose rows have counts."""
    matched: Counter[tuple[object, ...]] = Counter()
    result = dict(copy)
    for each in merge.rows.to_pylist():
        new = {name: as_spark(value) for name, value in each.items()}
        compared = names if new["_op"] == ROW else merge.key
        at = [names.index(name) for name in compared]
        key = tuple(new[name] for name in compared)
        found = [row for row in copy if tuple(row[place] for place in at) == key]
        matched.update(found)
        if new["_op"] == GROUP:
            assert len(found) <= 1
            for row in found:
                del result[row]
            result[tuple(new[name] for name in names)] = 1
        elif new["_op"] == ROW:
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
        merged(copy, view.schema.names, merge_of(graph.apply(batch(rng, rows)), view.definition))
        held = [tuple(row.values()) for row in graph.to_arrow().to_pylist()]
        assert bag(held) == bag(row for row, count in copy.items() for _ in range(count))


def test_one_row_stands_for_all_that_a_key_names() -> None:
    graph = jg.JoinGraph(jg.View(NAMED, tables=TABLES), engine="reference")
    graph.load({"follower": [(1, fan) for fan in range(50)], "tweet": [(1, 7, "a"), (1, 8, "b")]})
    both = [("update", "tweet", [(1, 7, "a")], [(1, 7, "c")]), ("delete", "tweet", [(1, 8, "b")])]
    assert len(merge_of(graph.apply(both), graph.view.definition).rows) == 2
    insert = graph.insert("tweet", [(1, 9, "d")])
    assert len(merge_of(insert, graph.view.definition).rows) == 50


def test_a_key_that_is_touched_otherwise_is_told_by_rows() -> None:
    graph = jg.JoinGraph(jg.View(NAMED, tables=TABLES), engine="reference")
    graph.load({"follower": [(1, 1), (2, 2)], "tweet": [(1, 7, "a"), (2, 8, "b")]})
    said = [
        ("update", "tweet", [(1, 7, "a"), (2, 8, "b")], [(1, 7, "c"), (2, 8, "c")]),
        ("insert", "follower", [(1, 5)]),
    ]
    found = merge_of(graph.apply(said), graph.view.definition).rows
    assert sorted(zip(found["_op"].to_pylist(), found["tweetId"].to_pylist(), strict=True)) == [
        ("row", 7), ("row", 7), ("row", 7), ("update", 8),
    ]  # fmt: skip


MEASURED = {
    "place": "CREATE TABLE place (id INT, at DOUBLE, name STRING)",
    "seen": "CREATE TABLE seen (id INT, x DOUBLE, n INT)",
}
SEEN = "FROM place JOIN seen ON place.id = seen.id"
GROUPED = (
    f"SELECT at, name, COUNT(*) AS n, MAX(x) AS most {SEEN} GROUP BY at, name",
    f"SELECT at, SUM(n) AS n {SEEN} GROUP BY at HAVING COUNT(*) > 1",
    f"SELECT DISTINCT at, name {SEEN}",
    f"SELECT MAX(x) AS most, SUM(n) AS n {SEEN} GROUP BY at, name",
    f"SELECT COUNT(*) AS n, MAX(x) AS most, sort_array(collect_list(n)) AS all {SEEN}",
    f"SELECT MAX(x) AS most {SEEN} HAVING COUNT(*) > 2",
)


DOUBLES = (None, 0.0, -0.0, 1.5, math.nan)


def measured(
    rng: random.Random, rows: dict[str, list[Any]], doubles: Sequence[float | None] = DOUBLES
) -> list[Any]:
    """Change the tables of the views that group at random."""
    diffs: list[Any] = []
    for _ in range(rng.randint(1, 5)):
        name = rng.choice(sorted(rows))
        at = rng.choice(doubles)
        last = rng.choice([None, "a", "b"]) if name == "place" else rng.randrange(3)
        new = (rng.randrange(2), at, last)
        if not rows[name] or rng.random() < 0.5:
            rows[name].append(new)
            diffs.append(("insert", name, [new]))
            continue
        old = rows[name].pop(rng.randrange(len(rows[name])))
        diffs.append(("delete", name, [old]))
        if rng.random() < 0.6:
            rows[name].append(new)
            diffs[-1] = ("update", name, [old], [new])
    return diffs


@pytest.mark.parametrize("sql", GROUPED)
@pytest.mark.parametrize("seed", range(10))
def test_a_copy_of_groups_kept_by_merge_is_the_view(sql: str, seed: int) -> None:
    rng, view = random.Random(seed), jg.View(sql, tables=MEASURED)
    rows: dict[str, list[Any]] = {"place": [], "seen": []}
    graph, names = jg.JoinGraph(view, engine="reference"), view.schema.names
    first = [tuple(row[name] for name in names) for row in rows_over_nothing(view).to_pylist()]
    copy = Copy({tuple(map(as_spark, row)): 1 for row in first})
    assert bag(rows_of(graph)) == bag(copy)
    for _ in range(30):
        merged(copy, names, merge_of(graph.apply(measured(rng, rows)), view.definition))
        assert bag(rows_of(graph)) == bag(row for row, n in copy.items() for _ in range(n))


def test_a_group_is_one_row_of_a_merge_however_much_it_changed() -> None:
    view = jg.View(GROUPED[1], tables=MEASURED)
    graph, nan = jg.JoinGraph(view, engine="reference"), math.nan
    graph.load({"place": [(1, None, "a"), (2, nan, "b"), (3, -0.0, "c")]})
    first = graph.insert("seen", [(1, 0.5, 1), (1, 0.5, 2), (2, 0.5, 3), (2, 0.5, 4)])
    both = merge_of(first, view.definition)
    assert (both.key, both.values) == (("at",), ("n",))
    assert tuple(both.rows.to_pylist()[0].values()) == (None, 3, 1, GROUP)
    batch = [("insert", "seen", [(1, 0.0, 5), (3, 0.0, 6)]), ("delete", "seen", [(2, 0.5, 3)])]
    found = merge_of(graph.apply(batch), view.definition).rows
    assert list(zip(found["_op"].to_pylist(), found["n"].to_pylist(), strict=True)) == [
        (GROUP, 8), ("delete", 7),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "sql", ["SELECT x * n AS x FROM seen", "SELECT MAX(x) * MIN(n) AS x FROM seen GROUP BY id"]
)
def test_rows_that_sql_holds_equal_are_one_row_of_a_merge(sql: str) -> None:
    view = jg.View(sql, tables=MEASURED)
    graph = jg.JoinGraph(view, engine="reference")
    both = merge_of(graph.insert("seen", [(1, 0.0, 1), (2, 0.0, -1)]), view.definition).rows
    assert both["_count"].to_pylist() == [2]
    turned = graph.update("seen", [(1, 0.0, 1)], [(1, 0.0, -1)])
    assert len(turned) == 2
    assert not len(merge_of(turned, view.definition).rows)
