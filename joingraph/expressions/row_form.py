"""Expressions over one row: row_form(expression, what a row holds) -> a function of a row, or None.

    row_form(T.a > 5 AND T.b LIKE '%x%', [T.a, T.b])  ->  f    f((7, "axe"))  ->  True

The row form is `evaluate` for few rows: made once, it computes the same in plain Python, value by
value, for the cost of a few calls. Rows and answers hold values as row_values.py says. It is None
where some function has no row form for its types. Then, and where a row form raises an error of
UNANSWERED, `column_form` answers: that of the column form, which also words what is refused.

    conditions   form(row) is True, one after the other; NULL is not TRUE
    errors       try: form(row)   except UNANSWERED: column_form(expression, known)(row)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from joingraph.expressions.evaluate import LAZY, evaluate
from joingraph.expressions.functions import FUNCTIONS
from joingraph.expressions.functions.by_row import OfRow, constant
from joingraph.expressions.row_values import column_of_row_values, is_held, row_values
from joingraph.expressions.tree import Call, Expression, Literal


def row_form(expression: Expression, known: Sequence[Expression]) -> OfRow | None:
    """Return what computes an expression of one row, which holds the values of `known` in order.

    >>> import pyarrow as pa
    >>> from joingraph.expressions.tree import Column
    >>> a = Column("t", "a", pa.int8())
    >>> negated = row_form(Call("negate", (a,), pa.int8()), [a])
    >>> negated and [negated((5,)), negated((None,))]
    [-5, None]
    """
    return _form(expression, {each: place for place, each in enumerate(known)})


def column_form(expression: Expression, known: Sequence[Expression]) -> OfRow:
    """Return what computes the same by columns of one row: of all types, and as slow as that is."""
    places = {each: place for place, each in enumerate(known)}
    wanted = {each: places[each] for each in _read(expression, places)}

    def answer(row: Sequence[Any]) -> Any:
        given = {
            each: column_of_row_values([row[place]], each.type) for each, place in wanted.items()
        }
        return row_values(evaluate(expression, given, 1))[0]

    return answer


def _form(expression: Expression, places: Mapping[Expression, int]) -> OfRow | None:
    if not is_held(expression.type):
        return None
    if isinstance(expression, Literal):
        value = constant(expression)
        return lambda row: value
    if expression in places:
        return itemgetter(places[expression])
    assert isinstance(expression, Call), "a row holds every column that is read"
    forms: list[OfRow] = []
    for arg in expression.args:
        form = _form(arg, places)
        if form is None:
            return None
        forms.append(form)
    entry = LAZY.get(expression.function) or FUNCTIONS[expression.function]
    return entry.row(expression, forms)


def _read(expression: Expression, places: Mapping[Expression, int]) -> Iterator[Expression]:
    """Yield what an expression reads of a row."""
    if expression in places:
        yield expression
    elif isinstance(expression, Call):
        for arg in expression.args:
            yield from _read(arg, places)
