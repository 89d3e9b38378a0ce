"""Expressions over columns: evaluate(expression, known columns, length) -> one Arrow array.

    known  {T.a: [1, 2, 0], T.b: [6, 6, 6]}
    CASE WHEN T.a <> 0 THEN T.b / T.a END   ->   [6.0, 3.0, NULL]

Work is done column by column. A branch of CASE, COALESCE, AND, OR that could fail is computed on
the rows that need it only, so a division guarded by a test never meets the zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.common.errors import DiffError
from joingraph.expressions import texts
from joingraph.expressions.functions import FUNCTIONS, SAFE
from joingraph.expressions.functions.arrow import FALSE, TRUE, pc
from joingraph.expressions.functions.by_row import OfRow, RowForm
from joingraph.expressions.functions.fault import Datum, Fault, spread
from joingraph.expressions.python_values import plain_text, python_value
from joingraph.expressions.show import brief, show
from joingraph.expressions.tree import Call, Expression, Literal

LAZY_SAFE = frozenset({"and", "or", "case", "coalesce"})


class NoAnswer(DiffError):
    """A call has no answer for a row; `why` says for which values, but not in which row."""

    def __init__(self, call: Call, row: int, fault: str) -> None:
        shown = brief(show(call))
        super().__init__(f"{shown} has no answer in row {row}: {fault}")
        self.call, self.why, self._fault = call, f"{shown} has no answer: {fault}", fault
        self.row = row

    def in_row(self, row: int) -> NoAnswer:
        """Return the same error with another number of the row."""
        return NoAnswer(self.call, row, self._fault)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows to compute on: the caller's columns, inside a branch `picked` rows of them."""

    known: Mapping[Expression, pa.Array]
    length: int
    picked: pa.Array | None = None
    narrowed: dict[Expression, pa.Array] = field(default_factory=dict)

    def find(self, expression: Expression) -> pa.Array | None:
        """Look a value up that is already computed."""
        found = self.known.get(expression)
        if found is None or self.picked is None:
            return found
        if expression not in self.narrowed:
            self.narrowed[expression] = found.take(self.picked)
        return self.narrowed[expression]

    def pick(self, chosen: pa.Array) -> Rows:
        """Narrow to some of these rows, given by their numbers."""
        picked = chosen if self.picked is None else self.picked.take(chosen)
        return Rows(self.known, len(chosen), picked)

    def number(self, row: int) -> int:
        """Return the caller's number of a row."""
        return row if self.picked is None else self.picked[row].as_py()


def evaluate(expression: Expression, known: Mapping[Expression, pa.Array], length: int) -> pa.Array:
    """Compute an expression for every row; `known` holds its columns and any computed part of it.

    Texts that do not fit one array of 32-bit offsets come as a wide array.

    >>> from joingraph.expressions.tree import Column
    >>> a = Column("t", "a", pa.int64())
    >>> evaluate(Call("negate", (a,), pa.int64()), {a: pa.array([1, None])}, 2).to_pylist()
    [-1, None]
    """
    try:
        answer = spread(_compute(expression, Rows(known, length)), length)
    except texts.TooMuchText:
        if length == 1:
            raise DiffError(
                f"{brief(show(expression))} makes a text of more than {texts.ARRAY_BYTES_MAX:,}"
                " bytes of one row: no value of a view can be longer; shorten what it is made of"
            ) from None
        return texts.joined(list(_in_halves(expression, known, length)))
    assert len(answer) == length, f"{brief(show(expression))} gives one answer for each row"
    return answer


def _in_halves(
    expression: Expression, known: Mapping[Expression, pa.Array], length: int
) -> Iterator[pa.Array]:
    """Compute an expression for half of the rows at a time."""
    for first, end in ((0, length // 2), (length // 2, length)):
        some = {part: column.slice(first, end - first) for part, column in known.items()}
        yield evaluate(expression, some, end - first)


def holds(
    expression: Expression, known: Mapping[Expression, pa.Array], length: int
) -> pa.BooleanArray:
    """Return the rows on which a condition is TRUE; NULL counts as no."""
    return pc.fill_null(evaluate(expression, known, length), FALSE)


def _compute(expression: Expression, rows: Rows) -> Datum:
    if isinstance(expression, Literal):
        return _scalar(expression)
    found = rows.find(expression)
    if found is not None:
        return found
    assert isinstance(expression, Call), f"the caller gives column {brief(show(expression))}"
    lazy = LAZY.get(expression.function)
    if lazy is not None:
        return lazy.column(expression, rows)
    args = [_compute(arg, rows) for arg in expression.args]
    if all(isinstance(arg, pa.Scalar) for arg in args):
        args[0] = spread(args[0], rows.length)
    return _call(expression, args, rows)


def _call(call: Call, args: Sequence[Datum], rows: Rows) -> Datum:
    function = FUNCTIONS[call.function].column
    try:
        return function(args, call.type)
    except pa.ArrowCapacityError as error:
        raise texts.TooMuchText from error
    except Fault as fault:
        row = _first_fault(call, args, rows.length)
        values = ", ".join(_value(arg, row) for arg in args)
        raise NoAnswer(call, rows.number(row), f"{fault} (values: {values})") from fault


def _first_fault(call: Call, args: Sequence[Datum], length: int) -> int:
    """Find the first row that fails, by halving: low … high always holds one."""
    low, high = 0, length
    while high - low > 1:
        middle = (low + high) // 2
        if _fails(call, args, low, middle):
            high = middle
        else:
            low = middle
    return low


def _fails(call: Call, args: Sequence[Datum], low: int, high: int) -> bool:
    part = [arg.slice(low, high - low) if isinstance(arg, pa.Array) else arg for arg in args]
    try:
        FUNCTIONS[call.function].column(part, call.type)
    except Fault:
        return True
    return False


def _value(arg: Datum, row: int) -> str:
    return brief(plain_text(python_value(arg[row] if isinstance(arg, pa.Array) else arg)))


@lru_cache(maxsize=4096)
def _scalar(literal: Literal) -> pa.Scalar:
    # A value that Python cannot hold is a scalar already, of its literal's type.
    value = literal.value
    return value if isinstance(value, pa.Scalar) else pa.scalar(value, literal.type)


def _is_safe(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return True
    safe = expression.function in SAFE or expression.function in LAZY_SAFE
    return safe and all(_is_safe(arg) for arg in expression.args)


def _compute_where(expression: Expression, rows: Rows, mask: pa.Array) -> Datum:
    """Compute on the rows of a mask; elsewhere the answer is arbitrary, and NULL if computing it
    could fail."""
    if _is_safe(expression):
        return _compute(expression, rows)
    chosen = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
    if len(chosen) == rows.length:
        return _compute(expression, rows)
    narrow = rows.pick(pa.array(chosen))
    part = spread(_compute(expression, narrow), narrow.length)
    places = np.zeros(rows.length, dtype=np.int64)
    places[chosen] = np.arange(len(chosen))
    outside = np.ones(rows.length, dtype=bool)
    outside[chosen] = False
    return part.take(pa.array(places, mask=outside))


def _connective(
    kernel: Callable[[Datum, Datum], Datum], *, open_on: bool
) -> Callable[[Call, Rows], Datum]:
    """Make AND (open while TRUE) or OR (open while FALSE); NULL leaves a row open, too."""

    asked = TRUE if open_on else FALSE

    def compute(call: Call, rows: Rows) -> Datum:
        answer = spread(_compute(call.args[0], rows), rows.length)
        for arg in call.args[1:]:
            undecided = pc.fill_null(pc.equal(answer, asked), TRUE)
            right = _compute_where(arg, rows, undecided)
            answer = pc.if_else(undecided, kernel(answer, right), answer)
        return answer

    return compute


def _case(call: Call, rows: Rows) -> Datum:
    """Compute CASE: args are test, value, test, value, …, value for the rest."""
    left = pa.repeat(TRUE, rows.length)
    picks: list[tuple[Datum, Datum]] = []
    for test, value in zip(call.args[0:-1:2], call.args[1::2], strict=True):
        met = _compute_where(test, rows, left)
        taken = pc.and_(left, pc.fill_null(spread(met, rows.length), FALSE))
        picks.append((taken, _compute_where(value, rows, taken)))
        left = pc.and_not(left, taken)
    answer = _compute_where(call.args[-1], rows, left)
    for taken, value in reversed(picks):
        answer = pc.if_else(taken, value, answer)
    return answer


def _coalesce(call: Call, rows: Rows) -> Datum:
    """Compute the first value that is not NULL."""
    answer = spread(_compute(call.args[0], rows), rows.length)
    for arg in call.args[1:]:
        missing = pc.is_null(answer)
        answer = pc.if_else(missing, _compute_where(arg, rows, missing), answer)
    return answer


def _connective_by_row(decides: bool) -> RowForm:
    """Make AND (FALSE decides) or OR (TRUE decides): nothing is computed after what decides."""

    def form(call: Call, args: Sequence[OfRow]) -> OfRow:
        def answer(row: Sequence[Any]) -> Any:
            unknown = False
            for arg in args:
                found = arg(row)
                if found is decides:
                    return decides
                unknown = unknown or found is None
            return None if unknown else not decides

        return answer

    return form


def _case_by_row(call: Call, args: Sequence[OfRow]) -> OfRow:
    branches = tuple(zip(args[0:-1:2], args[1::2], strict=True))
    rest = args[-1]

    def answer(row: Sequence[Any]) -> Any:
        for test, value in branches:
            if test(row):
                return value(row)
        return rest(row)

    return answer


def _coalesce_by_row(call: Call, args: Sequence[OfRow]) -> OfRow:
    def answer(row: Sequence[Any]) -> Any:
        for arg in args:
            found = arg(row)
            if found is not None:
                return found
        return None

    return answer


class LazyEntry(NamedTuple):
    """A function that decides what to compute: on which rows by column, or whether by row."""

    column: Callable[[Call, Rows], Datum]
    row: RowForm


LAZY: dict[str, LazyEntry] = {
    "and": LazyEntry(_connective(pc.and_kleene, open_on=True), _connective_by_row(False)),
    "or": LazyEntry(_connective(pc.or_kleene, open_on=False), _connective_by_row(True)),
    "case": LazyEntry(_case, _case_by_row),
    "coalesce": LazyEntry(_coalesce, _coalesce_by_row),
}
