"""Calls of every kind, by few rows at once and by blocks: the same answers to the letter."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest

import joingraph as jg
from joingraph.engines.calls.view_rows import WordsDiff
from tests.crash.interrupting import stepped
from tests.few_rows import SHAPES, Batch, Feed, Shape, bag, kept, outcome, spelled
from tests.oracle.forms_outputs import idiffs_bag

Kind = Callable[[jg.JoinGraph, Any], jg.ViewDiff]


def apply(graph: jg.JoinGraph, batch: Any) -> jg.ViewDiff:
    return graph.apply(batch)


def applied_after_trial(graph: jg.JoinGraph, batch: Any) -> jg.ViewDiff:
    """Say twice what the batch would do, then do it."""
    diff = graph.what_if(batch)
    others = graph.what_if(batch), graph.apply(batch)
    said = sorted(map(repr, diff.rows()))
    assert all(sorted(map(repr, each.rows())) == said for each in others)
    assert all(each.seq == diff.seq for each in others)
    assert idiffs_bag(diff.idiffs()) == idiffs_bag(others[1].idiffs())
    return diff


def silent(graph: jg.JoinGraph, batch: Any) -> jg.ViewDiff:
    graph.maintain_only = True
    diff = graph.apply(batch)
    graph.maintain_only = False
    assert (len(diff), diff.net(), diff.idiffs().parts) == (0, [], ())
    return diff


def limited(graph: jg.JoinGraph, batch: Any) -> jg.ViewDiff:
    graph.max_view_diffs = 100  # of outer joins the plain form knows a bound
    return graph.apply(batch)


class Setting(NamedTuple):
    """A view, and which of its base tables and columns have an index."""

    shape: Shape
    key_index: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()

    def graph(self, engine: str = "auto") -> jg.JoinGraph:
        graph = jg.JoinGraph(self.shape.view, engine=engine, key_index=self.key_index)
        for column in self.indexes:
            graph.index(column)
        return graph

    def key_of(self, table: str, row: tuple[Any, ...]) -> dict[str, Any]:
        """Return what a row is found by."""
        names, types = self.shape.view.tables[table].schema.names, self.shape.tables[table]
        found = zip(names, types, row, strict=True)
        return {name: value for name, kind, value in found if kind.endswith("KEY")}


PLAIN = {name: Setting(shape) for name, shape in SHAPES.items()}
X, Y = ("BIGINT PRIMARY KEY", "INT"), ("INT", "STRING", "STRING PRIMARY KEY")
KEYLESS = "BIGINT", "INT"
ON = "FROM x X JOIN y Y ON X.b = Y.a"
INDEXED = {
    "keys": Setting(
        Shape(f"SELECT X.a, Y.b, Y.a AS d {ON}", {"x": X, "y": Y}),
        ("x", "y"),
    ),
    "keys and columns": Setting(
        Shape(
            f"SELECT X.a, Y.b, Y.c {ON} WHERE X.a < 300 AND Y.b <> 'b'",
            {"x": KEYLESS, "y": Y},
        ),
        ("y",),
        ("a", "b"),
    ),
    "keys of a self-join": Setting(
        Shape(
            "SELECT A.a, B.c AS b FROM e A JOIN e B ON A.b = B.b WHERE A.a > 50",
            {"e": ("BIGINT PRIMARY KEY", "INT", "INT")},
        ),
        ("e",),
        ("b",),
    ),
    "keys and a division": Setting(
        Shape(f"SELECT X.a, 6 DIV Y.a AS b {ON}", {"x": KEYLESS, "y": Y}),
        ("y",),
        ("a",),
    ),
    "columns": Setting(SHAPES["three tables"], (), ("b", "c")),
    "columns of a self-join": Setting(SHAPES["self-join"], (), ("b", "a")),
}


def compare(kind: Kind, setting: Setting, seed: int) -> int:
    """Do the same by calls, by blocks and in the reference form; count the calls."""
    feed, called = Feed(setting.shape, seed), 0
    graph, blocks, plain = setting.graph(), setting.graph(), setting.graph("reference")
    for step in range(40):
        batch = [feed.entry() for _ in range(feed.chance.choice((1, 1, 1, 3)))]
        where, calls = (kind.__name__, seed, step, batch), list[jg.ViewDiff]()
        given = spelled(batch, feed.chance)
        found = outcome(partial(kept, kind, graph, given, calls))
        called += any(isinstance(each, WordsDiff) for each in calls)
        expected = outcome(partial(kind, blocks, Batch(batch)))
        assert (found[0], sorted(found[1])) == (expected[0], sorted(expected[1])), where
        if not found[2]:
            if expected[0].startswith("DiffError"):
                assert outcome(partial(kind, plain, batch))[0] == found[0], where
            continue
        rows = [sorted(map(repr, each[2][0].to_pylist())) for each in (found, expected)]
        assert rows[0] == rows[1], where  # of a base diff they come in any order
        assert found[2][1] == expected[2][1], where
        assert sorted(map(repr, kind(plain, batch).rows())) == sorted(found[1]), where
        feed.note(batch)
        for column in setting.indexes:
            ordered = [
                each.scan(order_by=column, limit=9).read_all()[column] for each in (graph, plain)
            ]
            assert ordered[0] == ordered[1], where
    for each in (graph, blocks):
        each.check()
        assert (each.count(), each.seq, bag(each)) == (plain.count(), plain.seq, bag(plain))
    for table in setting.key_index:
        for row in feed.rows[table]:
            gone = [each.delete(table, [setting.key_of(table, row)]) for each in (graph, plain)]
            assert sorted(map(repr, gone[0].rows())) == sorted(map(repr, gone[1].rows()))
    return called


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("kind", [applied_after_trial, silent, limited])
def test_every_kind_of_call_says_what_it_says_by_blocks(kind: Kind, name: str) -> None:
    assert sum(compare(kind, PLAIN[name], seed) for seed in range(2)) > 8


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("kind", [apply, applied_after_trial, limited])
def test_calls_keep_indexes_as_blocks_do(kind: Kind, name: str) -> None:
    assert sum(compare(kind, INDEXED[name], seed) for seed in range(3)) > 20


def test_a_batch_that_may_make_too_much_is_refused_as_by_blocks() -> None:
    shape = SHAPES["integers"]
    graph, blocks = jg.JoinGraph(shape.view), jg.JoinGraph(shape.view)
    partners, calls = [(1, each) for each in range(10)], list[jg.ViewDiff]()
    for each in (graph, blocks):
        each.load({"x": partners})
    batches: list[Any] = [
        [("insert", "y", [(1, 1)])],
        [("insert", "y", [(1, 1), (1, 2)])],
        [("update", "y", [(1, 1)], [(1, 3)])],
        [("update", "y", [(1, 3)], [(1, 3)])],
        [("insert", "x", [(2, 5)] * 11), ("insert", "y", [(2, 7)])],
    ]
    for most in (9, 10, 20, True, "many", 10, None):
        for batch in batches:
            for each in (graph, blocks):
                each.max_view_diffs = most  # type: ignore[assignment]  # refused as it is used
            said = list[Any]()
            for diff in (
                partial(kept, apply, graph, batch, calls),
                partial(apply, blocks, Batch(batch)),
            ):
                try:
                    said.append(repr(diff().rows()))
                except (ValueError, jg.JoinGraphError) as error:
                    said.append(repr(error))
            assert said[0] == said[1]
    assert sum(isinstance(each, WordsDiff) for each in calls) > 10
    graph.check()


def test_a_batch_that_makes_far_too_much_is_refused_at_once() -> None:
    """A product of a hundred billion paths: neither the call nor its undoing walks them all."""
    tables = {name: f"CREATE TABLE {name} (a INT, x INT)" for name in "abcdef"}
    joins = " ".join(f"JOIN {name} ON {name}.a = a.a" for name in "bcdef")
    shown = ", ".join(f"{name}.x AS {name}" for name in "abcdef")
    graph = jg.JoinGraph(jg.View(f"SELECT {shown} FROM a {joins}", tables))
    graph.load({name: [(1, x) for x in range(160)] for name in "bcdef"})
    graph.max_view_diffs = 100_000
    with pytest.raises(jg.LimitError, match="this batch makes 104,857,600,000 rows"):
        graph.insert("a", [(1, 1)])
    assert isinstance(graph.insert("a", [(2, 1)]), WordsDiff)
    graph.check()


def test_a_key_that_comes_twice_behind_many_view_rows_is_named() -> None:
    graph = INDEXED["keys"].graph()
    graph.load({"x": [(each, 1) for each in range(140_000)], "y": [(2, "a", "key 1")]})
    for rows in ([(1, "b", "key 1")], [(1, "b", "key 2"), (2, "b", "key 1")]):
        with pytest.raises(jg.DiffError, match="y already has a row with the key"):
            graph.insert("y", rows)
    assert graph.count() == 0
    assert len(graph.insert("y", [(1, "b", "key 2")])) == 140_000
    assert len(graph.delete("y", [{"c": "key 2"}])) == 140_000
    graph.check()


@pytest.mark.parametrize("kind", [applied_after_trial, silent])
def test_a_call_of_any_kind_is_there_whole_or_not_at_all_after_an_interrupt(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # finalizers are interrupted, too
    view, at, came = SHAPES["conditions on texts"].view, 0, 1
    seen = set[tuple[int, int]]()
    while came:
        graph = jg.JoinGraph(view)
        graph.load({"x": [("a", each) for each in (1, 3, 4)]})
        assert isinstance(graph.delete("y", []), WordsDiff)
        came, _ = stepped(partial(kind, graph, [("insert", "y", [("a", 5, "a text")])]), [at])
        graph.maintain_only = False
        found = graph.seq, graph.count()
        graph.check()
        seen.add(found)
        assert len(graph.update("x", [("a", 1)], [("a", 4)])) == (2 if found[0] == 2 else 0)
        at += 3
    assert seen == {(1, 0), (2, 3)}


@pytest.mark.parametrize("kind", [apply, applied_after_trial])
def test_indexes_are_right_after_an_interrupt_at_any_step(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    setting, seen, at, came = INDEXED["keys and columns"], set[int](), 0, 1
    while came:
        graph = setting.graph()
        graph.load({"x": [(7, 1), (9, 1)], "y": [(1, "a", "key 0")]})
        assert isinstance(graph.insert("y", [(1, "", "key 1")]), WordsDiff)
        batch = [("delete", "y", (1, "a", "key 0")), ("insert", "y", (1, "ba", "key 2"))]
        came, _ = stepped(partial(kind, graph, batch), [at])
        keys = ["key 1", "key 2"] if graph.seq == 2 else ["key 0", "key 1"]
        texts = graph.scan(order_by="b").read_all()["b"].to_pylist()
        assert texts == (["", "", "ba", "ba"] if graph.seq == 2 else ["", "", "a", "a"])
        assert [len(graph.delete("y", [{"c": key}])) for key in keys] == [2, 2]
        assert graph.count("b = 'ba'") == 0
        graph.check()
        seen.add(len(keys) + graph.seq)
        at += 3
    assert seen == {5, 6}


def test_a_key_that_comes_twice_is_named_and_leaves_no_trace() -> None:
    graph = INDEXED["keys"].graph()
    assert isinstance(graph.insert("y", [(1, "a", "key 1"), (1, "a", "key 2")]), WordsDiff)
    again: list[list[Any]] = [
        [("insert", "y", [(2, "b", "key 1")])],
        [("insert", "y", [(2, "b", "key 3"), (2, "b", "key 3")])],
        [("update", "y", [(1, "a", "key 1")], [(1, "a", "key 2")])],
        [("insert", "y", (2, "b", "key 1")), ("delete", "y", (1, "a", "key 1"))],
    ]
    for batch in again:
        with pytest.raises(jg.DiffError, match="y already has a row with the key"):
            graph.apply(batch)
    swapped = [
        ("delete", "y", (1, "a", "key 1")),
        ("update", "y", (1, "a", "key 2"), (1, "a", "key 1")),
        ("insert", "y", (3, "c", "key 2")),
        ("update", "y", (3, "c", "key 2"), (4, "c", "key 2")),
    ]
    assert isinstance(graph.apply(swapped), WordsDiff)
    graph.insert("x", [(1, 4), (2, 1)])
    assert graph.delete("y", [{"c": "key 2"}]).rows() == [("delete", (1, "c", 4), 1)]
    assert graph.delete("y", [{"c": "key 1"}]).rows() == [("delete", (2, "a", 1), 1)]
    graph.check()
