"""Groups that absorb joined rows by column, against the plain form: random views, every batch."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import pytest

import joingraph as jg
from joingraph.engines.compiled.groups import absorbed_groups
from joingraph.engines.compiled.groups.absorbed_groups import AbsorbedGroups
from joingraph.engines.compiled.groups.absorbing import AbsorbingEngine
from joingraph.graph.compiled.fields import NULL_WORD
from tests.test_groups import KEYS, TABLES, drawn_row
from tests.test_messages import ABSENT, Held, bag, both, drawn_batch

SOURCES = {
    "f JOIN t ON f.a = t.a AND f.w < t.x": "f t",
    "t JOIN r ON t.id = r.id AND t.s <> r.n": "t r",
    "f JOIN t ON f.a = t.a": "f t",
    "f JOIN t ON f.a = t.a JOIN r ON r.id = t.id": "f t r",
    "t JOIN t u ON t.a = u.id JOIN f ON f.a = u.a AND t.s + u.s > 4": "t f",
}
ARGUMENTS = {"f": ("f.a",), "t": ("t.s", "t.d", "t.s + 1", "t.id"), "r": ("r.n",)}
USES = (
    *("COUNT(*)", "COUNT({0})", "SUM({0})", "AVG({0} - {1})", "VAR_POP({0})", "MIN({0})"),
    *("COVAR_POP({0}, {1})", "BOOL_AND({0} > {1})", "SUM({0} * {1})", "MAX({0} + {1})"),
)


def drawn_view(chance: Random) -> tuple[jg.View, tuple[str, ...]]:
    """Draw a view of which something is over several tables."""
    source = chance.choice(list(SOURCES))
    tables = tuple(SOURCES[source].split())
    known = [key for table in tables for key in KEYS[table]]
    keys = chance.sample(known, chance.choice((0, 1, 2, 3)))

    def argument() -> str:
        return chance.choice(ARGUMENTS[chance.choice(tables)])

    uses = [f"SUM({tables[0]}.a * {tables[-1]}.id)" if "r" in tables else "COUNT(t.s * f.a)"]
    for _ in range(chance.choice((0, 1, 2))):
        condition = f" FILTER (WHERE {argument()} > {argument()})"
        use = chance.choice(USES).format(argument(), argument())
        if use.startswith("M"):
            use, condition = use.replace("t.d", "t.s"), ""
        uses.append(use + condition * (chance.random() < 0.25))
    uses = [each.replace("f.id", "f.a").replace("r.a", "r.n") for each in uses]
    columns = ", ".join(f"{each} AS c{at}" for at, each in enumerate((*keys, *uses)))
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = " HAVING COUNT(*) > 2" if keys and chance.random() < 0.3 else ""
    return jg.View(f"SELECT {columns} FROM {source}{by}{having}", TABLES, dialect="duckdb"), tables


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_absorbed_as_the_plain_form_does(seed: int) -> None:
    chance = Random(seed)
    view, tables = drawn_view(chance)
    one = jg.JoinGraph(view, lookahead=chance.choice(("exact", "none", "local", "global")))
    other = jg.JoinGraph(view, engine="reference")
    assert isinstance(one.engine, AbsorbingEngine), view.sql
    held: Held = {table: [] for table in TABLES}
    if chance.random() < 0.5:
        held.update({table: [drawn_row(chance, table) for _ in range(20)] for table in tables})
        for graph in (one, other):
            graph.load(held)
    for _ in range(10):
        before = {table: list(rows) for table, rows in held.items()}
        batch, how = drawn_batch(chance, tables, held), chance.randrange(6)
        if how == 0:
            both(one, other, lambda graph, batch=batch: graph.what_if(batch))
            held = before
        elif how == 1:
            for graph in (one, other):
                with pytest.raises(jg.DiffError, match="there is no row"):
                    graph.apply([*batch, ("delete", tables[0], [ABSENT[tables[0]]])])
            held = before
        else:
            both(one, other, lambda graph, batch=batch: graph.apply(batch))
        assert bag(one.scan().read_all().to_pylist()) == bag(other.scan().read_all().to_pylist())
        one.check()


PAIR = {
    "a": "CREATE TABLE a (k INT, s VARCHAR, x DECIMAL(30,0))",
    "b": "CREATE TABLE b (k INT, y BIGINT)",
}


def pair(sql: str) -> tuple[jg.JoinGraph, jg.JoinGraph]:
    view = jg.View(sql, PAIR, dialect="duckdb")
    return jg.JoinGraph(view), jg.JoinGraph(view, engine="reference")


def groups_of(graph: jg.JoinGraph) -> AbsorbedGroups | None:
    assert isinstance(graph.engine, AbsorbingEngine)
    groups = graph.engine.groups
    return groups if isinstance(groups, AbsorbedGroups) else None


def test_sums_that_may_not_fit_are_left_to_the_plain_form() -> None:
    one, other = pair(
        "SELECT a.s, VAR_POP(a.x) AS v FROM a JOIN b ON a.k = b.k AND a.x > b.y GROUP BY a.s"
    )
    for batch in (
        [("insert", "a", [(1, "p", Decimal(3))]), ("insert", "b", [(1, 1), (1, 2)])],
        [("insert", "a", [(1, "p", Decimal(10**29)), (1, "q", Decimal(5))])],
        [("delete", "a", [(1, "p", Decimal(3))])],
    ):
        both(one, other, lambda graph, batch=batch: graph.apply(batch))
        one.check()
    assert groups_of(one) is None
    assert bag(one.scan().read_all().to_pylist()) == bag(other.scan().read_all().to_pylist())


def test_the_batch_that_no_longer_fits_may_be_refused() -> None:
    one, other = pair(
        "SELECT a.s, SUM(a.x) AS v, 1 / (COUNT(*) - 3) AS w"
        " FROM a JOIN b ON a.k = b.k AND a.x > b.y GROUP BY a.s"
    )
    for graph in (one, other):
        graph.apply([("insert", "a", [(1, "p", Decimal(3))]), ("insert", "b", [(1, 1)])])
        graph.apply([("insert", "a", [(1, "p", Decimal(10**29))])])
        assert graph.scan().read_all().num_rows == 1
        graph.check()


def test_a_value_without_a_word_is_left_to_the_plain_form() -> None:
    one, other = pair("SELECT MIN(b.y - a.k) AS m FROM a, b WHERE a.k > b.y")
    for batch in (
        [("insert", "a", [(3, "p", Decimal(3))]), ("insert", "b", [(1, 1)])],
        [("insert", "b", [(1, NULL_WORD + 3)])],
        [("delete", "b", [(1, NULL_WORD + 3)])],
    ):
        both(one, other, lambda graph, batch=batch: graph.apply(batch))
    assert groups_of(one) is None


def test_texts_of_groups_that_went_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absorbed_groups, "FEWEST_BYTES", 1 << 10)
    one, other = pair(
        "SELECT a.s, COUNT(*) AS n FROM a JOIN b ON a.k = b.k AND a.x > b.y GROUP BY a.s"
    )
    most = 0
    for graph in (one, other):
        graph.insert("b", [(1, 0)])
    for at in range(60):
        rows = [(1, f"{at} of a hundred bytes {'.' * 80} {n}", Decimal(1)) for n in range(3)]
        both(one, other, lambda graph, rows=rows: graph.insert("a", rows))
        both(one, other, lambda graph, rows=rows: graph.delete("a", rows))
        groups = groups_of(one)
        assert groups is not None
        most = max(most, groups.text_bytes)
    assert most < 4 << 10
    one.check()


def test_no_groups_are_kept_and_reads_make_them() -> None:
    view = jg.View("SELECT a.s, SUM(a.k * b.k) AS v FROM a JOIN b ON a.k = b.y GROUP BY a.s", PAIR)
    graph = jg.JoinGraph(view, keep_groups=False)
    assert isinstance(graph.engine, AbsorbingEngine)
    batch = [("insert", "a", [(1, "p", None), (1, None, None)]), ("insert", "b", [(5, 1)])]
    told = graph.apply(batch, form="deltas").deltas().table.to_pylist()
    assert [each["v"] for each in told] == [5, 5]
    assert graph.scan(where="s = 'p'").read_all().to_pylist() == [{"s": "p", "v": 5}]
    assert graph.stats()["groups"] == 0


def test_what_was_only_tried_widens_no_sum() -> None:
    tables = {
        "t": "CREATE TABLE t (a INT, b INT, y DOUBLE)",
        "u": "CREATE TABLE u (b INT, x DOUBLE)",
    }
    sql = "SELECT t.a, SUM(u.x) AS s FROM t JOIN u ON t.b = u.b AND t.y < u.x GROUP BY t.a"
    graph = jg.JoinGraph(jg.View(sql, tables, dialect="duckdb"))
    graph.load({"t": [(1, 1, 0.1), (2, 1, 0.3)], "u": [(1, 0.7), (1, 1e10)]})
    for number in range(300):
        rows = [(3, 1, 0.1 * number + 1e-3)] * (number % 7 + 1)
        graph.what_if([("insert", "t", rows)])
    groups = groups_of(graph)
    assert groups is not None and groups.rows == 4
    graph.check()
