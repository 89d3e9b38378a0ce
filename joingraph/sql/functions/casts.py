"""CAST: which conversion each dialect means, by the types it goes from and to."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.tree import Call, Expression, Literal
from joingraph.expressions.types import FLOATS, INTEGERS, SIGNED, TIMESTAMP, is_number, sql_name
from joingraph.sql.functions.binding import (
    UNTYPED,
    Binder,
    Rule,
    call,
    is_decimal,
    moment,
    only,
    required,
    settle,
)
from joingraph.sql.text.refusal import Refusal

BOOL, TEXT, DATE = pa.bool_(), pa.string(), pa.date32()
_ZONED = pa.timestamp("us", "UTC")
_NAMED: dict[exp.DType, pa.DataType] = {
    exp.DType.BOOLEAN: BOOL,
    exp.DType.TINYINT: pa.int8(),
    exp.DType.SMALLINT: pa.int16(),
    exp.DType.INT: pa.int32(),
    exp.DType.BIGINT: pa.int64(),
    exp.DType.FLOAT: pa.float32(),
    exp.DType.DOUBLE: pa.float64(),
    exp.DType.VARCHAR: TEXT,
    exp.DType.TEXT: TEXT,
    exp.DType.BINARY: pa.binary(),
    exp.DType.VARBINARY: pa.binary(),
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: _ZONED,
}
_UNSIGNED: dict[exp.DType, pa.DataType] = {
    exp.DType.UTINYINT: pa.uint8(),
    exp.DType.USMALLINT: pa.uint16(),
    exp.DType.UINT: pa.uint32(),
    exp.DType.UBIGINT: pa.uint64(),
}
_TO_INTEGER: dict[tuple[str, str], str] = {
    ("spark", "float"): "cast_truncate",
    ("spark", "decimal"): "cast_truncate",
    ("duckdb", "float"): "cast_half_even",
    ("duckdb", "decimal"): "cast_half_away",
    ("postgres", "float"): "cast_half_even",
    ("postgres", "decimal"): "cast_half_away",
    ("sqlite", "float"): "cast_saturate",
    ("sqlite", "string"): "cast_prefix",
}


def target_type(node: exp.Expr, dialect: str) -> pa.DataType:
    """Read the type that CAST names, as its dialect means it."""
    named = required(node, "to")
    kind = named.this
    if kind == exp.DType.DECIMAL and dialect != "sqlite":
        return _decimal_type(named, dialect)
    types = _NAMED | _UNSIGNED if dialect == "duckdb" else _NAMED
    type = types.get(kind)
    if type is None or named.expressions or named.args.get("nested"):
        raise Refusal(node, node.sql(), f"CAST to {named.sql()} is not taken")
    if dialect == "sqlite" and type not in (*SIGNED, *FLOATS, TEXT):
        raise Refusal(node, node.sql(), "SQLite casts to INTEGER, REAL and TEXT")
    if dialect == "sqlite":
        return pa.int64() if type in SIGNED else pa.float64() if type in FLOATS else type
    if dialect == "spark" and type == _ZONED and kind == exp.DType.TIMESTAMPTZ:
        return TIMESTAMP  # sqlglot's name for Spark's TIMESTAMP
    return type


def _decimal_type(named: exp.Expr, dialect: str) -> pa.DataType:
    numbers = [int(each.name) for each in named.expressions]
    if not numbers and dialect == "postgres":
        raise Refusal(named, named.sql(), "digits are needed", "write NUMERIC(precision, scale)")
    precision, scale = (numbers + [10, 0][len(numbers) :])[:2]
    if not 1 <= precision <= 38 or not 0 <= scale <= precision:
        raise Refusal(named, named.sql(), "a decimal has 1 to 38 digits, scale not more than these")
    return pa.decimal128(precision, scale)


def bind_cast(node: exp.Expr, bind: Binder) -> Expression:
    """CAST(a AS t) and a::t; sqlglot reads Spark's CAST as a TRY_CAST that is not safe."""
    only(node, "this", "to", "safe")
    lenient = bool(node.args.get("safe"))
    type = target_type(node, bind.dialect)
    subject = bind.part(node, "this")
    if subject == UNTYPED:
        return Literal(None, type)
    if isinstance(subject, Literal) and not lenient:
        folded = _fold(node, subject, type)
        if folded is not None:
            return folded
    if subject.type == type:
        return subject
    if type == BOOL and is_number(subject.type) and bind.dialect != "sqlite":
        return _to_boolean(node, subject, bind.dialect)
    name = conversion(subject.type, type, bind.dialect)
    if name is None or (lenient and bind.dialect not in ("spark", "duckdb")):
        names = f"{sql_name(subject.type)} to {sql_name(type)}"
        raise Refusal(node, node.sql(), f"CAST from {names} is not taken in {bind.dialect}")
    if lenient:
        name = _lenient(node, name, type, bind.dialect)
    return Call(name, (subject,), type)


def _fold(node: exp.Expr, literal: Literal, type: pa.DataType) -> Literal | None:
    """Read a typed constant: DATE '2024-01-01', 5L."""
    if pa.types.is_temporal(type) and isinstance(literal.value, str):
        zoned = type == TIMESTAMP and literal.value.endswith(("Z", "+00:00"))
        return moment(node, literal.value, _ZONED if zoned else type)
    if is_number(literal.type) and is_number(type):
        settled = settle(literal, type)
        return settled if isinstance(settled, Literal) else None
    return None


def _to_boolean(node: exp.Expr, subject: Expression, dialect: str) -> Expression:
    if dialect == "postgres" and subject.type != pa.int32():
        raise Refusal(node, node.sql(), "Postgres casts only INTEGER to BOOLEAN", "write a <> 0")
    return call("not_equal", BOOL, subject, settle(Literal(0, pa.int64()), subject.type))


def _lenient(node: exp.Expr, name: str, type: pa.DataType, dialect: str) -> str:
    if name == "parse" and dialect == "spark" and type in INTEGERS:
        return "try_parse_integer"
    return f"try_{name}"


def conversion(source: pa.DataType, type: pa.DataType, dialect: str) -> str | None:
    """Name the function by which a dialect converts; None where it has, or we take, none."""
    if type in INTEGERS:
        return _to_integer(source, dialect)
    if type in FLOATS:
        return _to_float(source, type, dialect)
    if is_decimal(type):
        return _to_decimal(source, dialect)
    if type == TEXT:
        return _to_text(source, dialect)
    if source == TEXT and dialect != "sqlite":
        return "parse" if type == BOOL or pa.types.is_temporal(type) else None
    return "cast" if {source, type} == {DATE, TIMESTAMP} and dialect != "sqlite" else None


def _to_integer(source: pa.DataType, dialect: str) -> str | None:
    if source in INTEGERS or source == BOOL:
        return "cast"
    if source == TEXT and dialect != "sqlite":
        return "parse"
    kind = "float" if source in FLOATS else "decimal" if is_decimal(source) else str(source)
    return _TO_INTEGER.get((dialect, kind))


def _to_float(source: pa.DataType, type: pa.DataType, dialect: str) -> str | None:
    if source == pa.float64():
        return {"spark": "cast", "duckdb": "cast_finite"}.get(dialect)
    if source in INTEGERS or source in FLOATS or (is_decimal(source) and dialect != "sqlite"):
        return "cast"
    if source == BOOL:
        return "cast" if dialect in ("spark", "duckdb") else None
    return "parse" if source == TEXT and dialect != "sqlite" else None


def _to_decimal(source: pa.DataType, dialect: str) -> str | None:
    if source in INTEGERS or is_decimal(source):
        return "cast"
    if source in FLOATS:
        return {"spark": "cast_shortest", "duckdb": "cast_scaled"}.get(dialect)
    if source == BOOL:
        return "cast" if dialect in ("spark", "duckdb") else None
    return "parse" if source == TEXT else None


def _to_text(source: pa.DataType, dialect: str) -> str | None:
    if source in INTEGERS:
        return "cast"
    if dialect == "sqlite":
        return None
    is_plain = source in (BOOL, DATE, TIMESTAMP) or is_decimal(source)
    return "cast" if is_plain else None


RULES: dict[type[exp.Expr], Rule] = {exp.Cast: bind_cast, exp.TryCast: bind_cast}
