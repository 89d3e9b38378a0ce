"""Rows of outer joins that cannot be computed are refused as other rows are; rebuilt views."""

from __future__ import annotations

from pathlib import Path

import pytest

import joingraph as jg
from tests import ENGINES
from tests.outer import TABLES, rows_of, view_of

DIVIDED = "SELECT a.i, 6 DIV COALESCE(b.x, 0) AS q FROM a LEFT JOIN b ON a.k = b.k"
FULL = "SELECT a.x, b.i, 6 DIV (a.x + b.x) AS q FROM a FULL JOIN b ON a.k = b.k"
MARKED = (
    "SELECT a.i, CASE WHEN EXISTS (SELECT 1 FROM b WHERE b.k = a.k) THEN 6 DIV a.x ELSE 0 END AS q"
    " FROM a"
)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_of_nulls_without_an_answer_is_refused(engine: str) -> None:
    graph = jg.JoinGraph(view_of(DIVIDED), engine=engine)
    with pytest.raises(jg.DiffError, match=r"load into a, row 1: .*division by zero.* a \(i = 2"):
        graph.load({"b": [(1, 1, 2)], "a": [(1, 1, 0), (2, 7, 0)]})
    assert graph.count() == 0
    graph.load({"b": [(1, 1, 2)], "a": [(1, 1, 0)]})
    with pytest.raises(jg.DiffError, match="division by zero"):
        graph.delete("b", [(1, 1, 2)])
    with pytest.raises(jg.DiffError, match="division by zero"):
        graph.insert("a", [(2, 7, 0)])
    assert rows_of(graph.scan()) == {(1, 3): 1}
    graph.check()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_load_that_makes_old_rows_be_marked_is_refused(engine: str) -> None:
    graph = jg.JoinGraph(view_of(MARKED), engine=engine)
    graph.load({"a": [(1, 1, 0), (2, 2, 3)]})
    with pytest.raises(jg.DiffError, match="nothing was loaded"):
        graph.load({"b": [(1, 1, 0)]})
    graph.load({"b": [(2, 2, 0)]})
    assert rows_of(graph.scan()) == {(1, 0): 1, (2, 2): 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_without_the_side_where_reads_start_are_looked_at(engine: str) -> None:
    graph = jg.JoinGraph(view_of(FULL), engine=engine)
    graph.load({"a": [(1, 1, 1)], "b": [(1, 1, 1), (2, 2, 0)]})
    with pytest.raises(jg.DiffError, match="division by zero"):
        graph.load({"a": [(2, 2, 0)]})
    assert rows_of(graph.scan()) == {(1, 1, 3): 1, (None, 2, None): 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_is_not_rebuilt_of_rows_that_an_inner_join_dropped(engine: str) -> None:
    inner, left = (view_of(f"SELECT a.i, b.x FROM a {j} JOIN b ON a.k = b.k") for j in ("", "LEFT"))
    graph = jg.JoinGraph(inner, engine=engine)
    graph.load({"a": [(1, 1, 0), (2, None, 0)], "b": [(1, 1, 5)]})
    with pytest.raises(jg.ViewError, match="no rows whose join attributes are NULL"):
        graph.rebuild(left)
    assert rows_of(graph.scan()) == {(1, 5): 1}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT a.i, b.x FROM a JOIN b ON a.k = b.k", {(1, 5): 1}),
        (
            "SELECT a.i FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
            {(2,): 1, (3,): 1},
        ),
        ("SELECT a.i, b.x FROM a FULL JOIN b ON a.k = b.k", None),
    ],
)
def test_a_view_is_rebuilt_of_rows_that_an_outer_join_kept(
    sql: str, rows: dict[tuple[int, ...], int] | None, tmp_path: Path, engine: str
) -> None:
    left = view_of("SELECT a.i, b.x FROM a LEFT JOIN b ON a.k = b.k")
    graph = jg.JoinGraph(left, path=tmp_path / "graph", engine=engine)
    graph.load({"a": [(1, 1, 0), (2, None, 0), (3, 3, 0)], "b": [(1, 1, 5), (2, None, 6)]})
    if rows is None:  # a row of b without a partner is shown now, and those with NULL are gone
        with pytest.raises(jg.ViewError, match="no rows whose join attributes are NULL"):
            graph.rebuild(view_of(sql))
    else:
        graph.rebuild(view_of(sql))
        assert rows_of(graph.scan()) == rows
    graph.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_text_that_joins_otherwise_is_another_view(engine: str) -> None:
    one = jg.View("SELECT a.i FROM a LEFT JOIN b ON a.k = b.k", {n: TABLES[n] for n in "ab"})
    other = jg.View("SELECT a.i FROM a RIGHT JOIN b ON a.k = b.k", {n: TABLES[n] for n in "ab"})
    assert one.definition != other.definition
    graph = jg.JoinGraph(one, engine=engine)
    graph.load({"a": [(1, 1, 0)], "b": [(1, 2, 5)]})
    with pytest.raises(jg.ViewError, match="no rows whose join attributes are NULL"):
        graph.rebuild(other)
