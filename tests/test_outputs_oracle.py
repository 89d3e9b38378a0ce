"""Random views and feeds in every form of view diffs and of reading, compared after every batch."""

from __future__ import annotations

from random import Random

import duckdb
import pytest

import joingraph as jg
from tests import ENGINES, first
from tests.oracle.case import Column, Fragment, Source, View
from tests.oracle.forms_outputs import Copy, rows_of
from tests.oracle.forms_search import search_forms
from tests.oracle.forms_why import check_every_why
from tests.oracle.kinds import INTEGER

CASES = 150
CHUNK = 10


@pytest.mark.parametrize("start", first(5, range(0, CASES, CHUNK)))
def test_every_form_agrees_with_a_recomputation(start: int) -> None:
    for seed in range(start, start + CHUNK):
        assert not search_forms([seed], engine=ENGINES[seed % len(ENGINES)]).failures


@pytest.mark.parametrize("start", first(2, range(0, CASES, CHUNK)))
def test_every_form_of_groups_agrees_with_a_recomputation(start: int) -> None:
    for seed in range(start, start + CHUNK):
        engine = ENGINES[seed % len(ENGINES)]
        assert not search_forms([seed], engine=engine, only="groups").failures


@pytest.mark.parametrize("seed", [320000025, 320000180])
def test_cases_that_once_disagreed_agree(seed: int) -> None:
    """Several aliases felt an update, one of them in what a key index alone keeps."""
    for engine in ENGINES:
        assert not search_forms([seed], 15, engine=engine).failures


@pytest.mark.parametrize("kind", ["arrow", "duckdb", "sqlite"])
def test_the_oracle_notices_a_copy_that_lost_a_row(kind: str) -> None:
    view = jg.View("SELECT a FROM t", {"t": "CREATE TABLE t (a INT)"}, dialect="duckdb")
    graph = jg.JoinGraph(view)
    graph.load({"t": [(1,), (2,)]})
    copy = Copy(graph.to_arrow(), Random(1), kind)
    idiffs = graph.insert("t", [(3,)]).idiffs()
    copy.apply(idiffs, rows_of(graph.to_arrow()))
    with pytest.raises(AssertionError, match=kind):
        copy.apply(idiffs, rows_of(graph.to_arrow()))


def test_the_oracle_recomputes_the_paths_of_a_row() -> None:
    """A base row that only DuckDB has is a path too few."""
    column = Column("x", INTEGER)
    fragment = Fragment("a.x", frozenset({("a", "x")}), bare=True)
    view = View((Source("a", "t", (column,), ("t",)),), (), (fragment,), "comma")
    graph = jg.JoinGraph(jg.View(view.sql, {"t": "CREATE TABLE t (x INT)"}, dialect="duckdb"))
    graph.load({"t": [(1,), (2,), (2,)]})
    judge = duckdb.connect()
    judge.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1), (2), (2)) AS v (x)")
    check_every_why(graph, view, [(1,), (2,), (2,)], judge)
    judge.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(AssertionError, match="paths over"):
        check_every_why(graph, view, [(1,), (2,), (2,)], judge)
