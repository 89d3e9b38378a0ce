"""What a read asks of a view's columns: a condition, and entries of ORDER BY.

    view      SELECT F.fan, lower(T.text) AS said FROM follower F JOIN tweet T ON ...
    where     "fan = 'bob' AND said LIKE 'a%'"   ->   F.fan = 'bob',  lower(T.text) LIKE 'a%'
    order_by  "said DESC NULLS LAST"             ->   lower(T.text), descending, NULLs last

Names are bound to the view's columns and nothing else, as in a SELECT over the stored view; only
then does each column give way to the expression it stands for, and what is constant is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from joingraph.common.errors import DiffError
from joingraph.expressions.evaluate import evaluate
from joingraph.expressions.order import Order
from joingraph.expressions.python_values import python_value
from joingraph.expressions.tree import Call, Column, Expression, Literal, columns_of
from joingraph.expressions.types import FLOATS
from joingraph.sql.binder import FlatView
from joingraph.sql.definition import Definition
from joingraph.sql.limits import Size
from joingraph.sql.scope import Field, Relation, Scope
from joingraph.sql.text.parse import binding, parse_part
from joingraph.sql.text.refusal import Mistake


def bind_where(where: object, definition: Definition) -> tuple[Expression, ...]:
    """Bind a condition over the view's columns; return its conjuncts, none if it is always TRUE."""
    with binding(where, definition.dialect, "where: "):
        flat = FlatView({}, definition.dialect)
        node = parse_part(where, exp.Condition, definition.dialect)
        found = flat.require(node, _scope(definition))
        conjuncts = [part for each in found for part in _conjuncts(each)]
        return tuple(_as_kept(each, definition) for each in conjuncts)


def bind_order(entry: object, definition: Definition) -> Order:
    """Bind one entry of ORDER BY; where it is silent about NULLs, the view's dialect decides."""
    with binding(entry, definition.dialect, "order_by: "):
        node = parse_part(entry, exp.Ordered, definition.dialect)
        flat = FlatView({}, definition.dialect)
        value = flat.value(node.this, _scope(definition).find).value
        if not any(columns_of(value)):
            raise Mistake(node, "a constant orders nothing; name a column of the view")
        if node.args.get("with_fill"):
            raise Mistake(node, "WITH FILL is not taken in order_by")
        return Order(
            _as_kept(value, definition),
            bool(node.args.get("desc")),
            bool(node.args.get("nulls_first")),
        )


def _scope(definition: Definition) -> Scope:
    """Return the scope of the view's own columns, bare or after the view's name."""
    fields = tuple(
        Field(each.name, definition.name, _column(definition, each.name), Size(1, 1))
        for each in definition.output
    )
    return Scope({definition.name.lower(): Relation(definition.name, fields)}, fields)


def _column(definition: Definition, name: str) -> Column:
    return Column(definition.name, name, definition.schema.field(name).type)


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    """Split what was bound to a conjunction, as BETWEEN is."""
    match condition:
        case Call("and", parts):
            for part in parts:
                yield from _conjuncts(part)
        case _:
            yield condition


def _as_kept(bound: Expression, definition: Definition) -> Expression:
    """Replace each column by the expression it stands for."""
    values = {_column(definition, each.name): each.value for each in definition.output}
    return _substituted(bound, values)


def _substituted(expression: Expression, values: Mapping[Column, Expression]) -> Expression:
    match expression:
        case Column():
            return values[expression]
        case Call(function, args, type):
            here = Call(function, tuple(_substituted(arg, values) for arg in args), type)
            return _with_lists(here.args) if function == "or" else _folded(here)
        case _:
            return expression


def _with_lists(parts: Sequence[Expression]) -> Expression:
    """Write a = 1 OR a = 2 as a IN (1, 2): one look-up a row, however many constants.

    A list stands where its first constant stood, so nothing is computed earlier than before.
    """
    lists: dict[Expression, list[Expression]] = {}
    found: list[Expression | list[Expression]] = []
    for part in parts:
        match part:
            case Call("equal", (subject, Literal() as one)) if _is_listable(one):
                if subject not in lists:
                    lists[subject] = [subject]
                    found.append(lists[subject])
                lists[subject].append(one)
            case _:
                found.append(part)
    written = [_written(each) if isinstance(each, list) else each for each in found]
    return written[0] if len(written) == 1 else Call("or", tuple(written), pa.bool_())


def _is_listable(constant: Literal) -> bool:
    """True if IN compares a constant as = does; of floats, 0.0 equals -0.0 and IN looks up."""
    return constant.value is not None and constant.type not in FLOATS


def _written(subject_and_members: Sequence[Expression]) -> Expression:
    function = "equal" if len(subject_and_members) == 2 else "in"
    return Call(function, tuple(subject_and_members), pa.bool_())


def _folded(call: Call) -> Expression:
    """Compute a call of constants now, so that CAST('7' AS INT) leads to an index as 7 does.

    One that raises an error is left alone: it may never be asked. So is a zero that has a sign.
    """
    if not all(isinstance(arg, Literal) for arg in call.args):
        return call
    try:
        value = python_value(evaluate(call, {}, 1)[0])
    except (DiffError, ValueError, OverflowError):
        return call
    return call if isinstance(value, float) and value == 0.0 else Literal(value, call.type)
