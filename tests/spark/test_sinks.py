"""Sinks: a batch is there once, however often it comes."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from redis import Redis

import joingraph as jg
from joingraph.pipeline.sinks.contract import Sink
from joingraph.pipeline.sinks.embedded import Server
from joingraph.pipeline.sinks.parquet import Parquet
from joingraph.pipeline.sinks.redis import RedisStream, Timeline
from joingraph.spark.sink_delta import Delta
from joingraph.view_diffs.view_diff import ViewDiff
from tests.spark.conftest import FOLLOWER, TWEET
from tests.spark.kills import recomputed

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = Server(None)
    yield server.start()
    server.stop()


@pytest.fixture
def redis(url: str) -> Iterator[Any]:
    with Redis.from_url(url) as client:
        client.flushall()
        yield client


def batches(view: jg.View) -> list[ViewDiff]:
    graph = jg.JoinGraph(view, engine="reference")
    graph.load({"follower": [(1, 7, ""), (1, 8, ""), (1, 7, "")]})
    return [
        graph.insert("tweet", [(1, 10, "a"), (1, 11, "b")]),
        graph.update("tweet", [(1, 10, "a")], [(1, 10, "c")]),
        graph.delete("follower", [(1, 7, "")]),
        graph.delete("tweet", [(1, 11, "b")]),
    ]


def feed(sink: Sink, view: jg.View, *, again: bool = False) -> None:
    sink.open(view)
    assert sink.last() == 0
    for diff in batches(view):
        sink.write(diff)
        if again:
            sink.write(diff)
    assert sink.last() == 4


def read_entry(entry: tuple[bytes, dict[bytes, bytes]]) -> pa.Table:
    """Read the batch of an entry."""
    return pa.ipc.open_stream(entry[1][b"arrow"]).read_all()


LEFT = [(7, 10, "c", 1), (8, 10, "c", 1)]


def folded(table: pa.Table) -> list[tuple[object, ...]]:
    """Fold view diffs to the view, each row with its count."""
    found: dict[tuple[object, ...], int] = {}
    for row in table.to_pylist():
        sign = 1 if row["_change_type"] in ("insert", "update_postimage") else -1
        key = row["followerId"], row["tweetId"], row["text"]
        found[key] = found.get(key, 0) + sign * row["_count"]
    return sorted((*key, count) for key, count in found.items() if count)


@pytest.mark.parametrize("again", [False, True])
def test_parquet_files_hold_each_batch_once(view: jg.View, tmp_path: Path, again: bool) -> None:
    feed(Parquet(tmp_path), view, again=again)
    assert [int(path.stem[5:]) for path in sorted(tmp_path.iterdir())] == [1, 2, 3, 4]
    assert folded(pq.read_table(tmp_path)) == LEFT


@pytest.mark.parametrize("again", [False, True])
def test_a_redis_stream_holds_each_batch_once(
    view: jg.View, redis: Any, url: str, again: bool
) -> None:
    feed(RedisStream("feed", url), view, again=again)
    entries = redis.xrange("feed")
    assert [name for name, _ in entries] == [b"1-1", b"2-1", b"3-1", b"4-1"]
    assert folded(pa.concat_tables(map(read_entry, entries))) == LEFT


def test_a_redis_stream_of_fields_goes_on_in_the_middle_of_a_batch(
    view: jg.View, redis: Any, url: str
) -> None:
    sink = RedisStream("rows", url, form="fields")
    first = batches(view)[0]
    sink.open(view)
    redis.xadd("rows", {"_change_type": "insert", "_count": 2}, id="1-1")
    sink.write(first)
    assert [name for name, _ in redis.xrange("rows")] == [b"1-1", b"1-2", b"1-3", b"1-4"]
    assert redis.xrange("rows")[1][1][b"_seq"] == b"1"


@pytest.mark.parametrize("again", [False, True])
def test_a_timeline_holds_the_rows_of_its_subscriber(
    view: jg.View, redis: Any, url: str, again: bool
) -> None:
    sink = Timeline("home", url, subscriber="followerId", score="tweetId")
    feed(sink, view, again=again)
    shown = [json.loads(member) for member in redis.zrange("home:7", 0, -1)]
    assert shown == [{"tweetId": 10, "text": "c"}]
    assert redis.zscore("home:8", redis.zrange("home:8", 0, 0)[0]) == 10


def test_a_timeline_is_capped(view: jg.View, redis: Any, url: str) -> None:
    sink = Timeline("short", url, subscriber="followerId", score="tweetId", cap=1)
    sink.open(view)
    sink.write(batches(view)[0])
    (member,) = redis.zrange("short:7", 0, -1)
    assert json.loads(member)["tweetId"] == 11


def test_a_timeline_names_a_column_that_is_not_there(view: jg.View, url: str) -> None:
    sink = Timeline("x", url, subscriber="follower", score="tweetId")
    with pytest.raises(jg.StoreError, match='did you mean "followerId"'):
        sink.open(view)


COUNTS = jg.View(
    "SELECT F.followerId, F.note, SUM(CAST(T.tweetId AS DECIMAL(9, 0))) AS total"
    " FROM follower F JOIN tweet T ON F.userId = T.userId"
    " GROUP BY F.followerId, F.note HAVING COUNT(*) > 1",
    tables={"follower": FOLLOWER, "tweet": TWEET},
)


@pytest.mark.parametrize("again", [False, True])
def test_a_timeline_holds_each_group_of_its_subscriber_once(
    redis: Any, url: str, again: bool
) -> None:
    sink = Timeline("sums", url, subscriber="followerId", score="total")
    sink.open(COUNTS)
    graph = jg.JoinGraph(COUNTS, engine="reference")
    graph.load({"follower": [(1, 7, "x"), (1, 7, None), (2, 8, "y"), (2, 7, None)]})
    for diff in (
        graph.insert("tweet", [(1, 10, ""), (1, 11, ""), (2, 1, ""), (2, 2, "")]),
        graph.update("tweet", [(1, 10, "")], [(1, 12, "")]),
        graph.delete("tweet", [(2, 1, "")]),
    ):
        for _ in range(1 + again):
            sink.write(diff)
    shown = [
        (json.loads(row), score) for row, score in redis.zrange("sums:7", 0, -1, withscores=True)
    ]
    assert shown == [({"note": "x", "total": "23"}, 23), ({"note": None, "total": "25"}, 25)]
    assert not redis.exists("sums:8")


def test_a_score_that_is_no_number_is_above_all(redis: Any, url: str) -> None:
    view = jg.View(
        "SELECT a, MAX(x) AS most FROM t GROUP BY a", {"t": "CREATE TABLE t (a INT, x DOUBLE)"}
    )
    sink, graph = Timeline("most", url, subscriber="a", score="most"), jg.JoinGraph(view)
    sink.open(view)
    for row in ((1, 2.0), (1, math.nan)):
        sink.write(graph.insert("t", [row]))
    assert redis.zrange("most:1", 0, -1, withscores=True) == [(b'{"most": NaN}', math.inf)]


@pytest.mark.parametrize("again", [pytest.param(False, marks=pytest.mark.nightly), True])
@pytest.mark.parametrize("content", ["diffs", "view"])
def test_a_delta_table_holds_each_batch_once(
    spark: Any, view: jg.View, tmp_path: Path, content: str, again: bool
) -> None:
    feed(Delta(str(tmp_path), content=content), view, again=again)
    table = spark.read.format("delta").load(str(tmp_path)).toArrow()
    if content == "view":
        assert sorted(tuple(row.values()) for row in table.to_pylist()) == LEFT
    else:
        assert sorted(set(table["_seq"].to_pylist())) == [1, 2, 3, 4]
        assert folded(table) == LEFT


@pytest.mark.nightly
def test_a_delta_table_kept_by_merge_is_what_duckdb_computes(
    spark: Any, view: jg.View, tmp_path: Path
) -> None:
    sink, graph = Delta(str(tmp_path), content="view"), jg.JoinGraph(view, engine="reference")
    sink.open(view)
    rng, number = random.Random(7), count(10)
    left: dict[str, list[Any]] = {"follower": [], "tweet": []}
    for turn in range(10):
        fans = [(rng.randrange(3), rng.randrange(9), "") for _ in range(3)]
        said: list[Any] = [("insert", "follower", fans)]
        left["follower"] += fans
        for _ in range(4):
            old = left["tweet"].pop(rng.randrange(len(left["tweet"]))) if turn else None
            new = (rng.randrange(3) if old is None else old[0], next(number), f"text {turn}")
            new = new if old is None else (new[0], old[1], new[2])
            if old is None:
                said.append(("insert", "tweet", [new]))
            elif rng.random() < 0.8:
                said.append(("update", "tweet", [old], [new]))
            else:
                said += [("delete", "tweet", [old]), ("insert", "tweet", [new])]
            left["tweet"].append(new)
        sink.write(graph.apply(said))
    table = spark.read.format("delta").load(str(tmp_path)).toArrow()
    held = [tuple(row.values()) for row in table.to_pylist()]
    copies = [row[:-1] for row in held for _ in range(row[-1])]
    assert sorted(copies) == sorted(recomputed(left))
    assert len(copies) > 10
