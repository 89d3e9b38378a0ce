"""Reads of groups by their keys: the same answers as of all groups, of which one is looked at."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

import joingraph as jg
from joingraph.engines.grouping import GroupingEngine
from joingraph.reads.access_paths import AllGroups
from tests import ENGINES
from tests.test_groups import TABLES, drawn_row
from tests.test_messages import drawn_view

Row = dict[str, Any]


def literal(value: Any) -> str:
    """Write a value as SQL; of floats, as they are read back."""
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return f"CAST('{value}' AS DOUBLE)"
    return str(value)


def asked(chance: Random, view: jg.View, rows: list[Row]) -> str:
    """Draw a condition on columns of the key and perhaps on others, of rows that are there."""
    grouping = view.definition.grouping
    assert grouping is not None
    conditions, names = [], view.schema.names
    for name in names[: grouping.keys]:
        values = [row[name] for row in chance.sample(rows, min(3, len(rows)))]
        known = [literal(value) for value in values if value is not None]
        kind = chance.randrange(6)
        if not known:
            conditions.append(f"{name} IS NULL")
        elif kind == 0:
            conditions.append(f"{name} IN ({', '.join(known)})")
        elif kind == 1:
            conditions.append(f"({name} = {known[0]} OR {known[-1]} = {name})")
        elif kind == 2:
            conditions.append(f"{name} >= {known[0]}")
        elif kind > 3:
            conditions.append(f"{name} = {known[0]}")
    if chance.random() < 0.3:
        conditions.append(f"{names[-1]} IS NOT NULL")
    chance.shuffle(conditions)
    return " AND ".join(conditions) or f"{names[0]} IS NULL"


@pytest.mark.parametrize("seed", range(12))
def test_answers_are_those_of_all_groups(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(seed)
    view, tables = drawn_view(chance)
    rows = {table: [drawn_row(chance, table) for _ in range(25)] for table in tables}
    graphs = [jg.JoinGraph(view, engine=engine) for engine in ENGINES]
    graphs.append(jg.JoinGraph(view, keep_groups=False))
    for graph in graphs:
        graph.load(rows)
    shown = graphs[0].scan().read_all().to_pylist()
    where = [asked(chance, view, shown) for _ in range(8)]

    def answers(graph: jg.JoinGraph) -> list[Any]:
        found = [sorted(map(repr, graph.scan(each).read_all().to_pylist())) for each in where]
        paths = [sorted(str(graph.why(row)).splitlines()) for row in shown[:3]]
        others = [{**row, view.schema.names[-1]: None} for row in shown[:3]]
        whys = [str(graph.why_not(row)) for row in (*shown[:3], *others)]
        return [found, [graph.count(each) for each in where], paths, whys]

    by_key = [answers(graph) for graph in graphs]
    monkeypatch.setattr(GroupingEngine, "way_to", lambda *_: AllGroups())
    for graph, found in zip(graphs, by_key, strict=True):
        assert found == answers(graph)
    assert by_key[0][0] == by_key[1][0] == by_key[2][0]


@pytest.fixture(params=ENGINES)
def graph(request: pytest.FixtureRequest) -> jg.JoinGraph:
    sql = "SELECT t.x, t.txt, COUNT(*) AS n, SUM(t.s) AS s FROM t GROUP BY t.x, t.txt"
    graph = jg.JoinGraph(jg.View(sql, TABLES, dialect="duckdb"), engine=request.param)
    xs, texts = (0.0, -0.0, math.nan, None, 1.5, math.inf), ("a", None, "b")
    rows = [(1, 1, at, None, x, txt) for at in range(2) for x in xs for txt in texts]
    graph.load({"t": rows})
    return graph


@pytest.mark.parametrize(
    ("where", "count", "start"),
    [
        ("x = 0 AND txt = 'a'", 1, "the group by its key"),
        ("x = -0.0 AND txt = 'a'", 1, "the group by its key"),
        ("txt IS NULL AND x = CAST('nan' AS DOUBLE)", 1, "the group by its key"),
        ("x IS NULL AND txt IS NULL", 1, "the group by its key"),
        ("x IN (1.5, 0, 7) AND txt IN ('a', 'b', 'zoe')", 4, "9 groups by their keys"),
        ("x = 1.5 AND txt = 'a' AND n > 2", 0, "the group by its key"),
        ("x = 1.5 AND 1 / (n - 3) < 0", 3, "the groups whose keys pass"),
        ("x > 1 AND txt IS NULL", 3, "the groups whose keys pass"),
        ("n = 4", 3, "all groups"),
    ],
)
def test_a_key_is_looked_up(graph: jg.JoinGraph, where: str, count: int, start: str) -> None:
    how = graph.explain(where=where)
    assert str(how).splitlines()[1] == f"start    {start}"
    assert how.read().read_all().num_rows == graph.count(where) == count
    looked_at = {"all groups": 15, "the group by its key": 1, "9 groups by their keys": 4}
    if start in looked_at:
        assert how.touched.projected_tuples == looked_at[start]
    else:
        assert how.touched.projected_tuples < 15


def test_the_value_that_stands_for_null_is_not_null() -> None:
    view = jg.View(
        "SELECT a, COUNT(*) AS n FROM t GROUP BY a", {"t": "CREATE TABLE t (a BIGINT, b BIGINT)"}
    )
    graph = jg.JoinGraph(view)
    graph.load({"t": [(None, 1), (0, 1)]})
    assert graph.count("a = -8808932162772317281") == 0
    assert graph.count("a IS NULL") == graph.count("a = 0") == 1


def test_a_text_that_no_row_has_finds_no_group_and_stays_unknown(graph: jg.JoinGraph) -> None:
    assert graph.scan("txt = 'nobody' AND x = 0").read_all().num_rows == 0
    assert not graph.why((0.0, "nobody", 1, 1))
    assert "no row of t" in str(graph.why_not((0.0, "nobody", 1, 1)))
