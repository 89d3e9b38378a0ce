"""`spark.read.format("joingraph").load(path)`: a durable graph's view, read by executors.

    .where("userId = 5")        goes into the graph: one vertex value is read, not the view
    .option("columns", "a, b")  only these columns leave the graph
    .option("partitions", 4)    as many tasks, each a share of the starting tuples

Every task opens the graph's last snapshot by itself and replays the log up to where it was when
the query was planned, so executors must share its file system. A graph in memory, or one on another
machine, is read in its own process (graph.scan).

With .option("subscriber", name) and readStream it is the view's diffs, as a stream (read_diffs.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.types import StructType
from sqlglot import exp

from joingraph.api.partitions import parts_in
from joingraph.common.errors import StoreError
from joingraph.common.names import did_you_mean, quoted
from joingraph.plan.view import View
from joingraph.spark.format.read_diffs import DiffsReader
from joingraph.spark.types import CHANGE, spark_schema, widened
from joingraph.storage.disk.beside import look_again
from joingraph.storage.disk.folder import Folder
from joingraph.storage.open_graph import read_stored

COMPARED = {
    EqualTo: exp.EQ,
    GreaterThan: exp.GT,
    GreaterThanOrEqual: exp.GTE,
    LessThan: exp.LT,
    LessThanOrEqual: exp.LTE,
}


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
        return DiffsReader(graph_path(self.options), dict(self.options), schema.names)


def register(spark: SparkSession) -> None:
    """Make `format("joingraph")` known to a session that joingraph has not started."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
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
        self.options, self.where = options, ""
        self.path, self.columns = graph_path(options), columns_to_read(options)
        self.count = int(options.get("partitions", "1"))

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take the conditions that a graph decides as Spark does; give the others back."""
        view = view_of(self.options)
        pushed: list[str] = []
        for each in filters:
            text = sql_of(each, view)
            if text:
                pushed.append(text)
            else:
                yield each
        self.where = " AND ".join(pushed)

    def partitions(self) -> Sequence[InputPartition]:
        """Split the view; what a condition leaves is read in one place."""
        count = 1 if self.where else self.count
        return [InputPartition(part) for part in parts_in(self.path, count, self.where or None)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read one share; StoreError if a snapshot was made since the query was planned."""
        for batch in partition.value.read():
            rows = pa.Table.from_batches([batch.select(self.columns)])
            yield from widened(rows).to_batches()


def sql_of(filter: Filter, view: View) -> str:
    """Write a condition as SQL of the view's dialect; empty where the two might differ."""
    name = getattr(filter, "attribute", ("",))[0]
    if name not in view.schema.names or not is_plain(view.schema.field(name).type):
        return ""
    column, value = exp.column(name, quoted=True), getattr(filter, "value", None)
    if isinstance(filter, IsNotNull):
        return exp.not_(exp.Is(this=column, expression=exp.null())).sql(dialect=view.dialect)
    if isinstance(filter, In) and None not in filter.value:
        values = [exp.convert(each) for each in filter.value]
        return exp.In(this=column, expressions=values).sql(dialect=view.dialect)
    for kind, compare in COMPARED.items():
        if isinstance(filter, kind):
            return compare(this=column, expression=exp.convert(value)).sql(dialect=view.dialect)
    return ""


def is_plain(type: pa.DataType) -> bool:
    """True for types whose values and order are the same in every system."""
    return bool(pa.types.is_integer(type) or pa.types.is_string(type))
