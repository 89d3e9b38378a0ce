"""A graph goes on with another view, where it keeps all that the new one needs."""

from __future__ import annotations

from pathlib import Path

import pytest

import joingraph as jg
from tests.bags import bag

TABLES = {
    "follower": "CREATE TABLE follower (author BIGINT NOT NULL, fan BIGINT, since BIGINT)",
    "tweet": "CREATE TABLE tweet (author BIGINT NOT NULL, id BIGINT PRIMARY KEY, text STRING)",
}
OLD = "SELECT F.fan, T.id, T.text FROM follower F JOIN tweet T ON F.author = T.author"
TWEETS = [(author, 10 * author + i, f"t{i}") for author in range(4) for i in range(3)]
FOLLOWERS = [(author, fan, 0) for author in range(4) for fan in range(author)] * 2


def made(folder: Path | None, engine: str = "reference") -> jg.JoinGraph:
    graph = jg.JoinGraph(jg.View(OLD, TABLES), folder, engine=engine)
    graph.load({"follower": FOLLOWERS}, source="f", position=1)
    graph.insert("tweet", TWEETS)
    return graph


def rows(graph: jg.JoinGraph) -> object:
    return bag(tuple(row.values()) for row in graph.to_arrow().to_pylist())


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT T.id, F.fan FROM follower F JOIN tweet T ON F.author = T.author WHERE T.id > 15",
        "SELECT A.id AS one, B.id AS two FROM tweet A JOIN tweet B ON A.author = B.author",
        "SELECT text FROM tweet",
        "SELECT F.author, F.fan FROM follower F",
    ],
)
def test_the_new_view_is_what_it_would_be_from_the_source(
    tmp_path: Path, engine: str, sql: str
) -> None:
    view = jg.View(sql, TABLES)
    fresh = jg.JoinGraph(view, engine="reference")
    fresh.load({"follower": FOLLOWERS, "tweet": TWEETS})
    with made(tmp_path / "graph", engine) as graph:
        graph.rebuild(view)
        assert rows(graph) == rows(fresh)
        graph.check()
        assert graph.seq == 1
    with jg.open(tmp_path / "graph") as graph:
        assert rows(graph) == rows(fresh)
        assert graph.positions() == {"f": 1}
        if "tweet" in sql:
            graph.insert("tweet", [(2, 99, "new")])
            fresh.insert("tweet", [(2, 99, "new")])
        assert rows(graph) == rows(fresh)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT since FROM follower", "follower.since is not kept by its alias F"),
        ("SELECT a.x FROM other a", "no alias of the graph's view is of table other"),
    ],
)
def test_what_is_missing_is_named_by_column_and_nothing_is_changed(sql: str, said: str) -> None:
    graph = made(None)
    before = rows(graph)
    tables = {**TABLES, "other": "CREATE TABLE other (x INT)"}
    with pytest.raises(jg.ViewError, match=said):
        graph.rebuild(jg.View(sql, tables))
    assert rows(graph) == before


def test_rows_that_the_old_view_dropped_are_missed() -> None:
    old = "SELECT T.id, T.author FROM tweet T WHERE T.id > 5"
    graph = jg.JoinGraph(jg.View(old, TABLES), engine="reference")
    graph.rebuild(jg.View("SELECT id FROM tweet WHERE id > 5 AND author > 1", TABLES))
    with pytest.raises(jg.ViewError, match="only rows that meet a condition of its own"):
        graph.rebuild(jg.View("SELECT id FROM tweet WHERE author > 1", TABLES))
    nullable = {"r": "CREATE TABLE r (a INT, b INT)", "s": "CREATE TABLE s (a INT)"}
    graph = jg.JoinGraph(jg.View("SELECT r.b FROM r JOIN s ON r.a = s.a", nullable))
    with pytest.raises(jg.ViewError, match="no rows whose join attributes are NULL"):
        graph.rebuild(jg.View("SELECT a, b FROM r", nullable))
