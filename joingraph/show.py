"""Expressions as people read them: SQL-like text for errors and explain."""

from __future__ import annotations

import datetime as dt

from joingraph.expression import Call, Column, Expression, Literal
from joingraph.types import sql_name

_BETWEEN = {
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "distinct": "IS DISTINCT FROM",
    "not_distinct": "IS NOT DISTINCT FROM",
    "and": "AND",
    "or": "OR",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "divide_whole": "DIV",
    "remainder": "%",
    "bit_and": "&",
    "bit_or": "|",
    "bit_xor": "XOR",
    "concat": "||",
}
_BEFORE = {"not": "NOT ", "negate": "-", "bit_not": "~"}
_AFTER = {"is_null": "IS NULL", "is_true": "IS TRUE", "is_false": "IS FALSE"}


def show(expression: Expression) -> str:
    """Write an expression as SQL-like text.

    >>> import pyarrow as pa
    >>> show(Call("less", (Column("t", "a", pa.int64()), Literal(5, pa.int64())), pa.bool_()))
    't.a < 5'
    """
    match expression:
        case Column(alias, name):
            return f"{alias}.{name}" if alias else name
        case Literal():
            return _literal(expression)
        case Call():
            return _call(expression)


def _literal(literal: Literal) -> str:
    value = literal.value
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.date):
        return f"{sql_name(literal.type)} '{value}'"
    return str(value)


def _call(call: Call) -> str:
    plain = _plain(call)
    args = [show(arg) for arg in call.args]
    if plain in _BETWEEN:
        return f" {_BETWEEN[plain]} ".join(_nested(arg) for arg in call.args)
    if plain in _AFTER:
        return f"{_nested(call.args[0])} {_AFTER[plain]}"
    if plain in _BEFORE:
        return _BEFORE[plain] + _nested(call.args[0])
    if plain == "case":
        return _case(args)
    if plain in ("in", "like"):
        return _test(plain, call.args[0], args)
    if plain.removeprefix("try_").startswith(("cast", "parse")):
        word = "TRY_CAST" if plain.startswith("try_") else "CAST"
        return f"{word}({args[0]} AS {sql_name(call.type)})"
    return f"{plain}({', '.join(args)})"


def _test(word: str, subject: Expression, args: list[str]) -> str:
    if word == "in":
        return f"{_nested(subject)} IN ({', '.join(args[1:])})"
    return f"{_nested(subject)} LIKE {args[1]}"


def _nested(expression: Expression) -> str:
    text = show(expression)
    return f"({text})" if isinstance(expression, Call) and _is_operation(expression) else text


def _is_operation(call: Call) -> bool:
    return _plain(call) in {*_BETWEEN, *_AFTER, *_BEFORE, "case", "in", "like"}


def _plain(call: Call) -> str:
    return call.function.removesuffix("_strict").removesuffix("_nonzero")


def _case(args: list[str]) -> str:
    pairs = zip(args[0:-1:2], args[1::2], strict=True)
    branches = " ".join(f"WHEN {test} THEN {value}" for test, value in pairs)
    return f"CASE {branches} ELSE {args[-1]} END"
