"""CAST: which conversion each dialect means, by the types it goes from and to."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.tree import Expression, Literal
from joingraph.expressions.types import (
    DIALECTS,
    FLOATS,
    INTEGERS,
    SIGNED,
    TIMESTAMP,
    UNSIGNED,
    is_number,
    operand_type,
    sql_name,
)
from joingraph.sql.ddl.column_types import TYPES
from joingraph.sql.functions.binding import (
    UNTYPED,
    Binder,
    Rule,
    call,
    is_decimal,
    moment,
    refused,
    settle,
    zero_in,
)
from joingraph.sql.text.refusal import Refusal

BOOL, TEXT, DATE = pa.bool_(), pa.string(), pa.date32()
_ZONED = pa.timestamp("us", "UTC")
_COLUMNS_ONLY = (exp.DType.BLOB, exp.DType.DATETIME, exp.DType.TIMESTAMPLTZ)

_NOT_SQLITE = ("spark", "duckdb", "postgres")
_CAST: dict[str, str] = dict.fromkeys(DIALECTS, "cast")
_CAST_NOT_SQLITE: dict[str, str] = dict.fromkeys(_NOT_SQLITE, "cast")
_PARSE: dict[str, str] = dict.fromkeys(_NOT_SQLITE, "parse")
_CAST_BOOLEAN: dict[str, str] = dict.fromkeys(("spark", "duckdb"), "cast")
_KINDS = {
    **dict.fromkeys(INTEGERS, "integer"),
    **dict.fromkeys(FLOATS, "float"),
    BOOL: "boolean",
    TEXT: "text",
    DATE: "date",
    TIMESTAMP: "timestamp",
    _ZONED: "zoned",
}
# (from, to) -> the function by which each dialect converts; one without an entry refuses.
_CONVERSIONS: dict[tuple[str, str], dict[str, str]] = {
    ("integer", "integer"): _CAST,
    ("boolean", "integer"): _CAST,
    ("text", "integer"): _PARSE | {"sqlite": "cast_prefix"},
    ("float", "integer"): {
        "spark": "cast_truncate",
        "duckdb": "cast_half_even",
        "postgres": "cast_half_even",
        "sqlite": "cast_saturate",
    },
    ("decimal", "integer"): {
        "spark": "cast_truncate",
        "duckdb": "cast_half_away",
        "postgres": "cast_half_away",
    },
    ("integer", "float"): _CAST,
    ("boolean", "float"): _CAST_BOOLEAN,
    ("text", "float"): _PARSE,
    ("decimal", "float"): _CAST_NOT_SQLITE,
    ("integer", "decimal"): _CAST_NOT_SQLITE,
    ("boolean", "decimal"): _CAST_BOOLEAN,
    ("text", "decimal"): _PARSE,
    ("float", "decimal"): {"spark": "cast_shortest", "duckdb": "cast_scaled"},
    ("decimal", "decimal"): _CAST_NOT_SQLITE,
    ("integer", "text"): _CAST,
    **{(kind, "text"): _CAST_NOT_SQLITE for kind in ("boolean", "decimal", "date", "timestamp")},
    **{("text", kind): _PARSE for kind in ("boolean", "date", "timestamp", "zoned")},
    ("date", "timestamp"): _CAST_NOT_SQLITE,
    ("timestamp", "date"): _CAST_NOT_SQLITE,
}


def target_type(node: exp.Expr, dialect: str) -> pa.DataType:
    """Read the type that CAST names, as its dialect means it."""
    named = node.args["to"]
    kind = named.this
    if kind == exp.DType.DECIMAL and dialect != "sqlite":
        return _decimal_type(named, dialect)
    type = None if kind in _COLUMNS_ONLY else TYPES.get(kind)
    if type in UNSIGNED and dialect != "duckdb":
        type = None
    if type is None or named.expressions or named.args.get("nested"):
        raise refused(node, f"CAST to {named.sql()} is not taken")
    if dialect == "sqlite":
        if type not in (*SIGNED, *FLOATS, TEXT):
            raise refused(node, "SQLite casts to INTEGER, REAL and TEXT")
        return operand_type(type, dialect)
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
    lenient = bool(node.args.get("safe"))
    type = target_type(node, bind.dialect)
    subject = bind(node.this)
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
        raise refused(node, f"CAST from {names} is not taken in {bind.dialect}")
    if lenient and name == "parse" and bind.dialect == "spark" and type in INTEGERS:
        name = "parse_integer"
    return call(f"try_{name}" if lenient else name, type, subject)


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
        raise refused(node, "Postgres casts only INTEGER to BOOLEAN", "write a <> 0")
    return call("not_equal", BOOL, subject, zero_in(subject.type))


def conversion(source: pa.DataType, type: pa.DataType, dialect: str) -> str | None:
    """Name the function by which a dialect converts; None where it has, or we take, none."""
    if source in FLOATS and type in FLOATS:
        narrowing = {"spark": "cast", "duckdb": "cast_finite"}
        return narrowing.get(dialect) if source == pa.float64() else "cast"
    return _CONVERSIONS.get((_kind(source), _kind(type)), {}).get(dialect)


def _kind(type: pa.DataType) -> str:
    return "decimal" if is_decimal(type) else _KINDS.get(type, "")


_RULE = Rule(bind_cast, ("this", "to"), ("safe",))

RULES: dict[type[exp.Expr], Rule] = {
    exp.Cast: _RULE,
    exp.TryCast: _RULE._replace(absent=("postgres", "sqlite")),
}
