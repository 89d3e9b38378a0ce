"""memory_limit: what has no room is refused before anything is changed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.graph.compiled.memory.tables import slots_of

VIEW = jg.View(
    "SELECT F.fan, T.text FROM follower F JOIN tweet T ON F.author = T.author",
    {
        "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
        "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT, text STRING)",
    },
)
LIMIT = 4 << 20
ROOT = Path(__file__).parent.parent


def tweets(first: int, count: int, text: str = "x") -> pa.Table:
    """Make tweets of different authors."""
    ids = list(range(first, first + count))
    return pa.table({"author": ids, "id": ids, "text": [f"{text} {each}" for each in ids]})


@pytest.mark.parametrize("form", ["rows", "idiffs", "factorised"])
def test_a_graph_grows_to_its_limit_and_then_refuses(form: str) -> None:
    graph = jg.JoinGraph(VIEW, memory_limit=LIMIT)
    batches = 0
    with pytest.raises(
        jg.LimitError, match=r"memory_limit=4,194,304: the graph takes [\d,]+ bytes"
    ):
        for batches in range(1000):
            graph.apply([("insert", "tweet", tweets(100 * batches, 100))], form=form)
    stats = graph.stats()
    assert stats["aliases"]["T"]["rows"] == 100 * batches
    assert LIMIT / 4 < stats["bytes"] <= LIMIT
    graph.check()
    graph.delete("tweet", tweets(0, 10))


def test_a_long_list_is_seen_before_it_grows() -> None:
    graph = jg.JoinGraph(VIEW, memory_limit=LIMIT)
    one = pa.table({"author": [7] * 1000, "fan": range(1000)})
    with pytest.raises(jg.LimitError, match="nothing was changed"):
        for _ in range(1000):
            graph.load({"follower": one})
    assert LIMIT / 8 < graph.stats()["bytes"] <= LIMIT


KINDS = {
    "fresh texts": lambda i: tweets(20_000 * i, 20_000, "a text of some length"),
    "fresh keys": lambda i: tweets(20_000 * i, 20_000, "x").set_column(
        2, "text", pa.array(["x"] * 20_000)
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_limit_is_reached_and_what_was_freed_is_used_again(kind: str) -> None:
    limit, batches = 24 << 20, 0
    graph = jg.JoinGraph(VIEW, memory_limit=limit)
    with pytest.raises(jg.LimitError, match=r"the graph takes [\d,]+ bytes and this batch takes"):
        for batches in range(1000):
            graph.insert("tweet", KINDS[kind](batches))
    taken, more = graph.stats()["bytes"], 20_000 * 120
    assert limit - more < taken <= limit
    graph.check()
    for number in range(batches):
        graph.delete("tweet", KINDS[kind](number))
    for number in range(batches):
        graph.insert("tweet", KINDS[kind](number))
    assert graph.stats()["bytes"] <= limit
    graph.check()


def test_deletes_and_changes_in_place_pass_in_a_full_graph() -> None:
    graph = jg.JoinGraph(VIEW, memory_limit=LIMIT)
    graph.load({"tweet": tweets(0, 1000)})
    graph.engine.limit(1)
    with pytest.raises(jg.LimitError):
        graph.insert("tweet", tweets(1000, 1))
    graph.update("tweet", [(0, 0, "x 0")], [(0, 0, "x 1")])
    graph.delete("tweet", tweets(1, 999))
    assert graph.stats()["aliases"]["T"]["rows"] == 1


def test_a_long_list_that_was_emptied_has_room_again() -> None:
    one = pa.table({"author": [7] * 200_000, "fan": range(200_000)})
    graph = jg.JoinGraph(VIEW, memory_limit=12 << 20)
    for _ in range(3):
        graph.insert("follower", one)
        graph.delete("follower", one)
    graph.check()


def test_large_texts_are_refused_at_once() -> None:
    graph = jg.JoinGraph(VIEW, memory_limit=LIMIT)
    with pytest.raises(jg.LimitError):
        graph.insert("tweet", tweets(0, 100, "x" * 100_000))
    assert graph.stats()["aliases"]["T"]["rows"] == 0


def test_a_batch_of_too_many_view_diffs_is_refused_and_can_be_streamed() -> None:
    graph = jg.JoinGraph(VIEW, engine="reference")
    graph.load({"follower": [(1, fan) for fan in range(50)]})
    graph.max_view_diffs = 99
    graph.insert("tweet", [(1, 1, "one")])
    batch = [("insert", "tweet", [(1, 2, "two"), (1, 3, "three")])]
    with pytest.raises(jg.LimitError, match=r"max_view_diffs=99: this batch makes 100 rows"):
        graph.apply(batch)
    assert graph.count() == 50
    assert sum(len(block) for block in graph.stream(batch)) == 100


def test_the_plain_engine_keeps_no_limit() -> None:
    with pytest.raises(jg.LimitError, match="compiled engine"):
        jg.JoinGraph(VIEW, engine="reference", memory_limit=LIMIT)
    with pytest.raises(ValueError, match="number of bytes"):
        jg.JoinGraph(VIEW, memory_limit=0)


GROW = """
import resource, sys
import pyarrow as pa
import joingraph as jg
from tests.test_store_memory import VIEW, tweets

def grown() -> int:
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

graph = jg.JoinGraph(VIEW)
graph.insert("tweet", tweets(0, 10))
graph.close()
limit = int(sys.argv[1])
graph, idle, most = jg.JoinGraph(VIEW, memory_limit=limit), grown(), 0
graph.maintain_only = True
try:
    for number in range(1000):
        graph.insert("tweet", tweets(20_000 * number, 20_000, "a text of some length"))
        most = max(most, grown() - idle)
except jg.LimitError:
    print(most / limit)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux for its memory")
def test_a_process_grows_by_little_more_than_the_limit() -> None:
    limit = 256 << 20
    done = subprocess.run(
        [sys.executable, "-c", GROW, str(limit)],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    assert 0.4 < float(done.stdout) < 1.1


KEYED = jg.View(
    "SELECT F.fan, T.text FROM follower F JOIN tweet T ON F.author = T.author",
    {
        "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
        "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT PRIMARY KEY, text STRING)",
    },
)
WAYS: dict[str, tuple[int, Callable[[jg.JoinGraph, pa.Table], object]]] = {
    "calls": (500, lambda graph, rows: graph.apply([("insert", "tweet", rows)])),
    "blocks": (900, lambda graph, rows: graph.apply((("insert", "tweet", rows),))),
    "streams": (900, lambda graph, rows: [*graph.stream([("insert", "tweet", rows)])]),
    "loads": (10_000, lambda graph, rows: graph.load({"tweet": rows})),
}


@pytest.mark.parametrize("way", WAYS)
def test_tables_that_were_outgrown_take_no_memory(way: str) -> None:
    graph = jg.JoinGraph(KEYED, key_index=["tweet"])
    graph.load({"tweet": tweets(0, 170_000)})
    count, take = WAYS[way]
    for first in range(170_000, 180_000, count):
        take(graph, tweets(first, count))
    engine = graph.engine
    tables = [(each.state, each.area.regions[1]) for each in engine.keys.of.values()]
    tables += [(engine.interner.state, engine.interner.area.regions[1])]
    tables += [(engine.memory.vertex(n), each) for n, each in enumerate(engine.memory.indexes)]
    assert len(tables) == 3
    for state, index in tables:  # an index of so many slots lies so many behind the start
        assert slots_of(state) == 1 << 19
        assert not index.words[: slots_of(state)].any(), "pages given back read as zero"
