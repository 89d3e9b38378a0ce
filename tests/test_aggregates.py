"""Aggregates by hand: each dialect's results, the pitfalls of states, refusals, docs/functions.md.

What Spark (4.2, ANSI), Postgres 15, DuckDB 2.0 and SQLite 3.40 give was asked of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from joingraph.aggregates.contract import Aggregate, Asked, Order, Refused, Unknown
from joingraph.aggregates.exact import narrow_quotient, root
from joingraph.aggregates.heap import SPARE_KEYS, Heap
from joingraph.aggregates.refused import REFUSED
from joingraph.aggregates.registry import ENTRIES, aggregate, is_aggregate
from joingraph.aggregates.sums import Linear
from joingraph.expressions.types import DIALECTS, sql_name
from tests.aggregates import COLUMNS, asked

PAGE = Path(__file__).parent.parent / "docs" / "functions.md"
NAN, INF, HALF = math.nan, math.inf, (0.5,)
ONE, FLOATS = Decimal(1), [0.10000000149011612, 0.20000000298023224]
UP, DOWN, BY = Order(0), Order(0, descending=True), (Order(1),)


def state_of(found: Aggregate, rows: Sequence[Any]) -> Any:
    state = found.zero()
    for row in rows:
        state = found.add(state, row if isinstance(row, tuple) else (row,), 1)
    return state


def result(use: Asked, *rows: Any) -> Any:
    found = aggregate(use)
    return found.result(state_of(found, rows))


@pytest.mark.parametrize(
    ("use", "rows", "expected"),
    [
        (asked("COUNT", ""), [(), ()], 2),
        (asked("COUNT", "ix", "spark"), [(1, None), (1, 2.0), (1, 2.0)], 2),
        (asked("COUNT", "ix", "spark", is_distinct=True), [(1, None), (1, 2.0), (1, 2.0)], 1),
        (asked("COUNT_IF", "p", "spark"), [], 0),
        (asked("COUNT_IF", "p", "duckdb"), [None], None),
        (asked("COUNT_IF", "p", "duckdb"), [None, True], Decimal(1)),
        (asked("AVG", "n", "spark"), [Decimal("1.05"), ONE, ONE], Decimal("1.016667")),
        (asked("AVG", "n", "duckdb"), [Decimal("1.05"), Decimal("1.10")], 1.075),
        (asked("AVG", "x", "sqlite"), [INF, -INF], None),
        (asked("AVG", "x", "spark"), [INF, -INF], NAN),
        (asked("AVG", "x", "postgres"), [INF, 1.0], INF),
        (asked("TOTAL", "i", "sqlite"), [], 0.0),
        (asked("SUM", "f", "postgres"), FLOATS, 0.30000001192092896),
        (asked("SUM", "f", "spark"), FLOATS, 0.30000000447034836),
        (asked("VAR_POP", "x", "spark"), [INF], NAN),
        (asked("VAR_POP", "x", "duckdb"), [INF], 0.0),
        (asked("VAR_SAMP", "x", "spark"), [1.0], None),
        (asked("STDDEV", "i", "duckdb"), [1, 2, 4], 1.5275252316519468),
        (asked("CORR", "xx", "postgres"), [(1.0, 2.0), (1.0, 3.0)], None),
        (asked("CORR", "ix", "postgres"), [(1, 2.0), (1, INF)], None),
        (asked("CORR", "ix", "postgres"), [(1, 2.0), (2, INF)], NAN),
        (asked("CORR", "xx", "duckdb"), [(1.0, 2.0)], NAN),
        (asked("CORR", "xx", "spark"), [(1.0, 2.0)], None),
        (asked("REGR_SLOPE", "ii", "spark"), [(1, 2), (3, 2)], None),
        (asked("REGR_SLOPE", "ii", "duckdb"), [(1, 2), (3, 2)], NAN),
        (asked("REGR_R2", "ii", "postgres"), [(2, 1), (2, 2)], 1.0),
        (asked("REGR_R2", "xx", "duckdb"), [(2.0, INF), (2.0, 3.0)], 1.0),
        (asked("REGR_INTERCEPT", "ii", "spark"), [(2, 1), (2, 2)], 2.0),
        (asked("REGR_AVGX", "in", "spark"), [(1, Decimal("1.05"))], Decimal("1.050000")),
        (asked("BOOL_AND", "p", "postgres"), [None, True], True),
        (asked("EVERY", "p", "spark"), [None], None),
        (asked("MIN_BY", "ii", "spark"), [(None, 1), (5, 2), (None, 3)], None),
        (asked("MIN_BY", "ii", "duckdb"), [(None, 1), (5, 2), (None, 3)], 5),
        (asked("MAX_BY", "ii", "spark"), [(9, 1), (None, 1), (7, 1)], 7),
        (asked("MAX_BY", "ix", "spark"), [(1, NAN), (3, 1e300)], 1),
        (asked("ARRAY_AGG", "i", "spark", order=(UP,)), [], []),
        (asked("ARRAY_AGG", "i", "spark", order=(UP,)), [2, None, 1, 1], [1, 1, 2]),
        (asked("COLLECT_SET", "x", "spark", order=(UP,)), [-0.0, 0.0, NAN, NAN], [0.0, NAN]),
        (asked("ARRAY_AGG", "i", "postgres", order=(UP,)), [], None),
        (asked("ARRAY_AGG", "i", "postgres", order=(UP,)), [1, None, 3, 1], [1, 1, 3, None]),
        (asked("STRING_AGG", "s", "spark", order=(UP,)), ["b", "a"], "ab"),
        (asked("GROUP_CONCAT", "s", "sqlite", order=(DOWN,)), ["a", None, "b"], "b,a"),
        (asked("STRING_AGG", "si", constants=("-",), order=BY), [("a", 2), ("b", 1)], "b-a"),
        (asked("MEDIAN", "n", "spark"), [Decimal("1.05"), Decimal("1.06")], 1.055),
        (asked("MEDIAN", "n", "duckdb"), [Decimal("1.05"), Decimal("1.06")], Decimal("1.05")),
        (asked("MEDIAN", "s", "duckdb"), ["a", "b", "c", "d"], "b"),
        (asked("PERCENTILE_DISC", "i", "spark", constants=HALF, order=(UP,)), [1, 2], 1.0),
        (asked("PERCENTILE", "x", "spark", constants=HALF), [-INF, 1.0], -INF),
        (asked("PERCENTILE_CONT", "x", "postgres", constants=HALF, order=(UP,)), [-INF, 1.0], NAN),
    ],
)  # fmt: skip
def test_a_dialect_s_result(use: Asked, rows: list[Any], expected: Any) -> None:
    assert repr(result(use, *rows)) == repr(expected)


@pytest.mark.parametrize(("dialect", "place"), [("duckdb", 7), ("postgres", 8), ("spark", 8.0)])
def test_the_place_of_0_07_of_a_hundred_values(dialect: str, place: float) -> None:
    use = asked("PERCENTILE_DISC", "i", dialect, constants=(0.07,), order=(UP,))
    assert result(use, *range(1, 101)) == place
    down = use._replace(order=(DOWN,))
    assert result(down, *range(1, 101)) == 101 - place


def test_a_sum_of_doubles_is_exact_and_forgets() -> None:
    use = asked("SUM", "x")
    assert result(use, 1e308, 1e308, -1e308) == 1e308
    assert result(use, 1e16, 1.0, -1e16) == 1.0
    assert result(use, 5e-324, 1e308, -1e308) == 5e-324
    found = aggregate(use)
    state = state_of(found, [INF, -INF, 3.0])
    assert math.isnan(found.result(state))
    assert found.result(found.add(state, (-INF,), -1)) == INF
    assert found.result(found.add(found.add(state, (INF,), -1), (-INF,), -1)) == 3.0


def test_every_nan_is_one_and_minus_zero_is_zero() -> None:
    nan = float("nan")
    for use in (
        asked("COUNT", "x", is_distinct=True),
        asked("LIST", "x", is_distinct=True, order=(UP,)),
        asked("MIN", "x"),
    ):
        found = aggregate(use)
        state = state_of(found, [0.0, nan, -0.0, NAN])
        assert state == state_of(found, [-0.0, 0.0, NAN, float("nan")])
        for gone in (-0.0, -0.0, float("nan"), nan):
            state = found.add(state, (gone,), -1)
        assert state == found.zero()
    listed = aggregate(asked("LIST", "x", order=(UP,)))
    assert state_of(listed, [nan]) == state_of(listed, [float("nan")])
    assert result(asked("COUNT", "x", is_distinct=True), 0.0, nan, -0.0, NAN) == 2
    assert repr(result(asked("MIN", "x"), -0.0, nan)) == "0.0"
    assert repr(result(asked("MAX", "x"), -0.0, nan)) == "nan"


def test_a_bag_keeps_what_python_calls_equal_apart() -> None:
    assert repr(result(asked("LIST", "x", order=(UP,)), 0.0, -0.0)) == "[-0.0, 0.0]"
    tie = asked("LIST", "ix", order=(Order(1), UP))
    assert result(tie, (2, -0.0), (1, 0.0)) == [1, 2]  # in order they are equal
    assert result(asked("MAX", "p"), False, True) is True


def test_null_sums_nothing_and_lives() -> None:
    found = aggregate(asked("SUM", "i"))
    state = state_of(found, [None, 0])
    assert found.result(state) == 0
    assert found.result(found.add(state, (0,), -1)) is None
    assert result(asked("MIN", "i"), None) is None
    assert result(asked("AVG", "i"), None) is None
    assert result(asked("COUNT", "i"), None) == 0


def test_an_average_is_of_a_sum_and_a_count() -> None:
    found = aggregate(asked("AVG", "i"))
    state = state_of(found, [4, 6])
    assert found.result(found.add(found.add(state, (8,), 1), (4,), -1)) == 7.0


def test_a_value_that_went_more_often_than_it_came_is_a_bug() -> None:
    for use in (asked("MIN", "i"), asked("LIST", "i", order=(UP,))):
        found = aggregate(use)
        with pytest.raises(AssertionError, match="goes more often"):
            found.add(found.zero(), (1,), -1)


@pytest.mark.parametrize(
    ("use", "rows", "value"),
    [
        (asked("SUM", "b", "spark"), [2**63 - 1, 1], 2**63),
        (asked("SUM", "i", "sqlite"), [2**63 - 1, 1], 2**63),
        (asked("SUM", "u"), [(10**38 - 1,), (1,)], Decimal(10**38)),
        (asked("SUM", "w", "spark"), [Decimal("9" * 34), Decimal(1)], Decimal(10**34)),
        (asked("AVG", "w", "spark"), [Decimal(10**30)], Decimal(10**30)),
        (asked("SUM", "x", "postgres"), [1e308, 1e308], Decimal("2e308")),
        (asked("SUM", "f", "postgres"), [3e38, 3e38], Decimal("6e38")),
        (asked("VAR_POP", "x", "postgres"), [1e200, 2e200], Decimal("2.5e399")),
    ],
)
def test_a_result_that_does_not_fit_is_an_overflow(use: Asked, rows: list[Any], value: Any) -> None:
    with pytest.raises(OverflowError) as raised:
        result(use, *rows)
    (found,) = raised.value.args
    assert found == value or math.isclose(found, value, rel_tol=1e-12)


def test_an_overflow_on_the_way_is_none() -> None:
    found = aggregate(asked("SUM", "b", "spark"))
    state = state_of(found, [2**63 - 1, 2**63 - 1])
    assert found.result(found.add(state, (2**63 - 1,), -1)) == 2**63 - 1
    count = aggregate(asked("COUNT", ""))
    with pytest.raises(OverflowError):
        count.result(count.add(count.zero(), (), 10**21))


def test_spark_divides_by_no_variance() -> None:
    with pytest.raises(ZeroDivisionError, match="same value"):
        result(asked("CORR", "xx", "spark"), (1.0, 2.0), (1.0, 3.0))


def test_values_that_python_cannot_hold_are_compared() -> None:
    late, later = (pa.scalar(days, pa.int32()).cast(pa.date32()) for days in (4000000, 4000001))
    assert result(asked("MAX", "d"), late, later, None) == later
    assert str(result(asked("AVG", "d"), late, later).cast(pa.string())).startswith(
        "12921-08-18 12:"
    )


def test_sums_of_pairs_are_products_of_sums() -> None:
    """So an engine may sum each argument where it comes from, and multiply."""
    ys, xs = [1.5, None, -2.0, NAN], [7, None, 9]
    for name in ("CORR", "COVAR_POP", "REGR_AVGX", "REGR_R2", "REGR_COUNT"):
        found = aggregate(asked(name, "xi"))
        assert isinstance(found, Linear)
        for monomial in found.monomials:
            assert len({factor.argument for factor in monomial}) == len(monomial)
        pairs = state_of(found, list(product(ys, xs)))
        for at, monomial in enumerate(found.monomials):
            sides = {factor.argument: factor for factor in monomial}
            apart = [
                sum(Linear(found.type, found.types, ((sides[side],),), lambda _: None)
                    .add((0,), (value, value), 1)[0] for value in of)
                for side, of in ((0, ys), (1, xs))
            ]  # fmt: skip
            assert math.prod(apart) == pairs[at]


def test_a_heap_stays_as_short_as_what_is_in_it() -> None:
    heap = Heap()
    heap.add((0,), 0, 1)
    for number in range(1, 5000):
        heap.add((number,), number, 1)
        heap.add((number,), number, -1)
        assert len(heap.keys) <= 2 * len(heap.counts) + SPARE_KEYS + 1
    for _ in range(100):
        heap.add((0,), 0, 1)
    assert len(heap.keys) <= 2 + SPARE_KEYS
    heap.add((0,), 0, -101)
    assert heap.first() is None
    assert heap == Heap()


def test_roots_and_floats_are_rounded_once() -> None:
    assert root(2, 1) == math.sqrt(2)
    assert root(0, 5) == 0.0
    between = 2**53 + 1  # half way between two doubles, the even one is below
    assert root(between**2, 1) == 2.0**53
    assert root((between**2 << 400) + 1, 1 << 400) == 2.0**53 + 2
    assert root(1, 10**700) == 1e-350 + 0.0
    assert root((10**200 + 1) ** 2, 1) == 1e200
    half = 2**24 + 1  # half way between two FLOATs, the even one is below
    assert narrow_quotient(half, 1) == 2.0**24
    assert narrow_quotient(half * 2**60 + 1, 2**60) == 2.0**24 + 2
    assert narrow_quotient(-half * 2**60 - 1, 2**60) == -(2.0**24) - 2
    assert narrow_quotient(half * 2**60 - 1, 2**60) == 2.0**24


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_name_says_why_and_what_instead(name: str) -> None:
    assert name not in ENTRIES
    assert is_aggregate(name, "spark")
    with pytest.raises(Refused) as raised:
        aggregate(asked(name, "i"))
    assert raised.value.what == name
    assert raised.value.why and raised.value.instead


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (asked("MEDAIN", "i"), "MEDAIN: duckdb has no such aggregate; did you mean MEDIAN?"),
        (asked("EVERY", "p"), "EVERY: duckdb has no such aggregate"),
        (asked("SUM", "s"), "SUM of STRING"),
        (asked("SUM", "p", "spark"), "COUNT(*) FILTER (WHERE ...)"),
        (asked("SUM", "n", "sqlite"), "SUM of DECIMAL(10,2)"),
        (asked("AVG", "i", "postgres"), "write AVG(CAST(x AS DOUBLE PRECISION))"),
        (asked("STDDEV", "n", "postgres"), "write STDDEV(CAST(x AS DOUBLE PRECISION))"),
        (asked("MIN", "p", "postgres"), "BOOL_AND"),
        (asked("MEDIAN", "t", "spark"), "MEDIAN of TIMESTAMP"),
        (asked("COUNT", "ii"), "COUNT of several columns"),
        (asked("COUNT", "", is_distinct=True), "list the columns"),
        (asked("MAX", "ii"), "MAX of 2 arguments: it takes 1"),
        (asked("SUM", ""), "SUM of 0 arguments"),
        (asked("SUM", "i", order=(UP,)), "leave ORDER BY out"),
        (asked("ARRAY_AGG", "i"), "write array_agg(x ORDER BY x)"),
        (asked("COLLECT_LIST", "i", "spark"), "write sort_array(collect_list(x))"),
        (asked("STRING_AGG", "s"), "put ORDER BY inside STRING_AGG"),
        (asked("STRING_AGG", "i", order=(UP,)), "CAST the argument to a text"),
        (asked("STRING_AGG", "s", "postgres", order=(UP,)), "its separator is not a constant text"),
        (asked("LIST", "ix", is_distinct=True, order=(Order(1),)), "order by the argument itself"),
        (asked("QUANTILE", "i", constants=(1.5,)), "1.5 is not a number from 0 to 1"),
        (asked("QUANTILE", "i"), "QUANTILE with 0 constants: it takes 1"),
        (asked("BOOL_AND", "i"), "write a condition"),
        (asked("ARRAY_AGG", "is", "spark", order=(Order(1),)), "Spark has none there"),
    ],
)
def test_a_refusal_names_the_remedy(use: Asked, text: str) -> None:
    with pytest.raises(Refused) as raised:
        aggregate(use)
    assert text in str(raised.value)
    assert isinstance(raised.value, Unknown) == ("no such" in text)


ISSUE = (
    "COUNT SUM AVG STDDEV STDDEV_POP VARIANCE VAR_POP COVAR_POP COVAR_SAMP CORR REGR_SLOPE "
    "BOOL_AND BOOL_OR MIN MAX MIN_BY MAX_BY ARRAY_AGG STRING_AGG MEDIAN PERCENTILE_CONT "
    "PERCENTILE_DISC"
)


def test_every_aggregate_that_views_take_is_here() -> None:
    assert set(ISSUE.split()) <= set(ENTRIES)


EXAMPLE = re.compile(r"(\w+)\((DISTINCT )?([^)]*?)\)(?: WITHIN GROUP \(ORDER BY (\w)\))?")


def example(text: str, dialect: str) -> Asked:
    """Read an example of the page: letters are columns, the rest are constants."""
    if text.startswith("SORT_ARRAY"):
        return example(text[len("SORT_ARRAY(") : -1], dialect)._replace(order=(UP,))
    found = EXAMPLE.fullmatch(text)
    assert found, text
    name, distinct, inside, within = found.groups()
    inside, _, by = inside.partition(" ORDER BY ")
    parts = [part for part in inside.split(", ") if part not in ("", "*")]
    letters = [part for part in parts if part in COLUMNS] + ([within] if within else [])
    constants = tuple(float(c) if c[0].isdigit() else c[1:-1] for c in parts if c not in COLUMNS)
    order = (UP,) if within or by in letters else (Order(len(letters)),) if by else ()
    letters += [by] if order and by and by not in letters else []
    return asked(
        name,
        "".join(letters),
        dialect,
        is_distinct=bool(distinct),
        constants=constants,
        order=order,
    )


def page_lines() -> list[tuple[str, list[str]]]:
    section = PAGE.read_text(encoding="utf-8").split("\n## Aggregates\n")[1]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    return [
        (row[1].strip().strip("`"), [cell.strip() for cell in row[2:6]])
        for row in rows
        if len(row) == 8
    ]


def type_of(text: str, dialect: str) -> str:
    try:
        type = aggregate(example(text, dialect)).type
    except Refused:
        return ""
    return f"{sql_name(type.value_type)}[]" if pa.types.is_list(type) else sql_name(type)


@pytest.mark.parametrize(("text", "types"), page_lines())
def test_the_page_names_each_dialect_s_type(text: str, types: list[str]) -> None:
    assert [type_of(text, dialect) for dialect in DIALECTS] == types


def test_the_page_has_every_aggregate() -> None:
    section = PAGE.read_text(encoding="utf-8").split("\n## Aggregates\n")[1]
    names = set(re.findall(r"[A-Z][A-Z_0-9]+", section))
    assert set(ENTRIES) - names == set()
    assert set(REFUSED) - names == set()
