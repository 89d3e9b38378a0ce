"""Row forms of functions: what a table's entry holds beside the form by column.

    "less": Entry(less, of_two(_less))    _less(call) -> a function of the two values, or None

A maker looks at a call's types and constants once and returns a plain function of values, or None
where plain Python does not compute just what the column form does. `of_one`, `of_two` and
`of_nulls` make a row form of it: that takes what computes the call's arguments of a row, and
returns what computes the call. All arguments are computed before NULL is looked for, as by
column: the second may raise. `of_nulls(always(None))` stands for no row form at all.

Where the column form raises a Fault, a plain function raises one of UNANSWERED; it may also do so
where it would be long to compute what the column form answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa

from joingraph.expressions.functions.fault import Function
from joingraph.expressions.row_values import RowValue, bounds, row_values
from joingraph.expressions.tree import Call, Expression, Literal

OfRow: TypeAlias = Callable[[Sequence[Any]], Any]
Plain: TypeAlias = Callable[..., Any]
Maker: TypeAlias = Callable[[Call], Plain | None]
RowForm: TypeAlias = Callable[[Call, Sequence[OfRow]], OfRow | None]

# OverflowError, ZeroDivisionError and decimal's are of the first, pyarrow's and Unicode's of both.
UNANSWERED: Final = (ArithmeticError, ValueError)


class Entry(NamedTuple):
    """What the tables hold of a function: its form by column and its form by row."""

    column: Function
    row: RowForm


def of_one(make: Maker) -> RowForm:
    """Return the row form of a function of its first argument, NULL for NULL."""

    def form(call: Call, args: Sequence[OfRow]) -> OfRow | None:
        plain, first = make(call), args[0]
        if plain is None:
            return None

        def answer(row: Sequence[Any]) -> Any:
            value = first(row)
            return None if value is None else plain(value)

        return answer

    return form


def of_two(make: Maker) -> RowForm:
    """Return the row form of a function of two arguments, NULL where either is."""

    def form(call: Call, args: Sequence[OfRow]) -> OfRow | None:
        plain, (first, second) = make(call), args
        if plain is None:
            return None
        fixed = constant(call.args[1])

        def answer(row: Sequence[Any]) -> Any:
            a, b = first(row), second(row)
            return None if a is None or b is None else plain(a, b)

        def answer_beside_constant(row: Sequence[Any]) -> Any:
            value = first(row)
            return None if value is None else plain(value, fixed)

        return answer if fixed is None else answer_beside_constant

    return form


def of_nulls(make: Maker) -> RowForm:
    """Return the row form of a function of all its arguments, NULLs among them."""

    def form(call: Call, args: Sequence[OfRow]) -> OfRow | None:
        plain = make(call)
        if plain is None:
            return None
        if len(args) == 1:
            (first,) = args
            return lambda row: plain(first(row))
        return lambda row: plain(*[arg(row) for arg in args])

    return form


def always(plain: Plain | None) -> Maker:
    """Return a maker of a function that is the same for all types."""
    return lambda call: plain


def constant(expression: Expression) -> RowValue:
    """Return a constant as a row holds it; None for NULL and for what is no constant."""
    if not isinstance(expression, Literal):
        return None
    value = expression.value
    scalar = value if isinstance(value, pa.Scalar) else pa.scalar(value, expression.type)
    return row_values(pa.array([scalar], expression.type))[0]


def constants(call: Call) -> list[RowValue] | None:
    """Return all arguments but the first, if they are constants and none is NULL."""
    found = [constant(each) for each in call.args[1:]]
    return None if None in found else found


def is_alike(call: Call) -> bool:
    """True if all arguments have one type."""
    return len({each.type for each in call.args}) == 1


def within(plain: Plain, type: pa.DataType) -> Plain:
    """Return a function of two values that raises where an integer or decimal has no answer."""
    low, high = bounds(type)

    def checked(a: Any, b: Any) -> Any:
        found = plain(a, b)
        if low <= found <= high:
            return found
        raise OverflowError

    return checked


def in_bounds(plain: Plain, type: pa.DataType) -> Plain:
    """Return a function of one value that is None where an integer or decimal has no answer."""
    low, high = bounds(type)

    def bounded(value: Any) -> Any:
        found = plain(value)
        return found if low <= found <= high else None

    return bounded


def answered(plain: Plain) -> Plain:
    """Return a function of one value that raises where another is None."""

    def checked(value: Any) -> Any:
        found = plain(value)
        if found is None:
            raise ValueError
        return found

    return checked


def fitted(plain: Plain, type: pa.DataType) -> Plain:
    """Return a function of one value that raises where an integer or decimal has no answer."""
    return answered(in_bounds(plain, type))
