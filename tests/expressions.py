"""What the tests of expressions share: one table, binding a text, evaluating it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal

import pyarrow as pa
import sqlglot
from sqlglot import exp

from joingraph.expressions.evaluate import evaluate
from joingraph.expressions.tree import Column, Expression
from joingraph.sql.functions.scalars import bind
from joingraph.sql.limits import survey
from joingraph.sql.text.parse import balanced

TYPES = {
    "i": pa.int32(),
    "b": pa.int64(),
    "y": pa.int8(),
    "x": pa.float64(),
    "f": pa.float32(),
    "n": pa.decimal128(10, 2),
    "s": pa.string(),
    "d": pa.date32(),
    "t": pa.timestamp("us"),
    "z": pa.timestamp("us", "UTC"),
    "p": pa.bool_(),
}
Value = bool | int | float | Decimal | str | dt.date | dt.datetime | None
NO_COLUMNS: Mapping[str, Sequence[Value]] = {}


def parsed(text: str, dialect: str) -> exp.Expr:
    """Parse one scalar expression."""
    node: exp.Expr = sqlglot.parse_one(f"SELECT {text}", read=dialect).expressions[0]
    assert not isinstance(node, exp.Alias), f"{text} parses as an alias"
    return node


def bound(text: str, dialect: str = "spark", types: dict[str, pa.DataType] = TYPES) -> Expression:
    """Bind one scalar expression over columns of known types, as the binder of views does."""
    node = balanced(parsed(text, dialect))
    survey(node)
    return bind(node, lambda c: Column("", c.name, types[c.name]), dialect)


def column(name: str, values: Sequence[Value]) -> dict[Expression, pa.Array]:
    """Give a column of the shared types as `evaluate` takes it."""
    return {Column("", name, TYPES[name]): pa.array(values, TYPES[name])}


def answers(
    text: str, dialect: str = "spark", columns: Mapping[str, Sequence[Value]] = NO_COLUMNS
) -> list[Value]:
    """Bind and evaluate: answers("i + 1", columns={"i": [1, None]}); one row without columns."""
    known = {name: array for each in columns for name, array in column(each, columns[each]).items()}
    length = len(next(iter(columns.values()))) if columns else 1
    expression = bound(text, dialect)
    result = evaluate(expression, known, length)
    assert result.type == expression.type
    return result.to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types
