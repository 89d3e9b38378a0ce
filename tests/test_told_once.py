"""Where keys say that a row changes a group once: groups need no mark, and many are prefetched."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import joingraph as jg
from joingraph.engines.codegen import prefetch
from joingraph.engines.compiled.groups.grouped import CompiledGroups
from joingraph.plan.groups.messages import messages_of
from joingraph.plan.keys.distinct import is_told_once

FOLLOWER = "CREATE TABLE f (author BIGINT, fan BIGINT, w DOUBLE, PRIMARY KEY (author, fan))"
TABLES = {
    "f": FOLLOWER,
    "t": "CREATE TABLE t (author BIGINT, id BIGINT, PRIMARY KEY (id))",
    "r": "CREATE TABLE r (id BIGINT, who BIGINT)",
}
JOINED = "f JOIN t ON f.author = t.author JOIN r ON r.id = t.id"


@pytest.mark.parametrize(
    ("tables", "sql", "once"),
    [
        (
            {},
            "SELECT f.fan, COUNT(*) AS n FROM f JOIN t ON f.author = t.author GROUP BY f.fan",
            "ft",
        ),
        ({}, f"SELECT f.fan, COUNT(*) AS n FROM {JOINED} GROUP BY f.fan", "ftr"),
        ({}, f"SELECT f.w, COUNT(*) AS n FROM {JOINED} GROUP BY f.w", "f"),
        (
            {"f": FOLLOWER.replace("fan BIGINT", "fan DOUBLE")},
            "SELECT f.fan, COUNT(*) AS n FROM f JOIN t ON f.author = t.author GROUP BY f.fan",
            "f",
        ),
        (
            {"f": FOLLOWER.replace(", PRIMARY KEY (author, fan)", "")},
            f"SELECT f.fan, COUNT(*) AS n FROM {JOINED} GROUP BY f.fan",
            "f",
        ),
        (
            {},
            f"SELECT f.fan, COUNT(*) AS n FROM {JOINED} JOIN t u ON u.id = r.id GROUP BY f.fan",
            "fr",
        ),
        ({}, "SELECT COUNT(*) AS n FROM f JOIN t ON f.author = t.author", ""),
    ],
)
def test_keys_say_whether_a_row_changes_a_group_once(
    tables: dict[str, str], sql: str, once: str
) -> None:
    view = jg.View(sql, TABLES | tables)
    assert view.definition.grouping is not None
    messages = messages_of(view.plan, view.definition.grouping)
    assert messages is not None
    found = [a.name for a in view.plan.aliases if is_told_once(view.plan, messages, a.index)]
    assert "".join(found) == once


@pytest.mark.parametrize("many", [False, True])
def test_rows_come_to_groups_as_they_do_one_by_one(
    monkeypatch: pytest.MonkeyPatch, many: bool
) -> None:
    if many:
        monkeypatch.setattr(prefetch, "FAR_WORDS", 8)
    sql = f"SELECT f.fan, COUNT(*) AS n, SUM(r.who) AS s FROM {JOINED} GROUP BY f.fan"
    one, other = (jg.JoinGraph(jg.View(sql, TABLES), engine=e) for e in ("compiled", "reference"))
    one.compile()
    fans = [(at % 7, at % 11, None) for at in range(77)]
    tweets = [(at % 9, at) for at in range(60)]
    shares = [(at % 70, at) for at in range(150)]
    batches = (
        [("insert", "f", fans[:70]), ("insert", "t", tweets[:50])],
        [("insert", "r", shares), ("delete", "t", tweets[:3])],
        [("insert", "t", tweets[50:]), ("insert", "f", fans[70:]), ("delete", "r", shares[9:40])],
        [("update", "t", [tweets[5]], [(6, 5)]), ("insert", "r", shares[:40])],
    )
    for batch in batches:
        for form in ("rows", "net"):
            if form == "net":
                assert_same(one.what_if(batch, form=form).net(), other.what_if(batch).net())
        mine, theirs = one.apply(batch), other.apply(batch)
        assert_same(mine.rows(), theirs.rows())
        assert_same(mine.net(), theirs.net())
        one.check()
    assert isinstance(one.engine, CompiledGroups)


def test_a_key_that_does_not_hold_leaves_groups_right() -> None:
    sql = "SELECT f.fan, COUNT(*) AS n FROM f JOIN t ON f.author = t.author GROUP BY f.fan"
    graph = jg.JoinGraph(jg.View(sql, TABLES))
    graph.compile()
    graph.load({"f": [(1, 7, None), (1, 7, None)]})
    diff = graph.insert("t", [(1, at) for at in range(40)])
    assert diff.net() == [("insert", (7, 80), 1)]
    graph.check()


SUMS = "COUNT(*) AS n, SUM(r.who) AS s, COUNT(r.who) AS m"


@pytest.mark.parametrize("shown", [SUMS, "COUNT(*) AS n"])
@pytest.mark.parametrize("fans", [1, 7, 8, 21])
def test_a_row_that_meets_two_on_its_way_to_a_group_tells_of_it_once(shown: str, fans: int) -> None:
    sql = f"SELECT f.fan, {shown} FROM {JOINED} GROUP BY f.fan"
    one, other = (jg.JoinGraph(jg.View(sql, TABLES), engine=e) for e in ("compiled", "reference"))
    one.compile()
    twice = {
        "f": [(author, fan, None) for author in (1, 2, 3) for fan in range(fans)],
        "t": [(1, 5), (2, 5), (3, 6), (3, 6), (1, 7)],  # 5 is of two authors, 6 is there twice
    }
    for graph in (one, other):
        graph.load(twice)
    first, then = [(5, 1), (6, 2), (7, -3)], [(5, -3), (7, 4), (6, None), (7, -9)]
    for batch, rows in ((first, 1 + 2 + 2), (then, 4 * 2)):
        mine, theirs = one.insert("r", batch), other.insert("r", batch)
        assert_same(mine.rows(), theirs.rows())
        assert len(mine.rows()) == rows * fans
        one.check()


def assert_same(one: Sequence[object], other: Sequence[object]) -> None:
    assert sorted(map(repr, one)) == sorted(map(repr, other))
