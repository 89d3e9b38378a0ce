"""The first paths behind a row or a group, and how many rows all of them make."""

from __future__ import annotations

import pytest

import joingraph as jg
from tests import ENGINES

TABLES = {
    "f": "CREATE TABLE f (a BIGINT, fan BIGINT)",
    "t": "CREATE TABLE t (a BIGINT, id BIGINT)",
}
JOINED = "FROM f JOIN t ON f.a = t.a"
FANS, TWEETS = 30, 40


def graph_of(sql: str, engine: str) -> jg.JoinGraph:
    """Make a graph in which every fan has every tweet, but for one fan of another author."""
    graph = jg.JoinGraph(jg.View(sql, TABLES), engine=engine)
    fans = [*((1, fan) for fan in range(FANS)), (2, 5)]
    graph.load({"f": fans, "t": [*((1, tweet) for tweet in range(TWEETS)), (2, 7)]})
    return graph


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_paths_of_a_group_come_with_the_number_of_its_rows(engine: str) -> None:
    graph = graph_of(
        f"SELECT f.a, MAX(f.fan) AS fan, MAX(t.id) AS id {JOINED} GROUP BY f.a", engine
    )
    row = (1, FANS - 1, TWEETS - 1)
    found = graph.why(row, limit=3)
    assert (len(found), found.times) == (3, FANS * TWEETS)
    assert str(found).endswith("... of 1,200 joined rows in all")
    assert [each["f"]["a"] for each in found] == [1, 1, 1]
    whole = graph.why(row)
    assert len(whole) == whole.times == FANS * TWEETS and "in all" not in str(whole)
    assert all(each in whole for each in found)
    exact = graph.why((2, 5, 7), limit=1)
    assert (len(exact), exact.times) == (1, 1) and "in all" not in str(exact)
    none = graph.why((3, 5, 7), limit=1)
    assert (none, none.times) == ([], 0) and "why_not" in str(none)


@pytest.mark.parametrize("engine", ENGINES)
def test_equal_joined_rows_of_a_group_are_one_path(engine: str) -> None:
    graph = graph_of(f"SELECT f.a, COUNT(*) AS n {JOINED} GROUP BY f.a", engine)
    found = graph.why((1, FANS * TWEETS), limit=5)
    assert [(each.times, each.counts) for each in found] == [
        (FANS * TWEETS, {"f": FANS, "t": TWEETS})
    ]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "sql", [f"SELECT COUNT(f.fan) AS n {JOINED}", f"SELECT DISTINCT f.a {JOINED}"]
)
def test_groups_of_all_rows_and_of_distinct_ones_have_first_paths(sql: str, engine: str) -> None:
    graph = graph_of(sql, engine)
    row = (FANS * TWEETS + 1,) if "COUNT" in sql else (1,)
    found = graph.why(row, limit=1)
    assert len(found) == 1 and found.times == (row[0] if "COUNT" in sql else FANS * TWEETS)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_paths_of_a_row_come_with_the_times_it_is_there(engine: str) -> None:
    graph = graph_of(f"SELECT f.fan {JOINED} WHERE t.id + f.fan > 3", engine)
    found, whole = graph.why((5,), limit=4), graph.why((5,))
    assert len(found) == 4 and found.times == whole.times == TWEETS + 1 == len(whole)
    assert graph.why((5,), limit=TWEETS + 1) == whole
    assert (len(empty := graph.why((5,), limit=0)), empty.times) == (0, TWEETS + 1)
    with pytest.raises(jg.ViewError, match="limit: a whole number"):
        graph.why((5,), limit=-1)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_paths_of_an_outer_join_may_lack_a_side(engine: str) -> None:
    graph = graph_of("SELECT f.a, t.id FROM f LEFT JOIN t ON f.a = t.a AND t.id > 90", engine)
    found = graph.why((1, None), limit=2)
    assert found.times == FANS and str(found[0]).endswith("no row of t")
