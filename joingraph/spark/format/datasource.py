"""`spark.read.format("joingraph").load(path)`: a durable graph's view, read by executors.

    .option("where", "userId = 5")  one vertex value is read, not the view
    .option("columns", "a, b")      only these columns leave the graph
    .option("partitions", 4)        as many tasks, each a share of the starting tuples

A DataFrame's own .where(...) is Spark's: what Spark 4.2 pushes into a source written in Python
stays with the DataFrame, and a query without a condition would read what the last one left.

Every task opens the graph's last snapshot by itself and replays the log up to where it was when
the query was planned, so executors must share its file system. A graph in memory, or one on another
machine, is read in its own process (graph.scan).

With .option("subscriber", name) and readStream it is the view's diffs, as a stream (read_diffs.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from joingraph.api.partitions import parts_in
from joingraph.common.errors import StoreError
from joingraph.common.names import did_you_mean, quoted
from joingraph.plan.view import View
from joingraph.spark.format.read_diffs import DiffsReader
from joingraph.spark.types import CHANGE, spark_schema, widened
from joingraph.storage.disk.beside import look_again
from joingraph.storage.disk.folder import Folder
from joingraph.storage.open_graph import read_stored


class GraphSource(DataSource):
    """A view, as the rows of its graph."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "joingraph"

    def schema(self) -> StructType:
        """Return the view's columns, or those that were asked for; of a stream, of diffs."""
        schema = view_of(self.options).schema
        fields = [schema.field(name) for name in columns_to_read(self.options)]
        own = CHANGE if "subscriber" in self.options else ()
        return spark_schema(pa.schema([*fields, *own]))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Make the reader."""
        if "subscriber" in self.options:
            raise StoreError("a subscriber reads a stream of view diffs: use spark.readStream")
        return GraphReader(dict(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Make the reader of view diffs."""
        if "subscriber" not in self.options:
            raise StoreError(
                'a stream has a subscriber: call graph.subscribe("spark") where the graph is '
                'written, and readStream.option("subscriber", "spark")'
            )
        if "where" in self.options:
            raise StoreError("a stream of view diffs takes no option where: filter the DataFrame")
        return DiffsReader(graph_path(self.options), dict(self.options), schema.names)


def register(spark: SparkSession) -> None:
    """Make `format("joingraph")` known to a session that joingraph has not started."""
    spark.dataSource.register(GraphSource)


def graph_path(options: Mapping[str, str]) -> Path:
    """Return the graph's folder."""
    if "path" not in options:
        raise StoreError('name the graph\'s folder: spark.read.format("joingraph").load(path)')
    return Path(options["path"].removeprefix("file:"))


def view_of(options: Mapping[str, str]) -> View:
    """Read which view a folder's graph is of."""
    path = graph_path(options)
    return look_again(Folder(path), lambda: read_stored(path)).view


def columns_to_read(options: Mapping[str, str]) -> list[str]:
    """Return the names of the columns to read."""
    names = view_of(options).schema.names
    wanted = [each.strip() for each in options.get("columns", "").split(",") if each.strip()]
    for name in wanted:
        if name not in names:
            hint = did_you_mean(name, names)
            raise StoreError(f"columns: the view has no column {quoted(name)}{hint}")
    return wanted or list(names)


class GraphReader(DataSourceReader):
    """Reads a view in shares, or by a condition."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.path, self.columns = graph_path(options), columns_to_read(options)
        self.where = options.get("where") or None
        self.count = int(options.get("partitions", "1"))

    def partitions(self) -> Sequence[InputPartition]:
        """Split the view, or what a condition leaves of it."""
        return [InputPartition(part) for part in parts_in(self.path, self.count, self.where)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read one share; StoreError if a snapshot was made since the query was planned."""
        for batch in partition.value.read():
            rows = pa.Table.from_batches([batch.select(self.columns)])
            yield from widened(rows).to_batches()
