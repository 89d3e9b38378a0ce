"""ABS, SIGN, FLOOR, CEIL, ROUND, SQRT, EXP, LN, POWER: their types and what each dialect means."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.tree import Expression, Literal
from joingraph.expressions.types import INTEGERS, UNSIGNED
from joingraph.sql.functions.binding import (
    UNTYPED,
    Binder,
    Rule,
    call,
    function,
    is_decimal,
    refused,
    settle,
    without_type,
)

DOUBLE = pa.float64()
# Of zero and below: NULL in Spark and SQLite, -infinity and NaN in DuckDB.
_LN = {"spark": "ln_positive", "duckdb": "ln", "sqlite": "ln_positive"}


def _operand(node: exp.Expr, bind: Binder) -> Expression:
    bound = bind.number(node.this)
    if bound == UNTYPED:
        raise without_type(node)
    return bound


def _double(bind: Binder, argument: exp.Expr) -> Expression:
    """Bind a function's one argument as a DOUBLE."""
    assert argument.parent is not None, "an argument has a function"
    return settle(_operand(argument.parent, bind), DOUBLE)


def bind_abs(node: exp.Expr, bind: Binder) -> Expression:
    """ABS(a), in the type of a."""
    bound = _operand(node, bind)
    return call("abs", bound.type, bound)


def bind_sign(node: exp.Expr, bind: Binder) -> Expression:
    """SIGN(a): DOUBLE in Spark, TINYINT in DuckDB, INTEGER in SQLite."""
    bound = _operand(node, bind)
    types = {"duckdb": pa.int8(), "sqlite": pa.int64()}
    if bind.dialect == "postgres" and is_decimal(bound.type):
        return call("sign", bound.type, bound)
    if bind.dialect in types:
        return call("sign", types[bind.dialect], bound)
    return call("sign", DOUBLE, settle(bound, DOUBLE))


def bind_floor(node: exp.Expr, bind: Binder) -> Expression:
    """FLOOR(a), CEIL(a): BIGINT in Spark; a decimal stays one, of scale 0."""
    bound = _operand(node, bind)
    type = bound.type
    if is_decimal(type):
        digits = type.precision if bind.dialect == "duckdb" else type.precision - type.scale + 1
        return call(node.key, pa.decimal128(min(digits, 38), 0), bound)
    if bind.dialect == "spark":
        if type in INTEGERS:
            return settle(bound, pa.int64())
        return call("cast_saturate", pa.int64(), call(node.key, DOUBLE, settle(bound, DOUBLE)))
    if type in INTEGERS:
        return bound if bind.dialect == "sqlite" else settle(bound, DOUBLE)
    if bind.dialect == "postgres":
        bound = settle(bound, DOUBLE)
    return call(node.key, bound.type, bound)


def bind_round(node: exp.Expr, bind: Binder) -> Expression:
    """ROUND(a, digits): halves away from zero, but to even for Postgres' doubles."""
    bound = _operand(node, bind)
    decimals = node.args.get("decimals")
    digits = 0 if decimals is None else bind.constant_integer(decimals, "the number of digits")
    if digits < 0:
        raise refused(node, "a negative number of digits is not taken")
    if is_decimal(bound.type):
        return _round_decimal(bound, digits, bind)
    if bound.type in INTEGERS and bind.dialect in ("spark", "duckdb"):
        if bound.type in UNSIGNED:
            raise refused(node, "unsigned integers are not rounded")
        return bound
    return _round_float(node, bound, digits, bind)


def _round_float(node: exp.Expr, bound: Expression, digits: int, bind: Binder) -> Expression:
    if bind.dialect == "spark":
        return call("round_shortest", bound.type, bound, Literal(digits, pa.int64()))
    if bind.dialect == "duckdb" and digits > 0:
        return call("round_scaled", bound.type, bound, Literal(digits, pa.int64()))
    if bind.dialect == "duckdb":
        return call("round_half_away", bound.type, bound)
    if node.args.get("decimals") is not None:
        why = f"ROUND of DOUBLE takes no digits in dialect {bind.dialect}"
        raise refused(node, why, "round a DECIMAL")
    name = "round_shifted" if bind.dialect == "sqlite" else "round_half_even"
    return call(name, DOUBLE, settle(bound, DOUBLE))


def _round_decimal(bound: Expression, digits: int, bind: Binder) -> Expression:
    precision, scale = bound.type.precision, bound.type.scale
    digits = digits if bind.dialect == "postgres" else min(digits, scale)
    if bind.dialect == "duckdb":
        return call("round_decimal", pa.decimal128(precision, digits), bound)
    whole = precision - scale + 1
    return call("round_decimal", pa.decimal128(min(whole + digits, 38), min(digits, 38)), bound)


def bind_root(node: exp.Expr, bind: Binder) -> Expression:
    """SQRT(a): below zero NaN in Spark and DuckDB, NULL in SQLite."""
    return _null_if_nan(call("sqrt", DOUBLE, _double(bind, node.this)), bind)


def bind_power(node: exp.Expr, bind: Binder) -> Expression:
    """POWER(a, b), always DOUBLE."""
    sides = [bind.number(node.this), bind.number(node.expression)]
    name = "power_java" if bind.dialect == "spark" else "power"
    power = call(name, DOUBLE, *(settle(side, DOUBLE) for side in sides))
    return _null_if_nan(power, bind)


def _null_if_nan(result: Expression, bind: Binder) -> Expression:
    return call("null_if_nan", result.type, result) if bind.dialect == "sqlite" else result


RULES: dict[type[exp.Expr], Rule] = {
    exp.Abs: Rule(bind_abs, ("this",)),
    exp.Sign: Rule(bind_sign, ("this",)),
    exp.Floor: Rule(bind_floor, ("this",)),
    exp.Ceil: Rule(bind_floor, ("this",)),
    exp.Round: Rule(bind_round, ("this",), ("decimals",)),
    exp.Sqrt: Rule(bind_root, ("this",), absent=("postgres",)),
    exp.Exp: function("exp", {"this": _double}, DOUBLE, absent=("postgres",)),
    exp.Ln: function(_LN, {"this": _double}, DOUBLE, absent=("postgres",)),
    exp.Pow: Rule(bind_power, ("this", "expression"), absent=("postgres",)),
}
