"""Groups of more paths than there could be rows: they are counted, and no joined row is made."""

from __future__ import annotations

from decimal import Decimal

import pytest

import joingraph as jg

TABLES = {"t": "CREATE TABLE t (k INT, d DECIMAL(38,0))"}
ROW = (1, None)


def view(uses: int, what: str) -> jg.View:
    """Make a view of so many uses of one table."""
    joins = " ".join(f"JOIN t t{n} ON t{n}.k = t0.k" for n in range(1, uses))
    return jg.View(f"SELECT {what} FROM t t0 {joins}", TABLES)


def value(graph: jg.JoinGraph) -> object:
    (row,) = graph.scan().read_all().to_pylist()
    return row.popitem()[1]


def test_a_thousand_equal_rows_used_six_times_have_a_trillion_squared_paths() -> None:
    graph = jg.JoinGraph(view(6, "COUNT(*) AS n"))
    graph.load({"t": [ROW] * 1000})
    assert value(graph) == 10**18
    assert graph.insert("t", [ROW]).rows() == [
        ("update_preimage", (10**18,), 1),
        ("update_postimage", (1001**6,), 1),
    ]
    graph.delete("t", [ROW] * 901)
    assert value(graph) == 100**6
    graph.check()


def test_a_count_beyond_bigint_is_refused_by_name_and_leaves_no_trace() -> None:
    graph = jg.JoinGraph(view(7, "COUNT(*) AS n"))
    beyond = rf"COUNT\(\*\) is {10**21}, which BIGINT does not hold; nothing was applied"
    with pytest.raises(jg.DiffError, match=beyond):
        graph.load({"t": [ROW] * 1000})
    assert value(graph) == 0
    graph.insert("t", [ROW] * 500)
    with pytest.raises(jg.DiffError, match=rf"COUNT\(\*\) is {512**7}, which BIGINT"):
        graph.apply([("insert", "t", [ROW] * 12)])
    assert value(graph) == 500**7
    graph.check()


def test_sums_too_wide_for_too_many_joined_rows_are_refused_and_others_go_on() -> None:
    graph = jg.JoinGraph(view(5, "SUM(t0.d) AS s"))
    graph.load({"t": [ROW] * 1000})
    for _ in range(2):
        with pytest.raises(jg.LimitError, match="126 bits, and its joined rows are too many"):
            graph.insert("t", [(1, Decimal(10) ** 30)])
        graph.insert("t", [(1, Decimal(-2))])
    assert value(graph) == -4 * 1002**4
    graph.check()
