"""INTERVAL of months and years: against DuckDB, and what Spark and Postgres document."""

from __future__ import annotations

import datetime as dt
import random

import duckdb
import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.common.errors import DiffError
from joingraph.expressions.evaluate import evaluate
from joingraph.expressions.tree import Column, Expression
from joingraph.sql.text.refusal import Refusal
from tests.expressions import TYPES, Value, answers, bound

DAY = 86_400_000_000
LAST = 9_223_371_331_200_000_000  # 294246-12-31, of the last whole year of timestamps
NEAR_DAYS = range(-800 * 366, 800 * 366)
INTERVALS = [
    *("'1' MONTH", "'-1' MONTH", "11 MONTHS", "'25 months'", "1 YEAR", "'-4 year'", "2 QUARTER"),
    *("100 YEARS", "'-1 quarter'", "'4801' MONTH", "290000 YEAR", "'-580000 YEARS'"),
]


def moments(rng: random.Random) -> dict[str, pa.Array]:
    """Make days of all kinds, before Christ, too, and instants of the whole range."""
    days = [None, *rng.sample(NEAR_DAYS, 3_000)]
    near = [day * DAY + rng.randrange(DAY) for day in rng.sample(NEAR_DAYS, 1_000)]
    far = [LAST, -LAST, *(rng.randrange(-LAST, LAST) for _ in range(1_000)), None]
    return {
        "d": pa.array(days, pa.int32()).cast(pa.date32()),
        "t": pa.array([*near, *far], pa.int64()).cast(pa.timestamp("us")),
    }


def answered(expression: Expression, name: str, column: pa.Array) -> list[int | None]:
    """Evaluate a column, by halves where a row fails; that row's answer is NULL."""
    known: dict[Expression, pa.Array] = {Column("", name, TYPES[name]): column}
    try:
        found = evaluate(expression, known, len(column))
        return found.cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]  # pyarrow
    except DiffError:
        if len(column) == 1:
            return [None]
    middle = len(column) // 2
    halves = column.slice(0, middle), column.slice(middle)
    return [each for half in halves for each in answered(expression, name, half)]


@pytest.mark.parametrize("interval", INTERVALS)
def test_months_are_added_as_duckdb_adds_them(interval: str) -> None:
    for name, column in moments(random.Random(interval)).items():
        for text in (f"{name} + INTERVAL {interval}", f"{name} - INTERVAL {interval}"):
            with duckdb.connect() as duck:
                duck.register("given", pa.table({name: column}))
                theirs = duck.sql(f"SELECT TRY({text}) AS z FROM given").to_arrow_table()["z"]
            expression = bound(text, "duckdb")
            assert expression.type == theirs.type
            assert answered(expression, name, column) == theirs.cast(pa.int64()).to_pylist()


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("DATE '2026-01-31' + INTERVAL '1' MONTH", dt.date(2026, 2, 28)),
        ("DATE '2024-01-31' + INTERVAL 1 MONTH", dt.date(2024, 2, 29)),
        ("DATE '2024-02-29' - INTERVAL 1 YEAR", dt.date(2023, 2, 28)),
        ("INTERVAL '13 months' + DATE '2026-02-28'", dt.date(2027, 3, 28)),
        ("DATE '2026-03-31' - INTERVAL 1 MONTH", dt.date(2026, 2, 28)),
        ("ADD_MONTHS(DATE '2016-08-31', 1)", dt.date(2016, 9, 30)),
        ("ADD_MONTHS(DATE '2016-02-29', -i)", dt.date(2015, 12, 29)),
    ],
)
def test_spark_s_dates_stay_dates(text: str, answer: Value) -> None:
    assert answers(text, columns={"i": [2]}) == [answer]
    assert bound(text).type == pa.date32()


@pytest.mark.parametrize("dialect", ["spark", "duckdb", "postgres"])
def test_a_timestamp_keeps_its_time_of_day(dialect: str) -> None:
    text = "TIMESTAMP '2024-02-29 23:59:59.999999' - INTERVAL '12 months'"
    assert answers(text, dialect) == [dt.datetime(2023, 2, 28, 23, 59, 59, 999_999)]


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_a_date_becomes_a_timestamp_elsewhere(dialect: str) -> None:
    text = "DATE '2001-01-31' + INTERVAL '1 month'"
    assert answers(text, dialect) == [dt.datetime(2001, 2, 28)]
    assert bound(text, dialect).type == pa.timestamp("us")


@pytest.mark.parametrize(
    ("dialect", "text", "why"),
    [
        ("spark", "d + INTERVAL 1 QUARTER", "constant of YEAR, MONTH, WEEK, DAY"),
        ("postgres", "d + INTERVAL '1 quarter'", "constant of YEAR, MONTH, WEEK, DAY"),
        ("spark", "z + INTERVAL 1 MONTH", "time zone"),
        ("duckdb", "z - INTERVAL 1 YEAR", "time zone"),
        ("postgres", "d + INTERVAL '1.5' YEAR", "whole constant"),
        ("spark", "d + INTERVAL '1-2' YEAR TO MONTH", "whole constant"),
        ("spark", "d + INTERVAL 1 YEAR 2 MONTHS", "INTERVAL 14 MONTH"),
        ("duckdb", "d + INTERVAL (i) MONTH", "whole constant"),
        ("duckdb", "d + INTERVAL 178956971 YEAR", "too long"),
        ("duckdb", "d - INTERVAL '-2147483648 months'", "too long"),
        ("sqlite", "d + INTERVAL 1 MONTH", "another dialect"),
        ("sqlite", "DATE(d, '+1 month')", "not taken in dialect sqlite"),
        ("spark", "ADD_MONTHS(d, b)", "INT months are needed"),
    ],
)
def test_other_intervals_are_refused(dialect: str, text: str, why: str) -> None:
    with pytest.raises(Refusal) as refusal:
        bound(text, dialect)
    assert why in f"{refusal.value} {refusal.value.instead}"


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_condition_moves_by_months_and_names_the_date_that_has_no_answer(engine: str) -> None:
    view = jg.View(
        "SELECT o.id, o.ordered + INTERVAL 1 MONTH AS due FROM orders o JOIN paid p ON o.id = p.id"
        " WHERE p.at > o.ordered + INTERVAL 1 MONTH",
        {
            "orders": "CREATE TABLE orders (id BIGINT, ordered DATE)",
            "paid": "CREATE TABLE paid (id BIGINT, at DATE)",
        },
    )
    graph = jg.JoinGraph(view, engine=engine)
    graph.insert("orders", [(1, dt.date(2026, 1, 31)), (2, dt.date(2026, 1, 31))])
    found = graph.insert("paid", [(1, dt.date(2026, 2, 28)), (2, dt.date(2026, 3, 1))])
    assert found.rows() == [("insert", (2, dt.date(2026, 2, 28)), 1)]
    far = pa.table({"id": [3], "ordered": pa.array([2**31 - 20], pa.int32()).cast(pa.date32())})
    graph.insert("paid", [(3, dt.date(2026, 3, 1))])
    with pytest.raises(
        jg.DiffError, match=r"add_months\(o.ordered, 1\).*range of dates.*2147483628"
    ):
        graph.insert("orders", far)
