"""Graphs that keep no groups, and folders and subscribers that are told deltas."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.cli import transfer
from joingraph.storage.record import HEAD, Record, decode, encode
from tests import ENGINES
from tests.crash.interrupting import stepped
from tests.test_deltas import MEAN, TWEET, bag_of, deltas_of
from tests.test_groups import ROWS, SUMS, rows_in, rows_of, view_of


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_graph_without_groups_does_not_have_is_refused_with_both_remedies(
    engine: str,
) -> None:
    limit = 1 << 30 if engine == "compiled" else None
    graph = jg.JoinGraph(view_of(SUMS), engine=engine, keep_groups=False, memory_limit=limit)
    graph.load(ROWS)
    batch = [("insert", "t", [TWEET])]
    calls: list[Callable[[], object]] = [
        lambda: graph.apply(batch),
        lambda: graph.apply(batch, form="idiffs"),
        lambda: graph.what_if(batch),
        lambda: graph.stream(batch),
        lambda: graph.insert("t", [TWEET]),
    ]
    for call in calls:
        with pytest.raises(jg.DiffError, match=r'form="deltas", or make it with keep_groups=True'):
            call()
    assert graph.seq == 0
    diff = graph.apply(batch, form="deltas")
    for ask in (diff.rows, diff.net, diff.idiffs, diff.to_arrow):
        with pytest.raises(jg.DiffError, match=r"ask deltas\(\), or apply .* keep_groups=True"):
            ask()
    assert repr(diff) == "ViewDiff(seq=1, deltas=2)"
    assert graph.stats()["groups"] == graph.stats()["group_bytes"] == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_that_are_not_kept_are_read_as_those_that_are(engine: str) -> None:
    sql = (
        "SELECT f.w, f.fan, COUNT(*) AS n, MAX(t.s) AS best FROM f JOIN t ON f.a = t.a GROUP BY ALL"
    )
    kept, told = (
        jg.JoinGraph(view_of(sql), engine=engine, keep_groups=each) for each in (True, False)
    )
    for graph in kept, told:
        graph.load({**ROWS, "f": [*ROWS["f"], (1, None, -0.0), (2, "eve", 0.0), (2, "eve", -0.0)]})
    for where in ("w = 0", "fan = 'bob'", "fan IS NULL", "w < 1 AND n > 1", "fan IN ('eve', 'x')"):
        assert told.count(where) == kept.count(where)
        assert bag_of(told.scan(where).read_all()) == bag_of(kept.scan(where).read_all())
        assert "start    all groups, made of the joined rows" in str(told.explain(where))
    ordered = told.scan(order_by=["fan DESC", "w"], limit=2).read_all()
    assert rows_in(ordered) == rows_in(kept.scan(order_by=["fan DESC", "w"], limit=2).read_all())
    parts = pa.concat_tables(part.read().read_all() for part in told.partitions(2))
    assert bag_of(parts) == bag_of(kept.to_arrow())
    assert len(told.why((0.0, "eve", 2, 5))) == 2
    assert "best = 10" in str(told.why_not((0.5, "bob", 9, 5)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("keeps", [True, False])
def test_a_position_that_comes_again_is_answered_by_the_same_deltas(
    keeps: bool, engine: str, tmp_path: Path
) -> None:
    def insert(graph: jg.JoinGraph, position: int) -> Any:
        batch = [("insert", "t", [(1, position, 4, None, None, "")])]
        return graph.apply(batch, source="s", position=position, form="deltas")

    folder = tmp_path / "g"
    with jg.JoinGraph(view_of(MEAN), folder, engine=engine, keep_groups=keeps) as graph:
        graph.load(ROWS, source="s", position=0)
        first = deltas_of(insert(graph, 1))
        assert first == [("ann", 0, 1, Decimal(4), 1), ("bob", 0, 1, Decimal(4), 1)]
        assert deltas_of(insert(graph, 1)) == first
    with jg.open(folder) as graph:
        assert deltas_of(insert(graph, 1)) == first and graph.seq == 1
        assert bool(graph.stats()["groups"]) == keeps
        with pytest.raises(jg.DiffError, match=r"ask deltas\(\)"):
            graph.apply([], source="s", position=1).rows()
    loaded = jg.JoinGraph(view_of(MEAN), engine=engine, keep_groups=keeps)
    loaded.load(ROWS, source="s", position=0)
    assert deltas_of(loaded.apply([], source="s", position=0, form="deltas")) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_subscribers_of_a_graph_without_groups_get_deltas(engine: str, tmp_path: Path) -> None:
    folder = tmp_path / "g"
    with jg.JoinGraph(view_of(MEAN), folder, engine=engine, keep_groups=False) as graph:
        graph.load(ROWS)
        feed = graph.subscribe("s")
        graph.insert("t", [TWEET], form="factorised")
        assert len(graph.expire("t", "s = 1")) == 2
    with jg.open(folder) as graph:
        graph.maintain_only = True
        graph.insert("t", [TWEET], form="deltas")
        feed = graph.subscribe("s")
        found = [deltas_of(diff) for diff in feed]
    gone = [("ann", 0, -1, Decimal(-1), -1), ("bob", 0, -1, Decimal(-1), -1)]
    assert found == [[("ann", 0, 1, Decimal(1), 1), ("bob", 0, 1, Decimal(1), 1)], gone, []]
    with jg.JoinGraph(view_of(MEAN), folder, engine=engine) as graph:
        with pytest.raises(jg.DiffError, match=r"has subscribers, who get rows; .* keep_groups=F"):
            graph.insert("t", [TWEET], form="deltas")
        graph.insert("t", [TWEET])
        *_, last = graph.subscribe("s")
        assert len(last.rows()) == 4
        with pytest.raises(jg.DiffError, match='apply it with form="deltas"'):
            last.deltas()


def test_a_graph_without_groups_is_rebuilt_as_other_views_are(tmp_path: Path) -> None:
    rows = view_of("SELECT f.fan, t.s FROM f JOIN t ON f.a = t.a")
    with jg.JoinGraph(view_of(SUMS), tmp_path / "g", keep_groups=False) as graph:
        graph.load(ROWS)
        graph.rebuild(view_of(MEAN))
        assert len(graph.insert("t", [TWEET], form="deltas").deltas()) == 2
        graph.rebuild(rows)
        assert len(graph.insert("t", [TWEET]).rows()) == 2
    with jg.open(tmp_path / "g") as graph:
        assert graph.count() == 7


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["deltas", "factorised"])
def test_a_batch_of_deltas_interrupted_at_any_step_is_applied_or_not(
    form: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    view, at, came, seen = view_of(SUMS), 0, 1, set[int]()
    while came:
        graph = jg.JoinGraph(
            view, engine=engine, keep_groups=(engine, form) == ("reference", "deltas")
        )
        graph.load(ROWS)
        came, _ = stepped(partial(graph.insert, "t", [TWEET], form=form), [at])
        totals = sorted((fan, n) for fan, n, _ in rows_of(graph))
        assert totals == ([("ann", 2), ("bob", 3)] if graph.seq else [("ann", 1), ("bob", 2)]), at
        seen.add(graph.seq)
        graph.check()
        assert len(graph.delete("f", [(1, "ann", 0.5)], form=form).deltas()) == 1
        at += 11
    assert seen == {1, 2} or seen == {0, 1}


WRONG = [("_diff", pa.array(["0"])), ("n", pa.array([1.5])), ("n", pa.array([None], pa.int64()))]


@pytest.mark.parametrize(("name", "wrong"), [("fan", pa.nulls(1, pa.string())), *WRONG])
def test_a_record_whose_deltas_are_not_numbers_is_not_read(name: str, wrong: pa.Array) -> None:
    good = {"fan": pa.array(["ann"]), "_diff": pa.array([0]), "n": pa.array([1])}
    changes = pa.table({**good, name: wrong})
    record = Record("expire", 1, {"table": "t", "where": "s = 1"}, (), changes)
    payload = memoryview(b"".join(map(bytes, encode(record, 1, 0))))[HEAD.size :]
    if name == "fan":  # NULL is a group
        assert decode(payload, changes=True).changes == changes
        return
    with pytest.raises(jg.StoreError, match="its deltas are not numbers"):
        decode(payload, changes=True)


def test_a_dump_and_a_reader_keep_no_groups_either(tmp_path: Path) -> None:
    with jg.JoinGraph(view_of(MEAN), tmp_path / "g", keep_groups=False) as graph:
        graph.load(ROWS)
        with jg.open(tmp_path / "g", readonly=True) as reader:
            graph.insert("t", [TWEET], form="deltas")
            reader.refresh()
            assert bag_of(reader.to_arrow()) == bag_of(graph.to_arrow())
            assert reader.stats()["groups"] == 0
    transfer.dump(tmp_path / "g", tmp_path / "dumped")
    transfer.load(tmp_path / "dumped", tmp_path / "again")
    with jg.open(tmp_path / "again") as graph:
        assert len(graph.insert("t", [TWEET], form="deltas").deltas()) == 2
        with pytest.raises(jg.DiffError, match="keeps no groups"):
            graph.insert("t", [TWEET])
