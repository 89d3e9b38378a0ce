"""Arithmetic and mathematics: result types, and which function each dialect means.

7 / 2      spark, duckdb 3.5     postgres, sqlite 3
1 / 0      spark, postgres fail  duckdb infinity      sqlite NULL
"""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.tree import Expression, Literal
from joingraph.expressions.types import (
    DECIMAL_DIGITS,
    FLOATS,
    INTEGERS,
    UNSIGNED,
    decimal_of,
    sql_name,
    wider_integer,
)
from joingraph.sql.functions.binding import (
    UNTYPED,
    Binder,
    Rule,
    adapted,
    call,
    fold,
    is_decimal,
    is_integer,
    refused,
    settle,
    short_decimal,
    unify,
    without_type,
)
from joingraph.sql.functions.dates import bind_interval, shift
from joingraph.sql.functions.decimals import decimal_result
from joingraph.sql.text.refusal import Refusal

_NAMES: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Mod: "remainder",
}
_BITS: dict[type[exp.Expr], str] = {
    exp.BitwiseAnd: "bit_and",
    exp.BitwiseOr: "bit_or",
    exp.BitwiseXor: "bit_xor",
}


def bind_arithmetic(node: exp.Expr, bind: Binder) -> Expression:
    """a + b, a - b, a * b, a % b."""
    sides = (node.this, node.expression)
    if any(isinstance(side, exp.Interval) for side in sides):
        return bind_interval(node, bind)
    bound = [bind(side) for side in sides]
    if any(pa.types.is_temporal(side.type) for side in bound):
        return shift(node, bound, bind)
    name = _NAMES[type(node)]
    a, b = as_operands(node, bound, bind)
    if is_decimal(a.type) and is_decimal(b.type):
        function = "remainder_nonzero" if name == "remainder" else name
        return call(function, _decimal_type(node, name, (a, b), bind), a, b)
    if name == "remainder":
        return _remainder(node, a, b, bind)
    if a.type in INTEGERS:
        return call(name, a.type, a, b)
    if bind.dialect == "postgres":
        return call(f"{name}_strict", a.type, a, b)
    result = call(name, a.type, a, b)
    return call("null_if_nan", a.type, result) if bind.dialect == "sqlite" else result


def operands(node: exp.Expr, bind: Binder) -> list[Expression]:
    """Bind both sides of an operator."""
    return as_operands(node, [bind(node.this), bind(node.expression)], bind)


def as_operands(node: exp.Expr, bound: list[Expression], bind: Binder) -> list[Expression]:
    """Return two bound sides as operands: two decimals as they are, else in one type."""
    nodes = (node.this, node.expression)
    if any(isinstance(each, exp.BitwiseNot) for each in nodes):
        why = "dialects apply ~ before or after the other operator"
        raise refused(node, why, "add parentheses")
    sides = [bind.as_number(each, side) for each, side in zip(nodes, bound, strict=True)]
    if sides == [UNTYPED, UNTYPED]:
        raise without_type(node)
    types = [side.type for side in sides]
    approximate = any(type in FLOATS or type == pa.null() for type in types)
    if any(is_decimal(type) for type in types) and not approximate:
        return [_decimal(side, bind) for side in sides]
    if all(type in INTEGERS for type in types):
        return _integers(node, sides, bind)
    return unify(node, sides, bind)


def _decimal(side: Expression, bind: Binder) -> Expression:
    """Return an operand beside a decimal as a decimal; Spark counts a constant's own digits."""
    if is_integer(side) and bind.dialect == "spark":
        return short_decimal(side)
    type = decimal_of(side.type, bigint_digits=20 if bind.dialect == "spark" else 19)
    assert type is not None
    return settle(side, type)


def _decimal_type(
    node: exp.Expr, name: str, sides: tuple[Expression, Expression], bind: Binder
) -> pa.DataType:
    type = decimal_result(name, sides[0].type, sides[1].type, bind.dialect)
    if type is None:
        why = "the result may need more than 38 digits"
        raise refused(node, why, "CAST the operands to shorter decimals")
    return type


def _integers(node: exp.Expr, sides: list[Expression], bind: Binder) -> list[Expression]:
    """Bring integers to the type of the result; DuckDB computes mixed signs in BIGINT."""
    sides = adapted(sides, bind.dialect, comparing=False)
    types = [side.type for side in sides]
    if sum(type in UNSIGNED for type in types) == 1:
        signed, unsigned = sorted(types, key=UNSIGNED.__contains__)
        if signed.bit_width <= unsigned.bit_width and unsigned.bit_width < 64:
            return [settle(side, pa.int64()) for side in sides]
    if bind.dialect == "duckdb" and wider_integer(*(side.type for side in sides)) is None:
        # DuckDB has HUGEINT here, of 39 digits: a product could need them.
        sides = [_decimal(side, bind) for side in sides]
        digits = sum(side.type.precision for side in sides)
        if isinstance(node, exp.Mul) and digits > DECIMAL_DIGITS:
            why = "the result may need more than 38 digits"
            raise refused(node, why, "CAST the operands to shorter types")
        return sides
    return unify(node, sides, bind)


def _remainder(node: exp.Expr, a: Expression, b: Expression, bind: Binder) -> Expression:
    """a % b, not for decimals: what zero does differs, and the lowest integer % -1."""
    if bind.dialect == "sqlite":
        if a.type in FLOATS or "start" in node.meta:
            raise refused(node, "% is taken for integers only in dialect sqlite")
        return call("remainder", a.type, a, call("null_if_zero", b.type, b))
    if a.type in FLOATS and bind.dialect == "postgres":
        raise refused(node, "Postgres has no % for DOUBLE PRECISION")
    if bind.dialect == "duckdb":
        return call("remainder" if a.type in FLOATS else "remainder_strict", a.type, a, b)
    return call("remainder_nonzero", a.type, a, b)


def bind_division(node: exp.Expr, bind: Binder) -> Expression:
    """a / b."""
    a, b = operands(node, bind)
    if is_decimal(a.type) and bind.dialect == "spark":
        return call("divide_nonzero", _decimal_type(node, "divide", (a, b), bind), a, b)
    if is_decimal(a.type) and bind.dialect == "postgres":
        why = "Postgres chooses the number of digits by the values"
        raise refused(node, why, "write CAST(… AS DOUBLE PRECISION)")
    if a.type in INTEGERS and bind.dialect in ("postgres", "sqlite"):
        return _whole(a, b, bind)
    type = a.type if a.type in FLOATS and bind.dialect != "spark" else pa.float64()
    a, b = settle(a, type), settle(b, type)
    if bind.dialect == "duckdb":
        return call("divide", type, a, b)
    if bind.dialect == "sqlite":
        quotient = call("divide", type, a, call("null_if_zero", type, b))
        return call("null_if_nan", type, quotient)
    return call("divide_strict" if bind.dialect == "postgres" else "divide_nonzero", type, a, b)


def _whole(a: Expression, b: Expression, bind: Binder) -> Expression:
    if bind.dialect == "sqlite":
        b = call("null_if_zero", b.type, b)
    return call("divide_whole", a.type, a, b)


def bind_whole_division(node: exp.Expr, bind: Binder) -> Expression:
    """a DIV b (Spark, always BIGINT) and a // b (DuckDB), for integers."""
    a, b = operands(node, bind)
    if a.type not in INTEGERS:
        raise refused(node, f"taken for integers only, this is {sql_name(a.type)}")
    if bind.dialect == "spark":
        a, b = settle(a, pa.int64()), settle(b, pa.int64())
    return _whole(a, b, bind)


def bind_negation(node: exp.Expr, bind: Binder) -> Expression:
    """-a; a negative constant is one constant, so that -2147483648 is an INT."""
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        negative = bind_literal(inner, bind, sign=-1)
        if negative.type not in FLOATS:
            return negative
    bound = bind.number(inner)
    return UNTYPED if bound == UNTYPED else call("negate", bound.type, bound)


def bind_literal(node: exp.Expr, bind: Binder, *, sign: int = 1) -> Literal:
    """A constant: text, or a number in the type that its dialect reads."""
    text = node.name
    if node.args.get("is_string"):
        return Literal(text, pa.string())
    if not text.isdigit():
        return _fraction(node, text, bind, sign)
    value = sign * int(text)
    narrow = int(text) if bind.dialect == "postgres" else value
    types = (pa.int64(),) if bind.dialect == "sqlite" else (pa.int32(), pa.int64())
    for type in types:
        if fold(Literal(narrow, pa.int64()), type) is not None:
            return Literal(value, type)
    if bind.dialect in ("spark", "postgres") and len(text) <= 38:
        return short_decimal(Literal(value, pa.int64()))
    raise Refusal(node, text, "the number is too large")


def _fraction(node: exp.Expr, text: str, bind: Binder, sign: int) -> Literal:
    scientific = "e" in text.lower()
    if bind.dialect == "sqlite" or (scientific and bind.dialect != "postgres"):
        try:
            value = float(text)
        except ValueError:  # sqlglot takes 1e3.x for a number and a name
            raise Refusal(node, text, "not a number") from None
        if math.isinf(value):
            raise Refusal(node, text, "the number is too large")
        return Literal(sign * value, pa.float64())
    if scientific:
        raise Refusal(node, text, "not taken in dialect postgres", "write the digits out")
    whole, _, digits = text.partition(".")
    significant = whole if bind.dialect == "duckdb" else whole.lstrip("0")
    precision = max(len(significant) + len(digits), 1)
    if precision > 38:
        raise Refusal(node, text, "the number has more than 38 digits")
    exact = Decimal(text)
    signed = exact.copy_sign(sign) if exact else exact  # a decimal knows no -0.0
    return Literal(signed, pa.decimal128(precision, len(digits)))


def bind_bits(node: exp.Expr, bind: Binder) -> Expression:
    """a & b, a | b, a ^ b; dialects order them differently, so mixing needs parentheses."""
    for side in (node.this, node.expression):
        if isinstance(side, (*_BITS, exp.DPipe)) and type(side) is not type(node):
            raise refused(node, "dialects group such operators differently", "add parentheses")
    a, b = operands(node, bind)
    _check_bits(node, a)
    return call(_BITS[type(node)], a.type, a, b)


def bind_bit_not(node: exp.Expr, bind: Binder) -> Expression:
    """~a."""
    bound = bind.number(node.this)
    _check_bits(node, bound)
    return call("bit_not", bound.type, bound)


def _check_bits(node: exp.Expr, operand: Expression) -> None:
    if operand.type not in INTEGERS:
        raise refused(node, f"bits are taken of integers, this is {sql_name(operand.type)}")


_BINARY = ("this", "expression")
_BITWISE = Rule(bind_bits, _BINARY)

RULES: dict[type[exp.Expr], Rule] = {
    **dict.fromkeys(_NAMES, Rule(bind_arithmetic, _BINARY)),
    exp.Div: Rule(bind_division, _BINARY, ("typed", "safe")),
    exp.IntDiv: Rule(bind_whole_division, _BINARY, absent=("sqlite",)),
    exp.Neg: Rule(bind_negation, ("this",)),
    exp.Literal: Rule(bind_literal, (), ("this", "is_string")),
    exp.BitwiseAnd: _BITWISE,
    exp.BitwiseOr: _BITWISE,
    exp.BitwiseXor: _BITWISE._replace(absent=("sqlite",)),
    exp.BitwiseNot: Rule(bind_bit_not, ("this",)),
}
