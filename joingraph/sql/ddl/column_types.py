"""Column types as CREATE TABLE writes them -> Arrow types, by dialect; what would lose is refused.

sqlglot folds some spellings that mean different things (Spark's TIMESTAMP and TIMESTAMPTZ), so
the word that was written is looked at where it matters.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.types import DECIMAL_DIGITS, operand_type
from joingraph.sql.text.refusal import Mistake, Refusal

_D = exp.DataType.Type
_NAIVE = pa.timestamp("us")
_ZONED = pa.timestamp("us", "UTC")

TYPES = {
    _D.BOOLEAN: pa.bool_(),
    _D.TINYINT: pa.int8(),
    _D.SMALLINT: pa.int16(),
    _D.INT: pa.int32(),
    _D.BIGINT: pa.int64(),
    _D.UTINYINT: pa.uint8(),
    _D.USMALLINT: pa.uint16(),
    _D.UINT: pa.uint32(),
    _D.UBIGINT: pa.uint64(),
    _D.FLOAT: pa.float32(),
    _D.DOUBLE: pa.float64(),
    _D.TEXT: pa.string(),
    _D.VARCHAR: pa.string(),
    _D.BINARY: pa.binary(),
    _D.VARBINARY: pa.binary(),
    _D.BLOB: pa.binary(),
    _D.DATE: pa.date32(),
    _D.DATETIME: _NAIVE,
    _D.TIMESTAMP: _NAIVE,
    _D.TIMESTAMPNTZ: _NAIVE,
    _D.TIMESTAMPTZ: _ZONED,
    _D.TIMESTAMPLTZ: _ZONED,
}
# SQLite keeps integers of one size, reals of one size, texts and blobs, whatever the column says.
_SQLITE_KINDS = (
    *(_D.TINYINT, _D.SMALLINT, _D.INT, _D.BIGINT, _D.FLOAT, _D.DOUBLE),
    *(_D.TEXT, _D.VARCHAR, _D.BLOB, _D.VARBINARY),
)
_SQLITE_TYPES = {kind: operand_type(TYPES[kind], "sqlite") for kind in _SQLITE_KINDS}
_SQLITE_TYPES[_D.CHAR] = pa.string()
_BARE_DECIMAL = {"spark": (10, 0), "duckdb": (18, 3)}


def column_type(node: exp.DataType, written: str, dialect: str) -> pa.DataType:
    """Return the Arrow type of a column; `written` is the first word of its type."""
    if node.this == _D.DECIMAL and dialect != "sqlite":
        return _decimal(node, dialect)
    types = _SQLITE_TYPES if dialect == "sqlite" else TYPES
    if dialect == "spark" and written == "TIMESTAMP":
        return _NAIVE
    if dialect == "spark" and written in ("INT2", "INT4", "INT8"):
        raise Refusal(node, f"type {written}", "Spark has none of that name", "write BIGINT or INT")
    if node.this not in types:
        raise _unknown(node, written, dialect)
    _check_parameters(node, written)
    return types[node.this]


def _unknown(node: exp.DataType, written: str, dialect: str) -> Refusal:
    what = f"type {written}"
    if dialect == "sqlite":
        instead = "declare it as what is in it: INTEGER, REAL, TEXT or BLOB"
        return Refusal(node, what, "SQLite keeps other types of value in such a column", instead)
    if node.this == _D.CHAR:
        return Refusal(node, what, "it pads and compares with blanks", "write VARCHAR")
    if node.this in (_D.INT128, _D.UINT128):
        return Refusal(node, what, "it has over 64 bits", f"write DECIMAL({DECIMAL_DIGITS},0)")
    why = "joingraph keeps booleans, numbers, strings, binaries, dates and timestamps"
    return Refusal(node, what, why, "select its parts into columns of their own, or write STRING")


def _check_parameters(node: exp.DataType, written: str) -> None:
    """Refuse sizes that would round values; the length of a VARCHAR only limits them."""
    texts = (_D.VARCHAR, _D.TEXT, _D.CHAR, _D.BINARY, _D.VARBINARY)
    if node.expressions and node.this not in texts:
        what = f"type {written}({', '.join(each.sql() for each in node.expressions)})"
        why = "numbers and times are kept in one size a type, timestamps in microseconds"
        raise Refusal(node, what, why, "leave the size out")


def _decimal(node: exp.DataType, dialect: str) -> pa.DataType:
    """Read DECIMAL(precision, scale); what a bare DECIMAL means is the dialect's choice."""
    sizes = [each.this.name for each in node.expressions]
    if not all(size.isdecimal() for size in sizes) or len(sizes) > 2:
        raise Mistake(node, f"{node.sql(dialect)} is no decimal type; write DECIMAL(18,2)")
    numbers = [int(size) for size in sizes]
    if not numbers and dialect not in _BARE_DECIMAL:
        raise Mistake(node, "a DECIMAL of any size is not taken; give it one: DECIMAL(18,2)")
    precision, scale = (*numbers, 0)[:2] if numbers else _BARE_DECIMAL[dialect]
    if not (1 <= precision <= DECIMAL_DIGITS and scale <= precision):
        raise Mistake(
            node,
            f"DECIMAL({precision},{scale}) is not taken: a decimal has 1 to {DECIMAL_DIGITS} "
            "digits, and no more of them after the point",
        )
    return pa.decimal128(precision, scale)
