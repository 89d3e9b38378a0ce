"""Measures a pipeline beside hand-made PySpark: the same files, one after another, in one session.

    empty    foreachBatch(toArrow)                       what Spark costs before any work
    hand     foreachBatch(diffs joined to cached tables, toArrow)
    ours     the pipeline: filter, graph, outbox, a function as its sink

All three hand Arrow to the driver, and a round times each of them in turn. What is timed is a whole
micro-batch, from the end of one to the end of the next; the first of a stream starts it and is not
counted. Rows that came out are added up while the clock stands, and let go, as a sink would do.
What is left over `empty` is a system's own time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from benchmarks.harness.checksum import Tally, tally
from benchmarks.workloads.views import JoinView
from joingraph.plan.view import View
from joingraph.spark.build import pipeline
from joingraph.spark.environment.session import session
from joingraph.spark.types import spark_schema

MEMORY = "6g"
SYSTEMS = ("empty", "hand", "ours")
Take = Callable[[DataFrame, int], None]


class Feed(NamedTuple):
    """What is measured: a view, its base tables, and the files of its diffs, a folder a table."""

    view: View
    join: JoinView
    tables: Mapping[str, pa.Table]
    folder: Path


class Stopwatch:
    """One stream: the seconds of each micro-batch but the first, and a tally of all rows."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.tally = Tally()
        self._rows: list[pa.Table] = []
        self._since: float | None = None

    def take(self, rows: pa.Table) -> None:
        """Take what came out; it is looked at when the clock stands."""
        self._rows.append(rows)

    def lap(self, *_: object) -> None:
        """End a micro-batch."""
        if self._since is not None:
            self.seconds.append(time.perf_counter() - self._since)
        blocks = (block for rows in self._rows for block in rows.to_batches())
        self.tally = sum((tally(block) for block in blocks), self.tally)
        self._rows.clear()
        self._since = time.perf_counter()


def write_files(folder: Path, batches: Sequence[Mapping[str, pa.Table]]) -> None:
    """Write micro-batches as files, of each table one a micro-batch."""
    for number, batch in enumerate(batches):
        for name, rows in batch.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            if len(rows):
                pq.write_table(rows, folder / name / f"{number:05d}.parquet")


class Measured:
    """The three systems over one feed."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.spark: SparkSession = session({"spark.driver.memory": MEMORY}, master="local[2]")
        self.cached = {name: cached(self.spark, rows) for name, rows in feed.tables.items()}

    def rounds(self, count: int) -> Iterator[tuple[str, Stopwatch]]:
        """Run all systems in turns, so many times."""
        for _ in range(count):
            for system in SYSTEMS:
                yield system, getattr(self, system)()

    def close(self) -> None:
        """Let the cached tables go."""
        for each in self.cached.values():
            each.unpersist()

    def empty(self) -> Stopwatch:
        """Hand every micro-batch to the driver and do nothing with it."""
        watch = Stopwatch()

        def take(rows: DataFrame, batch: int) -> None:
            rows.toArrow()
            watch.lap()

        return self._streamed(take, watch)

    def hand(self) -> Stopwatch:
        """Join every micro-batch to the cached base tables, and hand over what comes out."""
        watch, base = Stopwatch(), dict(self.cached)

        def take(rows: DataFrame, batch: int) -> None:
            diffs = apart(rows, self.feed)
            found = delta(self.feed.join, base, diffs)
            watch.take(found.toArrow())
            for name, new in diffs.items():
                base[name] = base[name].union(new)
            watch.lap()

        return self._streamed(take, watch)

    def ours(self) -> Stopwatch:
        """Run the pipeline, its graph on disk."""
        watch = Stopwatch()
        with TemporaryDirectory() as folder:
            files = {"maxFilesPerTrigger": "1"}
            made = pipeline(
                self.feed.view,
                sources={
                    name: {"format": "parquet", "path": str(self.feed.folder / name),
                           "options": files}
                    for name in self.feed.tables
                },
                sink=watch.take,
                path=folder,
                spark=self.spark,
            )  # fmt: skip
            made.graph.compile()
            used = made.graph.view.tables
            tables = {name: rows.select(used[name].schema.names)
                      for name, rows in self.feed.tables.items()}  # fmt: skip
            made.graph.load(tables)
            made.on_progress = watch.lap
            made.run().close()
        return watch

    def _streamed(self, take: Take, watch: Stopwatch) -> Stopwatch:
        """Stream the plain rows of all tables."""
        with TemporaryDirectory() as checkpoint:
            writer = plain(self.spark, self.feed).writeStream.foreachBatch(take)
            writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
            writer.start().awaitTermination()
        return watch


def cached(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Keep a base table in Spark's memory, in as many parts as there are cores."""
    with TemporaryDirectory() as folder:
        pq.write_table(rows, f"{folder}/rows.parquet")
        read = spark.read.schema(spark_schema(rows.schema)).parquet(folder)
        found = read.repartition(2).persist(StorageLevel.MEMORY_ONLY)
        found.count()
    return found


def plain(spark: SparkSession, feed: Feed) -> DataFrame:
    """Stream the files of all tables as they are, each with its number."""
    parts = []
    for number, (name, rows) in enumerate(feed.tables.items()):
        reader = spark.readStream.schema(spark_schema(rows.schema))
        part = reader.option("maxFilesPerTrigger", "1").parquet(str(feed.folder / name))
        names = [F.col(each).alias(f"c{number}_{each}") for each in rows.column_names]
        parts.append(part.select(F.lit(number).alias("_t"), *names))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)


def apart(rows: DataFrame, feed: Feed) -> dict[str, DataFrame]:
    """Cut a micro-batch into the diffs of the tables that have any; read once, if used twice."""
    changing = [name for name in feed.tables if any((feed.folder / name).glob("*"))]
    rows = rows if len(changing) == 1 else rows.persist(StorageLevel.MEMORY_ONLY)
    found = {}
    for number, (name, table) in enumerate(feed.tables.items()):
        names = [F.col(f"c{number}_{each}").alias(each) for each in table.column_names]
        if name in changing:
            found[name] = rows.where(F.col("_t") == number).select(*names)
    return found


def delta(
    join: JoinView, base: Mapping[str, DataFrame], diffs: Mapping[str, DataFrame]
) -> DataFrame:
    """Compute a view's inserts: the diffs of each alias with what the others hold by then."""
    parts, done = [], set[str]()
    for alias, table in join.aliases.items():
        if table in diffs:
            held = {
                other: base[name].union(diffs[name]) if other in done and name in diffs
                else base[name]
                for other, name in join.aliases.items()
            }  # fmt: skip
            parts.append(joined(join, held | {alias: diffs[table]}, alias))
            done.add(alias)
    return reduce(DataFrame.union, parts)


def joined(join: JoinView, held: Mapping[str, DataFrame], first: str) -> DataFrame:
    """Join from the diffs outwards, the smaller side broadcast at every step."""
    named = {
        alias: rows.select(*(F.col(name).alias(f"{alias}_{name}") for name in rows.columns))
        for alias, rows in held.items()
    }
    found, there = named[first], {first}
    for _, other in join.walk(first):
        there.add(other.alias)
        equal = [
            F.col(f"{left.alias}_{left.column}") == F.col(f"{right.alias}_{right.column}")
            for left, right in join.joins
            if {left.alias, right.alias} <= there and other.alias in (left.alias, right.alias)
        ]
        found = named[other.alias].join(F.broadcast(found), reduce(and_, equal))
    return found.select(*(f"{alias}_{column}" for alias, column in join.output))
