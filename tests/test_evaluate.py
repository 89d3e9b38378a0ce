"""Evaluation: three-valued logic, lazy branches, errors that name the row, known values."""

from __future__ import annotations

import pyarrow as pa
import pytest

from joingraph.common.errors import DiffError
from joingraph.expressions.evaluate import evaluate, holds
from joingraph.expressions.show import show
from joingraph.expressions.tree import Column, Literal
from tests.expressions import answers, bound, column

T, F, N = True, False, None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p AND p IS NOT NULL", [T, F, F]),
        ("p AND NULL", [N, F, N]),
        ("p OR NULL", [T, N, N]),
        ("NOT p", [F, T, N]),
        ("p IS TRUE", [T, F, F]),
        ("p IS NOT FALSE", [T, F, T]),
        ("p <=> NULL", [F, F, T]),
        ("p IN (TRUE, NULL)", [T, N, N]),
        ("COALESCE(p, FALSE)", [T, F, F]),
    ],
)
def test_logic_has_three_values(text: str, expected: list[bool | None]) -> None:
    assert answers(text, columns={"p": [T, F, N]}) == expected


@pytest.mark.parametrize(
    "text",
    [
        "CASE WHEN i <> 0 THEN 6 / i ELSE 0 END",
        "IF(i = 0, 0, 6 / i)",
        "COALESCE(CASE WHEN i = 0 THEN 0 END, 6 / i)",
        "CASE WHEN i <> 0 AND 6 / i > 0 THEN 6 / i ELSE 0 END",
        "CASE WHEN i = 0 OR 6 / i < 0 THEN 0 ELSE 6 / i END",
        "CASE WHEN i = 0 THEN 0 WHEN 6 / i > 0 THEN CASE WHEN i = 3 THEN 2 ELSE 6 / i END END",
    ],
)
def test_a_branch_is_computed_only_on_the_rows_that_take_it(text: str) -> None:
    assert answers(text, columns={"i": [0, 3, 0, 2]}) == [0, 2, 0, 3]


def test_an_error_names_expression_row_and_values_also_inside_a_branch() -> None:
    with pytest.raises(DiffError, match=r"row 2: division by zero \(values: 6.0, 0.0\)"):
        answers("6 / i", columns={"i": [1, None, 0, 0]})
    with pytest.raises(DiffError, match=r"10 % i.* row 3.*division by zero"):
        answers("CASE WHEN p THEN 10 % i END", columns={"p": [F, T, F, T], "i": [0, 1, 0, 0]})


def test_a_known_part_is_not_computed_again() -> None:
    expression = bound("6 / i + 1")
    known = {bound("6 / i"): pa.array([5.0, None])}
    assert evaluate(expression, known, 2).to_pylist() == [6.0, None]


def test_a_constant_gives_a_row_for_each_row_even_none() -> None:
    for length in (0, 1, 3):
        result = evaluate(bound("UPPER('a') || 'b'"), {}, length)
        assert result.to_pylist() == ["Ab"] * length
        assert isinstance(result, pa.Array)


def test_a_condition_holds_only_where_it_is_true() -> None:
    assert holds(bound("i > 1"), column("i", [0, 2, None]), 3).to_pylist() == [F, T, F]


@pytest.mark.parametrize("text", ["i + 1", "s LIKE 'a%'", "CASE WHEN p THEN i END", "i IN (1, 2)"])
def test_no_rows_give_no_answers(text: str) -> None:
    known = column("i", []) | column("s", []) | column("p", [])
    assert len(evaluate(bound(text), known, 0)) == 0


def test_a_column_that_is_not_given_is_named() -> None:
    with pytest.raises(AssertionError, match=r"t\.a"):
        evaluate(Column("t", "a", pa.int64()), {}, 1)


def test_expressions_are_shown_as_sql() -> None:
    texts = {
        "i + 1 = b": "CAST(i + 1 AS BIGINT) = b",
        "(i + 1) * 2 - 3": "((i + 1) * 2) - 3",
        "NOT (p AND i IS NULL)": "NOT (p AND (i IS NULL))",
        r"CASE WHEN p THEN 'it\'s' END": "CASE WHEN p THEN 'it''s' ELSE NULL END",
        "i NOT IN (1, 2)": "NOT (i IN (1, 2))",
        "d = '2024-01-01'": "d = DATE '2024-01-01'",
        "TRY_CAST(s AS INT)": "TRY_CAST(s AS INT)",
    }
    assert {text: show(bound(text)) for text in texts} == texts
    assert show(Literal(b"\x01", pa.binary())) == "X'01'"
