"""Why a row is in the view, and why one is not: answers as data, and as people read them."""

from __future__ import annotations

import datetime as dt

import pytest

import joingraph as jg

TABLES = {
    "follower": "CREATE TABLE follower (author STRING, fan STRING)",
    "tweet": "CREATE TABLE tweet (author STRING, id BIGINT, size INT)",
    "retweet": "CREATE TABLE retweet (id BIGINT, by STRING, size INT)",
}
SQL = """CREATE VIEW feed AS SELECT F.fan, T.id, R.by FROM follower F
JOIN tweet T ON F.author = T.author JOIN retweet R ON R.id = T.id WHERE T.size < R.size"""


@pytest.fixture
def graph() -> jg.JoinGraph:
    """Ann has two fans and two tweets, joe a fan and a tweet; only tweet 1 has a retweet."""
    found = jg.JoinGraph(jg.View(SQL, TABLES))
    found.load(
        {
            "follower": [("ann", "bob"), ("ann", "eve"), ("joe", "bob")],
            "tweet": [("ann", 1, 5), ("ann", 2, 5), ("joe", 3, 5)],
            "retweet": [(1, "zoe", 7), (1, "zoe", 7), (1, "zoe", 8), (1, "max", 4)],
        }
    )
    return found


def test_why_gives_one_path_for_each_way_to_a_row(graph: jg.JoinGraph) -> None:
    paths = graph.why(("bob", 1, "zoe"))
    assert [path["R"] for path in paths] == [
        {"id": 1, "by": "zoe", "size": 7},
        {"id": 1, "by": "zoe", "size": 8},
    ]
    assert paths[0]["T"] == {"author": "ann", "id": 1, "size": 5}
    assert [path.times for path in paths] == [2, 1]
    assert paths[0].counts == {"F": 1, "T": 1, "R": 2}
    assert graph.why({"by": "zoe", "fan": "bob", "id": 1}) == paths


def test_a_path_is_printed_as_a_person_would_draw_it(graph: jg.JoinGraph) -> None:
    assert str(graph.why(("bob", 1, "zoe"))).splitlines() == [
        "F (author = 'ann', fan = 'bob')",
        "└─ {ann} ─ T (author = 'ann', id = 1, size = 5)",
        "   └─ {1} ─ R (id = 1, by = 'zoe', size = 7) x2",
        "",
        "F (author = 'ann', fan = 'bob')",
        "└─ {ann} ─ T (author = 'ann', id = 1, size = 5)",
        "   └─ {1} ─ R (id = 1, by = 'zoe', size = 8)",
    ]
    assert str(graph.why(("bob", 9, "zoe"))).startswith("no path leads to this row")


def test_branches_are_drawn_below_their_hub() -> None:
    tables = {name: f"CREATE TABLE {name} (a INT, d DATE)" for name in ("hub", "x", "y")}
    sql = "SELECT hub.a, x.d, y.d AS e FROM hub JOIN x ON hub.a = x.a JOIN y ON hub.d = y.d"
    graph = jg.JoinGraph(jg.View(sql, tables))
    day = dt.date(2020, 2, 29)
    graph.load({"hub": [(1, day)], "x": [(1, None)], "y": [(7, day)]})
    lines = str(graph.why((1, None, day))).splitlines()
    assert lines[0] == "hub (a = 1, d = 2020-02-29)"
    assert lines[1] == "├─ {1} ─ x (a = 1, d = NULL)"
    assert lines[2].startswith("└─ {") and lines[2].endswith("─ y (d = 2020-02-29)")


def test_why_goes_by_the_vertex_index(graph: jg.JoinGraph) -> None:
    graph.insert("tweet", [("ann", i, 5) for i in range(1000, 1500)])
    how = graph.explain(where="fan = 'bob' AND id = 1 AND by = 'zoe'")
    assert how.read().read_all().num_rows == 3
    assert how.touched.projected_tuples < 20


T_HELD = " (it holds only rows with T.author IS NOT NULL)"
F_HELD = T_HELD.replace("T.", "F.")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("bob", 9, "zoe"), [
            (("T",), f"no row of T with id = 9 in the graph{T_HELD}"),
            (("R",), "no row of R with by = 'zoe' and id = 9 in the graph")]),
        (("kim", 1, "zoe"), [(("F",), f"no row of F with fan = 'kim' in the graph{F_HELD}")]),
        (("bob", 1, None), [(("R",), "no row of R with by IS NULL and id = 1 in the graph")]),
        (("eve", 3, "zoe"), [(("R",), "no row of R with by = 'zoe' and id = 3 in the graph")]),
        (("bob", 1, "max"), [
            (("T", "R"),
             "residual predicate T.size < R.size is FALSE on the only candidate path")]),
        (("bob", 1, "zoe"), []),
    ],
)  # fmt: skip
def test_why_not_names_each_alias_that_lacks_a_row(
    graph: jg.JoinGraph, row: tuple[object, ...], expected: list[tuple[object, ...]]
) -> None:
    assert graph.why_not(row) == expected


def test_why_not_says_where_nobody_meets(graph: jg.JoinGraph) -> None:
    graph.insert("retweet", [(3, "zoe", 9)])
    said = "F and T have rows for it, but no two of them meet at <F.author = T.author>"
    assert graph.why_not(("eve", 3, "zoe")) == [(("F", "T"), said)]
    assert str(graph.why_not(("eve", 3, "zoe"))) == f"F, T: {said}"


def test_why_not_names_the_value_at_which_nobody_meets() -> None:
    tables = {"f": "CREATE TABLE f (u INT, x INT)", "t": "CREATE TABLE t (u INT, v INT, y INT)"}
    sql = "SELECT f.u, f.x, t.y, g.x AS z FROM f JOIN t ON f.u = t.u JOIN f g ON g.u = t.v"
    graph = jg.JoinGraph(jg.View(sql, tables))
    graph.load({"f": [(5, 1), (6, 1)], "t": [(5, 7, 2)]})
    said = "t and g have rows for it, but no two of them meet at <t.v = g.u>"
    assert graph.why_not((5, 1, 2, 1)) == [(("t", "g"), said)]
    lacks = (
        "no row of t with y = 2 and u = 6 in the graph (it holds only rows with t.v IS NOT NULL)"
    )
    assert graph.why_not((6, 1, 2, 1)) == [(("t",), lacks)]


def test_why_not_counts_what_a_predicate_is_on_the_candidates(graph: jg.JoinGraph) -> None:
    graph.insert("retweet", [(1, "kay", None), (1, "kay", 3), (1, "kay", 2)])
    ((aliases, reason),) = graph.why_not(("eve", 1, "kay"))
    assert aliases == ("T", "R")
    assert reason.endswith("T.size < R.size is FALSE on 2 and NULL on 1 of all 3 candidate paths")


def test_why_not_finds_breaks_in_several_branches() -> None:
    tables = {name: f"CREATE TABLE {name} (a INT, b INT)" for name in ("hub", "x", "y")}
    sql = (
        "SELECT hub.a + 0 AS h, x.b AS p, y.b AS q FROM hub, x, y WHERE hub.a = x.a AND hub.b = y.a"
    )
    graph = jg.JoinGraph(jg.View(sql, tables))
    graph.load({"hub": [(1, 1)], "x": [(2, 7)], "y": [(3, 8)]})
    assert [aliases for aliases, _ in graph.why_not((1, 7, 8))] == [("hub", "x"), ("hub", "y")]


def test_why_not_says_what_the_view_itself_rules_out() -> None:
    tables = {"r": "CREATE TABLE r (a INT)", "s": "CREATE TABLE s (a INT, b DOUBLE)"}
    sql = "SELECT r.a, s.a AS c, 1 AS one, r.a + s.b AS n FROM r JOIN s ON r.a = s.a AND s.b < 9"
    graph = jg.JoinGraph(jg.View(sql, tables))
    graph.load({"r": [(4,)], "s": [(4, 1.0)]})
    assert graph.why_not((4, 4, 1, 5.0)) == []
    assert graph.why_not((4, 5, 1, 5.0)) == [
        (("r", "s"), "r.a and s.a are equal in every row of the view")
    ]
    assert graph.why_not((4, 4, 2, 5.0)) == [((), "1 = 2 in no row of the view")]
    ((aliases, reason),) = graph.why_not((4, 4, 1, 6.0))
    assert aliases == ("r", "s") and "= 6.0 is FALSE on the only candidate path" in reason
    graph.delete("s", [(4, 1.0)])
    ((_, reason),) = graph.why_not((4, 4, 1, 5.0))
    assert reason == "no row of s with a = 4 in the graph (it holds only rows with s.b < 9.0)"


def test_minus_zero_is_another_row_than_zero() -> None:
    graph = jg.JoinGraph(jg.View("SELECT x FROM t", {"t": "CREATE TABLE t (x DOUBLE)"}))
    graph.load({"t": [(0.0,), (float("nan"),)]})
    assert [len(graph.why((x,))) for x in (0.0, -0.0, float("nan"))] == [1, 0, 1]
    ((_, reason),) = graph.why_not((-0.0,))
    assert reason.endswith("-0.0 and 0.0 are two values")


def test_a_row_that_does_not_fit_the_view_is_refused(graph: jg.JoinGraph) -> None:
    for row, said in (
        (("bob", 1), "feed has 3 columns"),
        ({"fan": "bob", "id": 1, "bye": "zoe"}, 'did you mean "by"'),
        (("bob", "one", "zoe"), "id"),
    ):
        for question in (graph.why, graph.why_not):
            with pytest.raises(jg.DiffError, match=said):
                question(row)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_why_not_says_that_rows_with_null_in_a_join_column_are_not_held(engine: str) -> None:
    tables = {
        "t": "CREATE TABLE t (id INT NOT NULL, a INT, b STRING, x INT)",
        "u": "CREATE TABLE u (id INT, a INT, b STRING, y INT)",
    }
    sql = "SELECT t.x, u.a, u.y FROM t JOIN u ON t.id = u.id AND t.a = u.a AND t.b <=> upper(u.b)"
    graph = jg.JoinGraph(jg.View(sql, tables), engine=engine)
    graph.insert("t", [(1, None, "B", 10)])
    graph.insert("u", [(None, 5, "b", 20)])
    held = "(it holds only rows with"
    assert graph.why_not((10, 5, 20)) == [
        (("t",), "no row of t with x = 10 and a = 5 in the graph"),
        (("u",), f"no row of u with a = 5 and y = 20 in the graph {held} u.id IS NOT NULL)"),
    ]
    ((_, t), (_, u)) = graph.why_not((10, None, 20))
    assert t == f"no row of t with x = 10 in the graph {held} t.a IS NOT NULL)"
    assert u.endswith(f"in the graph {held} u.id IS NOT NULL AND u.a IS NOT NULL)")
    graph.insert("t", [(1, 5, None, 10)])
    graph.insert("u", [(1, 5, None, 20)])
    assert graph.why_not((10, 5, 20)) == []
