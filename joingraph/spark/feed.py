"""All sources of a pipeline as one streaming DataFrame, and a micro-batch of it taken apart again.

    _t   _lane _a _b _n _op _bad _raw   bigint 0   bigint 1   string 0
    0    …                              7          8          NULL
    1    …                              5          NULL       text

Sources share the columns of one type (`slots`): a row is as wide as the widest table, not as all of
them. What is the same in all rows of a source (read_rows.silent) is left out, and put back in the
driver; of a file's name its number travels (file_names).

One query for all sources: what a micro-batch costs before any work is paid once, and the graph
takes diffs of all tables whole or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, IntegerType, LongType

from joingraph.pipeline.changes import INSERT, POST, PRE, rows_at
from joingraph.pipeline.model import WATCHED, Source
from joingraph.pipeline.read_rows import META, File, nothing, of_files, silent
from joingraph.plan.view import View
from joingraph.spark.file_names import NUMBER, lane_number
from joingraph.spark.filters import spark_name, wanted
from joingraph.spark.sources.open import Opened
from joingraph.spark.types import spark_type
from joingraph.tables.table import Table


def one_stream(
    opened: Mapping[str, Opened],
    sources: Mapping[str, Source],
    tables: Mapping[str, Table],
    views: Sequence[View],
) -> DataFrame:
    """Put sources into one stream, without the rows that matter to no view."""
    parts: list[StreamPart] = []
    for number, (name, found) in enumerate(opened.items()):
        source, table = sources[name], tables[name]
        matters = None if source.debezium else wanted(views, table)
        rows = found.rows
        if matters is not None:
            rows = rows.filter(needed_rows(found, source, table, matters))
        parts.append(StreamPart(rows, stream_columns(found.meta, number, source, table)))
    types = {name: type for part in parts for name, (_, type) in part.columns.items()}
    return reduce(DataFrame.union, (part.with_all(types) for part in parts))


class StreamPart(NamedTuple):
    """The rows of one source, and the stream's columns that it has: how each is made, its type."""

    rows: DataFrame
    columns: Mapping[str, tuple[Column, DataType]]

    def with_all(self, types: Mapping[str, DataType]) -> DataFrame:
        """Return the rows all columns of the stream, in one step: others' are NULL."""
        nothing = {name: (F.lit(None).cast(type), type) for name, type in types.items()}
        made = {**nothing, **self.columns}
        return self.rows.select(*(column.alias(name) for name, (column, _) in made.items()))


def needed_rows(found: Opened, source: Source, table: Table, matters: Column) -> Column:
    """Return which rows the driver needs: those that matter, and those that it must judge."""
    if source.by_key:
        # Old rows are known by their key alone, so nothing tells whether they mattered.
        matters = matters | (found.meta["_op"] != INSERT)
    elif source.operation and source.format != "parquet":
        # Rows have no numbers, so what the filter left of a pair would not be known as half.
        matters = matters | found.meta["_op"].isin(PRE, POST)
    if "_bad" in silent(source):
        never_null = (F.col(spark_name(each.name)) for each in table.schema if not each.nullable)
        return reduce(or_, (each.isNull() for each in never_null), matters)
    return found.meta["_bad"].isNotNull() | matters


def stream_columns(
    meta: Mapping[str, Column], number: int, source: Source, table: Table
) -> dict[str, tuple[Column, DataType]]:
    """Return a source's columns by their names in the stream, with their types."""
    found: dict[str, tuple[Column, DataType]] = {"_t": (F.lit(number), IntegerType())}
    for name in (each for each in META if each not in silent(source)):
        found[name] = meta[name], spark_type(META[name])
    if source.format in WATCHED:
        found[NUMBER] = lane_number(meta["_lane"]), LongType()
    fields = [] if source.debezium else list(table.schema)
    types = [spark_type(field.type) for field in fields]
    for slot, type, field in zip(slots(types), types, fields, strict=True):
        found[slot] = F.col(spark_name(field.name)), type
    return found


def slots(types: Iterable[DataType]) -> list[str]:
    """Return the names of the stream's columns that hold a source's columns of these types.

    >>> slots([LongType(), IntegerType(), LongType()])
    ['bigint 0', 'int 0', 'bigint 1']
    """
    there = Counter[str]()
    found = []
    for name in (type.simpleString() for type in types):
        found.append(f"{name} {there[name]}")
        there[name] += 1
    return found


def apart(
    rows: pa.Table,
    sources: Mapping[str, Source],
    tables: Mapping[str, Table],
    files: Mapping[int, File],
) -> dict[str, pa.Table]:
    """Cut a micro-batch into the rows of each source that has any; `files` are theirs."""
    found: dict[str, pa.Table] = {}
    of = rows["_t"].to_numpy() if len(sources) > 1 else None
    for number, (name, source) in enumerate(sources.items()):
        part = rows if of is None else rows_at(rows, np.flatnonzero(of == number))
        if not len(part):
            continue
        fields = [] if source.debezium else list(tables[name].schema)
        mute = silent(source)
        meta = {each: nothing(each, len(part)) if each in mute else part[each] for each in META}
        if source.format in WATCHED:
            meta |= of_files(part[NUMBER], files)
        columns = [part[slot] for slot in slots(spark_type(field.type) for field in fields)]
        names = [*META, *(field.name for field in fields)]
        found[name] = pa.table([*meta.values(), *columns], names=names)
    return found
