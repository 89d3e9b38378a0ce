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
    return from_arrow_type(WIDER.get(type, type), prefer_timestamp_ntz=True)


def spark_schema(schema: pa.Schema) -> StructType:
    """Return Spark's schema for a table or view; every column may be NULL in a file."""
    return StructType([StructField(field.name, spark_type(field.type)) for field in schema])


def without_dictionaries(table: pa.Table) -> pa.Table:
    """Replace dictionary columns by their values: Spark reads no dictionary."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
