"""Views of outer joins, EXISTS and IN agree with a recomputation; what the oracle has found."""

from __future__ import annotations

import pytest

import joingraph as jg
from tests import ENGINES, first
from tests.judged import Judged
from tests.oracle.run_outer import TAKEN, TAKEN_OUTER
from tests.oracle.search import search


@pytest.mark.parametrize("seed", first(1, range(0, 2000, 25)))
def test_random_views_of_outer_joins_agree_with_a_recomputation(seed: int) -> None:
    """Most are taken and have outer joins, EXISTS or IN; else the search is of nothing."""
    found = search(range(seed, seed + 25), only="outer")
    assert not found.failures, "\n\n".join(found.failures[:3])
    taken, outer = (found.inputs[name] for name in (TAKEN, TAKEN_OUTER))
    assert taken >= 10 and outer > taken / 2, found.inputs


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT c.x FROM a FULL JOIN b ON a.k = b.k LEFT JOIN c ON c.k = a.k",
        (
            "SELECT b.x FROM a FULL JOIN b ON a.k = b.k"
            " WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.k = a.k)"
        ),
        (
            "SELECT b.x FROM a FULL JOIN a AS b ON a.k = b.k"
            " WHERE NOT EXISTS (SELECT 1 FROM a AS c WHERE c.k = a.k)"
        ),
    ],
)
def test_what_hangs_on_one_side_of_a_full_join_does_not_meet_the_other(sql: str) -> None:
    """By the same key both would be at one vertex, where the side it hangs on may be missing."""
    judged = Judged(sql)
    judged.apply(("insert", "c", [(1, 3, 3)]), ("insert", "b", [(1, 4, 4), (2, 5, 5)]))
    judged.apply(("insert", "a", [(1, 1, 1)]))
    judged.apply(("delete", "c", [(1, 3, 3)]))
    judged.apply(("delete", "a", [(1, 1, 1)]))


def test_a_constant_does_not_spread_by_a_table_that_may_be_missing() -> None:
    """b.k equals both columns of a where b has a row; elsewhere they may differ."""
    judged = Judged("SELECT a.k, a.x, b.y FROM a LEFT JOIN b ON b.k = a.k AND b.k = a.x")
    judged.apply(("insert", "a", [(1, 2, 0), (2, 2, 0), (1, 1, 0)]), ("insert", "b", [(2, 2, 9)]))
    found = judged.graph.explain("k = 1").read().read_all().to_pylist()
    assert sorted((each["k"], each["x"], each["y"]) for each in found) == [
        (1, 1, None),
        (1, 2, None),
    ]
    assert judged.graph.count("k = 1") == 2


def test_a_load_is_checked_for_answers_beside_a_mark() -> None:
    """NOT EXISTS on a nullable table is a mark, which must be noted before it is tested."""
    judged = Judged(
        "SELECT b.x - c.x AS o FROM a LEFT JOIN (b FULL JOIN c ON 1 = 1) ON c.x = a.k"
        " WHERE NOT EXISTS (SELECT 1 FROM d WHERE d.x = b.x)"
    )
    judged.graph.load({"a": [(1, 1, 1)], "c": [(1, 1, 1)], "b": [(3, 3, 3)]})
    assert judged.graph.to_arrow().to_pylist() == [{"o": 2}]


@pytest.mark.parametrize("lookahead", ["none", "local", "global"])
@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("SELECT a.x FROM a LEFT JOIN (b JOIN c ON c.k = b.x) ON b.k = a.k", "b"),
        ("SELECT a.x FROM a JOIN c ON c.k = a.x FULL JOIN b ON b.k = a.k", "a"),
        (
            "SELECT a.x FROM a WHERE EXISTS (SELECT 1 FROM b JOIN c ON c.k = b.x WHERE b.k = a.k)",
            "exists.b",
        ),
    ],
)
def test_a_look_ahead_that_does_not_know_who_lives_is_refused(
    lookahead: str, sql: str, named: str
) -> None:
    """The first row that sits there may be a dead end: then it is no partner."""
    with pytest.raises(jg.ViewError, match=f"asks whether {named} has a row there.*choose exact"):
        Judged(sql, lookahead)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["INTEGER", "VARCHAR"])
def test_rows_of_either_side_of_a_full_join_expire_by_a_key_of_null(engine: str, kind: str) -> None:
    """The NULL of one side is another word than that of the other, so that they do not meet."""
    tables = {name: f"CREATE TABLE {name} (k {kind}, x INTEGER)" for name in "ab"}
    view = jg.View("SELECT a.x, b.x AS y FROM a FULL JOIN b ON a.k = b.k", tables=tables)
    graph = jg.JoinGraph(view, engine=engine)
    graph.load({"a": [(None, 1)], "b": [(None, 2)]})
    assert graph.expire("b", "k IS NULL").rows() == [("delete", (None, 2), 1)]
    assert graph.expire("a", "k IS NULL").rows() == [("delete", (1, None), 1)]
    graph.check()


@pytest.mark.parametrize("engine", ENGINES)
def test_reads_of_a_full_join_are_sorted_with_the_rows_of_either_side(engine: str) -> None:
    """Paths that begin on the far side know no rows of the near one."""
    tables = {name: f"CREATE TABLE {name} (k INTEGER, x INTEGER)" for name in "ab"}
    sql = "SELECT b.x, 1 AS one FROM a FULL JOIN b ON a.k = b.k"
    graph = jg.JoinGraph(jg.View(sql, tables=tables), engine=engine)
    graph.load({"a": [(1, 1)], "b": [(2, 5), (3, 4)]})
    read = graph.explain(order_by=["x"]).read().read_all()
    assert read.column("x").to_pylist() == [None, 4, 5]


@pytest.mark.parametrize("engine", ENGINES)
def test_fanout_is_a_bound_where_a_value_of_an_optional_side_is_computed(engine: str) -> None:
    """The value that is kept changes, and what is shown of it does not."""
    tables = {name: f"CREATE TABLE {name} (k INTEGER, x INTEGER)" for name in "ab"}
    sql = "SELECT b.x IS NULL AS none FROM a FULL JOIN b ON a.k = b.k"
    graph = jg.JoinGraph(jg.View(sql, tables=tables), engine=engine)
    graph.load({"a": [(1, 1)], "b": [(1, 5)]})
    update = [("update", "b", [(1, 5)], [(1, 6)])]
    rows, is_exact = graph.fanout(update)
    assert graph.what_if(update).rows() == [] and (rows == 0 or not is_exact)


def test_a_side_of_a_full_join_may_be_a_product() -> None:
    """Its vertex has no word, where the next one's NULL is set apart."""
    judged = Judged("SELECT b.x FROM a FULL JOIN (b CROSS JOIN c) ON 1 = 1")
    judged.apply(("insert", "b", [(1, 1, 1)]), ("insert", "c", [(2, 2, 2)]))
    assert len(judged.graph.why((1,))) == 1
    judged.apply(("insert", "a", [(1, 1, 1)]))
