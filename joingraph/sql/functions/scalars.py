"""Scalar SQL -> typed expressions: bind(node, column, dialect).

    UPPER(T.name) = 'BOB'
    ->  Call("equal", (Call("upper", (Column("T", "name", string),), string),
                       Literal("BOB", string)), bool)

Each kind of node has one rule, in the table of its family's module. What has no rule is refused by
name: an answer is right or not given. What looks at other rows than its own, or at none, was
refused before (sql/limits.py).
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.tree import Expression, Literal
from joingraph.sql.functions import arithmetic, casts, comparisons, dates, mathematics, strings
from joingraph.sql.functions.binding import UNTYPED, Binder, Rule


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
    exp.Paren: Rule(bind_paren, ("this",)),
    exp.Null: Rule(bind_null),
    exp.Boolean: Rule(bind_boolean, (), ("this",)),
    **comparisons.RULES,
    **arithmetic.RULES,
    **mathematics.RULES,
    **casts.RULES,
    **strings.RULES,
    **dates.RULES,
}


def bind(node: exp.Expr, column: Callable[[exp.Column], Expression], dialect: str) -> Expression:
    """Turn a scalar SQL expression into a typed one, or raise Refusal with the node at fault.

    `column` resolves names. NULL on its own comes back as an untyped literal (type null).
    """
    return Binder(column, dialect, RULES)(node)
