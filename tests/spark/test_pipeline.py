"""Pipelines from source to sink, started, stopped, and started again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

import joingraph as jg
from joingraph.pipeline.sinks.contract import Memory
from joingraph.pipeline.sinks.embedded import Server
from joingraph.spark.run import Pipeline
from tests.spark.conftest import FOLLOWER, TWEET, Write, rows
from tests.test_pipeline_positions import read_dead

pytestmark = pytest.mark.spark

FANS = {"userId": [1, 1, 2], "followerId": [7, 8, 9], "note": ["", "", ""]}


class Shop:
    """A pipeline over two folders, and the folder it keeps itself in."""

    def __init__(self, spark: Any, view: jg.View, tmp_path: Path) -> None:
        self.spark, self.view, self.home = spark, view, tmp_path / "state"
        self.sink = Memory()
        self.sources: dict[str, Any] = {
            name: {"format": "parquet", "path": str(tmp_path / name)}
            for name in ("follower", "tweet")
        }
        self.on_error = "stop"

    def made(self) -> Pipeline:
        """Make the pipeline."""
        return jg.spark.pipeline(
            self.view,
            sources=self.sources,
            sink=self.sink,
            path=self.home,
            on_error=self.on_error,
            engine="reference",
            spark=self.spark,
        )

    def run(self) -> list[tuple[object, ...]]:
        """Run until all is done, and read the view."""
        pipeline = self.made()
        self.status = pipeline.status
        try:
            return rows(pipeline.run().graph.to_arrow())
        finally:
            pipeline.graph.close()


@pytest.fixture
def shop(spark: Any, view: jg.View, tmp_path: Path, write: Write) -> Shop:
    write("follower", "1", dict(FANS))
    return Shop(spark, view, tmp_path)


def changed(sink: Memory) -> list[tuple[object, ...]]:
    return [(row["_seq"], row["_change_type"], row["followerId"], row["text"])
            for row in sink.to_arrow().to_pylist()]  # fmt: skip


def test_files_become_view_diffs_and_updates_stay_pairs(shop: Shop, write: Write) -> None:
    shop.sources["tweet"]["operation"] = "op"
    ops = ["insert", "update_preimage", "update_postimage", "I"]
    write("tweet", "1", {"userId": [1, 1, 1, 2], "tweetId": [10, 10, 10, 1],
                         "text": ["a", "a", "b", "no"], "op": ops})  # fmt: skip
    assert shop.run() == [(7, 10, "b"), (8, 10, "b")]
    kinds = [kind for _, kind, who, _ in changed(shop.sink) if who == 7]
    assert kinds == ["insert", "update_preimage", "update_postimage"]


def test_an_update_across_the_filter_is_an_insert_or_a_delete(shop: Shop, write: Write) -> None:
    shop.sources["tweet"]["operation"] = "op"
    pair = ["update_preimage", "update_postimage"]
    write("tweet", "1", {"userId": [2] * 5, "tweetId": [10, 1, 20, 10, 2],
                         "text": ["x", "y", "z", "x", "w"], "op": ["i", *pair, *pair]})  # fmt: skip
    assert shop.run() == [(9, 20, "z")]
    assert [(kind, text) for _, kind, _, text in changed(shop.sink)] == [
        ("insert", "x"), ("insert", "z"), ("delete", "x"),
    ]  # fmt: skip


def test_what_is_there_already_is_loaded_once(shop: Shop, write: Write, tmp_path: Path) -> None:
    write("tweet", "1", {"userId": [2], "tweetId": [11], "text": ["b"]})
    old = {"userId": [1, 1, 1], "tweetId": [10, 1, 2], "text": ["a", "no", "no"]}
    write("old", "1", dict(old))
    tweets = shop.spark.read.parquet(str(tmp_path / "old"))
    for _ in range(2):
        pipeline = shop.made().load({"tweet": tweets}).run()
        assert rows(pipeline.graph.to_arrow()) == [(7, 10, "a"), (8, 10, "a"), (9, 11, "b")]
        assert pipeline.graph.stats()["aliases"]["T"]["rows"] == 2
        pipeline.close()


@pytest.mark.parametrize("forgets", [False, True])
def test_a_second_run_goes_on_also_without_its_checkpoint(
    shop: Shop, write: Write, forgets: bool
) -> None:
    write("tweet", "1", {"userId": [1], "tweetId": [10], "text": ["a"]})
    shop.run()
    if forgets:
        shutil.rmtree(shop.home / "checkpoint")
    write("tweet", "2", {"userId": [2], "tweetId": [11], "text": ["b"]})
    assert shop.run() == [(7, 10, "a"), (8, 10, "a"), (9, 11, "b")]
    assert [seq for seq, *_ in changed(shop.sink)] == [1, 1, 2]


def test_a_graph_older_than_the_checkpoint_stops_by_name(shop: Shop, write: Write) -> None:
    write("tweet", "1", {"userId": [1], "tweetId": [10], "text": ["a"]})
    shop.run()
    shutil.rmtree(shop.home / "graphs")
    with pytest.raises(jg.StoreError, match="holds batch 1 already, and its graph has come to 0"):
        shop.run()
    shop.sink = Memory()
    write("tweet", "2", {"userId": [2], "tweetId": [11], "text": ["b"]})
    with pytest.raises(jg.StoreError, match="the graph has never seen it"):
        shop.run()


def test_a_sink_that_failed_gets_its_batch_in_the_next_run(shop: Shop, write: Write) -> None:
    class Failing(Memory):
        def write(self, diff: jg.ViewDiff) -> None:
            raise OSError("disk full")

    write("tweet", "1", {"userId": [2], "tweetId": [10], "text": ["a"]})
    good, shop.sink = shop.sink, Failing()
    with pytest.raises(OSError, match="disk full"):
        shop.run()
    shop.sink = type("Failing", (Memory,), {})()
    shop.run()
    assert changed(shop.sink) == [(1, "insert", 9, "a")]
    assert not good.batches


def test_a_file_without_a_column_stops_before_anything_is_applied(shop: Shop, write: Write) -> None:
    write("tweet", "1", {"userId": [1], "tweetId": [10], "text": ["a"]})
    shop.run()
    write("tweet", "2", {"user": [2], "tweetId": [11], "text": ["b"]})
    with pytest.raises(jg.StoreError, match="has no column userId"):
        shop.run()


def test_a_file_whose_name_is_a_pattern_is_refused(shop: Shop, write: Write) -> None:
    write("tweet", "a", {"userId": [1], "tweetId": [10], "text": ["a"]})
    write("tweet", "[a]", {"userId": [1], "tweetId": [11], "text": ["b"]})
    with pytest.raises(jg.StoreError, match=r"\[a\]\.parquet has \[ \] in its name"):
        shop.run()
    folder = Path(shop.sources["tweet"]["path"])
    (folder / "[a].parquet").rename(folder / "b.parquet")
    shutil.rmtree(shop.home / "checkpoint")
    assert shop.run() == [(7, 10, "a"), (7, 11, "b"), (8, 10, "a"), (8, 11, "b")]


def test_malformed_lines_are_dead_letters_or_stop(shop: Shop, tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    (folder / "1.csv").write_text("userId,tweetId,text\n1,10,a\n2,ten,b\n2,11,c\n")
    shop.sources["tweet"] = {"format": "csv", "path": str(folder)}
    with pytest.raises(jg.DiffError, match="tweet: is malformed: 2,ten,b"):
        shop.run()
    shop.on_error = "dead_letter"
    assert shop.run() == [(7, 10, "a"), (8, 10, "a"), (9, 11, "c")]
    (dead,) = read_dead(shop.home / "dead_letters")
    assert dead.record == "2,ten,b"
    assert "/csv/1.csv at " in dead.origin


def test_null_where_there_must_be_none_is_a_dead_letter(shop: Shop, write: Write) -> None:
    write("follower", "2", {"userId": [None], "followerId": [5], "note": ["x"]})
    write("tweet", "1", {"userId": [1], "tweetId": [10], "text": ["a"]})
    shop.on_error = "dead_letter"
    shop.run()
    (dead,) = read_dead(shop.home / "dead_letters")
    assert dead.reason == 'column "userId" is NOT NULL, found NULL'


def test_debezium_finds_old_rows_by_key(shop: Shop, tmp_path: Path) -> None:
    def event(op: str, before: object, after: object) -> str:
        return json.dumps({"payload": {"op": op, "before": before, "after": after}})

    row = {"userId": 2, "tweetId": 10, "text": "a"}
    lines = [
        event("c", None, row), event("u", None, {**row, "text": "b"}),
        event("u", None, {**row, "text": "c"}), event("r", None, {**row, "tweetId": 11}),
        event("d", {"tweetId": 11}, None), "null", "{", event("x", None, None),
    ]  # fmt: skip
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "1.json").write_text("\n".join(lines))
    shop.sources["tweet"] = {
        "format": "json", "path": str(tmp_path / "events"), "debezium": True, "before": "key",
    }  # fmt: skip
    shop.on_error = "dead_letter"
    assert shop.run() == [(9, 10, "c")]
    assert [each.record for each in read_dead(shop.home / "dead_letters")] == lines[-2:]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = Server(None)
    yield server.start()
    server.stop()


def test_a_redis_stream_is_a_source(shop: Shop, url: str) -> None:
    with Redis.from_url(url) as redis:
        redis.delete("tweets")
        redis.xadd("tweets", {"op": "insert", "userId": 2, "tweetId": 10, "text": "a"})
        redis.xadd("tweets", {"json": '{"op": "i", "userId": 2, "tweetId": 11, "text": null}'})
        redis.xadd("tweets", {"op": "delete", "userId": 2, "tweetId": 10, "text": "a"})
        shop.sources["tweet"] = {
            "format": "redis", "path": "tweets", "operation": "op", "options": {"url": url},
        }  # fmt: skip
        assert shop.run() == [(9, 11, None)]
        redis.xadd("tweets", {"op": "i", "userId": "x", "tweetId": 12, "text": "b"})
        shop.on_error = "dead_letter"
        assert shop.run() == [(9, 11, None)]
        shutil.rmtree(shop.home / "checkpoint")
        assert shop.run() == [(9, 11, None)]


def test_a_record_that_is_no_object_is_a_dead_letter(shop: Shop, url: str) -> None:
    with Redis.from_url(url) as redis:
        redis.delete("inserts")
        for text in ('{"userId": 2, "tweetId": 10, "text": "a"}', "null", ""):
            redis.xadd("inserts", {"json": text})
    shop.sources["tweet"] = {"format": "redis", "path": "inserts", "options": {"url": url}}
    shop.on_error = "dead_letter"
    assert shop.run() == [(9, 10, "a")]
    dead = read_dead(shop.home / "dead_letters")
    assert [each.reason for each in dead] == ["is malformed", "is malformed"]


def test_a_delta_change_feed_is_a_source(shop: Shop, tmp_path: Path) -> None:
    place = f"delta.`{tmp_path / 'changes'}`"
    feed = "tblproperties (delta.enableChangeDataFeed = true)"
    columns = "userId BIGINT, tweetId BIGINT, text STRING"
    shop.spark.sql(f"create table {place} ({columns}) using delta {feed}")
    shop.spark.sql(f"insert into {place} values (1, 10, 'a'), (2, 11, 'b'), (2, 1, 'c')")
    shop.sources["tweet"] = {"format": "delta", "path": str(tmp_path / "changes")}
    assert shop.run() == [(7, 10, "a"), (8, 10, "a"), (9, 11, "b")]
    shop.spark.sql(f"update {place} set text = 'z' where userId = 2")
    shop.spark.sql(f"delete from {place} where tweetId = 10")
    assert shop.run() == [(9, 11, "z")]
    last = [each for each in changed(shop.sink) if each[0] == 2]
    assert [kind for _, kind, *_ in last] == ["update_preimage", "update_postimage"] + [
        "delete"
    ] * 2


def test_one_table_feeds_two_views_and_a_self_join(
    spark: Any, view: jg.View, tmp_path: Path, write: Write
) -> None:
    write("follower", "1", dict(FANS))
    write("tweet", "1", {"userId": [1], "tweetId": [10], "text": ["a"]})
    mutual = jg.View(
        "CREATE VIEW pairs AS SELECT A.followerId a, B.followerId b FROM follower A "
        "JOIN follower B ON A.userId = B.userId WHERE A.followerId < B.followerId",
        tables={"follower": FOLLOWER, "tweet": TWEET},
    )
    pipeline = jg.spark.pipeline(
        [view, mutual],
        sources={
            name: {"format": "parquet", "path": str(tmp_path / name)}
            for name in ("follower", "tweet")
        },
        engine="reference",
        spark=spark,
    ).run()
    assert rows(pipeline.graphs["pairs"].to_arrow()) == [(7, 8)]
    assert rows(pipeline.graphs["timeline"].to_arrow()) == [(7, 10, "a"), (8, 10, "a")]


def test_a_stream_of_the_caller_is_a_source(spark: Any, tmp_path: Path) -> None:
    view = jg.View("SELECT value % 2 AS v FROM numbers", tables={
        "numbers": "CREATE TABLE numbers (value BIGINT)"})  # fmt: skip
    with jg.spark.pipeline(
        view,
        sources={"numbers": spark.readStream.format("rate").option("rowsPerSecond", 50).load()},
        trigger="100 milliseconds",
        engine="reference",
        spark=spark,
    ) as pipeline:
        pipeline.wait(4)
    assert pipeline.graph.count() > 50


def test_kafka_without_its_jar_says_how_to_get_it(shop: Shop) -> None:
    shop.sources["tweet"] = {"format": "kafka", "path": "tweets"}
    with pytest.raises(jg.StoreError, match=r"spark-sql-kafka-0-10_2\.13:4"):
        shop.made()


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ({"follower": {"format": "csv", "path": "x"}}, "nothing is said of the table tweet"),
        ({"follwer": {"format": "csv", "path": "x"}}, 'did you mean "follower"'),
        ({"follower": {"format": "csw"}}, "choose one of parquet, csv"),
        ({"follower": {"format": "dataframe"}}, "choose one of parquet, csv"),
        ({"follower": {"formt": "csv"}}, 'did you mean "format"'),
        ({"follower": {"format": "csv", "before": "key"}}, "declares no key"),
    ],
)
def test_what_is_wrong_with_sources_is_said_by_name(
    view: jg.View, sources: dict[str, object], said: str
) -> None:
    with pytest.raises(jg.StoreError, match=said):
        jg.spark.pipeline(view, sources=sources)
