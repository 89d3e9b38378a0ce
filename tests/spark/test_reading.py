"""Spark reads a durable graph's view: shares, columns, conditions that reach the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import joingraph as jg
from joingraph.spark.datasource import GraphReader
from joingraph.spark.lanes import Lanes, lane_columns, number_of
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


@pytest.mark.parametrize(
    ("where", "is_left_to_spark"),
    [
        ("tweetId = 13", False),
        ('text = "it\'s 3"', False),
        ("tweetId in (13) and length(text) > 0", True),
        ("tweetId > 12 and tweetId <= 13", False),
        ("tweetId - 13 = 0", True),
    ],
)
def test_a_condition_reaches_the_graph_where_it_can(
    spark: Any, graph_path: Path, where: str, is_left_to_spark: bool
) -> None:
    read = spark.read.format("joingraph").load(str(graph_path)).where(where)
    assert rows(read.toArrow()) == view_rows(3)
    plan = read._jdf.queryExecution().executedPlan().toString()
    assert ("Filter (" in plan) is is_left_to_spark


def test_only_the_columns_asked_for_leave_the_graph(spark: Any, graph_path: Path) -> None:
    read = spark.read.format("joingraph").option("columns", "text, tweetId").load(str(graph_path))
    assert read.columns == ["text", "tweetId"]
    assert read.where("tweetId = 11").toArrow().to_pylist() == [{"text": "it's 1", "tweetId": 11}]


def test_a_column_that_is_not_there_is_named(graph_path: Path) -> None:
    with pytest.raises(jg.StoreError, match='did you mean "tweetId"'):
        GraphReader({"path": str(graph_path), "columns": "tweet_id"})


def test_names_of_files_are_asked_for_where_they_are_not_known(spark: Any) -> None:
    names = ["file:/data/a%20b.csv", "s3://data/c.csv"]
    rows = spark.createDataFrame([(name, 1) for name in names], "_lane STRING, x INT")
    rows, known = rows.select(*lane_columns(), "x"), Lanes()
    known.note(["file:///data/a%20b.csv"])
    for _ in range(2):
        found, told = known.collect(rows)
        assert found.column_names == ["_file", "x"]
        assert told == {number_of(name): name for name in names}
