"""View diffs as a stream: each once, what is done with acknowledged, what is not kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import joingraph as jg
from joingraph.pipeline.acks import Acks
from joingraph.spark.format.datasource import GraphSource
from joingraph.spark.format.read_diffs import DiffsReader
from tests.spark.conftest import FOLLOWER, SQL, TWEET

pytestmark = pytest.mark.spark
COLUMNS = ["tweetId", "_change_type", "_count", "_seq"]
Told = list[tuple[object, ...]]


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[jg.JoinGraph]:
    view = jg.View(SQL, tables={"follower": FOLLOWER, "tweet": TWEET})
    with jg.JoinGraph(view, tmp_path / "graph", engine="reference") as graph:
        graph.load({"follower": [(1, 2, "")]})
        yield graph


def run(spark: Any, tmp_path: Path) -> Told:
    """Take what is there, in as many micro-batches as the graph has batches."""
    found: Told = []
    stream = spark.readStream.format("joingraph").option("subscriber", "spark")
    stream = stream.option("maxBatchesPerTrigger", 1).load(str(tmp_path / "graph"))

    def take(rows: Any, batch: int) -> None:
        found.extend(tuple(row.values()) for row in rows.select(COLUMNS).toArrow().to_pylist())

    writer = stream.writeStream.foreachBatch(take).trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    return found


def test_every_view_diff_comes_once_across_restarts(
    spark: Any, tmp_path: Path, graph: jg.JoinGraph
) -> None:
    graph.subscribe("spark")
    acks = Acks(graph, tmp_path / "graph")
    graph.insert("tweet", [(1, 10, "a"), (1, 11, "b")])
    graph.delete("tweet", [(1, 10, "a")])
    assert run(spark, tmp_path) == [
        (10, "insert", 1, 1), (11, "insert", 1, 1), (10, "delete", 1, 2),
    ]  # fmt: skip
    acks.take()
    graph.snapshot()
    graph.insert("tweet", [(1, 12, "c")])
    assert run(spark, tmp_path) == [(12, "insert", 1, 3)]
    acks.take()


def test_what_spark_is_done_with_is_acknowledged_by_the_writer(
    tmp_path: Path, graph: jg.JoinGraph
) -> None:
    waiting = graph.subscribe("spark")
    graph.insert("tweet", [(1, 10, "a")])
    graph.insert("tweet", [(1, 11, "b")])
    reader = DiffsReader(tmp_path / "graph", {"subscriber": "spark"}, COLUMNS)
    start = reader.initialOffset()
    assert (start, reader.latestOffset(start, None)) == ({"seq": 0}, {"seq": 2})
    before = waiting.waiting_bytes()
    reader.commit({"seq": 1})
    Acks(graph, tmp_path / "graph").take()
    assert 0 < waiting.waiting_bytes() < before
    assert reader.initialOffset() == {"seq": 1}
    with pytest.raises(jg.StoreError, match="restored or is another"):
        reader.latestOffset({"seq": 0}, None)
    with pytest.raises(jg.StoreError, match="restored or is another"):
        reader.latestOffset({"seq": 3}, None)


def test_a_note_of_one_who_unsubscribed_brings_nobody_back(
    tmp_path: Path, graph: jg.JoinGraph
) -> None:
    graph.subscribe("spark")
    graph.insert("tweet", [(1, 10, "a")])
    DiffsReader(tmp_path / "graph", {"subscriber": "spark"}, COLUMNS).commit({"seq": 1})
    graph.unsubscribe("spark")
    Acks(graph, tmp_path / "graph").take()
    assert graph.subscribers() == []


def test_a_stream_names_its_subscriber(tmp_path: Path, graph: jg.JoinGraph) -> None:
    source = GraphSource({"path": str(tmp_path / "graph")})
    with pytest.raises(jg.StoreError, match="a stream has a subscriber"):
        source.streamReader(source.schema())
    reader = DiffsReader(tmp_path / "graph", {"subscriber": "nobody"}, COLUMNS)
    with pytest.raises(jg.StoreError, match=r"graph\.subscribe\('nobody'\) makes it"):
        reader.initialOffset()
