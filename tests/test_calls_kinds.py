"""Calls of every kind, by few rows at once and by blocks: the same answers to the letter."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import joingraph as jg
from joingraph.engines.calls.view_rows import WordsDiff
from tests.crash.interrupting import stepped
from tests.few_rows import SHAPES, Batch, Feed, bag, kept, outcome, spelled
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
    graph.max_view_diffs = 20
    return graph.apply(batch)


def compare(kind: Kind, name: str, seed: int) -> tuple[int, int]:
    """Do the same by calls, by blocks and in the reference form; count the calls, the refused."""
    feed, view = Feed(SHAPES[name], seed), SHAPES[name].view
    graph, blocks = (jg.JoinGraph(view) for _ in range(2))
    plain = jg.JoinGraph(view, engine="reference")
    called = refused = 0
    for step in range(40):
        batch = [feed.entry() for _ in range(feed.chance.choice((1, 1, 1, 3)))]
        where, calls = (kind.__name__, name, seed, step, batch), list[jg.ViewDiff]()
        given = spelled(batch, feed.chance)
        found = outcome(partial(kept, kind, graph, given, calls))
        called += any(isinstance(each, WordsDiff) for each in calls)
        expected = outcome(partial(kind, blocks, Batch(batch)))
        assert (found[0], sorted(found[1])) == (expected[0], sorted(expected[1])), where
        if not found[2]:
            refused += 1
            if expected[0].startswith("DiffError"):
                assert outcome(partial(kind, plain, batch))[0] == found[0], where
            continue
        rows = [sorted(map(repr, each[2][0].to_pylist())) for each in (found, expected)]
        assert rows[0] == rows[1], where  # of a base diff they come in any order
        assert found[2][1] == expected[2][1], where
        assert sorted(map(repr, kind(plain, batch).rows())) == sorted(found[1]), where
        feed.note(batch)
    for each in (graph, blocks):
        each.check()
        assert (each.count(), each.seq, bag(each)) == (plain.count(), plain.seq, bag(plain))
    return called, refused


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("kind", [applied_after_trial, silent, limited])
def test_every_kind_of_call_says_what_it_says_by_blocks(kind: Kind, name: str) -> None:
    found = [compare(kind, name, seed) for seed in range(2)]
    assert sum(called for called, _ in found) > 8


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
