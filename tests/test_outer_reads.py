"""Reads of views with outer joins, EXISTS and IN, and what else stands around their view diffs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.cli.transfer import dump, load
from tests import ENGINES
from tests.outer import VIEWS, Feed, Row, fold, rows_of, view_of

SOME = [
    *("left, gated", "left, null safe and computed", "left, then asked", "chain", "block", "full"),
    *("full and left", "anti of a chain", "in", "mark", "self, full"),
]
CONDITIONS = ["{} = 2", "{} IS NULL", "COALESCE({}, 1) = 1", "{} IN (0, 2)", "{} > 0 OR {} IS NULL"]


def conditions_on(view: jg.View) -> Iterable[str]:
    """Yield conditions that reject NULLs, and others that do not."""
    for field in view.schema:
        if pa.types.is_boolean(field.type):
            yield from (field.name, f"NOT {field.name}")
        else:
            yield from (each.format(field.name, field.name) for each in CONDITIONS)


def fed(graph: jg.JoinGraph, feed: Feed) -> jg.JoinGraph:
    """Give a graph some batches."""
    for batch in feed.batches(graph.view, 14):
        graph.apply(batch)
    return graph


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SOME)
def test_conditions_are_asked_with_indexes_in_parts_and_counted(name: str, engine: str) -> None:
    feed = Feed(5)
    graph = fed(jg.JoinGraph(view_of(name), engine=engine), feed)
    for column in graph.view.schema.names if name != "mark" else ["i"]:
        if "COALESCE" not in VIEWS[name]:
            graph.index(column)
    for where in conditions_on(graph.view):
        right = feed.answer(graph.view, where)
        assert rows_of(graph.scan(where=where)) == right, where
        assert graph.count(where=where) == sum(right.values()), where
        parts = (rows_of(part.read()) for part in graph.partitions(3, where=where))
        assert sum(parts, Counter[Row]()) == right, where


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SOME)
def test_rows_come_in_order_and_as_many_as_wanted(name: str, engine: str) -> None:
    feed = Feed(6)
    graph = fed(jg.JoinGraph(view_of(name), engine=engine), feed)
    right = feed.answer(graph.view)
    for at, column in enumerate(graph.view.schema.names):
        for direction in ("ASC", "DESC"):
            order = f"{column} {direction} NULLS FIRST"
            found = graph.scan(order_by=order, limit=4).read_all().column(at).to_pylist()
            values = sorted((row[at] for row in right.elements()), key=lambda v: (v is not None, v))
            nulls = values.count(None)
            rest = values[nulls:] if direction == "ASC" else values[nulls:][::-1]
            assert found == (values[:nulls] + rest)[:4], order


@pytest.mark.parametrize("engine", ENGINES)
def test_a_constant_beside_an_outer_join_says_nothing_of_the_other_side(engine: str) -> None:
    graph = jg.JoinGraph(view_of("left, null safe and computed"), engine=engine)
    graph.load({"a": [(1, 5, 0)], "b": [(1, 7, 0)]})
    assert graph.count(where="y = 0") == 1
    assert rows_of(graph.scan(where="y = 0")) == {(1, 0, None): 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_mark_can_be_sorted_by_and_not_indexed(engine: str) -> None:
    graph = jg.JoinGraph(view_of("mark"), engine=engine)
    graph.load({"a": [(1, 1, 0), (2, 2, 0)], "b": [(1, 1, 0)]})
    rows = graph.scan(order_by=["has", "i"]).read_all()
    assert rows.column("has").to_pylist() == [False, True]
    with pytest.raises(jg.ViewError, match="computed on the path"):
        graph.index("has")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SOME)
def test_what_if_and_fanout_foretell_a_batch(name: str, engine: str) -> None:
    feed = Feed(7)
    graph = jg.JoinGraph(view_of(name), engine=engine)
    for batch in feed.batches(graph.view, 14):
        rows, is_exact = graph.fanout(batch)
        foretold = Counter(map(str, graph.what_if(batch).changes().to_pylist()))
        changes = graph.apply(batch).changes()
        assert foretold == Counter(map(str, changes.to_pylist()))
        made = sum(changes.column("_count").to_pylist())
        assert made == rows if is_exact else made <= rows


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bound_of_view_diffs_counts_rows_of_nulls(engine: str) -> None:
    graph = jg.JoinGraph(view_of("left"), engine=engine)
    graph.load({"a": [(i, 1, 0) for i in range(10)]})
    graph.max_view_diffs = 19
    with pytest.raises(jg.LimitError):
        graph.apply([("insert", "b", (1, 1, 0))])
    graph.max_view_diffs = 20
    graph.apply([("insert", "b", (1, 1, 0))])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("where", ["k = 2", "k IS NULL", "x > 0"])
def test_expired_rows_go_whether_they_are_shown_or_asked_for(
    name: str, where: str, engine: str
) -> None:
    feed = Feed(8)
    graph = fed(jg.JoinGraph(view_of(name), engine=engine), feed)
    for table in graph.view.tables:
        held = feed.answer(graph.view)
        try:
            changes = graph.expire(table, where)
        except jg.ViewError as error:
            assert "does not keep" in str(error)
            continue
        feed.judge.execute(f"DELETE FROM {table} WHERE {where}")
        fold(held, changes)
        assert held == feed.answer(graph.view) == rows_of(graph.scan())
        graph.check()


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_expire_that_have_no_partner(engine: str) -> None:
    graph = jg.JoinGraph(view_of("left by two columns"), engine=engine)
    graph.load({"a": [(1, 5, 0)], "b": [(1, 5, 6), (2, 5, 5)]})
    graph.expire("b", "k = 5")
    assert graph.stats()["aliases"]["b"]["rows"] == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", list(VIEWS))
@pytest.mark.parametrize("has_snapshot", [True, False])
def test_a_folder_that_is_opened_again_goes_on(
    name: str, has_snapshot: bool, tmp_path: Path, engine: str
) -> None:
    feed, path = Feed(9), tmp_path / "graph"
    graph = fed(jg.JoinGraph(view_of(name), path=path, engine=engine), feed)
    if has_snapshot:
        graph.snapshot()
    graph.close()
    with jg.open(path) as again:
        held = feed.answer(again.view)
        assert rows_of(again.scan()) == held
        for batch in feed.batches(again.view, 8):
            fold(held, again.apply(batch))
            assert held == feed.answer(again.view)
        again.check()


def test_a_graph_made_anew_after_an_interrupt_tells_no_flip_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = jg.JoinGraph(view_of("left"), engine="reference")
    graph.load({"a": [(1, 1, 0)], "b": [(1, 1, 0)]})
    keys = graph.engine.keys  # type: ignore[attr-defined]

    def fails(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(keys, "note", fails)
    with pytest.raises(KeyboardInterrupt):
        graph.apply([("delete", "b", (1, 1, 0))])
    monkeypatch.undo()
    held = rows_of(graph.scan())
    assert held == {(1, 1, 0, 1, 1, 0): 1}
    fold(held, graph.apply([("insert", "b", (2, 2, 0))]))
    assert held == rows_of(graph.scan())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_subscriber_gets_what_happens_to_rows_of_nulls(tmp_path: Path, engine: str) -> None:
    feed = Feed(10)
    graph = jg.JoinGraph(view_of("full and left"), path=tmp_path / "graph", engine=engine)
    told = graph.subscribe("reader")
    held = Counter[Row]()
    for batch in feed.batches(graph.view, 10):
        graph.apply(batch)
    for diff in told:
        fold(held, diff)
    assert held == feed.answer(graph.view)
    graph.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stream_tells_what_apply_tells(engine: str) -> None:
    feed = Feed(12)
    graph = jg.JoinGraph(view_of("left, few columns"), engine=engine)
    held = 0
    for batch in feed.batches(graph.view, 10):
        for block in graph.stream(batch):
            kinds, counts = (block.column(name).to_pylist() for name in ("_change_type", "_count"))
            signs = {"insert": 1, "update_postimage": 1}
            held += sum(signs.get(k, -1) * n for k, n in zip(kinds, counts, strict=True))
    assert held == sum(feed.answer(graph.view).values())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["left", "full", "chain", "full and left"])
def test_a_read_starts_at_a_side_that_its_condition_asks_for(name: str, engine: str) -> None:
    feed = Feed(13)
    graph = fed(jg.JoinGraph(view_of(name), engine=engine), feed)
    graph.index("bi")
    way = graph.explain(where="bi = 2")
    assert 'start    b, secondary index "bi", 1 value' in str(way)
    assert "also" not in str(way)
    assert rows_of(way.read()) == feed.answer(graph.view, "bi = 2")
    ordered = graph.explain(where="bi > 0", order_by="bi DESC", limit=3)
    assert 'start    b, secondary index "bi", a range' in str(ordered)
    found = ordered.read().read_all().column("bi").to_pylist()
    at = graph.view.schema.names.index("bi")
    right = [row[at] for row in feed.answer(graph.view, "bi > 0").elements()]
    assert found == sorted(right, reverse=True)[:3]
    assert "start    b" not in str(graph.explain(where="COALESCE(bi, 2) = 2", order_by="bi"))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_read_that_cannot_be_computed_names_the_rows_that_are_there(engine: str) -> None:
    graph = jg.JoinGraph(view_of("full"), engine=engine)
    graph.load({"a": [(1, 1, 1)], "b": [(1, 1, 5), (2, 2, 0)]})
    with pytest.raises(jg.DiffError, match=r"division by zero.*the base rows are b \(i = 2"):
        graph.scan(where="6 DIV bx > 0").read_all()
    with pytest.raises(jg.DiffError, match=r"division by zero.*base rows are b \(i = 2"):
        graph.count(where="ai IS NULL AND 6 DIV bx > 0")
    assert graph.count(where="bx > 0 AND 6 DIV bx > 0") == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_constants_that_a_missing_side_has_lead_nowhere_else(engine: str) -> None:
    sql = "SELECT a.i, COALESCE(b.k, 0) AS y, b.k IS NULL AS n FROM a LEFT JOIN b ON a.k <=> b.k"
    graph = jg.JoinGraph(view_of(sql), engine=engine)
    graph.load({"a": [(1, 5, 0)], "b": [(1, 7, 0)]})
    assert graph.count(where="y = 0 AND n = TRUE") == 1
    assert graph.why_not((1, 0, True)) == []


@pytest.mark.parametrize("name", SOME)
def test_portable_files_hold_rows_whose_keys_are_null(name: str, tmp_path: Path) -> None:
    feed = Feed(14)
    fed(jg.JoinGraph(view_of(name), path=tmp_path / "graph"), feed).close()
    dump(tmp_path / "graph", tmp_path / "files")
    load(tmp_path / "files", tmp_path / "again")
    with jg.open(tmp_path / "again") as again:
        held = feed.answer(again.view)
        assert rows_of(again.scan()) == held
        for batch in feed.batches(again.view, 6):
            fold(held, again.apply(batch))
            assert held == feed.answer(again.view)
