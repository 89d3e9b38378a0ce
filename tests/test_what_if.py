"""what_if foretells what apply gives, fanout counts it, and both leave everything as it was."""

from __future__ import annotations

from random import Random

import pytest

import joingraph as jg
from joingraph.plan.view import View
from joingraph.view_diffs.formats import FORMS
from tests.oracle.forms_outputs import idiffs_bag

TABLES = {
    "follower": "CREATE TABLE follower (author STRING, fan STRING, since INT)",
    "tweet": "CREATE TABLE tweet (id BIGINT PRIMARY KEY, author STRING, text STRING, day INT)",
}
JOIN = "FROM follower F JOIN tweet T ON F.author = T.author"
SQL = f"SELECT F.fan, T.id, T.text {JOIN}"


def timeline(sql: str = SQL, on_missing: str = "error") -> jg.JoinGraph:
    """Three fans of ann, who has written tweet 7; bob also follows zed."""
    graph = jg.JoinGraph(View(sql, TABLES), on_missing=on_missing)
    fans = [("ann", "bob", 1), ("ann", "eve", 2), ("ann", "kim", 3), ("zed", "bob", 1)]
    graph.load({"follower": fans, "tweet": [(7, "ann", "a", 2)]})
    return graph


@pytest.mark.parametrize("form", FORMS)
def test_what_if_gives_what_apply_gives_and_applies_nothing(form: str) -> None:
    graph = timeline()
    before = graph.to_arrow()
    batch = [
        ("insert", "tweet", [(8, "ann", "b", 1)]),
        ("update", "tweet", [(7, "ann", "a", 2)], [(7, "zed", "c", 2)]),
        ("delete", "follower", [("ann", "eve", 2)]),
    ]
    asked = graph.what_if(batch, form=form)
    graph.check()
    assert graph.to_arrow().sort_by("fan") == before.sort_by("fan")
    done = graph.apply(batch, form=form)
    assert (asked.seq, repr(asked)) == (done.seq, repr(done))
    assert idiffs_bag(asked.idiffs()) == idiffs_bag(done.idiffs())
    if form != "idiffs":
        assert sorted(asked.rows()) == sorted(done.rows())


def test_what_if_answers_where_only_the_graph_is_maintained() -> None:
    graph = timeline()
    graph.maintain_only = True
    batch = [("delete", "tweet", [(7, "ann", "a", 2)])]
    assert len(graph.what_if(batch)) == 3
    assert len(graph.apply(batch)) == 0
    assert graph.insert("tweet", [(7, "ann", "a", 2)]).idiffs().parts == ()


def test_what_if_refuses_what_apply_refuses() -> None:
    batch = [("insert", "tweet", [(8, "ann", "b", 1)]), ("delete", "tweet", [(9, "x", "y", 1)])]
    graph = timeline()
    for call in (graph.what_if, graph.fanout, graph.apply):
        with pytest.raises(jg.DiffError, match="delete from tweet, row 0"):
            call(batch)
    with pytest.raises(jg.DiffError, match="delete from tweet, row 0"):
        graph.apply(batch, form="idiffs")
    assert graph.count() == 3
    graph = timeline(on_missing="quarantine")
    assert len(graph.what_if(batch)) == graph.fanout(batch)[0] == 3
    assert graph.quarantined() == []
    assert len(graph.apply(batch, form="idiffs").idiffs()) == 3
    assert len(graph.quarantined()) == 1


def test_a_reader_that_was_open_says_that_it_must_be_opened_again() -> None:
    graph = timeline()
    reader = graph.scan()
    graph.what_if([("delete", "tweet", [(7, "ann", "a", 2)])])
    with pytest.raises(jg.StoreError, match="scan again"):
        reader.read_all()


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="choose one of rows, net, idiffs, factorised"):
        timeline().apply([], form="csv")


@pytest.mark.parametrize(
    ("sql", "batch", "expected"),
    [
        (SQL, [("insert", "tweet", [(8, "ann", "b", 1)])], (3, True)),
        (SQL, [("delete", "tweet", [(7, "ann", "a", 2)])], (3, True)),
        (SQL, [("update", "tweet", [(7, "ann", "a", 2)], [(7, "ann", "b", 2)])], (6, True)),
        (SQL, [("update", "tweet", [(7, "ann", "a", 2)], [(7, "zed", "a", 2)])], (4, False)),
        (SQL, [("update", "tweet", [(7, "ann", "a", 2)], [(7, "nix", "a", 2)])], (3, True)),
        (SQL, [("insert", "tweet", [(8, "nix", "b", 1)])], (0, True)),
        (
            f"{SQL} WHERE F.since < T.day",
            [("insert", "tweet", [(8, "ann", "b", 3)])],
            (3, False),
        ),
        (
            f"SELECT F.since + T.day AS x {JOIN}",
            [("update", "tweet", [(7, "ann", "a", 2)], [(7, "ann", "a", 3)])],
            (6, False),
        ),
    ],
)
def test_fanout_counts_the_rows_or_bounds_them(
    sql: str, batch: list[tuple[object, ...]], expected: tuple[int, bool]
) -> None:
    graph = timeline(sql)
    found = graph.fanout(batch)
    assert found == expected
    rows = sum(count for _, _, count in graph.apply(batch).rows())
    assert rows == found[0] if found[1] else rows < found[0]


def test_fanout_does_not_make_what_it_counts() -> None:
    """A product of a hundred billion paths is counted as fast as one."""
    tables = {name: f"CREATE TABLE {name} (a INT, x INT)" for name in "abcdef"}
    joins = " ".join(f"JOIN {name} ON {name}.a = a.a" for name in "bcdef")
    graph = jg.JoinGraph(View(f"SELECT a.x FROM a {joins}", tables))
    graph.load({name: [(1, x) for x in range(160)] for name in "bcdef"})
    assert graph.fanout([("insert", "a", [(1, 1)])]) == (160**5, True)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a.x AS p, b.x AS q FROM t a JOIN t b ON a.k = b.k",
        "SELECT a.x, b.x AS y, c.x AS z FROM t a JOIN t b ON a.k = b.k JOIN t c ON b.x = c.k",
        "SELECT a.k FROM t a CROSS JOIN t b WHERE b.x > 0",
    ],
)
def test_fanout_of_a_self_join_is_exact_without_updates(sql: str, engine: str) -> None:
    """All rows of one insert come, and all of one delete go: none can cancel or pair up."""
    random = Random(3)
    graph = jg.JoinGraph(View(sql, {"t": "CREATE TABLE t (k INT, x INT)"}), engine=engine)
    rows: list[tuple[int, int]] = []
    for _ in range(30):
        batch: list[tuple[object, ...]] = []
        for _ in range(random.randint(1, 6)):
            if rows and random.random() < 0.4:
                batch.append(("delete", "t", [rows.pop(random.randrange(len(rows)))]))
            else:
                row = (random.randint(0, 2), random.randint(0, 2))
                rows += (same := [row] * random.randint(1, 2))
                batch.append(("insert", "t", same))
        expected = sum(count for _, _, count in graph.what_if(batch).rows())
        assert graph.fanout(batch) == (expected, True)
        graph.apply(batch)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_fanout_of_a_self_join_is_exact_for_deletes_by_key(engine: str) -> None:
    table = "CREATE TABLE t (id INT PRIMARY KEY, k INT)"
    sql = "SELECT a.id, b.id AS other FROM t a JOIN t b ON a.k = b.k"
    graph = jg.JoinGraph(View(sql, {"t": table}), engine=engine, key_index=["t"])
    graph.load({"t": [(1, 5), (2, 5), (3, 5), (4, 6)]})
    batch = [("delete", "t", [{"id": 1}, {"id": 4}]), ("insert", "t", [(5, 5)])]
    assert graph.fanout(batch) == (5 + 1 + 5, True)
    assert sum(count for _, _, count in graph.apply(batch).rows()) == 11
    moved = [("update", "t", [(2, 5)], [(2, 6)])]
    assert graph.fanout(moved)[1] is False
