"""ORDER BY of a view: the order in which it is read, if the caller asks for none.

    SELECT T.id AS n, T.text FROM ... ORDER BY 2, n DESC    ->   T.text,  T.id descending

A view stays a bag of rows. What orders it is one of its columns, by its number, its name, or the
expression that it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from joingraph.expressions.order import Order
from joingraph.expressions.tree import Expression
from joingraph.sql.scope import Field, check_args
from joingraph.sql.text.refusal import Mistake, Refusal

_PARTS = {"this", "desc", "nulls_first"}


def order_of(
    select: exp.Select, fields: Sequence[Field], bind: Callable[[exp.Expr], Expression]
) -> list[Order]:
    """Return the order that a SELECT asks for; `bind` binds what names none of its columns."""
    clause = select.args.get("order")
    entries = [] if clause is None else clause.expressions
    return [entry_of(each, fields, bind) for each in entries]


def entry_of(
    node: exp.Expr, fields: Sequence[Field], bind: Callable[[exp.Expr], Expression]
) -> Order:
    """Bind an entry of ORDER BY."""
    check_args(node, _PARTS, "ORDER BY")
    bare = node.this.unnest()
    named = [each for each in fields if each.name.lower() == bare.name.lower()]
    if isinstance(bare, exp.Literal) and not bare.is_string and bare.this.isdigit():
        place = int(bare.this)
        if not 1 <= place <= len(fields):
            raise Mistake(node, f"ORDER BY {place}: the SELECT list ends at {len(fields)}")
        value = fields[place - 1].value
    elif isinstance(bare, exp.Column) and not bare.table and len(named) == 1:
        value = named[0].value
    else:
        value = bind(node.this)
    if value not in [each.value for each in fields]:
        why = "a view is read in the order of what it shows"
        raise Refusal(node, f"ORDER BY {node.this.sql()}", why, "add it to the SELECT list")
    return Order(value, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))
