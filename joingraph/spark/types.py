"""Arrow's types as Spark names them; what Spark does not have takes the next wider one."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType, StructField, StructType

WIDER: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}
CHANGE: Final = (  # the columns of view diffs behind those of the view
    pa.field("_change_type", pa.string()),
    pa.field("_count", pa.int64()),
    pa.field("_seq", pa.int64()),
    pa.field("_diff", pa.int64()),
)


def spark_type(type: pa.DataType) -> DataType:
    """Return Spark's type for a column of a table or view."""
    return from_arrow_type(wider(type), prefer_timestamp_ntz=True)


def spark_schema(schema: pa.Schema) -> StructType:
    """Return Spark's schema for a table or view; every column may be NULL in a file."""
    return StructType([StructField(field.name, spark_type(field.type)) for field in schema])


def wider(type: pa.DataType) -> pa.DataType:
    """Return the type in which Spark reads a column: it has no dictionaries, nothing unsigned."""
    if pa.types.is_dictionary(type):
        return wider(type.value_type)
    if pa.types.is_list(type):
        return pa.list_(wider(type.value_type))
    return WIDER.get(type, type)


def widened(table: pa.Table) -> pa.Table:
    """Return rows as Spark reads them."""
    fields = [field.with_type(wider(field.type)) for field in table.schema]
    return table.cast(pa.schema(fields))
