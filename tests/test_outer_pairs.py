"""Joins by conditions that are no equalities: what keeping pairs of values has to do for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

import joingraph as jg
from joingraph.engines.compiled.outer.pairs import PairedEngine
from joingraph.engines.plain import ReferenceEngine
from tests import ENGINES
from tests.outer import Feed, Row, fold, rows_of, view_of

UNEQUAL = [
    "left, unequal",
    "full, unequal",
    "anti, unequal",
    "mark, unequal",
    "block, unequal",
    "self, full, unequal",
]
ROWS: dict[str, list[Row]] = {
    "a": [(1, 1, 3), (2, 1, 9), (3, None, 3)],
    "b": [(5, 1, 5), (6, 1, 7)],
}


def loaded(
    name: str, engine: str = "auto", lookahead: str = "auto", key_index: Sequence[str] = ()
) -> jg.JoinGraph:
    graph = jg.JoinGraph(view_of(name), engine=engine, lookahead=lookahead, key_index=key_index)
    graph.load({table: list(rows) for table, rows in ROWS.items() if table in graph.view.tables})
    return graph


def pairs_in(graph: jg.JoinGraph, called: str = "pairs of") -> int:
    return sum(
        int(of["rows"] if "rows" in of else of["join_tuples"])
        for name, of in graph.stats()["aliases"].items()
        if name.startswith(called)
    )


def test_each_form_takes_such_views() -> None:
    assert isinstance(loaded("left, unequal").engine, PairedEngine)
    assert isinstance(loaded("left, unequal", "compiled").engine, PairedEngine)
    assert isinstance(loaded("left, unequal", "reference").engine, ReferenceEngine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", UNEQUAL)
def test_what_a_batch_would_do_is_foretold_and_leaves_no_trace(name: str, engine: str) -> None:
    feed, graph = Feed(51), jg.JoinGraph(view_of(name), engine=engine)
    for batch in feed.batches(graph.view, 25):
        held, pairs = rows_of(graph.scan()), pairs_in(graph)
        foretold, (rows, is_exact) = graph.what_if(batch).rows(), graph.fanout(batch)
        graph.check()
        assert rows_of(graph.scan()) == held and pairs_in(graph) == pairs
        told = graph.apply(batch)
        assert Counter(foretold) == Counter(told.rows())
        if is_exact:
            assert rows == sum(times * (2 if kind == "update" else 1)
                               for kind, *_, times in told.rows())  # fmt: skip
        assert rows_of(graph.scan()) == feed.answer(graph.view)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", UNEQUAL)
def test_a_folder_is_opened_again_and_goes_on(name: str, engine: str, tmp_path: Path) -> None:
    feed, view = Feed(52), view_of(name)
    graph = jg.JoinGraph(view, path=tmp_path / "graph", engine=engine)
    for number, batch in enumerate(feed.batches(view, 12)):
        graph.apply(batch)
        if number % 4 == 3:
            if number == 3:
                graph.snapshot()
                graph.await_snapshot()
            graph.close()
            graph = jg.open(tmp_path / "graph")
            graph.check()
            assert rows_of(graph.scan()) == feed.answer(view)
    graph.close()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["left, unequal", "full, unequal", "self, full, unequal"])
def test_rows_expire_with_their_pairs(name: str, engine: str) -> None:
    feed, view = Feed(53), view_of(name)
    graph = jg.JoinGraph(view, engine=engine)
    for batch in feed.batches(view, 15):
        graph.apply(batch)
    for table in view.tables:
        held = rows_of(graph.scan())
        told = graph.expire(table, "k = 2 OR k = 1")
        fold(held, told)
        graph.check()
        gone = [i for i, row in feed.rows[table].items() if row[1] in (1, 2)]
        for i in gone:
            del feed.rows[table][i]
            feed.judge.execute(f"DELETE FROM {table} WHERE i = ?", [i])
        assert held == rows_of(graph.scan()) == feed.answer(view)


@pytest.mark.parametrize("engine", ENGINES)
def test_deletes_by_key_find_their_row(engine: str) -> None:
    graph = loaded("full, unequal", engine, key_index=["a", "b"])
    told = graph.delete("b", [{"i": 5}])
    assert told.rows() == [("delete", (1, 1, 3, 5, 1, 5), 1)]
    graph.update("a", [{"i": 2}], [{"i": 2, "k": 1, "x": 6}])
    graph.check()
    assert (2, 1, 6, 6, 1, 7) in rows_of(graph.scan())


@pytest.mark.parametrize("engine", ENGINES)
def test_reads_take_conditions_order_and_limit(engine: str) -> None:
    feed, view = Feed(54), view_of("full, unequal")
    graph = jg.JoinGraph(view, engine=engine)
    for batch in feed.batches(view, 30):
        graph.apply(batch)
    right = feed.answer(view)
    for where in ("ax = 1", "bx = 2", "ak = 2 AND bk IS NULL", "bk IS NULL OR bx < 2"):
        assert rows_of(graph.scan(where=where)) == feed.answer(view, where)
        assert graph.count(where) == sum(feed.answer(view, where).values())
    in_order = graph.scan(order_by=["bi", "ai"]).read_all().to_pylist()
    assert [(row["bi"], row["ai"]) for row in in_order] == sorted(
        ((row[3], row[0]) for row in right.elements()),
        key=lambda each: tuple((at is not None, at or 0) for at in each),
    )
    assert graph.scan(order_by=["bi"], limit=3).read_all().num_rows == min(3, right.total())
    parts = [rows_of(part.read()) for part in graph.partitions(3)]
    assert sum(parts, Counter()) == right


@pytest.mark.parametrize("engine", ENGINES)
def test_i_diffs_name_rows_by_the_keys_of_both_sides(engine: str) -> None:
    graph = loaded("left, unequal", engine)
    (part, *others) = graph.delete("b", [(5, 1, 5)], form="idiffs").idiffs().parts
    assert (part.kind, part.alias, part.key, part.table.to_pylist()) == (
        "delete", "b", ("bi",), [{"bi": 5}]
    )  # fmt: skip
    assert others == []
    told = graph.delete("b", [(6, 1, 7)], form="idiffs").idiffs().parts
    assert [(each.kind, each.alias) for each in told] == [("delete", "b"), ("insert", "")]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_in_the_way_is_named_by_its_table(engine: str) -> None:
    graph = loaded("left, unequal", engine)
    met = "at <a.k, a.x> where k = 1 and x = 9, on a.x < b.x"
    assert list(graph.why_not((2, 1, 9, 6, 1, 7))) == [
        (("a", "b"), f"a and b have rows for it, but no two of them meet {met}")
    ]
    (reason,) = graph.why_not((1, 1, 3, None, None, None))
    assert reason[0] == ("a", "b") and "where the row has NULLs: (i = 5, k = 1, x = 5)" in reason[1]
    assert str(graph.why((2, 1, 9, None, None, None))) == (
        "a (i = 2, k = 1, x = 9)\n└─ {1, 9} ─ no row of b"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_new_view_is_made_of_the_rows_and_of_no_pairs(engine: str) -> None:
    graph = loaded("full, unequal", engine)
    graph.rebuild(view_of("left, unequal"))
    graph.check()
    assert rows_of(graph.scan()) == rows_of(loaded("left, unequal", engine).scan())


@pytest.mark.parametrize("engine", ENGINES)
def test_pairs_are_of_values_however_many_rows_have_them(engine: str) -> None:
    graph = loaded("left, unequal", engine)
    assert pairs_in(graph) == 2
    graph.insert("a", [(at, 1, 3) for at in range(10, 20)])
    graph.insert("b", [(at, 1, 5) for at in range(10, 20)])
    assert pairs_in(graph) == 2
    graph.delete("a", [(at, 1, 3) for at in (1, *range(10, 20))])
    assert pairs_in(graph) == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_condition_without_an_answer_leaves_no_trace(engine: str) -> None:
    sql = "SELECT a.i, b.i AS bi FROM a LEFT JOIN b ON a.k = b.k AND a.x / b.x > 1"
    graph = jg.JoinGraph(view_of(sql), engine=engine)
    graph.load({"a": [(1, 1, 4)], "b": [(1, 1, 2)]})
    batch = [("delete", "b", (1, 1, 2)), ("insert", "b", [(2, 1, 1), (3, 1, 0)])]
    with pytest.raises(jg.DiffError, match=r"division by zero.*all rows that meet by its"):
        graph.apply(batch)
    graph.check()
    assert rows_of(graph.scan()) == {(1, 1): 1} and pairs_in(graph) == 1
    with pytest.raises(jg.DiffError, match="division by zero"):
        graph.load({"b": [(3, 1, 0)]})
    graph.check()
    assert rows_of(graph.scan()) == {(1, 1): 1}


def test_pairs_count_in_the_memory_limit() -> None:
    sql = "SELECT a.i, b.i AS bi FROM a LEFT JOIN b ON b.x > a.x"
    graph = jg.JoinGraph(view_of(sql), memory_limit=1_000_000)
    graph.load({"a": [(at, 0, at) for at in range(1000)]})
    before = rows_of(graph.scan())
    with pytest.raises(
        jg.LimitError, match=r"memory_limit=1,000,000: the graph takes [\d,]+ bytes"
    ):
        graph.insert("b", [(at, 0, at) for at in range(1000)])
    graph.check()
    assert rows_of(graph.scan()) == before
    graph.insert("b", [(1, 0, 500)])
    assert graph.count() == 1000


@pytest.mark.parametrize("engine", ENGINES)
def test_of_one_table_that_is_asked_for_no_pairs_are_kept(engine: str) -> None:
    sql = "SELECT a.i FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x > a.x)"
    graph = jg.JoinGraph(view_of(sql), engine=engine)
    graph.load({"a": [(at, 0, at % 50) for at in range(100)], "b": [(1, 0, 30)]})
    graph.insert("b", [(at, 0, at) for at in range(60, 90)])
    assert graph.count() == 100 and pairs_in(graph, "partners of a in exists.b") == 50
    graph.delete("b", [(at, 0, at) for at in range(60, 90)])
    assert graph.count() == 60 and pairs_in(graph, "partners of a in exists.b") == 30
    graph.check()
    assert str(graph.why((1,))) == "a (i = 1, x = 1)\n└─ {1} ─ a row of exists.b"


@pytest.mark.parametrize("mode", ["none", "local", "global"])
def test_other_look_ahead_is_refused_with_the_join(mode: str) -> None:
    with pytest.raises(jg.ViewError, match=f'"{mode}": the join at <a.k, a.x> has a condition'):
        loaded("left, unequal", lookahead=mode)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lost_pair_is_found_by_check(engine: str) -> None:
    graph = loaded("left, unequal", engine)
    engine_of = graph.engine
    assert isinstance(engine_of, PairedEngine | ReferenceEngine)
    (side, _) = engine_of.pairs.pairings[0].sides
    side.add(next(side.values()), 1)
    with pytest.raises(jg.JoinGraphError, match="pairs of a join are not those of its rows"):
        graph.check()
