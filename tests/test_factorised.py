"""Factorised view diffs: sums and not products, what ties branches together, flatten is rows."""

from __future__ import annotations

from collections import Counter

import pytest

import joingraph as jg
from joingraph.plan.branches import lists_program
from joingraph.plan.program import List
from joingraph.plan.view import View
from joingraph.view_diffs.view_diff import ViewDiff, listed
from tests import ENGINES
from tests.bags import pairs

TABLES = {
    "f": "CREATE TABLE f (author INT, fan INT, since INT)",
    "t": "CREATE TABLE t (id INT, author INT, text STRING, day INT)",
    "r": "CREATE TABLE r (id INT, who INT, day INT)",
    "u": "CREATE TABLE u (who INT, name STRING)",
}
JOINS = "f JOIN t ON f.author = t.author JOIN r ON r.id = t.id JOIN u ON u.who = r.who"
LOADED = {
    "f": [(1, fan, fan % 5) for fan in range(10)],
    "r": [(7, who, who % 3) for who in range(6)],
    "u": [(who, f"n{who}") for who in range(6)],
}
TWEET = (7, 1, "hi", 2)


def graph_of(select: str, where: str = "") -> jg.JoinGraph:
    """Ten fans of an author, six retweets of what will be tweet 7."""
    graph = jg.JoinGraph(View(f"SELECT {select} FROM {JOINS}{where}", TABLES))
    graph.load(LOADED)
    return graph


def bag(diff: ViewDiff) -> Counter[str]:
    """Count what a view diff's lists multiply out to, updates in pairs."""
    flat = diff.factorised().flatten()
    found: Counter[str] = Counter()
    for pre, post, count in pairs(listed(flat, flat.num_columns - 3)):
        found[f"{pre} -> {post}"] += count
    return found


def told(diff: ViewDiff) -> Counter[str]:
    """Count the rows of a view diff, updates in pairs."""
    found: Counter[str] = Counter()
    for pre, post, count in pairs(diff.rows()):
        found[f"{pre} -> {post}"] += count
    return found


def test_partners_are_listed_side_by_side() -> None:
    diff = graph_of("f.fan, t.id, r.who").insert("t", [TWEET], form="factorised")
    (record,) = diff.factorised().tables["t"].to_pylist()
    assert record["post"] == {"id": 7} and record["pre"] is None
    assert len(record["branches"]["f"]) == 10 and len(record["branches"]["r"]) == 6
    assert len(diff) == 60


def test_a_branch_that_shows_nothing_only_counts() -> None:
    diff = graph_of("f.fan").insert("t", [TWEET], form="factorised")
    (record,) = diff.factorised().tables["t"].to_pylist()
    assert record["_count"] == 6 and list(record["branches"]) == ["f"]
    assert "post" not in record
    assert [count for _, _, count in diff.rows()] == [6] * 10


def test_what_lies_beyond_a_branch_is_nested_in_it() -> None:
    diff = graph_of("f.fan, r.who, u.name").insert("t", [TWEET], form="factorised")
    (record,) = diff.factorised().tables["t"].to_pylist()
    first = record["branches"]["r"][0]
    assert first["values"] == {"who": 0}
    assert first["branches"]["u"] == [{"values": {"name": "n0"}, "count": 1}]


@pytest.mark.parametrize(
    ("select", "where", "branches"),
    [
        ("f.fan, r.who", "", ["f", "r"]),
        ("f.fan, r.who", " WHERE f.since < t.day AND r.day < t.day", ["f", "r"]),
        ("f.fan, r.who", " WHERE f.since < r.day", ["f, r"]),
        ("f.fan + r.who AS x", "", ["f, r"]),
        ("concat(CAST(f.fan AS STRING), u.name) AS x", "", ["f, r, u"]),
        ("f.fan, r.who, u.name", " WHERE r.day < u.who", ["f", "r, u"]),
        ("f.fan, r.who + t.day AS x", "", ["f", "r"]),
    ],
)
def test_what_ties_branches_makes_one_of_them(select: str, where: str, branches: list[str]) -> None:
    steps = graph_of(select, where).view.plan.program(lists_program, 1).steps
    assert [each.name for each in steps if isinstance(each, List)] == branches


@pytest.mark.parametrize(
    "select", ["f.fan, t.text, u.name", "t.text, f.fan + t.day AS x, r.who", "f.fan + r.who AS x"]
)
@pytest.mark.parametrize(
    "where", ["", " WHERE f.since < t.day", " WHERE f.since < r.day AND r.day <= t.day"]
)
@pytest.mark.parametrize(
    "batch",
    [
        [("insert", "t", [TWEET, TWEET])],
        [("insert", "t", [TWEET]), ("delete", "t", [TWEET])],
        [("insert", "t", [TWEET]), ("update", "t", [TWEET], [(7, 1, "ho", 2)])],
        [("insert", "t", [TWEET]), ("update", "t", [TWEET], [(7, 1, "hi", 3)])],
        [("insert", "t", [TWEET]), ("update", "t", [TWEET], [(8, 1, "hi", 2)])],
        [("insert", "t", [TWEET]), ("insert", "f", [(1, 3, 0)]), ("delete", "r", [(7, 2, 2)])],
        [("insert", "t", [TWEET]), ("update", "f", [(1, 3, 3)], [(1, 4, 3)])],
        [("insert", "t", [TWEET]), ("update", "f", [(1, 3, 3)], [(1, 3, 0)])],
    ],
    ids=lambda batch: "-".join(f"{entry[0]}_{entry[1]}" for entry in batch),
)
def test_multiplied_out_they_are_the_rows(
    select: str, where: str, batch: list[tuple[object, ...]]
) -> None:
    expected = told(graph_of(select, where).apply(batch))
    found = graph_of(select, where).apply(batch, form="factorised")
    assert bag(found) == told(found) == expected


def test_a_self_join_folds_what_its_aliases_say() -> None:
    tables = {"t": "CREATE TABLE t (k INT, up INT, x INT)"}
    view = View("SELECT a.x AS ax, b.x AS bx FROM t a JOIN t b ON a.k = b.up", tables)
    batch = [
        ("insert", "t", [(1, 1, 5), (2, 1, 6)]),
        ("update", "t", [(1, 1, 5)], [(1, 1, 6)]),
        ("update", "t", [(1, 1, 6)], [(1, 2, 6)]),
        ("delete", "t", [(2, 1, 6)]),
    ]
    one, other = jg.JoinGraph(view), jg.JoinGraph(view)
    assert bag(one.apply(batch, form="factorised")) == told(other.apply(batch))


def test_a_batch_made_as_rows_is_given_as_it_is() -> None:
    diff = graph_of("f.fan, r.who").insert("t", [TWEET])
    assert diff.factorised().tables == {}
    assert bag(diff) == told(diff)
    asked = graph_of("f.fan").insert("t", [TWEET], form="idiffs")
    with pytest.raises(jg.DiffError, match='form="factorised"'):
        asked.factorised()


def test_an_error_on_a_path_leaves_the_graph_as_it_was() -> None:
    graph = graph_of("t.id / f.since AS q")
    with pytest.raises(jg.DiffError, match="division"):
        graph.insert("t", [TWEET], form="factorised")
    graph.check()
    assert graph.count() == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_change_of_what_is_kept_for_a_key_index_alone_is_no_view_diff(engine: str) -> None:
    """The view does not show the key (oracle, forms, seeds 214000013 and 214000014)."""
    tables = {
        "fan": "CREATE TABLE fan (author STRING, name STRING)",
        "tweet": "CREATE TABLE tweet (id BIGINT PRIMARY KEY, author STRING, text STRING)",
    }
    sql = "SELECT F.name, T.text FROM fan F JOIN tweet T ON F.author = T.author"
    graph = jg.JoinGraph(jg.View(sql, tables), engine=engine, key_index=["tweet"])
    graph.load({"fan": [("ann", "bob")], "tweet": [(1, "ann", "hi"), (2, "ann", "ho")]})
    batch = [
        (
            "update",
            "tweet",
            [(1, "ann", "hi"), (2, "ann", "ho")],
            [(3, "ann", "hi"), (4, "ann", "hu")],
        )
    ]
    assert graph.fanout(batch) == (2, True)
    expected = [("update_preimage", ("bob", "ho"), 1), ("update_postimage", ("bob", "hu"), 1)]
    assert graph.what_if(batch).rows() == expected
    out = graph.apply(batch, form="factorised")
    assert out.rows() == expected
    assert out.factorised().tables["T"].num_rows == 1
    assert graph.delete("tweet", [{"id": 3}]).rows() == [("delete", ("bob", "hi"), 1)]
