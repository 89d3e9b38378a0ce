"""Reading on demand: conditions, orders and limits, and how little of the graph they touch."""

from __future__ import annotations

import datetime as dt

import pytest

import joingraph as jg
from joingraph.generators.reads.scan import BLOCK, repeated
from tests import ENGINES

TABLES = {
    "follower": "CREATE TABLE follower (author INT, fan STRING)",
    "tweet": "CREATE TABLE tweet (author INT, id BIGINT, day DATE, size INT)",
    "retweet": "CREATE TABLE retweet (id BIGINT, by STRING, size INT)",
}
SQL = """CREATE VIEW feed AS SELECT F.fan, T.author, T.id, T.day, R.by, T.size + R.size AS size
FROM follower F JOIN tweet T ON F.author = T.author JOIN retweet R ON R.id = T.id"""
AUTHORS, FANS, TWEETS = 20, 10, 200  # each author has 10 fans and 10 tweets, each tweet a retweet
FIRST = dt.date(2020, 1, 1)


@pytest.fixture(params=ENGINES)
def graph(request: pytest.FixtureRequest) -> jg.JoinGraph:
    """2,000 rows: tweet i is of author i % 20, of day i, with one retweet."""
    found = jg.JoinGraph(jg.View(SQL, TABLES), engine=request.param)
    found.load(
        {
            "follower": [(a, f"fan{f}") for a in range(AUTHORS) for f in range(FANS)],
            "tweet": [(i % AUTHORS, i, FIRST + dt.timedelta(i), i % 7) for i in range(TWEETS)],
            "retweet": [(i, f"by{i % 3}", i % 5) for i in range(TWEETS)],
        }
    )
    return found


def read(how: jg.Explanation) -> tuple[int, int]:
    """Read what is explained; tell how many rows there are, and projected tuples touched."""
    rows = how.read().read_all().num_rows
    return rows, how.touched.projected_tuples


class About(int):
    """A count that the compiled graph may pass: it goes in pieces, and tells equal rows apart."""

    def __eq__(self, found: object) -> bool:
        return isinstance(found, int) and self <= found <= 4 * self

    __hash__ = int.__hash__


def test_an_equality_on_a_join_attribute_starts_at_its_vertex_value(graph: jg.JoinGraph) -> None:
    how = graph.explain(where="id = 7")
    assert "start    T, vertex index <T.id = R.id>, 1 value" in str(how)
    assert read(how) == (10, 21)  # 1 tweet, its 10 fans, the retweet for each of them


def test_a_join_attribute_of_another_alias_of_the_class_will_do() -> None:
    sql = "SELECT F.author, T.id FROM follower F JOIN tweet T ON F.author = T.author"
    graph = jg.JoinGraph(jg.View(sql, TABLES))
    graph.load({"follower": [(1, "x")] * 3, "tweet": [(a, a, None, 0) for a in range(50)]})
    how = graph.explain(where="author IN (1, 1, NULL, 99)")
    assert read(how) == (3, 2)


def test_an_or_leads_to_an_index_only_if_each_side_of_it_does(graph: jg.JoinGraph) -> None:
    assert read(graph.explain(where="id = 7 OR 8 = id OR id = CAST('9' AS BIGINT)")) == (30, 63)
    assert read(graph.explain(where="id = 7 OR FALSE OR id = NULL")) == (10, 21)
    for always in ("id = 7 OR 1 = 1", "id = 7 OR TRUE", "id IN (7) OR id IS NOT NULL"):
        assert graph.scan(where=always).read_all().num_rows == graph.count(always) == 2000
    assert graph.count(where="id = 7 OR fan = 'fan1'") == 209


def test_a_condition_is_decided_as_soon_as_its_aliases_are_bound(graph: jg.JoinGraph) -> None:
    told = str(graph.explain(where="id = 7 AND fan = 'fan1' AND size > 1 AND by <> 'by0'"))
    assert told.index("where T.id = 7") < told.index("hop      v0 to F")
    assert told.index("to F") < told.index("where F.fan = 'fan1'") < told.index("to R")
    assert read(graph.explain(where="id = 7 AND fan = 'fan1'")) == (1, 12)


def test_a_condition_that_may_raise_meets_rows_of_the_view_only() -> None:
    tables = {"t": "CREATE TABLE t (a INT, b INT)", "u": "CREATE TABLE u (a INT)"}
    graph = jg.JoinGraph(jg.View("SELECT t.a, t.b FROM t JOIN u ON t.a = u.a", tables))
    graph.load({"t": [(1, 4), (2, 0)], "u": [(1,)]})  # 8 / 0 stands beside the view
    assert graph.scan(where="8 / b > 1").read_all().to_pylist() == [{"a": 1, "b": 4}]
    assert graph.count(where="8 / b > 1") == 1
    graph.insert("u", [(2,)])
    with pytest.raises(jg.DiffError, match="division"):
        graph.count(where="8 / b > 1")


def test_a_read_of_everything_counts_what_it_touches_too(graph: jg.JoinGraph) -> None:
    how = graph.explain()
    assert read(how) == (2000, 20 * FANS + 2000 + 2000)  # each fan, his tweets, their retweets
    assert str(how).endswith("touched  4020 join tuples, 4200 projected tuples")


def test_without_an_index_everyone_is_asked(graph: jg.JoinGraph) -> None:
    how = graph.explain(where="day = DATE '2020-01-03'")
    assert "full scan" in str(how)
    rows, touched = read(how)
    assert (rows, touched > TWEETS) == (10, True)


def test_a_declared_index_is_used_for_points_and_ranges(graph: jg.JoinGraph) -> None:
    graph.index("day")
    one = graph.explain(where="day = DATE '2020-01-03'")
    assert 'start    T, secondary index "day", 1 value' in str(one)
    assert read(one) == (10, 21)
    assert read(graph.explain(where="day >= '2020-01-03' AND day < '2020-01-05'")) == (20, 42)
    assert read(graph.explain(where="day BETWEEN '2020-01-03' AND '2020-01-05'")) == (30, 63)
    assert read(graph.explain(where="day > '2030-01-01'")) == (0, 0)


def test_an_index_follows_every_change(graph: jg.JoinGraph) -> None:
    graph.index("day")
    tweet = (0, 0, FIRST, 0)
    graph.update("tweet", [tweet], [(0, 0, None, 0)])
    assert graph.count(where="day = DATE '2020-01-01'") == 0
    assert graph.count(where="day IS NULL") == 10
    graph.delete("tweet", [(0, 0, None, 0)])
    graph.insert("tweet", [tweet, tweet])
    assert read(graph.explain(where="day = DATE '2020-01-01'")) == (20, About(21))
    graph.check()
    assert graph.stats()["indexes"]["day"]["entries"] in (TWEETS, TWEETS + 1)  # one twice


def test_a_batch_that_is_refused_on_the_way_leaves_the_index_as_it_was() -> None:
    tables = {"r": "CREATE TABLE r (a INT, x INT)", "s": "CREATE TABLE s (a INT, y INT)"}
    sql = "SELECT r.x, r.x / s.y AS q FROM r JOIN s ON r.a = s.a"
    graph = jg.JoinGraph(jg.View(sql, tables))
    graph.index("x")
    graph.insert("s", [(1, 0)])
    with pytest.raises(jg.DiffError, match="division"):
        graph.insert("r", [(1, 6)])
    graph.check()
    assert graph.stats()["indexes"]["x"]["entries"] == 0


def test_the_first_rows_come_from_a_sorted_start(graph: jg.JoinGraph) -> None:
    how = graph.explain(order_by="day DESC", limit=5)
    assert "T.day DESC NULLS LAST: sorted start" in str(how)
    table = how.read().read_all()
    assert table["day"].to_pylist() == [FIRST + dt.timedelta(TWEETS - 1)] * 5
    assert how.touched.projected_tuples <= TWEETS + 40  # all are sorted, few are walked from


def test_the_first_rows_of_an_indexed_order_touch_next_to_nothing(graph: jg.JoinGraph) -> None:
    graph.index("day")
    how = graph.explain(order_by=["day DESC", "id"], limit=5)
    assert 'secondary index "day", in its order' in str(how)
    assert read(how) == (5, About(11))


def test_the_first_rows_at_a_vertex_value_are_sorted_there(graph: jg.JoinGraph) -> None:
    how = graph.explain(where="author = 3", order_by="day", limit=5)
    assert "vertex index <F.author = T.author>" in str(how) and "sorted start" in str(how)
    assert read(how) == (5, About(20))  # the author's 10 tweets, 5 fans, the retweet for each


def test_an_order_over_several_aliases_keeps_the_best_of_all(graph: jg.JoinGraph) -> None:
    how = graph.explain(order_by=["size DESC", "fan"], limit=3)
    assert "heap of 3" in str(how)
    rows = how.read().read_all().to_pylist()
    assert [(row["size"], row["fan"]) for row in rows] == [(10, "fan0")] * 3


def test_all_rows_can_be_put_in_order(graph: jg.JoinGraph) -> None:
    fans = graph.scan(order_by="fan").read_all()["fan"].to_pylist()
    assert len(fans) == 2000 and fans == sorted(fans)


@pytest.mark.parametrize(
    ("dialect", "ascending", "descending"),
    [
        ("spark", [None, 1, 2], [2, 1, None]),
        ("sqlite", [None, 1, 2], [2, 1, None]),
        ("duckdb", [1, 2, None], [2, 1, None]),
        ("postgres", [1, 2, None], [None, 2, 1]),
    ],
)
def test_nulls_stand_where_the_dialect_puts_them(
    dialect: str, ascending: list[int | None], descending: list[int | None]
) -> None:
    graph = jg.JoinGraph(jg.View("SELECT n FROM t", {"t": "CREATE TABLE t (n INT)"}, dialect))
    graph.load({"t": [(2,), (None,), (1,)]})
    for order, expected in (
        ("n", ascending),
        ("n DESC", descending),
        ("n NULLS FIRST", [None, 1, 2]),
        ("n DESC NULLS LAST", [2, 1, None]),
    ):
        for limit in (None, 2):
            found = graph.scan(order_by=order, limit=limit).read_all()["n"].to_pylist()
            assert found == expected[:limit], order


def test_a_limit_cuts_rows_and_not_paths() -> None:
    graph = jg.JoinGraph(jg.View("SELECT n FROM t", {"t": "CREATE TABLE t (n INT)"}))
    graph.load({"t": [(1,)] * 5})
    assert [graph.scan(limit=n).read_all().num_rows for n in (0, 1, 3, 9)] == [0, 1, 3, 5]


def test_count_filters_what_its_messages_sum_up(graph: jg.JoinGraph) -> None:
    assert graph.count() == 2000
    assert graph.count(where="fan = 'fan3'") == 200
    assert graph.count(where="author = 3 AND by = 'by1'") == 30
    assert graph.count(where="size = 4 OR fan = 'fan1'") == len(
        [1 for row in graph.to_arrow().to_pylist() if row["size"] == 4 or row["fan"] == "fan1"]
    )
    assert graph.count(where="1 = 0") == graph.count(where="fan = NULL") == 0


def test_partitions_give_the_view_exactly_once(graph: jg.JoinGraph) -> None:
    parts = [part.read().read_all() for part in graph.partitions(3)]
    rows = [str(row) for part in parts for row in part.to_pylist()]
    assert sorted(rows) == sorted(map(str, graph.to_arrow().to_pylist()))
    assert all(part.num_rows > 500 for part in parts)


def test_a_part_or_an_explained_read_that_outlives_a_change_says_so(graph: jg.JoinGraph) -> None:
    (part,), how = graph.partitions(1), graph.explain(where="id = 7")
    graph.insert("retweet", [(7, "eve", 1)])
    for reader in (part.read(), how.read()):
        with pytest.raises(jg.StoreError, match="scan again"):
            reader.read_all()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"where": "day = ? "}, "where: line 1, column 7"),
        ({"where": "fan = 'x' AND\ndya = 1"}, 'line 2, column 1: feed has no column "dya"; did yo'),
        ({"where": "F.fan = 'x'"}, 'no table or alias is called "F" here'),
        ({"where": "id = 1; DROP TABLE t"}, "where: "),
        ({"where": "id = 1 LIMIT 3"}, "line 1, column 8"),
        ({"where": "id + 1"}, "a condition must be BOOLEAN, and this is BIGINT"),
        ({"where": "count(*) > 1"}, r"count\(\) is not taken"),
        ({"where": ""}, "exactly one is needed"),
        ({"where": 7}, "SQL is a text, found int"),
        ({"where": "(" * 60 + "id = 1" + ")" * 60}, "nests deeper"),
        ({"order_by": "ids"}, 'order_by: line 1, column 1: feed has no column "ids"; did you mean'),
        ({"order_by": "1"}, "a constant orders nothing"),
        ({"order_by": "id, fan"}, "column 3"),
        ({"limit": -1}, "limit: a whole number, 0 or more, is needed; found -1"),
        ({"limit": True}, "limit"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    graph: jg.JoinGraph, asked: dict[str, object], said: str
) -> None:
    with pytest.raises(jg.ViewError, match=said):
        graph.scan(**asked)  # type: ignore[arg-type]  # wrong on purpose


def test_an_index_on_what_is_kept_nowhere_is_refused(graph: jg.JoinGraph) -> None:
    with pytest.raises(jg.ViewError, match='did you mean "day"'):
        graph.index("days")
    with pytest.raises(jg.ViewError, match=r"computed on the path, as T.size \+ R.size"):
        graph.index("size")
    graph.index("DAY")
    graph.index("day")
    assert list(graph.stats()["indexes"]) == ["day"]


def test_columns_are_named_in_any_case_bare_or_after_the_view(graph: jg.JoinGraph) -> None:
    assert graph.count(where="feed.ID = 7 AND Fan = 'fan1'") == 1


def test_a_row_is_repeated_block_by_block_however_often_it_counts() -> None:
    assert [each.tolist() for each in repeated([2, 0, 1])] == [[0, 0, 2]]
    assert list(repeated([])) == []
    assert [len(each) for each in repeated([1, 2 * BLOCK])] == [BLOCK, BLOCK, 1]
    for counts in ([1, 2**62, 2**62, 2**62], [1, 2**80]):
        first = next(repeated(counts))
        assert first.tolist() == [0] + [1] * (BLOCK - 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_may_say_in_which_order_it_is_read(engine: str) -> None:
    tables = {"t": "CREATE TABLE t (a BIGINT, s STRING)", "u": "CREATE TABLE u (a BIGINT, n INT)"}
    rows = {"t": [(1, "x"), (1, "b"), (2, "c")], "u": [(1, 3), (2, 9), (1, None)]}
    sql = "SELECT t.s, u.n + 1 AS m FROM t JOIN u ON t.a = u.a"
    expected = [("c", 10), ("b", 4), ("x", 4), ("b", None), ("x", None)]
    for order in ("m DESC, 1", "u.n + 1 DESC, s", "2 DESC, t.s ASC"):
        graph = jg.JoinGraph(jg.View(f"{sql} ORDER BY {order}", tables), engine=engine)
        graph.load(rows)
        assert [tuple(row.values()) for row in graph.to_arrow().to_pylist()] == expected
        assert graph.scan(limit=1).read_all().to_pylist() == [{"s": "c", "m": 10}]
        by_name = graph.scan(order_by="s", limit=1).read_all().to_pylist()
        assert by_name[0]["s"] == "b"
        parts = [part.read().read_all().num_rows for part in graph.partitions(2)]
        assert sum(parts) == graph.count() == 5
