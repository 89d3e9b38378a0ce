"""Aggregates against engines: the same bag of rows, after random inserts and deletes.

DuckDB and SQLite give integers, decimals, texts and times; a double is held to the exactly rounded
one, by fractions, and to the engine's within its own error.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from joingraph.aggregates.contract import Aggregate, Asked, Order
from joingraph.aggregates.registry import ENTRIES, aggregate
from tests.aggregates import COLUMNS, asked, sql_of, value

Rows = Counter[tuple[Any, ...]]
NUMBERS, WHOLE = "ibufxnw", "ibunw"
UP, DOWN, FIRST = Order(0), Order(0, True), Order(0, False, True)


def uses() -> Iterator[tuple[Asked, str]]:
    """Yield what DuckDB is asked, with the columns."""
    yield asked("COUNT", ""), ""
    for letter in COLUMNS:
        for name in ("COUNT", "MIN", "MAX"):
            yield asked(name, letter), letter
        yield asked("COUNT", letter, is_distinct=True), letter
        for order in (UP, DOWN, FIRST):
            yield asked("ARRAY_AGG", letter, order=(order,)), letter
        yield asked("LIST", letter, is_distinct=True, order=(FIRST,)), letter
        for q in (0, 0.07, Decimal("0.5"), 1):
            yield asked("QUANTILE_DISC", letter, constants=(q,)), letter
            yield asked("PERCENTILE_DISC", letter, constants=(q,), order=(DOWN,)), letter
    for letter in "p" + NUMBERS:
        yield asked("SUM", letter), letter
        yield asked("SUM", letter, is_distinct=True), letter
    for letter in NUMBERS:
        for name in ("AVG", "VARIANCE", "VAR_POP", "STDDEV", "STDDEV_POP"):
            yield asked(name, letter), letter
            yield asked(name, letter, is_distinct=True), letter
    for pair in ("ix", "xi", "xf", "nx", "ii"):
        for name in ENTRIES:
            if name.startswith(("REGR_", "COVAR_", "CORR")):
                yield asked(name, pair), pair
    for letter in NUMBERS + "dt":
        yield asked("MEDIAN", letter), letter
        for q in (0.3, 0.5, 0.99):
            yield asked("QUANTILE_CONT", letter, constants=(q,)), letter
            yield asked("PERCENTILE_CONT", letter, constants=(q,), order=(DOWN,)), letter
    for name in ("AVG", "MEAN"):
        yield from ((asked(name, letter), letter) for letter in "dt")
    for name in ("BOOL_AND", "BOOL_OR", "COUNT_IF", "COUNTIF", "MEDIAN"):
        yield asked(name, "p"), "p"
    yield asked("MEDIAN", "s"), "s"
    yield asked("STRING_AGG", "s", constants=("; ",), order=(DOWN,)), "s"
    yield asked("GROUP_CONCAT", "s", order=(UP,), is_distinct=True), "s"
    yield asked("LISTAGG", "sd", order=(Order(1, True, True), UP)), "sd"
    yield asked("LIST", "dx", order=(Order(1), UP)), "dx"


USES = list(uses())


def churn(random: Random, steps: int) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Yield rows with how often they come, or go: only what is there goes."""
    there: Rows = Counter()
    for _ in range(steps):
        if there and random.random() < 0.45:
            row = random.choice(list(there))
            times = -random.randint(1, there[row])
        else:
            row = tuple(value(letter, random) for letter in COLUMNS)
            times = random.choice((1, 1, 1, 2, 3))
        there[row] += times
        if not there[row]:
            del there[row]
        yield row, times


def fill(changes: list[tuple[tuple[Any, ...], int]]) -> Rows:
    found: Rows = Counter()
    for row, times in changes:
        found[row] += times
    return +found


def state_of(found: Aggregate, letters: str, changes: list[tuple[tuple[Any, ...], int]]) -> Any:
    state = found.zero()
    places = [list(COLUMNS).index(letter) for letter in letters]
    for row, times in changes:
        state = found.add(state, tuple(row[at] for at in places), times)
    return state


def same(ours: Any, theirs: Any, tolerance: float) -> bool:
    if isinstance(ours, list) and isinstance(theirs, list):
        pairs = zip(ours, theirs, strict=False)
        return len(ours) == len(theirs) and all(same(a, b, 0) for a, b in pairs)
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        return ours == theirs or math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(ours, Decimal) and isinstance(theirs, int | Decimal):
        return ours == theirs or math.isclose(ours, theirs, rel_tol=tolerance)
    return type(ours) is type(theirs) and bool(ours == theirs)


def duckdb_of(rows: Rows) -> duckdb.DuckDBPyConnection:
    columns = zip(*rows.elements(), strict=True) if rows else [[]] * len(COLUMNS)
    arrays = [
        pa.array(column, type) for column, type in zip(columns, COLUMNS.values(), strict=True)
    ]
    connection = duckdb.connect()
    connection.register("t", pa.table(arrays, names=list(COLUMNS)))
    return connection


def error_of(use: Asked, letters: str) -> float:
    """Return how far DuckDB may be off: it computes these in doubles, or in a FLOAT."""
    exact = ("COUNT", "SUM", "MIN", "MAX", "ARRAY", "LIST", "QUANTILE_DISC", "PERCENTILE_DISC")
    if use.name.startswith(exact) and letters not in ("x", "z"):
        return 0
    return 1e-9 if len(letters) == 1 and letters in "ixsdtp" else 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_aggregates_are_duckdb_s_after_inserts_and_deletes(seed: int) -> None:
    changes = list(churn(Random(seed), (0, 3, 12, 40)[seed % 4]))
    connection = duckdb_of(fill(changes))
    asked_sql = ", ".join(sql_of(use, letters) for use, letters in USES)
    theirs = connection.execute(f"SELECT {asked_sql} FROM t").fetchone()
    assert theirs is not None
    for (use, letters), expected in zip(USES, theirs, strict=True):
        found = aggregate(use)
        ours = found.result(state_of(found, letters, changes))
        assert same(ours, expected, error_of(use, letters)), (sql_of(use, letters), ours, expected)


LINEAR = ("SUM", "AVG", "VAR_SAMP", "VAR_POP", "STDDEV_SAMP", "STDDEV_POP")


def exactly(name: str, values: list[Fraction]) -> Fraction | None:
    """Compute an aggregate's number, of STDDEV the square, without any rounding."""
    count, less = len(values), int(name.endswith("_SAMP"))
    if count <= less:
        return None
    if name in ("SUM", "AVG"):
        return sum(values, Fraction()) / (count if name == "AVG" else 1)
    mean = sum(values, Fraction()) / count
    return sum(((each - mean) ** 2 for each in values), Fraction()) / (count - less)


def nearest_double(number: Fraction, *, is_root: bool) -> float:
    try:
        if not is_root:
            return float(number)
        with localcontext(prec=80):
            return float((Decimal(number.numerator) / Decimal(number.denominator)).sqrt())
    except OverflowError:
        return math.inf if number > 0 else -math.inf


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        (name, letter)
        for name in LINEAR
        for letter in "ibufxznw"
        if aggregate(asked(name, letter, "spark")).type == pa.float64()
    ],
)
def test_doubles_are_rounded_once(name: str, letter: str) -> None:
    random, use = Random(f"{name} {letter}"), asked(name, letter, "spark")
    found, place = aggregate(use), list(COLUMNS).index(letter)
    for steps in (1, 2, 5, 30):
        changes = list(churn(random, steps))
        values = [row[place] for row in fill(changes).elements()]
        known = [each for each in values if each is not None]
        expected = exactly(name, [Fraction(x) for x in known if math.isfinite(x)])
        if all(map(math.isfinite, known)):
            result = found.result(state_of(found, letter, changes))
            is_root = name.startswith("STDDEV")
            assert result == (
                None if expected is None else nearest_double(expected, is_root=is_root)
            )


@pytest.mark.parametrize("seed", range(4))
def test_correlation_and_slope_are_rounded_once(seed: int) -> None:
    changes = list(churn(Random(seed), 30))
    pairs = [
        (Fraction(row[1]), Fraction(row[5]))  # b, z
        for row in fill(changes).elements()
        if row[1] is not None and row[5] is not None and math.isfinite(row[5])
    ]
    clean = [(row, times) for row, times in changes if row[5] is None or math.isfinite(row[5])]
    count, ys, xs = len(pairs), [y for y, _ in pairs], [x for _, x in pairs]
    yx = count * sum(y * x for y, x in pairs) - sum(ys) * sum(xs)
    yy, xx = (count * sum(each * each for each in of) - sum(of) ** 2 for of in (ys, xs))
    results = {
        name: aggregate(asked(name, "bz")).result(
            state_of(aggregate(asked(name, "bz")), "bz", clean)
        )
        for name in ("CORR", "REGR_SLOPE", "REGR_R2", "REGR_INTERCEPT")
    }
    sign = 1 if yx > 0 else -1
    assert results["CORR"] == sign * nearest_double(yx * yx / (xx * yy), is_root=True)
    assert results["REGR_SLOPE"] == nearest_double(yx / xx, is_root=False)
    assert results["REGR_R2"] == nearest_double(yx * yx / (xx * yy), is_root=False)
    intercept = (sum(ys) - yx / xx * sum(xs)) / count
    assert results["REGR_INTERCEPT"] == nearest_double(intercept, is_root=False)


EVERYWHERE = [
    *((aggregate(use), letters) for use, letters in USES),
    (aggregate(asked("CORR", "zb")), "zb"),
]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_left_of_rows_that_went(seed: int) -> None:
    changes = list(churn(Random(seed), 25))
    back = [(row, -times) for row, times in fill(changes).items()]
    for found, letters in EVERYWHERE:
        assert state_of(found, letters, [*changes, *back]) == found.zero(), (found, letters)


@pytest.mark.parametrize("seed", range(3))
def test_a_state_does_not_know_the_way_it_came(seed: int) -> None:
    changes = list(churn(Random(seed), 25))
    straight = [(row, times) for row, times in fill(changes).items()]
    for found, letters in EVERYWHERE:
        assert state_of(found, letters, changes) == state_of(found, letters, straight)


def test_min_by_is_the_smallest_of_the_rows_with_the_least() -> None:
    for seed in range(10):
        changes = list(churn(Random(seed), 12))
        connection = duckdb_of(fill(changes))
        for letters in ("si", "xp", "nd", "bs", "ix"):
            for name, best in (("MIN_BY", "min"), ("ARG_MAX", "max")):
                found = aggregate(asked(name, letters))
                v, k = letters
                least = f"SELECT {best}({k}) FROM t WHERE {v} IS NOT NULL"
                sql = f"SELECT min({v}) FROM t WHERE {k} = ({least})"
                (expected,) = connection.execute(sql).fetchone() or (None,)
                assert same(found.result(state_of(found, letters, changes)), expected, 0)


@pytest.mark.parametrize("seed", range(20))
def test_aggregates_are_sqlite_s(seed: int) -> None:
    changes = list(churn(Random(seed), (0, 3, 12, 40)[seed % 4]))
    rows = [[row[at] for at in (0, 4, 8)] for row in fill(changes).elements()]
    rows = [row for row in rows if row[1] is None or math.isfinite(row[1])]
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (i INTEGER, x REAL, s TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    for name in ("COUNT", "SUM", "TOTAL", "AVG", "MIN", "MAX"):
        for at, letter in enumerate("ixs"):
            for is_distinct in (False, True):
                if letter == "s" and name not in ("COUNT", "MIN", "MAX"):
                    continue
                use = asked(name, letter, "sqlite", is_distinct=is_distinct)
                found, state = aggregate(use), aggregate(use).zero()
                for row in rows:
                    state = found.add(state, (row[at],), 1)
                (expected,) = connection.execute(f"SELECT {sql_of(use, letter)} FROM t").fetchone()
                assert same(found.result(state), expected, 1e-9), use
