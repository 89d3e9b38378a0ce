"""Views that group, through pipelines and out of them: what sinks and readers hold is the view."""

from __future__ import annotations

import datetime as dt
import json
import math
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from redis import Redis

import joingraph as jg
from joingraph.cli.main import main
from joingraph.pipeline.sinks.embedded import Server
from joingraph.spark.sink_delta import Delta
from joingraph.view_diffs.view_diff import ViewDiff
from tests import first
from tests.bags import bag

pytestmark = pytest.mark.spark

TABLES = {
    "place": "CREATE TABLE place (id BIGINT, at DOUBLE, name STRING)",
    "seen": "CREATE TABLE seen (no BIGINT, id BIGINT, score BIGINT, PRIMARY KEY (no))",
}
JOINED = "FROM place P JOIN seen S ON P.id = S.id"
SQL = {
    "keyed": f"SELECT P.at, P.name, COUNT(*) AS n, AVG(S.score) AS mean,"
    f" sort_array(collect_list(S.score)) AS scores {JOINED} GROUP BY P.at, P.name"
    " HAVING COUNT(*) > 1",
    "hidden": f"SELECT MAX(S.score) AS most, COUNT(*) AS n {JOINED} GROUP BY P.name",
    "whole": f"SELECT COUNT(*) AS n, MAX(S.score) AS most {JOINED}",
}
VIEWS = {name: jg.View(f"CREATE VIEW {name} AS {sql}", TABLES) for name, sql in SQL.items()}
PLACES: list[tuple[Any, ...]] = [
    (1, 0.5, "a"), (1, None, None), (1, math.nan, "b"),
    (2, -0.0, "a"), (2, 0.0, "a"), (3, 0.0, "a"),
]  # fmt: skip
TURNS: list[list[tuple[Any, ...]]] = [  # what is seen, file by file: operation and row
    [("i", 1, 1, 5), ("i", 2, 2, 7), ("i", 3, 2, None)],
    [("update_preimage", 1, 1, 5), ("update_postimage", 1, 1, 6), ("i", 4, 1, 1), ("i", 5, 3, 2)],
    [("d", 3, 2, None), ("d", 5, 3, 2), ("i", 6, 1, 9)],
    [("d", 1, 1, 6), ("d", 4, 1, 1), ("update_preimage", 2, 2, 7), ("update_postimage", 2, 3, 7)],
    [("d", 6, 1, 9), ("d", 2, 3, 7)],
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = Server(None)
    yield server.start()
    server.stop()


def rows_of(found: pa.Table) -> Any:
    """Count rows, those with a count of their own as often as that."""
    rows = [tuple(map(as_spark, row.values())) for row in found.to_pylist()]
    if "_count" in found.column_names:
        rows = [row[:-1] for row in rows for _ in range(int(str(row[-1])))]
    return bag(rows)


def as_spark(value: object) -> object:
    """Return a value that equals another where Spark holds the two equal."""
    return value + 0.0 if isinstance(value, float) else value


def write(folder: Path, name: str, columns: dict[str, list[Any]]) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def expected(view: jg.View, turns: int) -> Any:
    """Make the view of what is left after so many files."""
    held: dict[int, tuple[Any, ...]] = {}
    for op, *row in [each for turn in TURNS[:turns] for each in turn]:
        held.pop(row[0], None)
        if op in ("i", "update_postimage"):
            held[row[0]] = tuple(row)
    graph = jg.JoinGraph(view, engine="reference")
    graph.load({"place": PLACES, "seen": list(held.values())})
    return rows_of(graph.to_arrow())


class Breaking(Delta):
    """A sink that fails before or behind the write of one batch."""

    breaks: tuple[int, bool] = (0, False)

    def write(self, diff: ViewDiff) -> None:
        seq, is_behind = self.breaks
        if diff.seq != seq or is_behind:
            super().write(diff)
        if diff.seq == seq:
            raise OSError("the sink has failed")


class Seen:
    """A pipeline over two folders that keeps a copy of a view in Delta."""

    def __init__(self, spark: Any, home: Path, view: str = "keyed") -> None:
        self.spark, self.home, self.view, self.turns = spark, home, VIEWS[view], 0
        columns = zip(*PLACES, strict=True)
        write(home / "place", "1", dict(zip(("id", "at", "name"), map(list, columns), strict=True)))
        (home / "seen").mkdir()

    def add(self) -> None:
        """Write the next file."""
        columns = map(list, zip(*TURNS[self.turns], strict=True))
        names = ("op", "no", "id", "score")
        write(self.home / "seen", str(self.turns), dict(zip(names, columns, strict=True)))
        self.turns += 1

    def run(self, breaks: tuple[int, bool] = (0, False)) -> None:
        """Run until all is done, or the sinks fail at a batch."""
        sink = Breaking(str(self.home / "copy"), content="view")
        sink.breaks = breaks
        files = {name: str(self.home / name) for name in TABLES}
        made = jg.spark.pipeline(
            self.view,
            sources={
                "place": {"format": "parquet", "path": files["place"]},
                "seen": {"format": "parquet", "path": files["seen"], "operation": "op"},
            },
            sink=sink,
            path=self.home / "state",
            engine="reference",
            spark=self.spark,
        )
        try:
            made.run()
        finally:
            made.close()

    def check(self) -> None:
        """Compare the copy with the view of what is left."""
        copy = self.spark.read.format("delta").load(str(self.home / "copy"))
        assert rows_of(copy.toArrow()) == expected(self.view, self.turns)


@pytest.mark.parametrize("view", first(1, list(SQL)))
def test_a_copy_kept_by_merge_is_the_groups_across_failures(
    spark: Any, tmp_path: Path, view: str
) -> None:
    seen = Seen(spark, tmp_path, view)
    seen.add()
    seen.run()
    for batch, is_behind in ((2, False), (3, True)):
        seen.add()
        with pytest.raises(OSError, match="the sink has failed"):
            seen.run((batch, is_behind))
        seen.run()
    seen.check()
    shutil.rmtree(tmp_path / "state" / "checkpoint")
    seen.add()
    seen.add()
    seen.run()
    seen.check()


def test_a_copy_of_one_group_has_its_row_from_the_start(spark: Any, tmp_path: Path) -> None:
    for _ in range(2):
        Delta(str(tmp_path), content="view").open(VIEWS["whole"])
    copy = spark.read.format("delta").load(str(tmp_path)).toArrow()
    assert copy.to_pylist() == [{"n": 0, "most": None, "_count": 1}]


def test_a_file_describes_a_pipeline_of_groups(spark: Any, tmp_path: Path, url: str) -> None:
    seen = Seen(spark, tmp_path)
    seen.add()
    seen.add()
    (tmp_path / "tables.sql").write_text(";\n".join(TABLES.values()))
    (tmp_path / "keyed.sql").write_text(VIEWS["keyed"].sql)
    (tmp_path / "pipeline.toml").write_text(
        f"""
        views = ["keyed.sql"]
        tables = "tables.sql"
        engine = "reference"
        sources.place = {{ format = "parquet", path = "place" }}
        sources.seen = {{ format = "parquet", path = "seen", operation = "op", before = "key" }}
        sinks = [
            {{ kind = "console" }},
            {{ kind = "parquet", path = "out" }},
            {{ kind = "redis", stream = "groups", url = "{url}", form = "fields" }},
            {{ kind = "timeline", prefix = "t", subscriber = "name", score = "n", url = "{url}" }},
        ]
        """
    )
    file = str(tmp_path / "pipeline.toml")
    assert main(["check", file]) == main(["run", file]) == main(["status", file]) == 0
    with jg.open(tmp_path / "state/graphs/keyed/graph", readonly=True) as graph:
        assert rows_of(graph.to_arrow()) == expected(VIEWS["keyed"], 2)
    with Redis.from_url(url) as redis:
        assert len(redis.xrange("groups")) == len(pq.read_table(tmp_path / "out"))
        top = redis.zrange("t:a", 0, -1, withscores=True)
    told = [(json.loads(row)["at"], json.loads(row)["scores"], score) for row, score in top]
    assert told == [(0.5, [1, 6], 2), (0.0, [2, 7, 7], 5)]


@pytest.fixture(scope="module")
def graph_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("groups") / "graph"
    with jg.JoinGraph(VIEWS["keyed"], path, engine="reference") as graph:
        graph.subscribe("spark")
        graph.load({"place": PLACES})
        graph.insert("seen", [row for _, *row in TURNS[0]])
        graph.snapshot()
        graph.insert("seen", [row for op, *row in TURNS[1] if op == "i"])
    return path


@pytest.mark.parametrize("partitions", [1, 3])
def test_spark_reads_each_group_once(spark: Any, graph_path: Path, partitions: int) -> None:
    read = spark.read.format("joingraph").option("partitions", partitions).load(str(graph_path))
    with jg.open(graph_path, readonly=True) as graph:
        assert rows_of(read.toArrow()) == rows_of(graph.to_arrow())


@pytest.mark.parametrize("where", ["name = 'b'", "n > 4 AND n <= 5", "at = 0.5", "n + 1 = 6"])
def test_conditions_on_keys_and_aggregates_reach_the_graph(
    spark: Any, graph_path: Path, where: str
) -> None:
    read = spark.read.format("joingraph").option("where", where).load(str(graph_path))
    with jg.open(graph_path, readonly=True) as graph:
        found = rows_of(graph.scan(where).read_all())
    assert rows_of(read.toArrow()) == found
    assert found


def test_the_view_diffs_of_groups_are_a_stream(
    spark: Any, graph_path: Path, tmp_path: Path
) -> None:
    stream = spark.readStream.format("joingraph").option("subscriber", "spark")
    stream = stream.option("maxBatchesPerTrigger", 1).load(str(graph_path))
    found: list[dict[str, Any]] = []

    def take(rows: Any, batch: int) -> None:
        found.extend(rows.toArrow().to_pylist())

    writer = stream.writeStream.foreachBatch(take).trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    told = [(row["_seq"], row["_change_type"], row["scores"]) for row in found if row["at"] == 0.0]
    assert [each[:2] for each in told[:3]] == [
        (1, "insert"), (1, "update_preimage"), (1, "update_postimage"),
    ]  # fmt: skip
    assert told[3:] == [(2, "update_preimage", [7, 7]), (2, "update_postimage", [2, 7, 7])]
    assert [(row["_seq"], row["_change_type"]) for row in found if row["name"] == "b"] == [
        (2, "insert")
    ]


@pytest.mark.parametrize("content", first(1, ["diffs", "view"]))
def test_types_that_spark_lacks_are_read_and_written_as_wider_ones(
    spark: Any, tmp_path: Path, content: str
) -> None:
    view = jg.View(
        "SELECT u, day, COUNT(*) AS n, LIST(big ORDER BY big) AS bigs FROM t GROUP BY u, day",
        {"t": "CREATE TABLE t (u UTINYINT, big UBIGINT, day TIMESTAMP)"},
        dialect="duckdb",
    )
    rows = [(3, (1 << 64) - 1, dt.datetime(2026, 1, 2)), (None, 5, None)]
    sink = Delta(str(tmp_path / "copy"), content=content)
    sink.open(view)
    with jg.JoinGraph(view, tmp_path / "g", engine="reference") as graph:
        sink.write(graph.insert("t", rows))
        read = spark.read.format("joingraph").load(str(tmp_path / "g"))
        copy = spark.read.format("delta").load(str(tmp_path / "copy"))
    expected = [(3, rows[0][2], 1, [Decimal(rows[0][1])]), (None, None, 1, [Decimal(5)])]
    for found in (read.toArrow(), copy.select(*view.schema.names).toArrow()):
        assert bag(tuple(row.values()) for row in found.to_pylist()) == bag(expected)
    assert read.where("u = 3").select("n").toArrow().to_pylist() == [{"n": 1}]
