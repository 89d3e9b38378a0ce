"""All sources of a pipeline as one streaming DataFrame, and a micro-batch of it taken apart again.

    _t   _lane _a _b _n _op _bad _raw   c0_0 c0_1 | c1_0 …      (c<source>_<column>)
    0    …                              7    8    | NULL
    1    …                              NULL NULL | 5

What is the same in all rows of a source (arrived.silent) is left out, and put back in the driver;
so are the names of files (lanes).

One query for all sources: what a micro-batch costs before any work is paid once, and the graph
takes diffs of all tables whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from joingraph.definition import Table
from joingraph.pipeline.arrived import META, nothing, silent, with_names
from joingraph.pipeline.changes import INSERT, POST, PRE
from joingraph.pipeline.model import WATCHED, Source
from joingraph.spark.filters import quoted, wanted
from joingraph.spark.lanes import NUMBER, lane_columns
from joingraph.spark.sources import given, opened
from joingraph.view import View


class Feed:
    """The sources of a pipeline, filtered for its views and put into one stream."""

    def __init__(
        self, spark: SparkSession, views: Sequence[View], readers: Mapping[str, DataFrame]
    ) -> None:
        self.spark, self.views, self.readers = spark, views, readers

    def stream(self, sources: Mapping[str, Source], tables: Mapping[str, Table]) -> DataFrame:
        """Open all sources as one stream."""
        parts = [
            numbered(self.one(source, tables[name]), number, source, tables[name])
            for number, (name, source) in enumerate(sources.items())
        ]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)

    def one(self, source: Source, table: Table) -> DataFrame:
        """Open one source, and drop the rows that matter to no view."""
        if table.name in self.readers:
            rows = given(self.readers[table.name], source, table)
        else:
            rows = opened(self.spark, source, table)
        matters = None if source.debezium else wanted(self.views, table)
        if matters is None:
            return rows
        if source.by_key:
            # Old rows are known by their key alone, so nothing tells whether they mattered.
            matters = matters | (F.col("_op") != INSERT)
        elif source.operation and source.format != "parquet":
            # Rows have no numbers, so what the filter left of a pair would not be known as half.
            matters = matters | F.col("_op").isin(PRE, POST)
        return rows.filter(F.col("_bad").isNotNull() | matters)


def numbered(rows: DataFrame, number: int, source: Source, table: Table) -> DataFrame:
    """Give a source's rows its number, and its columns names that no other source has."""
    names = [] if source.debezium else table.schema.names
    own = [F.col(quoted(name)).alias(f"c{number}_{at}") for at, name in enumerate(names)]
    meta = [F.col(each) for each in META if each not in silent(source, table)]
    meta += lane_columns() if source.format in WATCHED else []
    return rows.select(F.lit(number).cast("byte").alias("_t"), *meta, *own)


def apart(
    rows: pa.Table,
    sources: Mapping[str, Source],
    tables: Mapping[str, Table],
    files: Mapping[int, str],
) -> dict[str, pa.Table]:
    """Cut a micro-batch into the rows of each source; `files` are the names of theirs."""
    found: dict[str, pa.Table] = {}
    for number, (name, source) in enumerate(sources.items()):
        part = rows if len(sources) == 1 else rows.filter(pc.equal(rows["_t"], number))
        names = [] if source.debezium else tables[name].schema.names
        mute = silent(source, tables[name])
        said = {each: nothing(each, len(part)) if each in mute else part[each] for each in META}
        if source.format in WATCHED:
            said["_lane"] = with_names(part[NUMBER], files)
        columns = [part[f"c{number}_{at}"] for at in range(len(names))]
        found[name] = pa.table([*said.values(), *columns], names=[*META, *names])
    return found
