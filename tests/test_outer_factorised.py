"""Factorised view diffs of outer joins, EXISTS and IN: empty lists where a side is missing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import joingraph as jg
from tests import first
from tests.bags import SIGNS
from tests.bags import fold as folded
from tests.outer import VIEWS, Feed, fold, rows_of, view_of

MODES = ("none", "local", "global")  # besides exact, each where it takes the view
LEFT = "SELECT a.i, a.x, b.x AS y FROM a LEFT JOIN b ON a.k = b.k"
STAR = "SELECT a.i, b.x AS y, c.x AS z FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON a.k = c.k"
CHAIN = "SELECT a.i, b.i AS y, c.x AS z FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON c.k = b.x"
COMPUTED = "SELECT a.i, COALESCE(b.x, 7) AS y FROM a LEFT JOIN b ON a.k = b.k"
EXISTS = "SELECT a.i, c.x FROM a JOIN c ON a.x = c.k WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)"


def graph_of(sql: str, lookahead: str = "exact") -> jg.JoinGraph:
    """Make a graph of a view."""
    return jg.JoinGraph(view_of(sql), engine="reference", lookahead=lookahead)


def records(graph: jg.JoinGraph, *batch: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Apply a batch; give each record as its alias, what happened, what it shows, its lists."""
    found = graph.apply(list(batch), form="factorised")
    assert not found.factorised().rows.num_rows
    return [
        (alias, each["_change_type"], each["pre"] or each["post"], each.get("branches"))
        for alias, table in found.factorised().tables.items()
        for each in table.to_pylist()
    ]


def one(column: str, value: object) -> dict[str, Any]:
    """Write a partner that shows one column, and counts once."""
    return {"values": {column: value}, "count": 1}


def both(first: object, second: object) -> dict[str, Any]:
    """Write a partner of a that shows two columns, and counts once."""
    return {"values": {"i": first, "x": second}, "count": 1}


def test_a_side_that_is_missing_has_an_empty_list() -> None:
    graph = graph_of(LEFT)
    assert records(graph, ("insert", "a", (1, 5, 0))) == [
        ("a", "insert", {"i": 1, "x": 0}, {"b": []})
    ]
    found = records(graph, ("insert", "b", (9, 5, 3)))
    assert found == [
        ("b", "insert", {"y": 3}, {"a": [both(1, 0)]}),
        ("a", "delete", {"i": 1, "x": 0}, {"b": []}),
    ]
    assert records(graph, ("insert", "b", (8, 5, 4)))[0][0] == "b"
    assert records(graph, ("delete", "b", (9, 5, 3)), ("delete", "b", (8, 5, 4))) == [
        ("b", "delete", {"y": 3}, {"a": [both(1, 0)]}),
        ("b", "delete", {"y": 4}, {"a": [both(1, 0)]}),
        ("a", "insert", {"i": 1, "x": 0}, {"b": []}),
    ]


def test_a_flip_lists_the_partners_beside_it() -> None:
    graph = graph_of(STAR)
    graph.apply([("insert", "a", (1, 5, 0)), ("insert", "c", [(1, 5, 6), (2, 5, None)])])
    (_, flip) = records(graph, ("insert", "b", (1, 5, 3)))
    assert flip == ("a", "delete", {"i": 1}, {"b": [], "c": [one("z", 6), one("z", None)]})


def test_a_partner_that_shows_a_null_is_one_and_what_is_missing_beyond_it_is_none() -> None:
    graph = graph_of(CHAIN)
    graph.insert("a", (1, 5, 0))
    beyond = {"b": [{**one("y", 9), "branches": {"c": []}}]}
    assert records(graph, ("insert", "b", (9, 5, 3)))[0] == (
        "b", "insert", {"y": 9}, {"a": [one("i", 1)], "c": []},
    )  # fmt: skip
    assert records(graph, ("insert", "a", (2, 5, 0))) == [("a", "insert", {"i": 2}, beyond)]
    graph.insert("c", (1, 3, None))
    assert graph.insert("a", (3, 5, 0), form="factorised").factorised().tables["a"].to_pylist()[0][
        "branches"
    ] == {"b": [{**one("y", 9), "branches": {"c": [one("z", None)]}}]}


def test_a_value_that_is_computed_of_a_missing_side_stands_in_its_list() -> None:
    graph = graph_of(COMPUTED)
    assert records(graph, ("insert", "a", (1, 5, 0))) == [
        ("a", "insert", {"i": 1}, {"b": [one("y", 7)]})
    ]
    assert records(graph, ("insert", "b", (1, 5, 3)))[1] == (
        "a", "delete", {"i": 1}, {"b": [one("y", 7)]},
    )  # fmt: skip


def test_what_is_asked_for_has_no_list_and_its_first_row_is_told_of_who_asks() -> None:
    graph = graph_of(EXISTS)
    graph.apply([("insert", "a", (1, 5, 3)), ("insert", "c", [(1, 3, 6), (2, 3, 7)])])
    lists = {"c": [one("x", 6), one("x", 7)]}
    assert records(graph, ("insert", "b", (1, 5, 0))) == [("a", "insert", {"i": 1}, lists)]
    assert records(graph, ("insert", "b", (2, 5, 0))) == []
    assert records(graph, ("delete", "b", [(1, 5, 0), (2, 5, 0)])) == [
        ("a", "delete", {"i": 1}, lists)
    ]


def test_marks_are_told_by_rows() -> None:
    graph = graph_of("mark")
    graph.insert("a", (1, 5, 3))
    found = graph.insert("b", (1, 5, 0), form="factorised")
    assert not found.factorised().tables
    assert folded(found.rows()) == {"(1, False)": -1, "(1, True)": 1}


@pytest.mark.parametrize("name", first(10, list(VIEWS)[::-1]))
def test_multiplied_out_they_lead_from_view_to_view(name: str) -> None:
    """As rows do, base diff by base diff, in every mode that takes the view."""
    for number, mode in enumerate(("exact", *MODES)):
        try:
            graph, plain = graph_of(name, mode), graph_of(name, mode)
        except jg.ViewError:
            assert mode != "exact"
            continue
        feed, held, copy = Feed(61 + number), rows_of(graph.scan()), graph.to_arrow()
        for batch in feed.batches(graph.view, 12):
            told = graph.what_if(batch, form="factorised").factorised().flatten().num_rows
            found = graph.apply(batch, form="factorised")
            assert found.factorised().flatten().num_rows == told
            assert folded(found.rows()) == folded(plain.apply(batch).rows())
            fold(held, found)
            copy = jg.apply_idiffs(copy, found.idiffs())
            assert held == rows_of(copy.to_batches()) == feed.answer(graph.view)
        graph.check()


@pytest.mark.parametrize("name", ["left", "full", "star", "self", "block", "anti of a chain"])
def test_each_base_diff_of_a_batch_is_multiplied_out_for_itself(name: str) -> None:
    view, feed = view_of(name), Feed(77)
    graph, plain = (jg.JoinGraph(view, engine="reference") for _ in "12")
    for batch in feed.batches(view, 30):
        flat = graph.apply(batch, form="factorised").factorised().flatten()
        rows = plain.apply(batch).to_arrow(positions=True)
        assert of_each_diff(flat) == of_each_diff(rows.select(flat.column_names))


def of_each_diff(changes: pa.Table) -> dict[object, int]:
    """Add up view diffs by base diff and row."""
    found: Counter[object] = Counter()
    for row in changes.to_pylist():
        sign = SIGNS[row.pop("_change_type")] * row.pop("_count")
        found[repr(row)] += sign
    return {row: times for row, times in found.items() if times}


def test_the_compiled_form_refuses_them_with_what_to_ask_for() -> None:
    graph = jg.JoinGraph(view_of("left"))
    with pytest.raises(jg.DiffError, match=r'engine="reference" alone; ask for form="rows"'):
        graph.apply([("insert", "a", (1, 1, 0))], form="factorised")
    assert graph.count() == 0
