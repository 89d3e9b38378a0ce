"""Views of outer joins, EXISTS and IN, through pipelines and out of them: copies are the view."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
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
from tests import first
from tests.bags import bag, fold

pytestmark = pytest.mark.spark

TABLES = {
    "tweet": "CREATE TABLE tweet (no BIGINT, id BIGINT, who STRING, PRIMARY KEY (no))",
    "retweet": "CREATE TABLE retweet (no BIGINT, id BIGINT, fan STRING, PRIMARY KEY (no))",
}
SQL = {
    "left": "SELECT T.no AS tweet, T.who, R.no AS retweet, R.fan"
    " FROM tweet T LEFT JOIN retweet R ON R.id = T.id",
    "full": "SELECT T.who, R.fan FROM tweet T FULL JOIN retweet R ON R.id = T.id",
    "asked": "SELECT T.no AS tweet, T.who, T.who IN (SELECT fan FROM retweet) AS known"
    " FROM tweet T WHERE NOT EXISTS (SELECT 1 FROM retweet R WHERE R.id = T.id)",
    "grouped": "SELECT T.who, COUNT(*) AS n, COUNT(R.no) AS retweets, MAX(R.fan) AS last"
    " FROM tweet T LEFT JOIN retweet R ON R.id = T.id GROUP BY T.who",
}  # fmt: skip
VIEWS = {name: jg.View(f"CREATE VIEW {name} AS {sql}", TABLES) for name, sql in SQL.items()}
# What comes file by file: table, operation and row.
TURNS: list[list[tuple[str, str, int, int | None, str | None]]] = [
    [("tweet", "i", 1, 7, "ann"), ("tweet", "i", 2, 8, "bob"), ("tweet", "i", 3, None, "eve"),
     ("retweet", "i", 1, 9, "max"), ("retweet", "i", 2, None, "ann")],
    [("retweet", "i", 3, 7, "bob"), ("retweet", "i", 4, 7, "eve"), ("tweet", "i", 4, 7, "ann")],
    [("retweet", "d", 3, 7, "bob"), ("retweet", "d", 1, 9, "max"), ("tweet", "i", 5, 9, None)],
    [("retweet", "d", 4, 7, "eve"), ("tweet", "d", 2, 8, "bob"), ("retweet", "i", 5, 9, None)],
]  # fmt: skip


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = Server(None)
    yield server.start()
    server.stop()


def write(home: Path, turn: int) -> None:
    """Write a file for each table of what comes in a turn."""
    for table in TABLES:
        rows = [row for name, *row in TURNS[turn] if name == table]
        columns = zip(*rows, strict=True) if rows else [()] * 4
        types = (pa.string(), pa.int64(), pa.int64(), pa.string())
        arrays = [pa.array(each, type) for each, type in zip(columns, types, strict=True)]
        (home / table).mkdir(exist_ok=True)
        found = pa.table(arrays, names=["op", "no", "id", TABLES[table].split()[7]])
        pq.write_table(found, home / table / f"{turn}.parquet")


def expected(view: jg.View, turns: int) -> Any:
    """Make the view of what is left after so many turns."""
    held: dict[tuple[str, int], tuple[Any, ...]] = {}
    for table, operation, *row in [each for turn in TURNS[:turns] for each in turn]:
        held[table, row[0]] = (operation, *row)
    graph = jg.JoinGraph(view, engine="reference")
    left = [(table, row) for (table, _), (op, *row) in held.items() if op == "i"]
    graph.load({name: [row for table, row in left if table == name] for name in TABLES})
    return rows_of(graph.to_arrow())


def rows_of(found: pa.Table) -> Any:
    """Count rows, those with a count of their own as often as that."""
    rows = [tuple(row.values()) for row in found.to_pylist()]
    if "_count" in found.column_names:
        rows = [row[:-1] for row in rows for _ in range(int(str(row[-1])))]
    return bag(rows)


@pytest.mark.parametrize("name", first(2, list(SQL)))
def test_a_copy_kept_by_merge_is_the_view(spark: Any, tmp_path: Path, name: str) -> None:
    sources = {
        table: {"format": "parquet", "path": str(tmp_path / table), "operation": "op"}
        for table in TABLES
    }
    for turn in range(len(TURNS)):
        write(tmp_path, turn)
        made = jg.spark.pipeline(
            VIEWS[name],
            sources=sources,
            sink=Delta(str(tmp_path / "copy"), content="view"),
            path=tmp_path / "state",
            engine=("compiled", "reference")[turn % 2],
            spark=spark,
        )
        try:
            made.run()
        finally:
            made.close()
        copy = spark.read.format("delta").load(str(tmp_path / "copy"))
        assert rows_of(copy.toArrow()) == expected(VIEWS[name], turn + 1)
        if turn == 2:
            shutil.rmtree(tmp_path / "state" / "checkpoint")


def test_a_file_describes_a_pipeline_of_outer_joins(spark: Any, tmp_path: Path, url: str) -> None:
    for turn in range(3):
        write(tmp_path, turn)
    (tmp_path / "tables.sql").write_text(";\n".join(TABLES.values()))
    (tmp_path / "left.sql").write_text(VIEWS["left"].sql)
    (tmp_path / "pipeline.toml").write_text(
        f"""
        views = ["left.sql"]
        tables = "tables.sql"
        sources.tweet = {{ format = "parquet", path = "tweet", operation = "op" }}
        sources.retweet = {{ format = "parquet", path = "retweet", operation = "op" }}
        sinks = [
          {{ kind = "parquet", path = "out" }},
          {{ kind = "redis", stream = "left", url = "{url}", form = "fields" }},
          {{ kind = "timeline", prefix = "t", subscriber = "who", score = "tweet", url = "{url}" }},
        ]
        """
    )
    file = str(tmp_path / "pipeline.toml")
    assert main(["check", file]) == main(["run", file]) == 0
    with jg.open(tmp_path / "state/graphs/left/graph", readonly=True) as graph:
        assert rows_of(graph.to_arrow()) == expected(VIEWS["left"], 3)
    with Redis.from_url(url) as redis:
        assert len(redis.xrange("left")) == len(pq.read_table(tmp_path / "out"))
        top = [json.loads(row) for row in redis.zrange("t:ann", 0, -1)]
    assert sorted((each["tweet"], each["fan"]) for each in top) == [(1, "eve"), (4, "eve")]


@pytest.mark.parametrize("engine", first(1, ["compiled", "reference"]))
def test_spark_reads_each_row_once_and_follows_view_diffs(
    spark: Any, tmp_path: Path, engine: str
) -> None:
    view, path = VIEWS["full"], tmp_path / "graph"
    with jg.JoinGraph(view, path, engine=engine) as graph:
        graph.subscribe("spark")
        for turn in TURNS[:2]:
            graph.apply([("insert", table, [row]) for table, _, *row in turn])
            graph.snapshot()
    right = expected(view, 2)
    read = spark.read.format("joingraph").option("partitions", 3).load(str(path))
    assert rows_of(read.toArrow()) == right
    for where in ("fan IS NULL", "who IS NULL AND fan = 'ann'", "coalesce(who, fan) = 'max'"):
        with jg.open(path, readonly=True) as graph:
            found = rows_of(graph.scan(where).read_all())
        some = spark.read.format("joingraph").option("partitions", 2).option("where", where)
        assert (
            rows_of(some.load(str(path)).toArrow()) == rows_of(read.where(where).toArrow()) == found
        )
        assert found
    told: list[dict[str, Any]] = []
    stream = spark.readStream.format("joingraph").option("subscriber", "spark").load(str(path))
    writer = stream.writeStream.foreachBatch(
        lambda rows, _: told.extend(rows.toArrow().to_pylist())
    )
    writer = writer.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "c"))
    writer.start().awaitTermination()
    changes = [(row["_change_type"], (row["who"], row["fan"]), row["_count"]) for row in told]
    assert fold(changes) == right
