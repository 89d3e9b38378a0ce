"""Column types of random tables, each with a small domain so that joins meet."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

from tests.golden.literals import render

INFINITY = float("inf")
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Kind:
    """A type as DuckDB and Arrow name it, its values, and one that no row ever has.

    Columns of one group may be compared; `sums` allows arithmetic, which must not overflow.
    """

    sql: str
    arrow: pa.DataType
    group: str
    values: tuple[object, ...]
    fresh: object
    sums: bool = False
    constants: bool = True  # views have constants of this type


def days(*texts: str) -> tuple[dt.date, ...]:
    """Read dates."""
    return tuple(map(dt.date.fromisoformat, texts))


def moments(*texts: str) -> tuple[dt.datetime, ...]:
    """Read timestamps."""
    return tuple(map(dt.datetime.fromisoformat, texts))


def decimals(*texts: str) -> tuple[Decimal, ...]:
    """Read decimals, with the scale that is written."""
    return tuple(map(Decimal, texts))


SMALL = (0, 1, 2, 3)
WIDE = (2**53, 2**53 + 1, -(2**63), 2**63 - 1)
FLOATS = (0.0, -0.0, 1.0, 2.0, 0.5, NAN, INFINITY, -INFINITY)
TEXTS = ("", "a", "b", "A", "ab")
DAYS = days("1969-12-31", "2000-02-29", "2015-02-02")
MOMENTS = moments("1969-12-31", "1969-12-31T23:59:59.999999", "2015-02-02")

INTEGERS = (
    Kind("TINYINT", pa.int8(), "number", SMALL, 7, sums=True),
    Kind("SMALLINT", pa.int16(), "number", SMALL, 7, sums=True),
    Kind("INTEGER", pa.int32(), "number", SMALL, 7, sums=True),
    Kind("BIGINT", pa.int64(), "number", SMALL, 7, sums=True),
)
INTEGER, BIGINT = INTEGERS[2:]
TEXT = Kind("VARCHAR", pa.string(), "text", TEXTS, "zzz")
KINDS = (
    *INTEGERS,
    Kind("BOOLEAN", pa.bool_(), "bool", (True, False), None),
    Kind("BIGINT", pa.int64(), "number", WIDE, 7),
    Kind("FLOAT", pa.float32(), "number", FLOATS, 7.0, sums=True),
    Kind("DOUBLE", pa.float64(), "number", FLOATS, 7.0, sums=True),
    Kind("DOUBLE", pa.float64(), "number", (2.0**53, 1e300, 0.1), 7.0),
    Kind("DECIMAL(5,2)", pa.decimal128(5, 2), "number", decimals("0.00", "1.50", "2.00"),
         Decimal("7.00"), sums=True),
    Kind("DECIMAL(9,4)", pa.decimal128(9, 4), "number", decimals("0.0000", "1.5000", "2.0001"),
         Decimal("7.0000"), sums=True),
    Kind("DECIMAL(30,1)", pa.decimal128(30, 1), "number",
         decimals("2.0", "12345678901234567890123456789.5", "-12345678901234567890123456789.5"),
         Decimal("7.0")),
    TEXT,
    Kind("VARCHAR", pa.string(), "text", ("a", "é", "it's", "\U0001f600", "A\x1f,()"), "zzz"),
    Kind("BLOB", pa.binary(), "binary", (b"", b"\x00", b"a", b"\xff\x00'"), b"zzz",
         constants=False),
    Kind("DATE", pa.date32(), "time", DAYS, dt.date(2077, 1, 1)),
    Kind("TIMESTAMP", pa.timestamp("us"), "time", MOMENTS, dt.datetime(2077, 1, 1)),
)  # fmt: skip

# Doubles of all sizes, whose sums cancel and round; both zeros, and NaN, as what is grouped by;
# decimals of which two may not add up, and which are compared with nothing of another type.
WILD = Kind("DOUBLE", pa.float64(), "number",
            (0.1, 1e16, -1e16, 3.3, 1e-300, 1e300, 5e-324, -1e300, 1.7e308), 7.0)  # fmt: skip
ZEROS = Kind("DOUBLE", pa.float64(), "number", (0.0, -0.0, NAN, 1.0), 7.0)
GREAT = Kind("DECIMAL(38,2)", pa.decimal128(38, 2), "great", decimals("0.00", "1.50", "2.00"),
             Decimal("7.00"))  # fmt: skip
GROUPED_KINDS = (*KINDS, *[WILD] * 8, *[ZEROS] * 4, *[GREAT] * 2)


def greatest(kind: Kind) -> object:
    """Return the greatest value of a type of integers or decimals; else one that no row has."""
    if pa.types.is_signed_integer(kind.arrow):
        return 2 ** (kind.arrow.bit_width - 1) - 1
    if pa.types.is_decimal(kind.arrow):
        digits = "9" * kind.arrow.precision
        return Decimal(f"{digits}E-{kind.arrow.scale}")
    return kind.fresh


def duckdb_literal(value: object, kind: Kind) -> str:
    """Write a value as DuckDB reads it, of exactly its type."""
    if value is None:
        return f"NULL::{kind.sql}"
    if isinstance(value, bytes):
        return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
    if isinstance(value, str):
        return render(value)
    return f"'{value}'::{kind.sql}"


def short_literal(value: object, kind: Kind) -> str:
    """Write a value the way people do, where there is such a way; its type may be another."""
    if isinstance(value, dt.date):
        return render(value)
    if isinstance(value, bool | int | str | Decimal) or value in (0.5, 1.0, 2.0):
        return str(value).lower() if not isinstance(value, str) else render(value)
    return duckdb_literal(value, kind)
