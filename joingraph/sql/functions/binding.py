"""What every rule for scalar SQL needs: binding parts, bringing them to one type, refusing.

A rule takes a sqlglot node and the Binder, binds the node's parts through the Binder and returns
the typed expression. A table of each module says which rule binds which kind of node, which parts
such a node may have, and which dialects lack it:

    exp.Left: Rule(bind_left, ("this", "expression"), absent=("sqlite",))
    exp.Reverse: function("reverse", {"this": Binder.text}, TEXT)

Types are made explicit here and nowhere later: `settle` folds constants and writes the casts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, TypeGuard

import numpy as np
import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.functions.decimals import fit
from joingraph.expressions.functions.parsing import read_date, read_timestamp
from joingraph.expressions.tree import Call, Column, Expression, Literal
from joingraph.expressions.types import FLOATS, INTEGERS, common, is_number, operand_type, sql_name
from joingraph.sql.text.refusal import Refusal

UNTYPED = Literal(None, pa.null())
_CAST = "write CAST(… AS …)"


@dataclass(frozen=True, slots=True)
class Binder:
    """Binds nodes of one SQL text: how its columns resolve, its dialect, the rules by node."""

    column: Callable[[exp.Column], Expression]
    dialect: str
    rules: Mapping[type[exp.Expr], Rule]

    def __call__(self, node: exp.Expr) -> Expression:
        """Bind a node by its rule; a node without one is refused by name."""
        if isinstance(node, exp.Column):
            return self.column(node)
        rule = self.rules.get(type(node))
        if rule is None or self.dialect in rule.absent:
            name = node.name.upper() if isinstance(node, exp.Anonymous) else node.sql()
            why = f"not taken in dialect {self.dialect}"
            raise Refusal(node, name, why, "docs/functions.md lists what is")
        rule.check(node)
        return rule.bind(node, self)

    def boolean(self, node: exp.Expr) -> Expression:
        """Bind a condition; SQLite's integers count, as they do there."""
        bound = self(node)
        if bound.type == pa.bool_():
            return bound
        if bound == UNTYPED:
            return Literal(None, pa.bool_())
        if self.dialect == "sqlite" and is_number(bound.type):
            return call("not_equal", pa.bool_(), bound, zero_in(bound.type))
        raise refused(node, f"a condition has to be BOOLEAN, this is {sql_name(bound.type)}")

    def number(self, node: exp.Expr) -> Expression:
        """Bind an operand of arithmetic, in the type its dialect computes with."""
        return self.as_number(node, self(node))

    def as_number(self, node: exp.Expr, bound: Expression) -> Expression:
        """Return what a node was bound to as an operand of arithmetic, or refuse it."""
        if bound == UNTYPED:
            return bound
        if self.dialect == "sqlite" and bound.type == pa.bool_():
            return call("cast", pa.int64(), bound)
        if not is_number(bound.type) or (self.dialect == "sqlite" and is_decimal(bound.type)):
            raise refused(node, f"a number is needed here, this is {sql_name(bound.type)}", _CAST)
        return settle(bound, operand_type(bound.type, self.dialect))

    def text(self, node: exp.Expr) -> Expression:
        """Bind a text."""
        bound = self(node)
        if bound == UNTYPED:
            return Literal(None, pa.string())
        if bound.type != pa.string():
            raise refused(node, f"STRING is needed here, this is {sql_name(bound.type)}", _CAST)
        return bound

    def constant_text(self, node: exp.Expr, what: str) -> str:
        """Bind a text that has to be written in the SQL."""
        bound = self.text(node)
        if isinstance(bound, Literal) and isinstance(bound.value, str):
            return bound.value
        raise refused(node, f"{what} has to be a constant text")

    def constant_integer(self, node: exp.Expr, what: str) -> int:
        """Bind an integer that has to be written in the SQL."""
        bound = self(node)
        value = bound.value if isinstance(bound, Literal) else None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise refused(node, f"{what} has to be a constant integer")


class Rule(NamedTuple):
    """How a kind of node is bound: its parts, those it may lack, the dialects without it."""

    bind: Callable[[exp.Expr, Binder], Expression]
    parts: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def check(self, node: exp.Expr) -> None:
        """Refuse a node that says more than its rule reads, or less."""
        only(node, *self.parts, *self.optional)
        if not all(isinstance(node.args.get(name), exp.Expr) for name in self.parts):
            raise refused(node, "an argument is missing")


def function(
    name: str | Mapping[str, str],
    parts: Mapping[str, Callable[[Binder, exp.Expr], Expression]],
    type: pa.DataType | Mapping[str, pa.DataType],
    absent: tuple[str, ...] = (),
) -> Rule:
    """Return the rule of a plain function; name and type may differ by dialect.

    `parts` says how each argument is bound.
    """

    def bind_function(node: exp.Expr, bind: Binder) -> Expression:
        args = [bind_part(bind, node.args[part]) for part, bind_part in parts.items()]
        here = name if isinstance(name, str) else name[bind.dialect]
        return call(here, type[bind.dialect] if isinstance(type, Mapping) else type, *args)

    return Rule(bind_function, tuple(parts), absent=absent)


def only(node: exp.Expr, *names: str) -> None:
    """Refuse a node that says more than the parts named: what is not read may not be dropped."""
    for name, value in node.args.items():
        if name not in names and value not in (None, False, []):
            raise refused(node, f"this form of {node.key.upper()} is not taken")


def refused(node: exp.Expr, why: str, instead: str = "") -> Refusal:
    """Return the refusal of a node, which is called by its own SQL."""
    return Refusal(node, node.sql(), why, instead)


def without_type(node: exp.Expr) -> Refusal:
    """Return the refusal of a node whose NULLs have no type to take."""
    return refused(node, "NULL alone has no type", "write CAST(NULL AS …)")


def is_decimal(type: pa.DataType) -> bool:
    """True for a decimal type."""
    return bool(pa.types.is_decimal(type))


def zero_in(type: pa.DataType) -> Expression:
    """Return a number type's 0."""
    return settle(Literal(0, pa.int64()), type)


def call(function: str, type: pa.DataType, *args: Expression) -> Call:
    """Write a call."""
    return Call(function, args, type)


def settle(expression: Expression, type: pa.DataType) -> Expression:
    """Bring an expression to a type that holds it: constants by value, the rest by a cast."""
    if expression.type == type:
        return expression
    if isinstance(expression, Literal):
        folded = fold(expression, type)
        if folded is not None:
            return folded
    return Call("cast", (expression,), type)


def fold(literal: Literal, type: pa.DataType) -> Literal | None:
    """Return the constant of another type with the same meaning; None where there is none."""
    value = literal.value
    if value is None:
        return Literal(None, type)
    if isinstance(value, bool | str | bytes) or not is_number(literal.type):
        return None
    if type in FLOATS and isinstance(value, int | Decimal):
        return Literal(float(np.float32(value)) if type == FLOATS[0] else float(value), type)
    if type in INTEGERS and isinstance(value, int):
        return Literal(value, type) if fits(value, type) else None
    if is_decimal(type) and isinstance(value, int | Decimal):
        exact = fit(Decimal(value), type)
        return Literal(exact, type) if exact is not None and exact == value else None
    return None


def fits(value: int, type: pa.DataType) -> bool:
    """True if an integer type has a value."""
    signed = bool(pa.types.is_signed_integer(type))
    bits: int = type.bit_width - signed
    return -(1 << bits) * signed <= value < 1 << bits


def unify(
    node: exp.Expr, parts: Sequence[Expression], bind: Binder, *, comparing: bool = False
) -> list[Expression]:
    """Bring expressions to their common type, or refuse the node they belong to."""
    parts = read_moments(node, parts)
    parts = adapted(parts, bind.dialect, comparing=comparing)
    type = pa.null()
    for part in parts:
        shared = common(type, part.type, bind.dialect)
        if shared is None:
            raise _no_common(node, type, part.type)
        type = shared
    if comparing and bind.dialect == "sqlite":
        _refuse_mixed_storage(node, parts)
    if type == pa.null():
        raise without_type(node)
    return [settle(part, type) for part in parts]


def adapted(parts: Sequence[Expression], dialect: str, *, comparing: bool) -> list[Expression]:
    """Return parts with integer constants in the type of the numbers they meet, if it holds them.

    DuckDB types them so beside integers; elsewhere it changes no comparison and saves casting
    the column.
    """
    types = {part.type for part in parts if not isinstance(part, Literal)}
    if len(types) != 1 or not (comparing or dialect == "duckdb"):
        return list(parts)
    (type,) = types
    if type in INTEGERS:
        return [fold(part, type) or part if is_integer(part) else part for part in parts]
    if is_decimal(type) and comparing:
        return [short_decimal(part) if is_integer(part) else part for part in parts]
    return list(parts)


def is_integer(part: Expression) -> TypeGuard[Literal]:
    """True for an integer constant."""
    return isinstance(part, Literal) and part.type in INTEGERS and part.value is not None


def short_decimal(literal: Literal) -> Literal:
    """Return an integer constant as a decimal of just as many digits."""
    assert isinstance(literal.value, int)
    digits = len(str(abs(literal.value)))
    return Literal(Decimal(literal.value), pa.decimal128(digits, 0))


def read_moments(node: exp.Expr, parts: Sequence[Expression]) -> list[Expression]:
    """Read the text constants beside dates and timestamps as such."""
    moments = [part.type for part in parts if pa.types.is_temporal(part.type)]
    if not moments:
        return list(parts)
    return [
        moment(node, part.value, moments[0])
        if isinstance(part, Literal) and isinstance(part.value, str)
        else part
        for part in parts
    ]


def moment(node: exp.Expr, text: str, type: pa.DataType) -> Literal:
    """Read a text constant as a date or timestamp, or refuse it."""
    if type == pa.date32():
        day = read_date(text)
        if day is not None:
            return Literal(day, type)
        raise Refusal(node, repr(text), "not a date", "write 'YYYY-MM-DD'")
    read = read_timestamp(text)
    if read is None:
        raise Refusal(node, repr(text), "not a timestamp", "write 'YYYY-MM-DD HH:MM:SS[.ffffff]'")
    if (read.tzinfo is not None) == (type.tz is not None):
        return Literal(read, type)
    if type.tz is not None:
        why = "its meaning depends on the session's time zone"
        raise Refusal(node, repr(text), why, "write the offset: '2024-01-01 00:00:00Z'")
    raise Refusal(node, repr(text), "an offset beside a timestamp without time zone")


def _no_common(node: exp.Expr, a: pa.DataType, b: pa.DataType) -> Refusal:
    why = f"{sql_name(a)} and {sql_name(b)} have no common type"
    if is_decimal(a) or is_decimal(b):
        why += " of at most 38 digits"
    return refused(node, why, _CAST)


def _refuse_mixed_storage(node: exp.Expr, parts: Iterable[Expression]) -> None:
    """Refuse SQLite's exact comparison of 64-bit integers with reals, which rounding would break.

    Constants that a double holds exactly, and integers of up to 32 bits, are safe.
    """
    types = {part.type for part in parts if isinstance(part, Column | Call)}
    large = pa.int64() in types or pa.uint32() in types or pa.uint64() in types
    real = any(part.type in FLOATS for part in parts)
    wide = any(
        isinstance(part, Literal) and isinstance(part.value, int) and abs(part.value) > 2**53
        for part in parts
    )
    if real and (large or wide):
        why = "SQLite compares BIGINT with REAL exactly, which is not taken"
        raise refused(node, why, "write CAST(… AS REAL)")
