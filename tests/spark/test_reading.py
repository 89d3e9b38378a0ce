"""Spark reads a durable graph's view: shares, columns, conditions that reach the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import joingraph as jg
from joingraph.pipeline.read_rows import File
from joingraph.spark.check_files import new_files
from joingraph.spark.file_names import Lanes, lane_number, number_of
from joingraph.spark.format.datasource import GraphReader, GraphSource
from tests.spark.conftest import FOLLOWER, SQL, TWEET, rows

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def graph_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "graph"
    view = jg.View(SQL, tables={"follower": FOLLOWER, "tweet": TWEET})
    with jg.JoinGraph(view, path, engine="reference") as graph:
        graph.load({"follower": [(user, fan, "") for user in range(9) for fan in range(user)]})
        graph.insert("tweet", [(user, 10 + user, f"it's {user}") for user in range(9)])
    return path


def view_rows(user: int) -> list[tuple[object, ...]]:
    return [(fan, 10 + user, f"it's {user}") for fan in range(user)]


@pytest.mark.parametrize("partitions", [1, 3])
def test_the_whole_view_is_read_once(spark: Any, graph_path: Path, partitions: int) -> None:
    read = spark.read.format("joingraph").option("partitions", partitions).load(str(graph_path))
    assert rows(read.toArrow()) == sorted(row for user in range(9) for row in view_rows(user))


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize(
    "where",
    ["tweetId = 13", "text = 'it''s 3'", "tweetId > 12 AND tweetId <= 13", "tweetId - 13 = 0"],
)
def test_a_condition_reaches_the_graph(
    spark: Any, graph_path: Path, where: str, partitions: int
) -> None:
    reader = spark.read.format("joingraph").option("partitions", partitions)
    read = reader.option("where", where).load(str(graph_path))
    assert rows(read.toArrow()) == view_rows(3)
    assert rows(read.where("followerId = 2").toArrow()) == view_rows(3)[2:]
    assert rows(read.toArrow()) == view_rows(3)


@pytest.mark.parametrize("is_pushed", ["false", "true"])
def test_a_query_misses_no_rows_for_the_condition_of_the_one_before(
    spark: Any, graph_path: Path, is_pushed: str
) -> None:
    """Spark 4.2 keeps what it has pushed into a source of Python with the DataFrame."""
    name = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(name)
    spark.conf.set(name, is_pushed)
    try:
        read = spark.read.format("joingraph").load(str(graph_path))
        assert read.where("tweetId = 13").count() == 3
        assert read.count() == 36
        assert read.where("tweetId = 14").count() == 4
        assert read.where("coalesce(followerId, 0) = 7").count() == 1
    finally:
        spark.conf.set(name, before)


def test_a_stream_of_view_diffs_takes_no_condition(graph_path: Path) -> None:
    source = GraphSource({"path": str(graph_path), "subscriber": "s", "where": "tweetId = 1"})
    with pytest.raises(jg.StoreError, match="filter the DataFrame"):
        source.streamReader(source.schema())


def test_only_the_columns_asked_for_leave_the_graph(spark: Any, graph_path: Path) -> None:
    read = spark.read.format("joingraph").option("columns", "text, tweetId").load(str(graph_path))
    assert read.columns == ["text", "tweetId"]
    assert read.where("tweetId = 11").toArrow().to_pylist() == [{"text": "it's 1", "tweetId": 11}]


def test_a_column_that_is_not_there_is_named(graph_path: Path) -> None:
    with pytest.raises(jg.StoreError, match='did you mean "tweetId"'):
        GraphReader({"path": str(graph_path), "columns": "tweet_id"})


def test_files_are_known_by_name_whatever_they_are_called(spark: Any, tmp_path: Path) -> None:
    folder, place = tmp_path / "files", tmp_path / "checkpoint"
    folder.mkdir()
    names = {f"{each}.parquet" for each in ("a b", "a%20b", "ä", "a+b", "[a]", "a#b", "a,{b}", "?")}
    for name in names:
        pq.write_table(pa.table({"x": [1]}), folder / name)
    noted, asked, found = Lanes([]), Lanes([str(folder)]), dict[int, File]()

    def take(rows: Any, batch: int) -> None:
        noted.note(new_files(place, {}))
        found.update(noted.collect(rows)[1])
        assert asked.collect(rows)[1] == found

    stream = spark.readStream.schema("x BIGINT").parquet(str(folder))
    rows = stream.select(lane_number(F.input_file_name()).alias("_file"), "x")
    writer = rows.writeStream.foreachBatch(take).option("checkpointLocation", str(place))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert {unquote(file.name).rpartition("/")[2] for file in found.values()} == names
    # Spark says file:///, and graphs have committed positions of file:/.
    assert all(file.name.startswith(f"file:{folder}/") for file in found.values())
    assert {number_of(file.name.replace(":", "://", 1)) for file in found.values()} == set(found)


def test_a_file_that_is_gone_is_not_guessed_at(spark: Any, tmp_path: Path) -> None:
    rows = spark.createDataFrame([(7, 1)], "_file LONG, x INT")
    with pytest.raises(jg.StoreError, match=r"not in .* any more"):
        Lanes([str(tmp_path)]).collect(rows)
