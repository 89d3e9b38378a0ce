"""Arrow's types as Spark names them; what Spark does not have takes the next wider one."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

_TYPES: Final = {
    pa.bool_(): BooleanType(),
    pa.int8(): ByteType(),
    pa.int16(): ShortType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.uint8(): ShortType(),
    pa.uint16(): IntegerType(),
    pa.uint32(): LongType(),
    pa.uint64(): DecimalType(20, 0),
    pa.float32(): FloatType(),
    pa.float64(): DoubleType(),
    pa.string(): StringType(),
    pa.binary(): BinaryType(),
    pa.date32(): DateType(),
}


def spark_type(type: pa.DataType) -> DataType:
    """Return Spark's type for a column of a table or view."""
    if pa.types.is_decimal(type):
        return DecimalType(type.precision, type.scale)
    if pa.types.is_timestamp(type):
        return TimestampType() if type.tz else TimestampNTZType()
    return _TYPES[type]


def spark_schema(schema: pa.Schema) -> StructType:
    """Return Spark's schema for a table or view; every column may be NULL in a file."""
    return StructType([StructField(field.name, spark_type(field.type)) for field in schema])
