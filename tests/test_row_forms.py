"""Row forms: value by value what the forms by column answer, errors included, and their speed.

Where a row form raises, its caller asks the form by column, so a row form may always raise; that
it does so only where it must is checked, too.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Sequence
from math import isnan
from typing import Any

import pyarrow as pa
import pytest

from joingraph.common.errors import DiffError
from joingraph.expressions.evaluate import LAZY, evaluate
from joingraph.expressions.functions import FUNCTIONS
from joingraph.expressions.functions.by_row import UNANSWERED
from joingraph.expressions.row_form import column_form, row_form
from joingraph.expressions.row_values import column_of_row_values, row_values
from joingraph.expressions.show import show
from joingraph.expressions.tree import Call, Column, Expression, columns_of
from joingraph.expressions.types import DIALECTS
from tests.expressions import TYPES, bound
from tests.test_scalars import examples
from tests.typed_calls import (
    FLOAT,
    SIGNATURES,
    TEXT,
    by_result,
    call_of,
    edge,
)

ROWS = 20
REFUSED = "<refused>"
Row = tuple[Any, ...]


def known_and_rows(rng: random.Random, expression: Expression) -> tuple[list[Column], list[Row]]:
    known = list(dict.fromkeys(columns_of(expression)))
    return known, [random_row(rng, known) for _ in range(ROWS)]


def random_row(rng: random.Random, known: Sequence[Column]) -> Row:
    """Choose a row's values; columns of one type often have the same."""
    shared = {each.type: edge(rng, each.type) for each in known}
    return tuple(
        None if kind < 0.12 else shared[each.type] if kind < 0.4 else edge(rng, each.type)
        for each in known
        for kind in [rng.random()]
    )


def answers_by_column(
    expression: Expression, known: Sequence[Column], rows: Sequence[Row]
) -> list[object]:
    """Evaluate all rows at once; where some row is refused, each on its own."""
    columns = zip(*rows, strict=True) if known else ()
    given: dict[Expression, pa.Array] = {
        each: column_of_row_values(values, each.type)
        for each, values in zip(known, columns, strict=True)
    }
    try:
        return list(row_values(evaluate(expression, given, len(rows))))
    except DiffError:
        if len(rows) == 1:
            return [REFUSED]
        return [each for row in rows for each in answers_by_column(expression, known, [row])]


def by_row(form: Any, row: Row) -> object:
    try:
        return form(row)
    except UNANSWERED:
        return REFUSED


def bits(value: object) -> object:
    """Tell 0.0 from -0.0, NaN as itself, and a value from an equal one of another type."""
    if isinstance(value, float):
        return "nan" if isnan(value) else struct.pack("<d", value)
    return type(value), value


def lacks_form(expression: Expression) -> bool:
    """True for what is known to have none: of BIGINT the nearest FLOAT, a FLOAT's shortest text."""
    if not isinstance(expression, Call):
        return False
    source = expression.args[0].type
    rounds_twice = source in (pa.int64(), pa.uint64()) and expression.type == FLOAT
    is_short = source == FLOAT and expression.function.endswith("cast_shortest")
    is_long = expression.function.endswith("_days") and expression.args[1].type == pa.uint64()
    own = (expression.function in ("cast", "try_cast") and rounds_twice) or is_short or is_long
    return own or any(map(lacks_form, expression.args))


def parts(expression: Expression) -> list[Call]:
    """Name all calls, the inner ones first."""
    if not isinstance(expression, Call):
        return []
    return [*(part for arg in expression.args for part in parts(arg)), expression]


def is_left_to_columns(expression: Expression, known: Sequence[Column], row: Row) -> bool:
    """True if the inner call that is refused is of a date beyond Python's calendar."""
    for part in parts(expression):
        if answers_by_column(part, known, [row]) != [REFUSED]:
            form = row_form(part, known)
            if form is not None and by_row(form, row) == REFUSED:
                is_text = part.function in ("cast", "try_cast") and part.type == TEXT
                return is_text or part.function in ("year", "month", "day", "add_months")
    return False


def compare(expression: Call, rng: random.Random, seen: Counter[str]) -> None:
    """Hold the forms together on random rows; count values, and what each function answers."""
    known, rows = known_and_rows(rng, expression)
    form = row_form(expression, known)
    if form is None:
        assert lacks_form(expression), show(expression)
        return
    for row, theirs in zip(rows, answers_by_column(expression, known, rows), strict=True):
        ours = by_row(form, row)
        seen["values"] += 1
        if ours is not None and ours != REFUSED:
            seen[expression.function] += 1
        seen["refused"] += theirs == REFUSED
        if bits(ours) != bits(theirs):
            case = f"{show(expression)}\n{dict(zip(known, row, strict=True))}\n{ours!r} {theirs!r}"
            assert ours == REFUSED and is_left_to_columns(expression, known, row), case
            seen["left"] += 1


def compare_all(seed: int, rounds: int) -> Counter[str]:
    rng, seen = random.Random(seed), Counter[str]()
    inner = by_result(rng)
    for _ in range(rounds):
        for name, make in SIGNATURES.items():
            compare(call_of(rng, name, make(rng), inner), rng, seen)
    return seen


def check(seen: Counter[str], values: int) -> None:
    assert seen["values"] > values
    assert seen["refused"] > values / 30
    assert seen["left"] < values / 50
    assert [name for name in SIGNATURES if seen[name] < 5] == []


def test_row_forms_answer_as_forms_by_column() -> None:
    check(compare_all(seed=1, rounds=5), values=7_500)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 6))
def test_row_forms_answer_as_forms_by_column_at_length(seed: int) -> None:
    check(compare_all(seed, rounds=20), values=35_000)


def test_every_function_is_compared() -> None:
    assert set(SIGNATURES) == set(FUNCTIONS) | set(LAZY)


@pytest.mark.filterwarnings("ignore")
def test_what_sql_writes_has_a_row_form() -> None:
    """The page of functions has an example of every function: only of FLOATs some have none."""
    rng, seen, missing = random.Random(7), Counter[str](), set[str]()
    for text, marks in examples():
        for dialect, is_taken in zip(DIALECTS, marks, strict=True):
            expression = bound(text, dialect) if is_taken else None
            if isinstance(expression, Call):
                compare(expression, rng, seen)
                if row_form(expression, list(columns_of(expression))) is None:
                    missing.add(text)
    assert seen["values"] > 5_000
    assert missing == set()


def test_a_row_form_computes_all_arguments_before_it_looks_for_null() -> None:
    known = [Column("", name, TYPES[name]) for name in ("b", "i")]
    form = row_form(bound("i < b + 1"), known)
    assert form is not None
    for row in ((2**63 - 1, 1), (2**63 - 1, None)):
        with pytest.raises(UNANSWERED):
            form(row)
    assert form((None, None)) is None


def test_a_condition_that_decides_keeps_the_others_from_being_computed() -> None:
    known = [Column("", "i", TYPES["i"])]
    for text, answer in (
        ("i <> 0 AND 6 / i > 1", False),
        ("i = 0 OR 6 / i > 1", True),
        ("CASE WHEN i = 0 THEN 0 ELSE 6 / i END", 0.0),
        ("COALESCE(i, 6 / i)", 0.0),
    ):
        form = row_form(bound(text), known)
        assert form is not None and form((0,)) == answer
    form = row_form(bound("6 / i > 1 AND i <> 0"), known)
    assert form is not None
    with pytest.raises(ZeroDivisionError):
        form((0,))


def test_the_column_form_of_a_row_words_the_error() -> None:
    known = [Column("", name, TYPES[name]) for name in ("s", "n", "d")]
    asked = column_form(bound("n / 0.5 + LENGTH(s)"), known)
    assert asked(("abc", 125, None)) == 5_500_000
    with pytest.raises(DiffError, match="division by zero"):
        column_form(bound("1 / n"), known)(("abc", 0, None))


def test_a_part_that_is_known_is_not_computed() -> None:
    part = bound("UPPER(s)")
    form = row_form(bound("UPPER(s) LIKE '%X'"), [part])
    assert form is not None and form(("not upper but x: X",)) is True


def test_like_never_goes_back_for_another_place() -> None:
    pattern = "%" + "a%" * 12 + "_b"
    form = row_form(bound(f"s LIKE '{pattern}'"), [Column("", "s", TYPES["s"])])
    assert form is not None and form(("a" * 5_000,)) is False
    assert form(("a" * 5_000 + "b",)) is True


def test_a_quotient_of_decimals_is_rounded_twice_by_row_too() -> None:
    a, b = (Column("", name, pa.decimal128(38, 0)) for name in "ab")
    quotient = Call("divide_nonzero", (a, b), pa.decimal128(38, 6))
    row = (5 * 10**30, 10**37 + 1)  # 0.0000005 less 5e-44
    for make in (row_form, column_form):
        form = make(quotient, [a, b])
        assert form is not None and form(row) == 1
