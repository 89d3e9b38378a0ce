"""Sums of DOUBLE and REAL kept by messages: exact under deletes, whatever sizes come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.engines.compiled.groups.grouped import CompiledGroups
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.group_memory import NOTES
from joingraph.graph.compiled.groups.windows import Window, window_of
from tests.test_messages import bag, both

TABLES = {
    "f": "CREATE TABLE f (a BIGINT, fan VARCHAR, w REAL, n INT)",
    "t": "CREATE TABLE t (a BIGINT, id BIGINT, x DOUBLE, y DOUBLE, g BIGINT)",
    "r": "CREATE TABLE r (id BIGINT, z DOUBLE, q DECIMAL(30,2))",
}
SOURCES = {
    "f": "f",
    "t": "t",
    "f, r": "f r",
    "f JOIN t ON f.a = t.a": "f t",
    "f JOIN t ON f.a = t.a JOIN r ON r.id = t.id": "f t r",
    "t JOIN r ON r.id = t.id JOIN t u ON u.a = t.a": "t r",
    "r JOIN t ON r.z = t.x": "r t",
}
KEYS = {"f": ("f.fan", "f.w"), "t": ("t.g", "t.x"), "r": ("r.id",)}
NUMBERS = {
    "f": ("f.w", "f.w", "f.n"),
    "t": ("t.x", "t.y", "t.x", "t.g"),
    "r": ("r.z", "r.z", "r.q"),
}
FLOATS = {table: [each for each in NUMBERS[table] if each[-1] in "wxyz"] for table in NUMBERS}
USES = (
    *("SUM({0})", "AVG({0})", "SUM({0})", "AVG({0})", "VAR_POP({0})", "STDDEV({0})"),
    *("COVAR_POP({0}, {1})", "CORR({0}, {1})", "REGR_SLOPE({0}, {1})", "REGR_AVGX({0}, {1})"),
    *("COUNT({0})", "COUNT(*)", "COUNT_IF({0} > 1)"),
)
SIZES = {
    "prices": (0.01, 19.99, 1299.0, -5.5, 0.1, 1e5),
    "all": (1e308, -1e308, 5e-324, -0.0, 0.0, 0.1, 1e16, -1.7e308, 1e-300, 3.0),
    "odd": (math.nan, math.inf, -math.inf, 0.5, -2.25, 1e20),
    "zeros": (0.0, -0.0),
}
MOST = Fraction(1.7976931348623157e308)
Rows = dict[str, list[tuple[Any, ...]]]


def drawn_view(chance: Random, dialect: str) -> tuple[jg.View, tuple[str, ...]]:
    """Draw a view that adds floats, by columns of one table."""
    source = chance.choice(list(SOURCES))
    tables = tuple(SOURCES[source].split())
    known = KEYS[chance.choice(tables)]
    keys = chance.sample(known, min(len(known), chance.choice((0, 1, 1, 2))))

    def number() -> str:
        numbers = NUMBERS if dialect == "duckdb" else FLOATS  # Postgres' AVG of INT has any digits
        return chance.choice(numbers[chance.choice(tables)])

    uses = []
    for _ in range(chance.choice((1, 2, 4))):
        tail = f" FILTER (WHERE {number()} > 1)" if chance.random() < 0.2 else ""
        use = chance.choice(USES if dialect == "duckdb" else USES[:4])
        uses.append(use.format(number(), number()) + tail)
    columns = ", ".join(f"{each} AS c{at}" for at, each in enumerate((*keys, *uses)))
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = f" HAVING {uses[0]} > 1" if keys and chance.random() < 0.2 else ""
    sql = f"SELECT {columns} FROM {source}{by}{having}"
    return jg.View(sql, TABLES, dialect=dialect), tables


def drawn_row(chance: Random, table: str, sizes: Sequence[float]) -> tuple[Any, ...]:
    """Draw a row whose floats have some sizes."""

    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.1 else value

    def real() -> float:
        narrow = [each for each in sizes if not math.isfinite(each) or abs(each) < 1e38]
        return float(np.float32(chance.choice(narrow)))

    small = chance.randrange(3)
    if table == "f":
        return small, chance.choice("ab"), maybe(real()), maybe(chance.randrange(-2, 3))
    if table == "r":
        money = chance.choice((1, -5, 10**20))
        return small, maybe(chance.choice(sizes)), maybe(money)
    floats = maybe(chance.choice(sizes)), maybe(chance.choice(sizes))
    return small, chance.randrange(3), *floats, chance.randrange(2)


def drawn_batch(chance: Random, rows: Rows, sizes: Sequence[float]) -> list[tuple[Any, ...]]:
    """Draw diffs over what base tables hold, and change that."""
    batch: list[tuple[Any, ...]] = []
    for _ in range(chance.choice((1, 3, 10))):
        table, kind = chance.choice(list(rows)), chance.random()
        held, fresh = rows[table], drawn_row(chance, table, sizes)
        if kind < 0.5 or not held:
            batch.append(("insert", table, [fresh]))
            held.append(fresh)
            continue
        old = held.pop(chance.randrange(len(held)))
        if kind < 0.8:
            batch.append(("delete", table, [old]))
            continue
        batch.append(("update", table, [old], [fresh]))
        held.append(fresh)
    return batch


def tried(graph: jg.JoinGraph, batch: list[tuple[Any, ...]]) -> Any:
    """Apply a batch; return its rows, or what it is refused for."""
    try:
        found = graph.apply(batch)
    except jg.DiffError as error:
        return str(error)
    return bag(found.rows()), bag(found.net())


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_floats_are_what_the_joined_rows_give(seed: int) -> None:
    chance = Random(seed)
    dialect = chance.choice(("duckdb", "duckdb", "duckdb", "postgres"))
    view, tables = drawn_view(chance, dialect)
    one = jg.JoinGraph(view, lookahead=chance.choice(("exact", "none")))
    other = jg.JoinGraph(view, engine="reference")
    assert isinstance(one.engine, CompiledGroups), view.sql
    rows: Rows = {table: [] for table in tables}
    for _ in range(15):
        sizes = SIZES[chance.choice(("prices", "prices", "all", "odd", "zeros"))]
        before = {table: list(held) for table, held in rows.items()}
        batch, how = drawn_batch(chance, rows, sizes), chance.randrange(6)
        if how == 0:
            for graph in (one, other):
                graph.maintain_only = True
                graph.apply(batch)
                graph.maintain_only = False
        elif how == 1 and dialect == "duckdb":
            both(one, other, lambda graph, batch=batch: graph.what_if(batch))
            rows = before
        else:
            found = tried(one, batch)
            assert found == tried(other, batch)
            if isinstance(found, str):
                rows = before
        try:
            assert bag(one.scan().read_all().to_pylist()) == bag(
                other.scan().read_all().to_pylist()
            )
        except jg.DiffError:
            with pytest.raises(jg.DiffError):
                other.scan().read_all()
        one.check()


def added(graph: jg.JoinGraph) -> Any:
    (row,) = graph.scan().read_all().to_pylist()
    return row["s"]


@pytest.mark.parametrize("seed", range(3))
def test_a_sum_is_the_exact_one_rounded_once(seed: int) -> None:
    chance = Random(seed)
    view = jg.View("SELECT SUM(x) AS s FROM t", {"t": "CREATE TABLE t (x DOUBLE)"})
    graph, values = jg.JoinGraph(view), list[float]()
    for _ in range(30):
        new = [
            math.ldexp(chance.uniform(-1, 1), chance.choice((-1073, -1020, -3, 60, 1023)))
            for _ in range(chance.choice((1, 5)))
        ]
        graph.insert("t", [(each,) for each in new])
        values += new
        if chance.random() < 0.5:
            graph.delete("t", [(values.pop(chance.randrange(len(values))),)])
        exact = sum(map(Fraction, values), Fraction(0))
        if values and abs(exact) <= MOST:
            assert added(graph) == exact.numerator / exact.denominator
    graph.check()
    graph.delete("t", [(each,) for each in values])
    graph.insert("t", [(0.1,)])
    assert added(graph) == 0.1


def test_great_values_cancel() -> None:
    view = jg.View("SELECT SUM(x) AS s FROM t", {"t": "CREATE TABLE t (x DOUBLE)"})
    graph = jg.JoinGraph(view)
    graph.insert("t", [(1e308,), (1e308,), (-1e308,), (5e-324,)])
    assert added(graph) == 1e308
    graph.insert("t", [(-1e308,)])
    assert added(graph) == 5e-324
    graph.insert("t", [(math.inf,)])
    assert added(graph) == math.inf
    graph.insert("t", [(-math.inf,)])
    assert math.isnan(added(graph))
    graph.delete("t", [(-math.inf,), (math.inf,), (5e-324,)])
    assert added(graph) == 0.0


def test_groups_are_made_anew_a_few_times_only_as_values_of_other_sizes_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view = jg.View("SELECT SUM(x) AS s FROM t", {"t": "CREATE TABLE t (x DOUBLE)"})
    graph, made = jg.JoinGraph(view), list[int]()
    engine = graph.engine
    assert isinstance(engine, CompiledGroups)
    forget = engine.telling.forget_groups
    monkeypatch.setattr(engine.telling, "forget_groups", lambda: (made.append(1), forget()))
    for power in range(1000):
        graph.insert("t", [(2.0**power,), (2.0**-power,)])
    assert len(made) < 20
    exact = sum(Fraction(2) ** power + Fraction(2) ** -power for power in range(1000))
    assert added(graph) == exact.numerator / exact.denominator
    graph.check()


def test_a_batch_that_is_refused_leaves_sums_as_they_were() -> None:
    view = jg.View(
        "SELECT SUM(x) AS s FROM t", {"t": "CREATE TABLE t (x DOUBLE)"}, dialect="postgres"
    )
    graph = jg.JoinGraph(view)
    graph.insert("t", [(0.1,), (1e308,)])
    with pytest.raises(jg.DiffError, match="does not hold"):
        graph.insert("t", [(1.7e308,)])
    assert added(graph) == 1e308
    graph.delete("t", [(1e308,)])
    assert added(graph) == 0.1
    graph.check()


def test_a_window_has_all_bits_of_a_column() -> None:
    def of(*values: float) -> Window | None:
        return window_of(np.array(values).view(np.int64), pa.float64())

    assert of(0.0, -0.0, math.nan, math.inf) is None
    assert of(1.0) == Window(0, 1)
    assert of(-3.0, 0.75) == Window(-2, 2)
    assert of(5e-324) == Window(-1074, -1073)
    assert of(1.7976931348623157e308) == Window(971, 1024)
    narrow = np.array([1e-45], np.float32).view(np.int32).astype(np.int64)
    assert window_of(narrow, pa.float32()) == Window(-149, -148)


@pytest.mark.parametrize("dialect", ["duckdb", "spark", "sqlite", "postgres"])
def test_many_groups_show_what_each_shows_alone(dialect: str) -> None:
    chance, real = Random(5), "REAL" if dialect != "spark" else "FLOAT"
    double = "DOUBLE PRECISION" if dialect == "postgres" else "DOUBLE"
    view = jg.View(
        "SELECT g, AVG(x) AS a, SUM(x) AS s, AVG(y) AS b, SUM(y) AS t FROM t GROUP BY g",
        {"t": f"CREATE TABLE t (g BIGINT, x {double}, y {real})"},
        dialect=dialect,
    )
    sizes = (*SIZES["prices"], *SIZES["all"][2:7], 1e-310)
    if dialect != "sqlite":
        sizes = (*sizes, math.nan, math.inf)
    rows = [(chance.randrange(300), chance.choice(sizes), 0.5) for _ in range(1000)]
    one, other = jg.JoinGraph(view), jg.JoinGraph(view, engine="reference")
    both(one, other, lambda graph: graph.insert("t", rows))
    both(one, other, lambda graph: graph.delete("t", rows[:500]))
    assert bag(one.scan().read_all().to_pylist()) == bag(other.scan().read_all().to_pylist())


def test_own_kernels_add_floats_of_two_words_and_give_way_to_more() -> None:
    chance = Random(3)
    view = jg.View(
        "SELECT f.fan, AVG(t.x) AS a, SUM(f.w) AS s FROM f JOIN t ON f.a = t.a GROUP BY f.fan",
        TABLES,
        dialect="duckdb",
    )
    one, other = jg.JoinGraph(view), jg.JoinGraph(view, engine="reference")
    engine = one.engine
    assert isinstance(engine, CompiledGroups)
    one.compile()
    rows: Rows = {"f": [], "t": []}
    for sizes, is_used in ((SIZES["prices"], True), (SIZES["all"], False)):
        for _ in range(15):
            batch = drawn_batch(chance, rows, sizes)
            both(one, other, lambda graph, batch=batch: graph.apply(batch))
            one.check()
        assert engine.telling.plugs.is_used == is_used


def test_a_variance_is_the_exact_one_rounded_once() -> None:
    chance = Random(7)
    view = jg.View("SELECT VAR_POP(x) AS s FROM t", {"t": "CREATE TABLE t (x DOUBLE)"})
    graph, values = jg.JoinGraph(view), list[float]()
    for size in (0, 0, -3, -1074, -1074, 60, 500):
        values += [math.ldexp(chance.randrange(-99, 99), size) for _ in range(3)]
        graph.insert("t", [(each,) for each in values[-3:]])
        exact = list(map(Fraction, values))
        mean = sum(exact, Fraction(0)) / len(exact)
        wanted = sum(((each - mean) ** 2 for each in exact), Fraction(0)) / len(exact)
        assert added(graph) == wanted.numerator / wanted.denominator


def test_notes_of_wide_sums_lie_close_together() -> None:
    view = jg.View("SELECT STDDEV(x) AS s FROM t", {"t": "CREATE TABLE t (x DOUBLE)"})
    graph = jg.JoinGraph(view)
    graph.insert("t", [(1e308,), (5e-324,)])
    engine = graph.engine
    assert isinstance(engine, CompiledGroups)
    groups = engine.telling.groups
    assert groups is not None and groups.at.note_columns > 200
    assert 8 * NOTES < int(groups.words[f.G_COLUMN]) < 16 * NOTES
    graph.insert("t", [(float(each),) for each in range(NOTES)])
    graph.check()
