"""Scalar SQL -> typed expressions: bind(node, column, dialect).

    UPPER(T.name) = 'BOB'
    ->  Call("equal", (Call("upper", (Column("T", "name", string),), string),
                       Literal("BOB", string)), bool)

Each kind of node has one rule, in the scalar_* module of its subject. What a dialect does not
have is listed here; what has no rule is refused by name: an answer is right or not given.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.tree import Expression, Literal
from joingraph.sql.functions import arithmetic, casts, comparisons, dates, mathematics, strings
from joingraph.sql.functions.binding import UNTYPED, Binder, Rule
from joingraph.sql.text.refusal import Refusal

_NOT_OF_THE_DATA = "it is not a function of the data, so no diff tells when it changes"
_REFUSED: tuple[tuple[tuple[type[exp.Expr], ...], str, str], ...] = (
    (
        (exp.Rand, exp.Uuid, exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp),
        _NOT_OF_THE_DATA,
        "store the value in a column",
    ),
    ((exp.Window,), "window functions are not taken", ""),
    ((exp.AggFunc,), "aggregates come in a later version", "publish the rows and aggregate them"),
    ((exp.Query, exp.Exists), "subqueries in conditions are not taken", "use a join"),
    ((exp.Placeholder, exp.Parameter), "a view has no parameters", "write the value"),
    ((exp.Collate,), "strings compare byte by byte", "compare LOWER(…)"),
)
_NOT_OF_THE_DATA_NAMES = ("now", "random", "gen_random_uuid", "clock_timestamp", "newid")

# Where a construct is not the dialect's own, or its meaning there is not certain.
_ABSENT: dict[str, tuple[type[exp.Expr], ...]] = {
    "spark": (),
    "duckdb": (exp.Reverse, exp.TsOrDsToDate, exp.TsOrDsAdd),
    "postgres": (
        *(exp.If, exp.Sqrt, exp.Exp, exp.Ln, exp.Pow, exp.EndsWith, exp.Contains, exp.TryCast),
        *(exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.Hour, exp.Minute, exp.Second),
        *(exp.TsOrDsToDate, exp.TsOrDsAdd, exp.DateAdd, exp.DateDiff),
    ),
    "sqlite": (
        *(exp.ILike, exp.Left, exp.Right, exp.Reverse, exp.StartsWith, exp.EndsWith, exp.Contains),
        *(exp.Concat, exp.BitwiseXor, exp.IntDiv, exp.TryCast, exp.TsOrDsToDate),
        *(exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.Hour, exp.Minute, exp.Second),
        *(exp.Extract, exp.TsOrDsAdd, exp.DateAdd, exp.DateDiff),
    ),
}


def bind_paren(node: exp.Expr, bind: Binder) -> Expression:
    """(a)."""
    return bind(node.this)


def bind_null(node: exp.Expr, bind: Binder) -> Expression:
    """NULL: it takes the type that its place asks for."""
    return UNTYPED


def bind_boolean(node: exp.Expr, bind: Binder) -> Expression:
    """TRUE, FALSE."""
    return Literal(bool(node.this), pa.bool_())


RULES: dict[type[exp.Expr], Rule] = {
    exp.Paren: bind_paren,
    exp.Null: bind_null,
    exp.Boolean: bind_boolean,
    **comparisons.RULES,
    **arithmetic.RULES,
    **mathematics.RULES,
    **casts.RULES,
    **strings.RULES,
    **dates.RULES,
}
_RULES_OF = {
    dialect: {kind: rule for kind, rule in RULES.items() if kind not in absent}
    for dialect, absent in _ABSENT.items()
}


def bind(node: exp.Expr, column: Callable[[exp.Column], Expression], dialect: str) -> Expression:
    """Turn a scalar SQL expression into a typed one, or raise Refusal with the node at fault.

    `column` resolves names. NULL on its own comes back as an untyped literal (type null).
    """
    for each in node.walk():
        _refuse_by_name(each)
    return Binder(column, dialect, _RULES_OF[dialect])(node)


@cache
def _refused(kind: type[exp.Expr]) -> tuple[str, str] | None:
    """Return why nodes of a kind are refused, and what to write instead."""
    if kind in RULES:
        return None
    found = (rest for kinds, *rest in _REFUSED if issubclass(kind, kinds))
    return next(((why, instead) for why, instead in found), None)


def _refuse_by_name(node: exp.Expr) -> None:
    refused = _refused(type(node))  # type: ignore[arg-type]  # a class is hashable
    if refused is not None:
        raise Refusal(node, node.sql(), *refused)
    if isinstance(node, exp.Anonymous) and node.name.lower() in _NOT_OF_THE_DATA_NAMES:
        raise Refusal(node, node.sql(), _NOT_OF_THE_DATA, "store the value in a column")


__all__ = ["RULES", "bind"]
