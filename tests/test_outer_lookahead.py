"""Look-ahead beside outer joins, EXISTS and IN: which modes know enough; what explain() says."""

from __future__ import annotations

from collections import Counter

import pytest

import joingraph as jg
from tests.outer import Feed, Row, fold, rows_of, view_of

LEAVES = ["left, gated", "star", "inner and left", "in", "mark", "self, full", "deep anti"]
INNER_SIDES = ["chain", "block", "full and left", "semi of a chain", "anti of a chain"]


@pytest.mark.parametrize("name", LEAVES)
@pytest.mark.parametrize("mode", ["none", "local", "global"])
def test_every_mode_knows_whether_one_table_has_a_row(name: str, mode: str) -> None:
    feed, graph = Feed(21), jg.JoinGraph(view_of(name), lookahead=mode)
    held = Counter[Row]()
    for batch in feed.batches(graph.view, 25):
        fold(held, graph.apply(batch))
        assert held == feed.answer(graph.view) == rows_of(graph.scan())
        graph.check()


@pytest.mark.parametrize("name", INNER_SIDES)
@pytest.mark.parametrize("mode", ["none", "local", "global"])
def test_a_mode_that_does_not_know_of_a_joined_side_is_refused(name: str, mode: str) -> None:
    with pytest.raises(jg.ViewError, match=f'lookahead="{mode}": the join at <.* = .*> asks'):
        jg.JoinGraph(view_of(name), lookahead=mode)
    jg.JoinGraph(view_of(name), lookahead="auto")


def test_a_flag_of_global_look_ahead_is_cleared_as_a_row_goes_that_kept_others_out() -> None:
    graph = jg.JoinGraph(view_of("deep anti"), lookahead="global")
    graph.load({"b": [(1, 3, 0)], "d": [(1, 2, 3)], "c": [(1, 1, 2)]})
    assert not graph.insert("a", [(1, 1, 0)]).rows()
    fold(held := Counter[Row](), graph.delete("b", [(1, 3, 0)]))
    fold(held, graph.insert("a", [(2, 1, 0)]))
    assert held == {(1, 1, 1): 1, (2, 1, 1): 1}
    graph.check()


def test_explain_says_what_is_wanted_of_which_alias() -> None:
    text = view_of("full and left").explain()
    assert (
        """
rows that may be missing, or are asked for
  a at v0  opt: NULLs where it has no row
  b at v0  opt: NULLs where it has no row
  c at v1  opt: NULLs where it has no row
"""
        in text
    )
    assert "exists.b at v0  semi: rows go on where it has one" in view_of("semi").explain()
    assert "exists.b at v0  anti: rows go on where it has none" in view_of("anti").explain()
    assert "exists.b at v0  mark: noted whether it has one" in view_of("mark").explain()
    assert (
        "rows that may be missing" not in view_of("SELECT a.i FROM a JOIN b ON a.k = b.k").explain()
    )
    assert "  a1 -. anti .- v0" in view_of("anti").to_mermaid()
    assert view_of("anti").to_networkx().edges["a1", "v0"]["mode"] == "anti"


def test_explain_says_where_reads_find_rows_of_nulls() -> None:
    way = str(jg.JoinGraph(view_of("full and left")).explain())
    assert "hop      v0 to b, or NULLs" in way
    assert "also     from values of v0 without a" in way
    assert "hop      without exists.b at v2" in str(
        jg.JoinGraph(view_of("anti of a chain")).explain()
    )
    assert "hop      whether exists.b at v0" in str(jg.JoinGraph(view_of("mark")).explain())
    assert "exists.b: around, told TRUE" in view_of("mark").kernels()
