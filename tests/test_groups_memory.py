"""memory_limit of views that group: groups, messages, bags and notes are counted beforehand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import joingraph as jg
from joingraph.engines.compiled.groups.grouped import CompiledGroups
from joingraph.graph.compiled.memory.reserved import CHECKED

TABLES = {
    "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
    "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT, score BIGINT)",
    "retweet": "CREATE TABLE retweet (id BIGINT, n INT)",
}
TWO = "FROM follower F JOIN tweet T ON F.author = T.author"
THREE = f"{TWO} JOIN retweet R ON R.id = T.id"
VIEWS = {
    "sums": f"SELECT F.fan, COUNT(*) AS n, SUM(T.score) AS s {TWO} GROUP BY F.fan",
    "sums by a join attribute": f"SELECT F.author, COUNT(*) AS n {TWO} GROUP BY F.author",
    "a total": f"SELECT COUNT(*) AS n, SUM(R.n) AS s {THREE}",
    "best values": f"SELECT F.fan, MAX(T.score) AS m {TWO} GROUP BY F.fan",
    "best values from afar": f"SELECT F.fan, COUNT(*) AS n, MIN(R.n) AS m {THREE} GROUP BY F.fan",
    "a set": f"SELECT DISTINCT F.fan {THREE}",
}
LIMIT = 4 << 20
ROOT = Path(__file__).parent.parent
Batch = list[tuple[str, str, list[tuple[int, ...]]]]


def view_of(sql: str) -> jg.View:
    return jg.View(sql, {name: text for name, text in TABLES.items() if f"{name} " in sql})


def batches(view: jg.View) -> Iterator[Batch]:
    """Yield batches whose groups are as many as their rows."""
    chance = Random(7)
    while True:
        authors = [chance.randrange(most) for most in (2000, 10**6) for _ in range(150)]
        follower = [(author, chance.randrange(10**6)) for author in authors]
        tweet = [(chance.randrange(2000), *(chance.randrange(9**5) for _ in "ab"))] * 2
        retweet = [(tweet[0][1], chance.randrange(99)) for _ in range(9)]
        rows = {"follower": follower, "tweet": tweet, "retweet": retweet}
        yield [("insert", name, rows[name]) for name in view.tables]


def filled(view: jg.View, limit: int) -> tuple[jg.JoinGraph, list[Batch]]:
    """Fill a graph to its limit."""
    graph, done = jg.JoinGraph(view, memory_limit=limit), list[Batch]()
    assert isinstance(graph.engine, CompiledGroups)
    with pytest.raises(jg.LimitError, match=r"memory_limit=[\d,]+: the graph takes [\d,]+ bytes"):
        for batch in batches(view):
            graph.apply(batch)
            done.append(batch)
    return graph, done


@pytest.mark.parametrize("name", VIEWS)
def test_groups_grow_to_the_limit_and_then_are_refused(name: str) -> None:
    view = view_of(VIEWS[name])
    graph, done = filled(view, LIMIT)
    stats = graph.stats()
    assert LIMIT / 3 < stats["bytes"] + stats["group_bytes"] <= LIMIT
    assert stats["aliases"]["F"]["rows"] == 300 * len(done)
    graph.check()
    other = jg.JoinGraph(view)
    for batch in done:
        other.apply(batch)
    rows = [sorted(each.scan().read_all().to_pylist(), key=repr) for each in (graph, other)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("name", VIEWS)
def test_deletes_pass_in_a_full_graph_and_what_they_free_is_used_again(name: str) -> None:
    graph, done = filled(view_of(VIEWS[name]), LIMIT)
    for batch in done:
        graph.apply([("delete", table, rows) for _, table, rows in batch])
    assert graph.count() == (name == "a total")
    for batch in done[: len(done) // 2]:
        graph.apply(batch)
    graph.check()


def test_rows_without_room_for_their_groups_are_not_loaded() -> None:
    view = view_of(VIEWS["sums"])
    rows = {"follower": [(at % 9, at) for at in range(30_000)], "tweet": [(1, 1, 1)]}
    graph = jg.JoinGraph(view, memory_limit=LIMIT // 2)
    with pytest.raises(jg.LimitError, match=r"its groups take [\d,]+ more; nothing was changed"):
        graph.load(rows)
    assert graph.stats()["aliases"]["F"]["rows"] == graph.count() == 0
    graph.check()
    few = {"follower": [(at % 9, at % 100) for at in range(30_000)], "tweet": [(1, 1, 1)]}
    graph.load(few)
    assert graph.stats()["groups"] == 100
    jg.JoinGraph(view, memory_limit=LIMIT // 2, keep_groups=False).load(rows)


def test_where_no_groups_are_kept_rows_alone_count_until_groups_are_asked_for() -> None:
    graph = jg.JoinGraph(view_of(VIEWS["sums"]), memory_limit=LIMIT // 2)
    graph.maintain_only = True
    graph.apply([("insert", "tweet", [(1, 1, 1)])])
    graph.apply([("insert", "follower", [(at % 9, at) for at in range(30_000)])])
    with pytest.raises(jg.LimitError, match="its groups take"):
        graph.count()
    graph.apply([("delete", "follower", [(at % 9, at) for at in range(100, 30_000)])])
    assert graph.count() == 11


def test_sums_that_need_two_words_are_counted_before_they_do() -> None:
    graph = jg.JoinGraph(view_of(VIEWS["sums"]), memory_limit=LIMIT)
    graph.load({"follower": [(at % 900, at) for at in range(900)]})
    for at in range(5):
        graph.insert("tweet", [(at, 1, 9 * 10**18)])
    assert {each["s"] for each in graph.scan().read_all().to_pylist()} == {9 * 10**18}
    graph.check()


def test_groups_of_joined_rows_have_no_limit_and_say_so() -> None:
    residual = f"SELECT F.fan, COUNT(*) AS n {TWO} AND F.fan < T.id GROUP BY F.fan"
    for view, engine in ((view_of(residual), "auto"), (view_of(VIEWS["sums"]), "reference")):
        with pytest.raises(jg.LimitError, match=r"groups of joined rows.*keep_groups=False"):
            jg.JoinGraph(view, engine=engine, memory_limit=LIMIT)


def test_sums_too_wide_for_messages_are_refused_where_memory_has_a_limit() -> None:
    view = jg.View(
        "SELECT SUM(a.d) AS s FROM t a JOIN t b ON a.k = b.k",
        {"t": "CREATE TABLE t (k INT, d DECIMAL(38,0))"},
    )
    most = 10**37
    graph = jg.JoinGraph(view, memory_limit=LIMIT)
    with pytest.raises(jg.LimitError, match=r"more than 126 bits, and memory_limit=.*CAST"):
        graph.insert("t", [(1, most)] * 20)
    assert graph.scan().read_all().to_pylist() == [{"s": None}]
    graph.check()


GROW = """
import sys
import pyarrow as pa
import joingraph as jg
from tests.test_groups_memory import VIEWS, grown, view_of

limit, view = int(sys.argv[2]), view_of(VIEWS[sys.argv[1]])
graph = jg.JoinGraph(view)
graph.insert("follower", [(1, 1)])
graph.close()
graph, idle, most = jg.JoinGraph(view, memory_limit=limit), grown(), 0
if "retweet" in view.tables:
    graph.load({"retweet": [(1, n) for n in range(9)]})
graph.load({"tweet": [(author, 1, author) for author in range(20_000)]})
try:
    for number in range(0, 10**9, 20_000):
        rows = pa.table({"author": range(20_000), "fan": range(number, number + 20_000)})
        graph.insert("follower", rows)
        most = max(most, grown() - idle)
except jg.LimitError:
    print(most / limit)
"""


def grown() -> int:
    """Return the bytes of memory that this process takes."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) << 12


@pytest.mark.parametrize("name", ["sums", "best values from afar"])
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux for its memory")
@pytest.mark.skipif(CHECKED, reason="machine code that checks each access takes 46 MB more")
def test_a_process_with_groups_grows_by_little_more_than_the_limit(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", GROW, name, str(192 << 20)],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    assert 0.4 < float(done.stdout) < 1.1
