"""Aggregates over outer joins, EXISTS and IN: named shapes on random feeds, against DuckDB."""

from __future__ import annotations

import pytest

import joingraph as jg
from joingraph.common.errors import ViewError
from tests import first
from tests.judged import CREATE, Judged

AB = "a LEFT JOIN b ON a.k = b.k"

SHAPES = {
    "counts and sums of a missing row": (
        f"SELECT a.x AS g, COUNT(b.k), SUM(COALESCE(b.y, 5)), COUNT(*) FROM {AB} GROUP BY a.x"
    ),
    "grouped by the optional side": (
        f"SELECT b.x AS g, COUNT(*), SUM(a.x), MIN(a.y) FROM {AB} GROUP BY b.x"
    ),
    "grouped by what is two tables away": (
        "SELECT c.x AS g, COUNT(*), SUM(a.x), COUNT(b.y), SUM(COALESCE(d.y, 7)) FROM a"
        " LEFT JOIN (b JOIN c ON b.x = c.k) ON a.k = b.k LEFT JOIN d ON b.y = d.k GROUP BY c.x"
    ),
    "two optional sides at one value": (
        f"SELECT b.x AS g, c.y AS h, COUNT(*), SUM(a.x) FROM {AB} LEFT JOIN c ON a.k = c.k"
        " GROUP BY b.x, c.y"
    ),
    "optional below optional, one group": (
        f"SELECT COUNT(*), SUM(a.x), SUM(COALESCE(b.x, 3)), MAX(COALESCE(c.y, 4)) FROM {AB}"
        " LEFT JOIN c ON b.y = c.k"
    ),
    "optional below optional, grouped by the end": (
        f"SELECT c.x AS g, COUNT(*), SUM(a.x), COUNT(b.x) FROM {AB} LEFT JOIN c ON b.y = c.k"
        " GROUP BY c.x"
    ),
    "EXISTS below optional": (
        "SELECT a.x AS g, COUNT(*), COUNT(b.x) FROM a"
        " LEFT JOIN (b SEMI JOIN c ON b.y = c.k) ON a.k = b.k GROUP BY a.x"
    ),
    "NOT EXISTS below optional": (
        "SELECT b.x AS g, COUNT(*), SUM(a.x) FROM a"
        " LEFT JOIN (b ANTI JOIN c ON b.y = c.k) ON a.k = b.k GROUP BY b.x"
    ),
    "optional below EXISTS": (
        "SELECT a.x AS g, COUNT(*) FROM a"
        " WHERE EXISTS (SELECT 1 FROM b LEFT JOIN c ON b.y = c.k WHERE b.k = a.k) GROUP BY a.x"
    ),
    "EXISTS, NOT EXISTS and a mark beside the group's table": (
        "SELECT c.x AS g, COUNT(*),"
        " SUM(CASE WHEN EXISTS (SELECT 1 FROM d AS e WHERE e.y = a.y) THEN a.x ELSE 9 END)"
        " FROM a JOIN c ON a.k = c.k WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.x)"
        " AND NOT EXISTS (SELECT 1 FROM d WHERE d.k = a.y) GROUP BY c.x"
    ),
    "a mark where the tables meet": (
        "SELECT c.x AS g,"
        " SUM(CASE WHEN EXISTS (SELECT 1 FROM b WHERE b.k = a.k) THEN a.x ELSE 1 END)"
        " FROM a JOIN c ON a.k = c.k GROUP BY c.x"
    ),
    "FULL, grouped by a side": (
        "SELECT a.x AS g, COUNT(*), COUNT(b.x), SUM(COALESCE(b.y, 5))"
        " FROM a FULL JOIN b ON a.k = b.k GROUP BY a.x"
    ),
    "FULL, grouped beyond it": (
        "SELECT c.x AS g, COUNT(*), SUM(a.x), COUNT(b.x)"
        " FROM a FULL JOIN b ON a.k = b.k LEFT JOIN c ON b.y = c.k GROUP BY c.x"
    ),
    "FULL, one group that counts": "SELECT COUNT(*) FROM a FULL JOIN b ON a.k = b.k",
    "grouped by the key, and its NULL": (
        f"SELECT a.k AS g, COUNT(*), COUNT(b.k) FROM {AB} GROUP BY a.k"
    ),
    "grouped by the key, behind a gate": (
        f"SELECT a.k AS g, COUNT(*), COUNT(b.k) FROM {AB} AND a.x > 0 GROUP BY a.k"
    ),
    "one table on both sides": (
        "SELECT b.x AS g, COUNT(*), SUM(a.x), SUM(COALESCE(b.y, 5))"
        " FROM a LEFT JOIN a AS b ON a.k = b.k GROUP BY b.x"
    ),
    "one table on both sides, by different columns": (
        "SELECT a.x AS g, COUNT(*), SUM(b.x), SUM(COALESCE(b.y, 5))"
        " FROM a LEFT JOIN a AS b ON a.k = b.x GROUP BY a.x"
    ),
    "a condition after the join": (
        f"SELECT a.x AS g, COUNT(*), SUM(c.x) FROM {AB} JOIN c ON c.k = a.k"
        " WHERE b.x IS NULL OR b.y > 0 GROUP BY a.x"
    ),
    "IS NULL as group and argument, HAVING, FILTER": (
        "SELECT b.k IS NULL AS g, COUNT(*) FILTER (WHERE b.x IS NULL), AVG(b.y),"
        f" COUNT(DISTINCT b.x) FROM {AB} GROUP BY b.k IS NULL HAVING COUNT(*) > 1"
    ),
    "EXISTS and NOT EXISTS by an inequality": (
        "SELECT c.x AS g, COUNT(*), SUM(a.x) FROM a JOIN c ON a.k = c.k"
        " WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.x AND b.y < a.y)"
        " AND NOT EXISTS (SELECT 1 FROM d WHERE d.k = a.k AND d.x <> a.x) GROUP BY c.x"
    ),
    "optional by an inequality": (
        "SELECT c.x AS g, COUNT(*), SUM(b.x) FROM a JOIN c ON a.k = c.k"
        " LEFT JOIN b ON a.x = b.k AND b.y < a.y GROUP BY c.x"
    ),
    "FULL by an inequality": (
        "SELECT a.x AS g, COUNT(*), COUNT(b.x), SUM(COALESCE(b.y, 5))"
        " FROM a FULL JOIN b ON a.k = b.k AND b.y < a.y GROUP BY a.x"
    ),
}

# Shapes of which every side tells its sums; the groups of all others are made of the joined rows.
TOLD = {
    "FULL, one group that counts",
    "EXISTS below optional",
    "optional below EXISTS",
    "grouped by the key, and its NULL",
    "grouped by the key, behind a gate",
}

# What reads two tables of a side, needs a view of its own.
REFUSED = {
    "FULL of three by COALESCE": (
        (
            "SELECT c.x AS g, COUNT(*) FROM a FULL JOIN b ON a.k = b.k"
            " FULL JOIN c ON COALESCE(a.k, b.k) = c.k GROUP BY c.x"
        ),
        "COALESCE",
    ),
    "a residual predicate on a side": (
        "SELECT a.x FROM a LEFT JOIN (b JOIN c ON b.x = c.k AND b.y < c.y) ON a.k = b.k",
        "b.y < c.y.*asked of rows of one side.*keep a view",
    ),
    "ON of two tables of a side": (
        "SELECT a.x FROM a JOIN b ON a.k = b.k LEFT JOIN c ON c.k = a.x AND c.x = b.x",
        "several tables of one side.*keep a view",
    ),
    "FULL below an inner join": (
        "SELECT a.x FROM (a FULL JOIN b ON a.k = b.k) CROSS JOIN c",
        "FULL JOIN below an inner join.*keep a view",
    ),
    "a cycle on an optional side": (
        (
            "SELECT a.x FROM a LEFT JOIN (b JOIN c ON b.x = c.x JOIN d ON d.x = c.y AND d.y = b.y)"
            " ON a.k = b.k"
        ),
        "close a cycle on a side.*keep a view",
    ),
}


@pytest.mark.parametrize("name", first(20, list(SHAPES)))
def test_a_shape_of_aggregates_agrees_with_duckdb(name: str) -> None:
    for seed in range(2):
        Judged(SHAPES[name]).feed(seed, 25)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_goes_by_messages_where_each_side_can_tell_its_sums(name: str) -> None:
    view = jg.View(SHAPES[name], tables=CREATE)
    kept = "of the joined rows, each brought to its group"
    assert (kept not in view.explain()) == (name in TOLD)


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_join_vertex_can_hold_is_refused_with_its_remedy(name: str) -> None:
    sql, why = REFUSED[name]
    with pytest.raises(ViewError, match=f"(?is){why}"):
        Judged(sql)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_groups_that_a_delete_brings_are_bounded(engine: str) -> None:
    view = jg.View(
        "SELECT g, COUNT(*) AS n FROM a"
        " WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.x = a.k) GROUP BY g",
        {"a": "CREATE TABLE a (g INT, k INT)", "c": "CREATE TABLE c (x INT)"},
    )
    graph = jg.JoinGraph(view, engine=engine)
    graph.load({"a": [(i, i) for i in range(5)], "c": [(i,) for i in range(5)]})
    batch = [("delete", "c", [(i,) for i in range(5)])]
    assert graph.fanout(batch)[0] >= 5
    graph.max_view_diffs = 2
    with pytest.raises(jg.LimitError, match="max_view_diffs"):
        graph.apply(batch)
