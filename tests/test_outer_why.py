"""why() and why_not() beside outer joins, EXISTS and IN: which side is missing, which row is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

import joingraph as jg
from tests import ENGINES
from tests.outer import VIEWS, Feed, Row, view_of

Rows = Mapping[str, Sequence[Row]]


def loaded(name: str, rows: Rows, engine: str) -> jg.JoinGraph:
    graph = jg.JoinGraph(view_of(name), engine=engine)
    graph.load({table: list(each) for table, each in rows.items()})
    return graph


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", list(VIEWS))
def test_each_row_has_its_paths_and_other_rows_have_breaks(name: str, engine: str) -> None:
    view, feed = view_of(name), Feed(31)
    graph = jg.JoinGraph(view, engine=engine)
    for batch in feed.batches(view, 12):
        graph.apply(batch)
    right = feed.answer(view)
    for row, times in right.items():
        assert sum(path.times for path in graph.why(row)) == times
        assert graph.why_not(row) == []
    changed = {(*row[:at], value, *row[at + 1 :]) for row in right for at in range(len(row))
               for value in (None, 2) if type(row[at]) is not bool}  # fmt: skip
    for row in changed - right.keys():
        assert graph.why(row) == []
        assert graph.why_not(row), row
        assert str(graph.why_not(row))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_path_shows_which_side_is_missing(engine: str) -> None:
    rows: Rows = {"a": [(1, 1, 0), (3, None, 0)], "b": [(1, 1, 2)], "c": []}
    graph = loaded("chain", rows, engine)
    (path,) = graph.why((1, 1, None, None))
    assert path == {"a": {"i": 1, "k": 1}, "b": {"i": 1, "k": 1, "x": 2}}
    assert path.times == 1
    assert (
        str(path)
        == """a (i = 1, k = 1)
└─ {1} ─ b (i = 1, k = 1, x = 2)
   └─ {2} ─ no row of c"""
    )
    assert (
        str(graph.why((3, None, None, None)))
        == """a (i = 3, k = NULL)
└─ {NULL} ─ no row of b
   └─ {…} ─ no row of c"""
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("name", "row", "shown"),
    [
        ("full", (None, None, None, 5, 7, 0), "no row of a\n└─ {7} ─ b (i = 5, k = 7, x = 0)"),
        ("semi", (1, 0), "a (i = 1, k = 1, x = 0)\n└─ {1} ─ a row of exists.b"),
        ("anti", (2, 0), "a (i = 2, k = 2, x = 0)\n└─ {2} ─ no row of exists.b"),
        ("mark", (1, True), "a (i = 1, k = 1)\n└─ {1} ─ a row of exists.b"),
        ("mark", (2, False), "a (i = 2, k = 2)\n└─ {2} ─ no row of exists.b"),
    ],
)
def test_a_path_shows_what_was_asked_for(name: str, row: Row, shown: str, engine: str) -> None:
    graph = loaded(name, {"a": [(1, 1, 0), (2, 2, 0)], "b": [(1, 1, 0), (5, 7, 0)]}, engine)
    assert str(graph.why(row)) == shown


BREAKS: list[tuple[str, Row, Rows, tuple[str, ...], str]] = [
    (
        "left", (1, 1, 0, None, None, None), {"a": [(1, 1, 0)], "b": [(5, 1, 2)]}, ("a", "b"),
        "b has rows at <a.k = b.k> where k = 1, where the row has NULLs: (i = 5, k = 1, x = 2)",
    ),
    (
        "full", (None, None, None, 5, 1, 2), {"a": [(1, 1, 0)], "b": [(5, 1, 2)]}, ("a", "b"),
        "a has rows at <a.k = b.k> where k = 1, where the row has NULLs: (i = 1, k = 1, x = 0)",
    ),
    (
        "left", (1, 1, 0, 7, 1, 2), {"a": [(1, 1, 0)], "b": [(5, 1, 2)]}, ("b",),
        "no row of b with i = 7 and k = 1 and x = 2 in the graph",
    ),
    (
        "left", (1, 1, 0, 5, 2, 2), {"a": [(1, 1, 0)], "b": [(5, 2, 2)]}, ("a", "b"),
        "a.k and b.k are equal in every row that has both",
    ),
    (
        "anti of a chain", (1, 1),
        {"d": [(1, 1, 0)], "a": [(1, 1, 1)], "b": [(5, 1, 2), (6, 1, 3)], "c": [(1, 2, 0)]},
        ("a", "exists.b"),
        "exists.b has rows at <a.k = exists.b.k>, where none may be: (k = 1, x = 2)",
    ),
    (
        "semi of a chain", (1, 0), {"a": [(1, 1, 0)], "b": [(5, 1, 2)]}, ("a", "exists.b"),
        "a has rows for it, but none of them meets a row of exists.b at <a.k = exists.b.k>",
    ),
    (
        "mark", (1, False), {"a": [(1, 1, 0)], "b": [(5, 1, 2)]}, ("exists.b",),
        "the row's exists 1 = FALSE is FALSE on the only candidate path",
    ),
    (
        "block", (1, 0, 1, 3, 0), {"a": [(1, 1, 0)], "b": [(1, 1, 2)], "c": [(3, 1, 0)]},
        ("b", "c"), "b and c have rows for it, but no two of them meet at <b.x = c.k>",
    ),
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "row", "rows", "aliases", "reason"), BREAKS)
def test_a_break_says_what_is_missing_or_in_the_way(
    name: str, row: Row, rows: Rows, aliases: tuple[str, ...], reason: str, engine: str
) -> None:
    assert loaded(name, rows, engine).why_not(row) == [(aliases, reason)]
