"""Groups, deltas and merged copies of views with outer joins, EXISTS and IN."""

from __future__ import annotations

import pytest

import joingraph as jg
from joingraph.pipeline.sinks.merge import merge_of
from tests import ENGINES
from tests.outer import Feed, fold, rows_of, view_of
from tests.test_pipeline_merging import Copy, merged

LEFT, FULL = (f"FROM a {kind} JOIN b ON a.k = b.k" for kind in ("LEFT", "FULL"))
EXISTS = "EXISTS (SELECT 1 FROM b WHERE b.k = a.k)"
GROUPED = {
    "left": f"SELECT a.x, COUNT(*) AS n, COUNT(b.i) AS m, SUM(b.x) AS s {LEFT} GROUP BY a.x",
    "of NULLs": f"SELECT a.x, SUM(COALESCE(b.x, 5)) AS s {LEFT} GROUP BY a.x",
    "by what may be missing": f"SELECT b.x, COUNT(*) AS n {LEFT} GROUP BY b.x",
    "full": f"SELECT a.x, b.x AS y, COUNT(*) AS n, MIN(b.i) AS m {FULL} GROUP BY a.x, b.x",
    "exists": f"SELECT a.x, COUNT(*) AS n FROM a WHERE {EXISTS} GROUP BY a.x",
    "not exists": f"SELECT a.x, MAX(a.i) AS n FROM a WHERE NOT {EXISTS} GROUP BY a.x",
    "mark": f"SELECT {EXISTS} AS e, COUNT(*) AS n FROM a GROUP BY 1",
    "whole": f"SELECT COUNT(*) AS n, COUNT(b.i) AS m {LEFT}",
    "having": f"SELECT a.x, COUNT(b.i) AS n {LEFT} GROUP BY a.x HAVING COUNT(b.i) > 1",
    "distinct": f"SELECT DISTINCT a.x, b.x AS y {LEFT}",
}


@pytest.mark.parametrize("name", GROUPED)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["rows", "idiffs"])
def test_groups_follow_rows_of_nulls(name: str, engine: str, form: str) -> None:
    view, feed = view_of(GROUPED[name]), Feed(41)
    graph = jg.JoinGraph(view, engine=engine)
    held, copy = rows_of(graph.scan()), graph.to_arrow()
    for batch in feed.batches(view, 12):
        diff = graph.apply(batch, form=form)
        copy = jg.apply_idiffs(copy, diff.idiffs())
        right = feed.answer(view)
        if form == "rows":
            fold(held, diff)
            assert held == right
        assert rows_of(graph.scan()) == rows_of(copy.to_batches()) == right
        assert graph.count() == sum(right.values())
        for row in right:
            assert graph.why(row) or name == "whole"
        graph.check()


@pytest.mark.parametrize("form", ["deltas", "factorised"])
def test_deltas_of_groups_add_up_to_their_totals(form: str) -> None:
    view, feed = view_of(GROUPED["left"]), Feed(42)
    graph = jg.JoinGraph(view, keep_groups=False)
    totals: dict[object, list[int]] = {}
    for batch in feed.batches(view, 20):
        diff = graph.apply(batch, form=form)
        deltas = diff.deltas().table if form == "deltas" else diff.factorised().flatten()
        for each in deltas.to_pylist():
            held = totals.setdefault(each["x"], [0, 0])
            held[0] += each["n"]
            held[1] += each["m"]
    right = {row[0]: list(row[1:3]) for row in feed.answer(view)}
    assert {x: held for x, held in totals.items() if held[0]} == right


@pytest.mark.parametrize("name", ["left", "left, few columns", "full", "chain", "semi", "mark"])
def test_a_copy_kept_by_merge_is_the_view(name: str) -> None:
    view, feed = view_of(name), Feed(43)
    graph = jg.JoinGraph(view)
    copy: Copy = {}
    for batch in feed.batches(view, 25):
        merged(copy, view.schema.names, merge_of(graph.apply(batch), view.definition))
        assert copy == feed.answer(view)
