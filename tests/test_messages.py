"""Groups kept by messages against groups of the joined rows: random views, every batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pytest

import joingraph as jg
from joingraph.engines.compiled.groups.grouped import CompiledGroups
from joingraph.plan.groups.messages import messages_of
from joingraph.view_diffs.view_diff import ViewDiff
from tests.test_groups import KEYS, TABLES, drawn_row

SOURCES = {
    "t": "t",
    "f, r": "f r",
    "f JOIN t ON f.a = t.a": "f t",
    "f JOIN t ON f.a = t.a JOIN r ON r.id = t.id": "f t r",
    "t JOIN t u ON t.a = u.id JOIN f ON f.a = u.a": "t f",
    "t JOIN r ON r.id = t.id JOIN f ON f.a = t.a JOIN f g ON g.a = t.a": "t r f",
    "f JOIN t ON f.a = t.a JOIN t u ON u.id = t.id JOIN r ON r.id = u.a": "f t r",
}
ARGUMENTS = {"f": ("f.a",), "t": ("t.s", "t.d", "t.s + 1", "t.id"), "r": ("r.n",)}
USES = (
    *("COUNT(*)", "COUNT({0})", "SUM({0})", "AVG({0})", "VAR_POP({0})", "COUNT_IF({0} > 1)"),
    *("COVAR_POP({0}, {1})", "BOOL_AND({0} > 1)", "COUNT(1)"),
)
BESTS = ("MIN({0})", "MAX({0})")
ABSENT: dict[str, tuple[Any, ...]] = {
    "f": (77, "zz", 7.5),
    "t": (77, 77, 77, Decimal("7.77"), 7.5, "zz"),
    "r": (77, 77),
}
Batch = list[tuple[Any, ...]]
Held = dict[str, list[tuple[Any, ...]]]


def drawn_view(chance: Random) -> tuple[jg.View, tuple[str, ...]]:
    """Draw a view whose aggregates are sums, grouped by columns of one table; and its tables."""
    source = chance.choice(list(SOURCES))
    tables = tuple(SOURCES[source].split())
    known = KEYS[chance.choice(tables)]
    keys = chance.sample(known, min(len(known), chance.choice((0, 1, 1, 2))))

    def argument() -> str:
        return chance.choice(ARGUMENTS[chance.choice(tables)])

    uses, forms = [], chance.choice((USES, USES + BESTS, BESTS))
    for _ in range(chance.choice((0, 1, 2, 3)) if keys else 2):
        form = chance.choice(forms)
        is_filtered = form not in BESTS and chance.random() < 0.25
        use = form.format(argument(), argument())
        uses.append(use + (f" FILTER (WHERE {argument()} > 1)" if is_filtered else ""))
    columns = ", ".join(f"{each} AS c{at}" for at, each in enumerate((*keys, *uses)))
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = " HAVING COUNT(*) > 2" if keys and chance.random() < 0.3 else ""
    sql = f"SELECT {columns} FROM {source}{by}{having}"
    return jg.View(sql, TABLES, dialect="duckdb"), tables


def drawn_batch(chance: Random, tables: tuple[str, ...], held: Held) -> Batch:
    """Draw diffs over what base tables hold, and change that."""
    batch: Batch = []
    for _ in range(chance.choice((1, 2, 5, 20))):
        table, kind = chance.choice(tables), chance.random()
        rows, fresh = held[table], drawn_row(chance, table)
        if kind < 0.55 or not rows:
            batch.append(("insert", table, [fresh]))
            rows.append(fresh)
            continue
        old = rows.pop(chance.randrange(len(rows)))
        if kind < 0.8:
            batch.append(("delete", table, [old]))
            continue
        new = (*old[:-1], fresh[-1]) if chance.random() < 0.5 else fresh
        batch.append(("update", table, [old], [new]))
        rows.append(new)
    return batch


def bag(rows: object) -> Counter[str]:
    assert isinstance(rows, list)
    return Counter(map(repr, rows))


def both(one: jg.JoinGraph, other: jg.JoinGraph, do: Callable[[jg.JoinGraph], ViewDiff]) -> None:
    """Do the same to two graphs, and compare what it did."""
    mine, theirs = do(one), do(other)
    assert bag(mine.rows()) == bag(theirs.rows())
    assert bag(mine.net()) == bag(theirs.net())


@pytest.mark.parametrize("seed", range(60))
def test_messages_give_the_groups_that_the_joined_rows_give(seed: int) -> None:
    chance = Random(seed)
    view, tables = drawn_view(chance)
    mode = chance.choice(("exact", "none", "local", "global"))
    assert_same(chance, jg.JoinGraph(view, lookahead=mode), tables)


def assert_same(chance: Random, one: jg.JoinGraph, tables: tuple[str, ...]) -> None:
    """Feed a graph that tells, and the plain form, with random batches; compare them at each."""
    view = one.view
    other = jg.JoinGraph(view, engine="reference")
    assert isinstance(one.engine, CompiledGroups), view.sql
    first = view.plan.aliases[0]
    keeps_rows = any(first.keys)  # else no row is known from another
    held: Held = {table: [] for table in TABLES}
    if chance.random() < 0.5:
        held.update({table: [drawn_row(chance, table) for _ in range(20)] for table in tables})
        for graph in (one, other):
            graph.load(held)
    for _ in range(12):
        before = {table: list(rows) for table, rows in held.items()}
        batch, how = drawn_batch(chance, tables, held), chance.randrange(6)
        if how == 0:
            both(one, other, lambda graph, batch=batch: graph.what_if(batch))
            held = before
        elif how == 1 and keeps_rows:
            for graph in (one, other):
                with pytest.raises(jg.DiffError, match="there is no row"):
                    graph.apply([*batch, ("delete", tables[0], [ABSENT[tables[0]]])])
            held = before
        elif how == 2:
            for graph in (one, other):
                graph.maintain_only = True
                graph.apply(batch)
                graph.maintain_only = False
        else:
            both(one, other, lambda graph, batch=batch: graph.apply(batch))
        assert bag(one.scan().read_all().to_pylist()) == bag(other.scan().read_all().to_pylist())
        one.check()


def test_what_has_no_sums_needs_the_joined_rows() -> None:
    for sql in (
        "SELECT f.fan, COUNT(DISTINCT t.s) AS m FROM f JOIN t ON f.a = t.a GROUP BY f.fan",
        "SELECT f.fan, t.txt FROM f JOIN t ON f.a = t.a GROUP BY f.fan, t.txt",
        "SELECT f.fan, COUNT(*) AS n FROM f JOIN t ON f.a = t.a AND f.w < t.x GROUP BY f.fan",
    ):
        view = jg.View(sql, TABLES, dialect="duckdb")
        assert view.definition.grouping is not None
        assert messages_of(view.plan, view.definition.grouping) is None


@pytest.mark.parametrize("how", ["refused", "tried"])
def test_notes_that_were_lost_do_not_hide_later_ones(how: str) -> None:
    view = jg.View("SELECT COUNT(*) AS n, MAX(x) AS m FROM t", {"t": "CREATE TABLE t (x INT)"})
    graph = jg.JoinGraph(view)
    graph.load({"t": [(1,), (2,)]})
    if how == "refused":
        with pytest.raises(jg.DiffError, match="there is no row"):
            graph.apply([("delete", "t", [(1,)]), ("insert", "t", [(7,)]), ("delete", "t", [(9,)])])
    else:
        assert len(graph.what_if([("delete", "t", [(1,)]), ("insert", "t", [(7,)])]).rows()) == 4
    assert graph.insert("t", [(3,)]).rows() == [
        ("update_preimage", (2, 2), 1),
        ("update_postimage", (3, 3), 1),
    ]


def test_values_that_are_bounded_are_those_of_rows_that_came() -> None:
    view = jg.View(
        "SELECT a.g, SUM(b.d) AS s FROM t a JOIN u b ON a.k = b.k GROUP BY a.g",
        {n: f"CREATE TABLE {n} (k INT, g INT, d DECIMAL(30,2))" for n in "tu"},
    )
    graph = jg.JoinGraph(view)
    engine = graph.engine
    assert isinstance(engine, CompiledGroups)
    graph.insert("t", [(1, 1, None)])
    graph.insert("u", [(at % 7, 1, Decimal("1.25")) for at in range(500)])
    old = [(at % 7, 1, Decimal("1.25")) for at in range(500)]
    new = [(None if at % 3 else 1, 1, Decimal(5)) for at in range(500)]
    graph.update("u", old, new)  # rows without a key are not kept, and nothing is known of them
    assert engine.telling.tells and engine.telling.bits.of_values() <= 64 + 1
    graph.update("u", [(1, 1, Decimal(5))], [(1, 1, Decimal(9 * 10**27))])
    assert engine.telling.bits.of_values() > 90
    graph.check()


def test_lists_that_are_looked_at_amid_a_batch_are_longer_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A batch that misses a row begins anew: what it brings is bounded, whenever one looks."""
    view = jg.View(
        "SELECT a.g, SUM(b.d) AS s FROM t a JOIN u b ON a.k = b.k GROUP BY a.g",
        {n: f"CREATE TABLE {n} (k INT, g INT, d BIGINT)" for n in "tu"},
    )
    graph = jg.JoinGraph(view, on_missing="skip")
    engine = graph.engine
    assert isinstance(engine, CompiledGroups)
    graph.insert("t", [(1, 1, 0)])
    telling, make_room = engine.telling, engine.telling.make_room

    def looked(ops: int) -> None:
        telling.bits.look()
        make_room(ops)

    monkeypatch.setattr(telling, "make_room", looked)
    graph.apply([("insert", "u", [(1, 1, 5)] * 300), ("delete", "u", [(1, 1, 7)])])
    assert telling.bits.longest[1] + telling.bits.come >= 300
    graph.insert("u", [(1, 1, 5)])
    assert telling.bits.longest[1] >= 300 and telling.bits.come < 10


def test_kernels_that_come_when_groups_are_no_longer_told_are_not_used() -> None:
    view = jg.View("SELECT SUM(x) AS s FROM t", {"t": "CREATE TABLE t (x BIGINT)"})
    graph = jg.JoinGraph(view)
    engine = graph.engine
    assert isinstance(engine, CompiledGroups)
    plugs = engine.telling.plugs
    some = plugs.all[0]
    engine.telling.stop_telling()
    plugs.make(some)
    graph.insert("t", [(1,)])
    assert engine.telling.memory.alias(some.alias)[some.field] == 0


@pytest.mark.parametrize("use", ["COUNT(*)", "SUM(r.n)", "MAX(r.n)"])
@pytest.mark.parametrize("lookahead", ["none", "exact"])
def test_rows_that_have_nothing_but_the_number_of_a_group_are_found(
    use: str, lookahead: str
) -> None:
    sql = (
        f"SELECT u.a, {use} AS n FROM t JOIN t u ON t.a = u.a AND t.s = u.s"
        " JOIN r ON r.id = t.id GROUP BY u.a"
    )
    graph = jg.JoinGraph(jg.View(sql, TABLES, dialect="duckdb"), lookahead=lookahead)
    rows = [(a, 9, 7, None, None, None) for a in (1, 2, 2, 3, 3, 3)]
    graph.apply([("insert", "r", [(9, 4)]), ("insert", "t", rows)])
    graph.apply([("delete", "t", [rows[5], rows[4], rows[2]])])
    with pytest.raises(jg.DiffError, match="there is no row"):
        graph.apply([("delete", "t", [rows[3], rows[4]])])
    graph.check()
    paths = {1: 1, 2: 1, 3: 1}
    value = {"COUNT(*)": 1, "SUM(r.n)": 4, "MAX(r.n)": 4}[use]
    found = sorted(tuple(row.values()) for row in graph.scan().read_all().to_pylist())
    assert found == [(a, value * times) for a, times in paths.items()]
    graph.apply([("delete", "t", rows[:2]), ("delete", "t", rows[3:4])])
    assert graph.count() == 0


@pytest.mark.parametrize("form", ["deltas", "factorised"])
def test_a_set_that_is_asked_for_deltas_counts_paths_and_goes_on_by_messages(form: str) -> None:
    sql = "SELECT DISTINCT f.fan FROM f JOIN t ON f.a = t.a JOIN r ON r.id = t.id"
    view = jg.View(sql, TABLES, dialect="duckdb")
    graphs = [jg.JoinGraph(view), jg.JoinGraph(view, engine="reference")]
    chance, held = Random(5), dict[str, list[tuple[Any, ...]]](f=[], t=[], r=[])
    for number in range(20):
        batch = drawn_batch(chance, ("f", "t", "r"), held)
        if number % 3 == 1:
            found = [graph.apply(batch, form=form) for graph in graphs]
            assert bag(found[0].deltas().table.to_pylist()) == bag(
                found[1].deltas().table.to_pylist()
            )
        else:
            both(graphs[0], graphs[1], lambda graph, batch=batch: graph.apply(batch))
        graphs[0].check()
    engine = graphs[0].engine
    assert isinstance(engine, CompiledGroups)
    assert engine.telling.tells and not engine.telling.messages.is_set


def test_a_row_of_which_its_keys_alone_are_kept_is_found_again() -> None:
    view = jg.View(
        "SELECT a.w, MIN(b.v) AS low FROM t a JOIN t b ON b.v = a.x AND b.x = a.w GROUP BY a.w",
        {"t": "CREATE TABLE t (v INT, x INT, w INT)"},
    )
    graph = jg.JoinGraph(view)
    graph.insert("t", [(0, 3, 0), (0, 1, 1), (0, 1, 1)])
    graph.delete("t", [(0, 1, 1)])
    graph.check()
    graph.delete("t", [(0, 3, 0), (0, 1, 1)])
    assert graph.count() == 0
