"""Column types: which Arrow types joingraph takes, their SQL names, and what two of them share.

    bool   int8 … int64   uint8 … uint64   float32 float64   decimal128(p <= 38, s)
    string   binary   date32   timestamp(us) with or without time zone

Two questions are kept apart. `common` asks in which type a dialect compares two operands, and may
round (bigint with double). `join_type` asks which type can hold every value of both, so that
equal words are equal values: only such columns may share a join vertex.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

DECIMAL_DIGITS: Final = 38
DIALECTS: Final = ("spark", "duckdb", "postgres", "sqlite")

SIGNED: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
UNSIGNED: Final = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
INTEGERS: Final = SIGNED + UNSIGNED
FLOATS: Final = (pa.float32(), pa.float64())
TIMESTAMP: Final = pa.timestamp("us")

_SQL_NAMES: Final = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    TIMESTAMP: "TIMESTAMP",
    pa.null(): "NULL",
}
_SAME_AS: Final = {
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
    pa.float16(): pa.float32(),
}


def canonical(type: pa.DataType) -> pa.DataType:
    """Return the type in which joingraph keeps a column of this Arrow type, or raise TypeError."""
    if pa.types.is_dictionary(type):
        return canonical(type.value_type)
    if pa.types.is_fixed_size_binary(type):
        return pa.binary()
    if pa.types.is_decimal32(type) or pa.types.is_decimal64(type):
        type = pa.decimal128(type.precision, type.scale)
    type = _SAME_AS.get(type, type)
    if pa.types.is_timestamp(type):
        return pa.timestamp("us", type.tz)
    if pa.types.is_decimal128(type):
        if not 0 <= type.scale <= type.precision:
            raise TypeError(f"{type} is not taken: a decimal's scale lies in 0 … its precision")
        return type
    if type in _SQL_NAMES and type != pa.null():
        return type
    raise TypeError(
        f"{type} columns are not taken; joingraph takes booleans, integers, floats, decimals of "
        f"up to {DECIMAL_DIGITS} digits, strings, binaries, dates and timestamps"
    )


def sql_name(type: pa.DataType) -> str:
    """Name a type as SQL does.

    >>> sql_name(pa.decimal128(10, 2))
    'DECIMAL(10,2)'
    """
    if pa.types.is_decimal(type):
        return f"DECIMAL({type.precision},{type.scale})"
    if pa.types.is_timestamp(type) and type.tz:
        return "TIMESTAMP WITH TIME ZONE"
    return _SQL_NAMES.get(type, str(type))


def words_of(type_: pa.DataType) -> int:
    """Return how many words a value takes: two for a decimal of over 18 digits."""
    return 2 if pa.types.is_decimal(type_) and type_.precision > 18 else 1


def is_number(type: pa.DataType) -> bool:
    """True if arithmetic is defined on a type."""
    return type in INTEGERS or type in FLOATS or pa.types.is_decimal(type)


def decimal_of(type: pa.DataType, *, bigint_digits: int = 19) -> pa.DataType | None:
    """Return the decimal that holds every value of an integer or decimal type; else None.

    Spark writes BIGINT with 20 digits, the other dialects with the 19 it has.
    """
    if pa.types.is_decimal(type):
        return type
    digits = {8: 3, 16: 5, 32: 10}
    if type in SIGNED:
        return pa.decimal128(digits.get(type.bit_width, bigint_digits), 0)
    if type in UNSIGNED:
        return pa.decimal128(digits.get(type.bit_width, 20), 0)
    return None


def wider_decimal(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Return the decimal that holds every value of two; None where 38 digits are too few."""
    scale = max(a.scale, b.scale)
    precision = max(a.precision - a.scale, b.precision - b.scale) + scale
    return pa.decimal128(precision, scale) if precision <= DECIMAL_DIGITS else None


def wider_integer(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Return the integer type that holds every value of two; None for uint64 with a signed one."""
    if (a in SIGNED) == (b in SIGNED):
        return a if a.bit_width >= b.bit_width else b
    signed, unsigned = (a, b) if a in SIGNED else (b, a)
    if signed.bit_width > unsigned.bit_width:
        return signed
    place = UNSIGNED.index(unsigned) + 1
    return SIGNED[place] if place < len(SIGNED) else None


def join_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Give the type that two columns of one join class are kept in: it loses nothing of either."""
    if a == b:
        return a
    if a in INTEGERS and b in INTEGERS:
        return wider_integer(a, b)
    if a in FLOATS and b in FLOATS:
        return pa.float64()
    if pa.types.is_decimal(a) and pa.types.is_decimal(b):
        return wider_decimal(a, b)
    if {a, b} == {pa.date32(), TIMESTAMP}:
        return TIMESTAMP
    return None


def common(a: pa.DataType, b: pa.DataType, dialect: str = "spark") -> pa.DataType | None:
    """Give the type in which a dialect compares two operands; None where it has, or we take, none.

    NULL without a type takes the other's.
    """
    if pa.null() in (a, b):
        return b if a == pa.null() else a
    if a == b:
        return a
    if is_number(a) and is_number(b):
        return _common_number(operand_type(a, dialect), operand_type(b, dialect), dialect)
    if a == b or ({a, b} == {pa.date32(), TIMESTAMP} and dialect != "sqlite"):
        return a if a == b else TIMESTAMP
    if pa.types.is_timestamp(a) and pa.types.is_timestamp(b) and a.tz and b.tz:
        return pa.timestamp("us", "UTC")
    return None


def operand_type(type: pa.DataType, dialect: str) -> pa.DataType:
    """Return the type as which a dialect computes with a number.

    Only DuckDB has unsigned integers: elsewhere they widen as Spark reads them from Parquet.
    SQLite knows one integer and one real type.
    """
    if dialect == "sqlite":
        is_small = type in SIGNED or type in UNSIGNED[:3]
        return pa.int64() if is_small else pa.float64() if type in FLOATS else type
    if dialect == "duckdb" or type not in UNSIGNED:
        return type
    place = UNSIGNED.index(type) + 1
    return SIGNED[place] if place < len(SIGNED) else pa.decimal128(20, 0)


def _common_number(a: pa.DataType, b: pa.DataType, dialect: str) -> pa.DataType | None:
    if a == b:
        return a
    if a in INTEGERS and b in INTEGERS:
        # DuckDB has HUGEINT for UBIGINT beside a signed type; 20 digits hold the same numbers.
        of_both = pa.decimal128(20, 0) if dialect == "duckdb" else None
        return wider_integer(a, b) or of_both
    if pa.float64() in (a, b):
        return pa.float64()
    if pa.float32() in (a, b):
        return pa.float32() if dialect == "duckdb" else pa.float64()
    bigint_digits = 20 if dialect == "spark" else 19
    left = decimal_of(a, bigint_digits=bigint_digits)
    right = decimal_of(b, bigint_digits=bigint_digits)
    assert left is not None and right is not None
    return wider_decimal(left, right)
