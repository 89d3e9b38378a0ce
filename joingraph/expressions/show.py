"""Expressions as people read them: SQL-like text for errors and explain.

Each part is written once, so the time is linear in the text. `brief` cuts what an error quotes:
a view may have expressions of 100,000 characters, and a value may be longer.
"""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from joingraph.expressions.python_values import shown
from joingraph.expressions.tree import Call, Column, Expression, Literal
from joingraph.expressions.types import sql_name

QUOTED_CHARS_MAX = 1_000  # of one expression or value in an error

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


def brief(text: str) -> str:
    """Cut a text that an error quotes: its middle is left out if it is very long."""
    if len(text) <= QUOTED_CHARS_MAX:
        return text
    half = (QUOTED_CHARS_MAX - 3) // 2
    return f"{text[:half]} \N{HORIZONTAL ELLIPSIS} {text[-half:]}"


def _literal(literal: Literal) -> str:
    value = literal.value
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.date | pa.Scalar):
        return f"{sql_name(literal.type)} '{shown(value)}'"
    return str(value)


def _call(call: Call) -> str:
    plain = _plain(call)
    if plain in _BETWEEN:
        return f" {_BETWEEN[plain]} ".join(map(_nested, call.args))
    if plain in _AFTER:
        return f"{_nested(call.args[0])} {_AFTER[plain]}"
    if plain in _BEFORE:
        return _BEFORE[plain] + _nested(call.args[0])
    if plain == "in":
        subject, *members = call.args
        return f"{_nested(subject)} IN ({', '.join(map(show, members))})"
    if plain == "like":
        subject, pattern, *_ = call.args
        return f"{_nested(subject)} LIKE {show(pattern)}"
    args = [show(arg) for arg in call.args]
    if plain == "case":
        return _case(args)
    if plain.removeprefix("try_").startswith(("cast", "parse")):
        word = "TRY_CAST" if plain.startswith("try_") else "CAST"
        return f"{word}({args[0]} AS {sql_name(call.type)})"
    return f"{plain}({', '.join(args)})"


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
