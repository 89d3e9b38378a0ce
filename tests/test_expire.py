"""Expiry drops base rows in bulk; rows may be deleted by their key where it is indexed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.expressions.tree import Expression
from joingraph.maintainers.expire import kept_columns
from joingraph.plan.view import View
from tests.bags import fold

TABLES = {
    "follower": "CREATE TABLE follower (author STRING NOT NULL, fan STRING,"
    " PRIMARY KEY (author, fan))",
    "tweet": "CREATE TABLE tweet (id BIGINT PRIMARY KEY, author STRING NOT NULL, day DATE)",
}
SQL = "SELECT F.fan, T.id, T.day FROM follower F JOIN tweet T ON F.author = T.author"
FANS = [("ann", "bob"), ("ann", "eve"), ("zed", "bob")]
TWEETS = {
    "id": [1, 2, 3, 4],
    "author": ["ann", "ann", "zed", "ann"],
    "day": pa.array([10, 20, 15, None], pa.int32()).cast(pa.date32()),
}


def timeline(sql: str = SQL, key_index: Sequence[str] = ()) -> jg.JoinGraph:
    """Four tweets, one of an unknown day."""
    graph = jg.JoinGraph(View(sql, TABLES), key_index=key_index)
    graph.load({"follower": FANS, "tweet": pa.table(TWEETS)})
    return graph


OLD = "day < DATE '1970-01-18'"


def test_expire_acts_as_the_deletes_of_the_rows_that_meet_the_condition() -> None:
    graph, other = timeline(), timeline()
    out = graph.expire("tweet", where=OLD)
    gone = pa.table(TWEETS).take([0, 2])
    assert fold(out.rows()) == fold(other.delete("tweet", gone).rows()) != Counter()
    assert sorted(graph.to_arrow()["id"].to_pylist()) == [2, 2, 4, 4]
    graph.check()
    assert graph.stats()["aliases"]["T"]["rows"] == 2
    assert len(graph.expire("tweet", where=OLD)) == 0


def test_expire_without_diffs_makes_none() -> None:
    graph = timeline()
    out = graph.expire("tweet", where=f"{OLD} OR day IS NULL", diffs=False)
    assert (len(out), out.seq, graph.count()) == (0, 1, 2)
    graph.check()


def test_expire_takes_rows_as_often_as_they_are_there_and_from_every_alias() -> None:
    tables = {"t": "CREATE TABLE t (k INT, up INT, x INT)"}
    sql = "SELECT a.x AS ax, b.x AS bx FROM t a JOIN t b ON a.k = b.up"
    graph = jg.JoinGraph(View(sql, tables))
    graph.load({"t": [(1, 1, 5), (1, 1, 5), (2, 1, 6)]})
    before = Counter(map(str, graph.to_arrow().to_pylist()))
    out = graph.expire("t", where="x = 5")
    assert graph.stats()["aliases"]["a"]["rows"] == graph.stats()["aliases"]["b"]["rows"] == 1
    assert sum(count for _, _, count in out.rows()) == before.total() - graph.count()
    graph.check()


def test_a_column_that_is_not_kept_is_named() -> None:
    graph = timeline("SELECT F.fan, T.id FROM follower F JOIN tweet T USING (author)")
    with pytest.raises(
        jg.ViewError, match=r"does not keep T.day.*put T.day into the view's SELECT"
    ):
        graph.expire("tweet", where=OLD)
    with pytest.raises(jg.ViewError, match=r'where: .*tweet has no column "dya"'):
        graph.expire("tweet", where="dya = 1")
    with pytest.raises(jg.DiffError, match='no base table "twet"'):
        graph.expire("twet", where=OLD)
    assert graph.expire("tweet", where="author = 'ann'").rows()


def test_expire_looks_only_where_an_index_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def noting(*args: Any) -> dict[Expression, pa.Array]:
        seen.append(len(args[3]))
        return kept_columns(*args)

    monkeypatch.setattr("joingraph.maintainers.expire.kept_columns", noting)
    graph = jg.JoinGraph(View(SQL, TABLES), engine="reference")
    graph.load({"follower": FANS, "tweet": pa.table(TWEETS)})
    graph.expire("tweet", where="author = 'zed'")
    graph.expire("tweet", where="day > DATE '1970-01-20'")
    graph.index("day")
    graph.expire("tweet", where="day < DATE '1970-01-15'")
    assert seen == [1, 3, 1]
    graph.check()


def test_an_error_in_the_condition_or_on_a_path_changes_nothing() -> None:
    tables = {"r": "CREATE TABLE r (a INT, x INT)", "s": "CREATE TABLE s (a INT, y INT)"}
    graph = jg.JoinGraph(View("SELECT r.x, s.y FROM r JOIN s ON r.a = s.a", tables))
    graph.load({"r": [(1, 6), (1, 0)], "s": [(1, 2)]})
    with pytest.raises(jg.DiffError, match="division"):
        graph.expire("r", where="1 / x > 0")
    graph.check()
    assert graph.count() == 2


def test_a_view_that_groups_is_told_how_a_column_is_kept() -> None:
    counts = "SELECT F.fan, COUNT(*) AS n{} FROM follower F JOIN tweet T ON F.author = T.author"
    told = r"put T\.day, or MAX\(T\.day\), into the view's SELECT"
    with pytest.raises(jg.ViewError, match=told):
        timeline(counts.format("") + " GROUP BY F.fan").expire("tweet", OLD)
    kept = counts.format(", MAX(T.day) AS last") + " GROUP BY F.fan"
    gone = timeline(kept).delete("tweet", pa.table(TWEETS).take([0, 2])).net()
    assert fold(timeline(kept).expire("tweet", OLD).net()) == fold(gone) != Counter()
