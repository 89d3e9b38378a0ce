"""Binding: each dialect's types and answers by hand, what is refused, and docs/functions.md."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from sqlglot.errors import SqlglotError

from joingraph.common.errors import DiffError
from joingraph.expressions.functions import FUNCTIONS
from joingraph.expressions.show import show
from joingraph.expressions.tree import Call, Column, Expression, Literal
from joingraph.expressions.types import DIALECTS, sql_name
from joingraph.sql.functions.scalars import RULES
from joingraph.sql.text.refusal import Refusal
from tests.expressions import Value, answers, bound, parsed

PAGE = Path(__file__).parent.parent / "docs" / "functions.md"


@pytest.mark.parametrize(
    ("text", "type", "answer"),
    [
        ("7 / 2", "DOUBLE", 3.5),
        ("-7 % 3", "INT", -1),
        ("7 DIV -2", "BIGINT", -3),
        ("1 + 2L", "BIGINT", 3),
        ("2147483647", "INT", 2147483647),
        ("-2147483648", "INT", -2147483648),
        ("2147483648", "BIGINT", 2147483648),
        ("9223372036854775808", "DECIMAL(19,0)", Decimal(9223372036854775808)),
        ("1.50", "DECIMAL(3,2)", Decimal("1.50")),
        ("0.05", "DECIMAL(2,2)", Decimal("0.05")),
        ("1e2", "DOUBLE", 100.0),
        ("1.5 + 2", "DECIMAL(3,1)", Decimal("3.5")),
        ("1.10 * 1.10", "DECIMAL(7,4)", Decimal("1.2100")),
        ("1.0 / 3", "DECIMAL(7,6)", Decimal("0.333333")),
        (
            "CAST(2 AS DECIMAL(38,10)) / CAST(3 AS DECIMAL(38,10))",
            "DECIMAL(38,6)",
            Decimal("0.666667"),
        ),
        ("5.5 % 2", "DECIMAL(2,1)", Decimal("1.5")),
        ("ROUND(2.5)", "DECIMAL(2,0)", Decimal(3)),
        ("ROUND(2.5D)", "DOUBLE", 3.0),
        ("ROUND(-2.5D)", "DOUBLE", -3.0),
        ("ROUND(2.675D, 2)", "DOUBLE", 2.68),
        ("FLOOR(-1.5D)", "BIGINT", -2),
        ("FLOOR(CAST('NaN' AS DOUBLE))", "BIGINT", 0),
        ("CEIL(1.2)", "DECIMAL(2,0)", Decimal(2)),
        ("SIGN(-5)", "DOUBLE", -1.0),
        ("LN(0D)", "DOUBLE", None),
        ("CAST(-1.9D AS INT)", "INT", -1),
        ("CAST(2.567 AS DECIMAL(4,1))", "DECIMAL(4,1)", Decimal("2.6")),
        ("CAST(1.005D AS DECIMAL(4,2))", "DECIMAL(4,2)", Decimal("1.01")),
        ("CAST(' 12 ' AS INT)", "INT", 12),
        ("TRY_CAST('1.5' AS INT)", "INT", None),
        ("TRY_CAST(300 AS TINYINT)", "TINYINT", None),
        ("UPPER('straße')", "STRING", "STRASSE"),
        ("CONCAT('a', NULL)", "STRING", None),
        ("SUBSTRING('hello', 0, 2)", "STRING", "he"),
        ("SUBSTRING('hello', -3, 2)", "STRING", "ll"),
        ("SUBSTRING('hello', -7, 4)", "STRING", "he"),
        ("LEFT('hello', -1)", "STRING", ""),
        ("LTRIM('x', 'xxa')", "STRING", "a"),
        ("'a_b' LIKE 'a\\_b'", "BOOLEAN", True),
        ("'axb' LIKE 'a\\_b'", "BOOLEAN", False),
        ("YEAR(DATE '1970-01-01' + 11248737)", "INT", 32767),
        ("YEAR(DATE '1970-01-01' - 12687428)", "INT", -32767),
        ("DATE '2024-02-28' + 2", "DATE", dt.date(2024, 3, 1)),
        ("DATE '2024-03-01' - INTERVAL 1 DAY", "DATE", dt.date(2024, 2, 29)),
        ("DATEDIFF(DATE '2024-03-01', DATE '2024-02-28')", "INT", 2),
        ("DATE_SUB(DATE '2024-03-01', 1)", "DATE", dt.date(2024, 2, 29)),
        (
            "EXTRACT(SECOND FROM TIMESTAMP '2024-01-01 10:11:12.5')",
            "DECIMAL(8,6)",
            Decimal("12.500000"),
        ),
        ("GREATEST(1, NULL, 2.5)", "DECIMAL(11,1)", Decimal("2.5")),
        ("CAST('NaN' AS DOUBLE) = CAST('NaN' AS DOUBLE)", "BOOLEAN", True),
        ("CAST('NaN' AS DOUBLE) > 1e300", "BOOLEAN", True),
        ("-0.0D = 0.0D", "BOOLEAN", True),
        ("NULL <=> NULL", "BOOLEAN", True),
    ],
)
def test_spark_computes(text: str, type: str, answer: Value) -> None:
    assert (sql_name(bound(text).type), answers(text)) == (type, [answer])


@pytest.mark.parametrize(
    "text",
    [
        "2147483647 + 1",
        "-(-2147483647 - 1)",
        "ABS(-9223372036854775807 - 1)",
        "1 / 0",
        "1.0D / 0",
        "1 % 0",
        "1.0 / 0",
        "1 DIV 0",
        "(-9223372036854775807 - 1) DIV -1",
        "CAST(300 AS TINYINT)",
        "CAST('NaN' AS DOUBLE) :: INT",
        "CAST('1.5' AS INT)",
        "CAST('x' || '' AS DATE)",
        "CAST(123.4 AS DECIMAL(3,1))",
        "CAST(-2509712451 AS DECIMAL(38,38))",
        "CAST(DATE '1970-01-01' + 2147483000 AS TIMESTAMP)",
        "YEAR(DATE '1970-01-01' + 11248738)",
        "YEAR(DATE '1970-01-01' - 12687429)",
        "DATEDIFF(DATE '1970-01-01' + 2147483000, DATE '0001-01-01')",
    ],
)
def test_spark_fails_in_ansi_mode(text: str) -> None:
    with pytest.raises(DiffError):
        answers(text)


def test_zeros_of_either_sign_are_constants_of_their_own() -> None:
    for _ in range(2):
        assert answers("1 / (-0.0::DOUBLE)", "duckdb") == [-math.inf]
        assert answers("1 / 0", "duckdb") == [math.inf]
    assert Literal(0.0, pa.float64()) != Literal(-0.0, pa.float64())
    assert Literal(math.nan, pa.float64()) == Literal(math.nan, pa.float64())
    assert Literal(1, pa.int32()) == Literal(1, pa.int32()) != Literal(1, pa.int64())


@pytest.mark.parametrize(
    ("dialect", "text", "answer"),
    [
        *((dialect, "'o''b'", "o'b") for dialect in ("duckdb", "postgres", "sqlite")),
        *((dialect, "''''", "'") for dialect in ("duckdb", "postgres", "sqlite")),
        ("postgres", "-7 / 2", -3),
        ("postgres", "CAST(2.5::FLOAT8 AS INT)", 2),
        ("postgres", "CAST(2.5 AS INT)", 3),
        ("postgres", "CONCAT('a', NULL)", "a"),
        ("postgres", "SUBSTRING('hello', -1, 4)", "he"),
        ("postgres", "LEFT('hello', -2)", "hel"),
        ("postgres", "ROUND(2.5::FLOAT8)", 2.0),
        ("postgres", "2.5::FLOAT8 * 0", 0.0),
        ("postgres", "SIGN(-1.50)", Decimal("-1.00")),
        ("postgres", "DATE '2024-03-01' - DATE '2024-02-01'", 29),
        ("sqlite", "-7 / 2", -3),
        ("sqlite", "1 / 0", None),
        ("sqlite", "1.0 / 0", None),
        ("sqlite", "'ABC' LIKE 'a%'", True),
        ("sqlite", "MAX(1, NULL)", None),
        ("sqlite", "CAST('12abc' AS INTEGER)", 12),
        ("sqlite", "TRUE + TRUE", 2),
        ("duckdb", "1 / 0", math.inf),
        ("duckdb", "SUBSTRING('hello', 0, 2)", "h"),
        ("duckdb", "'A' ILIKE 'a'", True),
    ],
)
def test_other_dialects_compute_as_they_do(dialect: str, text: str, answer: Value) -> None:
    assert answers(text, dialect) == [answer]


@pytest.mark.parametrize("text", ["1e308::FLOAT8 * 10", "1.0::FLOAT8 / 0", "1 / 0", "1 % 0"])
def test_postgres_fails_where_it_does(text: str) -> None:
    with pytest.raises((DiffError, Refusal)):
        answers(text, "postgres")


@pytest.mark.parametrize(
    ("dialect", "text", "why"),
    [
        ("spark", "RAND() < 0.5", "must be a function of its tables"),
        ("spark", "d = CURRENT_DATE", "must be a function of its tables"),
        ("spark", "t < NOW()", "must be a function of its tables"),
        ("spark", "UUID()", "must be a function of its tables"),
        ("duckdb", "NEWID()", "must be a function of its tables"),
        ("spark", "SUM(i)", "sums up many rows"),
        ("spark", "SUM(i) OVER ()", "other rows of the view"),
        ("spark", "i IN (SELECT 1)", "IN (SELECT ...)"),
        ("spark", "EXISTS (SELECT 1)", "EXISTS (SELECT ...)"),
        ("spark", "(SELECT 1) = i", "SELECT in an expression"),
        ("spark", "SOUNDEX(s)", "not taken in dialect spark"),
        ("spark", "s = 5", "no common type"),
        ("spark", "d = '2024-02-30'", "not a date"),
        ("spark", "z = '2024-01-01 00:00:00'", "time zone"),
        ("spark", "YEAR(z)", "time zone"),
        ("spark", "i = b = p", "parentheses"),
        ("spark", "i & b | i", "parentheses"),
        ("duckdb", "~i + b", "parentheses"),
        ("duckdb", "COALESCE(CAST(i AS UINTEGER), 0, 3000000000)", "order of constants"),
        ("spark", "s LIKE s", "constant"),
        ("spark", "s LIKE 'a\\\\'", "may only stand before"),
        ("spark", "i AND p", "has to be BOOLEAN"),
        ("spark", "d - d", "do not go together"),
        ("spark", "'a' 'b'", "side by side"),
        ("spark", "'a' \"b\"", "side by side"),
        ("spark", "'a'/**/'b'", "side by side"),
        ("duckdb", "'a' 'b'", "side by side"),
        ("spark", "i BETWEEN SYMMETRIC 1 AND 2", "this form"),
        ("spark", "CAST(x AS STRING)", "not taken"),
        ("postgres", "n / 3", "digits by the values"),
        ("postgres", "SQRT(x)", "not taken in dialect postgres"),
        ("sqlite", "b = x", "exactly"),
        ("sqlite", "s = 5", "no common type"),
        ("sqlite", "COALESCE(x, 0)", "differ by row"),
        ("sqlite", "MOD(i, 2)", "integers only"),
        ("duckdb", "REVERSE(s)", "not taken in dialect duckdb"),
    ],
)
def test_what_is_not_certain_is_refused(dialect: str, text: str, why: str) -> None:
    with pytest.raises(Refusal) as refusal:
        bound(text, dialect)
    assert why in f"{refusal.value} {refusal.value.instead}"
    assert refusal.value.node is not None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("b = 5", "b = 5"),
        ("y = 5", "y = 5"),
        ("n > 5", "n > 5.00"),
        ("x > 0.5", "x > 0.5"),
        ("i BETWEEN 1 AND 5", "(i >= 1) AND (i <= 5)"),
        ("i IN (1, 2)", "i IN (1, 2)"),
        ("y = 300", "CAST(y AS INT) = 300"),
        ("i = b", "CAST(i AS BIGINT) = b"),
    ],
)
def test_constants_take_the_column_s_type_and_columns_stay_uncast(text: str, shown: str) -> None:
    assert show(bound(text)) == shown


def test_a_null_takes_the_type_its_place_asks_for() -> None:
    assert bound("CASE WHEN p THEN NULL ELSE d END").type == pa.date32()
    assert bound("i + NULL").type == pa.int32()
    assert bound("NULL") == Literal(None, pa.null())


def test_thousands_of_alternatives_do_not_nest() -> None:
    expression = bound(" OR ".join(f"i = {number}" for number in range(3000)))
    assert isinstance(expression, Call)
    assert len(expression.args) == 3000


def examples() -> list[tuple[str, list[bool]]]:
    """Read the tables of the page: an example, and for each dialect whether it is taken."""
    scalars = PAGE.read_text().split("\n## Aggregates\n")[0]
    rows = [re.split(r"(?<!\\)\|", line) for line in scalars.splitlines()]
    return [
        (
            row[1].strip().strip("`").replace("\\|", "|"),
            [mark.strip() == "yes" for mark in row[2:6]],
        )
        for row in rows
        if len(row) > 6 and row[1].strip().startswith("`")
    ]


def is_taken(text: str, dialect: str) -> bool:
    try:
        bound(text, dialect)
    except (Refusal, SqlglotError, AssertionError):
        return False
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("text", "marks"), examples())
def test_the_page_says_which_dialect_takes_an_example(text: str, marks: list[bool]) -> None:
    assert [is_taken(text, dialect) for dialect in DIALECTS] == marks


def functions_of(expression: Expression) -> set[str]:
    if isinstance(expression, Column | Literal):
        return set()
    return {expression.function}.union(*(functions_of(arg) for arg in expression.args))


def test_the_page_has_an_example_of_every_construct_and_every_function() -> None:
    nodes: set[type] = set()
    functions: set[str] = set()
    for text, marks in examples():
        for dialect, mark in zip(DIALECTS, marks, strict=True):
            if mark:
                nodes |= {type(node) for node in parsed(text, dialect).walk()}
                functions |= functions_of(bound(text, dialect))
    assert [rule.__name__ for rule in RULES if rule not in nodes] == []
    assert set(FUNCTIONS) - functions == {"is_there"}, "which no SQL writes"
