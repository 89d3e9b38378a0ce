"""Opens sources as streaming DataFrames of one shape: where a row stands, what it is, the row.

    _lane _a _b _n | _op | _bad _raw | the table's columns        (joingraph/pipeline/read_rows.py)

What is malformed is not dropped here: it travels on with its reason in `_bad`. The first seven are
given as expressions, not as a DataFrame that has them: Spark plans every micro-batch anew, and each
step of the plan again.
"""

from __future__ import annotations

from functools import reduce
from importlib.metadata import version
from operator import or_
from typing import NamedTuple

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from joingraph.common.errors import StoreError
from joingraph.pipeline.changes import UNKNOWN, UPDATE, words_of
from joingraph.pipeline.model import WATCHED, Source
from joingraph.pipeline.read_rows import META, found_null
from joingraph.spark.filters import spark_name
from joingraph.spark.sources.streams import Generated, RedisEntries
from joingraph.spark.types import spark_schema, spark_type
from joingraph.tables.table import Table

CORRUPT = "_corrupt"
PLACE = tuple(META)[:4]
Meta = dict[str, Column]  # by their names in META, the columns that tell of a row


class Opened(NamedTuple):
    """A source: its rows, with the table's columns, and by name what META says of each."""

    rows: DataFrame
    meta: Meta


def open_source(spark: SparkSession, source: Source, table: Table, described: object) -> Opened:
    """Open a source as a stream, unless the caller has described it by one."""
    if isinstance(described, DataFrame):
        return opened_by_caller(described, source, table)
    if source.format in WATCHED:
        return files(spark, source, table)
    if source.format == "delta":
        return change_feed(spark, source, table)
    if source.format == "generator":
        return generator(spark, source, table)
    return records(spark, source, table)


def place_of(
    lane: Column, a: Column | None = None, b: Column | None = None, n: Column | None = None
) -> Meta:
    """Return the columns of META that say where a row stands in its source; 0 where none is given.

    Spark's columns have no truth value, so each is compared with None.
    """
    numbers = (F.lit(0).cast("long") if each is None else each for each in (a, b, n))
    return dict(zip(PLACE, (lane, *numbers), strict=True))


def files(spark: SparkSession, source: Source, table: Table) -> Opened:
    """Stream the files of a folder, each in the order of its rows."""
    schema, reader = spark_schema(table.schema), spark.readStream
    changed_us = F.unix_micros(F.col("_metadata.file_modification_time"))
    if source.operation:
        schema = schema.add(source.operation, StringType())
    if source.format == "parquet":
        place = place_of(F.input_file_name(), changed_us, n=F.col("_metadata.row_index"))
    else:
        schema = schema.add(CORRUPT, StringType())
        reader = reader.options(mode="PERMISSIVE", columnNameOfCorruptRecord=CORRUPT)
        reader = reader.options(header="true", enforceSchema="false")
        place = place_of(F.input_file_name(), changed_us, F.col("_metadata.file_block_start"))
    if source.debezium:
        schema, reader = StructType([StructField("value", StringType())]), spark.readStream
    reader = reader.options(**source.options).schema(schema)
    rows = reader.load(source.path, "text" if source.debezium else source.format)
    return wrapped(rows, place) if source.debezium else judged(rows, place, source, table)


def wrapped(rows: DataFrame, place: Meta) -> Opened:
    """Pass records on that are read in the driver."""
    nothing = {"_op": F.lit(0).cast("byte"), "_bad": F.lit(None).cast("string")}
    return Opened(rows, {**place, **nothing, "_raw": F.col("value")})


def judged(rows: DataFrame, place: Meta, source: Source, table: Table) -> Opened:
    """Return rows with their operation, and why those that are malformed cannot be read."""
    code, bad = operation_of(source)
    reasons = [bad, *(null_reason(field) for field in table.schema if not field.nullable)]
    record = F.to_json(F.struct(*(F.col(spark_name(name)) for name in table.schema.names)))
    if CORRUPT in rows.columns:
        reasons.insert(0, F.when(F.col(CORRUPT).isNotNull(), F.lit("is malformed")))
        record = F.coalesce(F.col(CORRUPT), record)
    reason = F.coalesce(*reasons) if len(reasons) > 1 else reasons[0]
    raw = F.when(reason.isNotNull(), record)
    return Opened(rows, {**place, "_op": code, "_bad": reason, "_raw": raw})


def operation_of(source: Source) -> tuple[Column, Column]:
    """Read the column that says what a row is: its code, and what is wrong with it."""
    name = "_change_type" if source.format == "delta" else source.operation
    nothing = F.lit(None).cast("string")
    if not name:
        return F.lit(0).cast("byte"), nothing
    word = F.lower(F.trim(F.col(spark_name(name))))
    words = words_of(source)
    code = F.lit(UNKNOWN)
    for each in sorted(set(words.values())):
        meaning = [known for known in words if words[known] == each]
        code = F.when(word.isin(meaning), F.lit(each)).otherwise(code)
    bad = F.when(
        code == UNKNOWN,
        F.concat(F.lit(f"{name} is "), F.coalesce(word, F.lit("NULL")), F.lit(", no operation")),
    )
    if not source.by_key:
        text = 'is an update without its old row; declare a key and set before = "key"'
        bad = F.coalesce(bad, F.when(code == UPDATE, F.lit(text)))
    return code.cast("byte"), bad


def null_reason(field: pa.Field) -> Column:
    """Return the reason why a row is malformed: a column is NULL where it must not be."""
    return F.when(F.col(spark_name(field.name)).isNull(), F.lit(found_null(field.name)))


def change_feed(spark: SparkSession, source: Source, table: Table) -> Opened:
    """Stream the change feed of a Delta table."""
    reader = spark.readStream.format("delta").option("readChangeFeed", "true")
    if not {"startingVersion", "startingTimestamp"} & set(source.options):
        reader = reader.option("startingVersion", "0")
    rows = reader.options(**source.options).load(source.path)
    missing = [name for name in table.schema.names if name not in rows.columns]
    if missing:
        raise StoreError(
            f"{table.name}: the Delta table {source.path} has no column {', '.join(missing)}; it "
            f"has {', '.join(rows.columns[:-3])}"
        )
    return judged(rows, place_of(F.lit(""), F.col("_commit_version")), source, table)


def generator(spark: SparkSession, source: Source, table: Table) -> Opened:
    """Stream made-up rows."""
    spark.dataSource.register(Generated)
    reader = spark.readStream.format("joingraph_generator").option("table", source.path)
    rows, number = reader.options(**source.options).load(), F.col("_number")
    return judged(rows, place_of(F.lit(""), number, n=number), source, table)


def records(spark: SparkSession, source: Source, table: Table) -> Opened:
    """Stream records of text: a Redis stream, or a topic of Kafka."""
    if source.format == "redis":
        spark.dataSource.register(RedisEntries)
        reader = spark.readStream.format("joingraph_redis").option("stream", source.path)
        place = place_of(F.lit(""), F.col("ms"), F.col("seq"), F.col("seq"))
    else:
        reader = spark.readStream.format("kafka").option("subscribe", source.path)
        reader = reader.option("startingOffsets", "earliest")
        lane, number = F.concat_ws("-", "topic", "partition"), F.col("offset")
        place = place_of(lane, number, n=number)
    try:
        # A table may have a column of the same name as one that says where its rows stand.
        rows = reader.options(**source.options).load().withColumns(place)
    except AnalysisException as error:
        if "data source: kafka" not in str(error):
            raise
        raise StoreError(no_kafka(table)) from error
    rows = rows.withColumn("value", F.col("value").cast("string"))
    place = {name: F.col(name) for name in PLACE}
    return wrapped(rows, place) if source.debezium else parsed(rows, place, source, table)


def no_kafka(table: Table) -> str:
    """Return how Spark gets its Kafka source."""
    package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version('pyspark')}"
    return (
        f"{table.name}: this Spark session has no Kafka source; start it with "
        f'jg.spark.session({{"spark.jars.packages": "{package}"}}), or name the jars of that '
        "package and of what it needs in spark.jars"
    )


def parsed(rows: DataFrame, place: Meta, source: Source, table: Table) -> Opened:
    """Read JSON objects as rows: every value as text, and the text as the column's type."""
    names = source.columns(table)
    texts = StructType([StructField(name, StringType()) for name in [*names, CORRUPT]])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    rows = rows.withColumn("_read", F.from_json("value", texts, options))
    read = {name: F.col("_read")[name] for name in names}
    typed = {
        field.name: read[field.name].try_cast(spark_type(field.type)) for field in table.schema
    }
    lost = [read[field.name].isNotNull() & typed[field.name].isNull() for field in table.schema]
    # No text, an empty one and a JSON null are no object: read as one, all its columns were NULL.
    broken = reduce(or_, lost, F.col("_read").isNull() | F.col("_read")[CORRUPT].isNotNull())
    operation = {source.operation: read[source.operation]} if source.operation else {}
    corrupt = {CORRUPT: F.when(broken, F.coalesce("value", F.lit("")))}
    return judged(rows.withColumns({**typed, **operation, **corrupt}), place, source, table)


def opened_by_caller(rows: DataFrame, source: Source, table: Table) -> Opened:
    """Return a stream that the caller has opened; its rows have no places of their own."""
    if not rows.isStreaming:
        raise StoreError(
            f"{table.name}: a source is a stream, spark.readStream…; found a DataFrame of "
            "spark.read"
        )
    known = {name.lower() for name in rows.columns}
    missing = [name for name in source.columns(table) if name.lower() not in known]
    if missing:
        raise StoreError(
            f"{table.name}: its source has no column {', '.join(missing)}; it has "
            f"{', '.join(rows.columns)}"
        )
    return judged(rows, place_of(F.lit(None).cast("string")), source, table)
