"""I-diffs: who has them, what they say, that order and repetition do not matter, applying them."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NoReturn

import duckdb
import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.engines.plain import ReferenceEngine
from joingraph.plan.view import View
from joingraph.view_diffs.idiffs import IDiff, IDiffs, apply_idiffs
from joingraph.view_diffs.idiffs_sql import idiffs_sql

TABLES = {
    "follower": "CREATE TABLE follower (author STRING, fan STRING)",
    "tweet": "CREATE TABLE tweet (id BIGINT PRIMARY KEY, author STRING, text STRING)",
}
SQL = "SELECT F.fan, T.id, T.text FROM follower F JOIN tweet T ON F.author = T.author"
# The devices of idIVM (Katsis et al., section 2): D1 has the parts P1, P2; D2 has P1.
PARTS = {
    "part": "CREATE TABLE part (pid STRING PRIMARY KEY, price BIGINT)",
    "dp": "CREATE TABLE dp (did STRING, pid STRING, PRIMARY KEY (did, pid))",
}
PRICES = "SELECT dp.did, dp.pid, part.price FROM part JOIN dp ON part.pid = dp.pid"


def timeline(sql: str = SQL) -> jg.JoinGraph:
    """Two fans of ann, who has written tweet 7."""
    graph = jg.JoinGraph(View(sql, TABLES))
    graph.load({"follower": [("ann", "bob"), ("ann", "eve")], "tweet": [(7, "ann", "a")]})
    return graph


def devices() -> jg.JoinGraph:
    """The example of the paper."""
    graph = jg.JoinGraph(View(PRICES, PARTS))
    pairs = [("D1", "P1"), ("D2", "P1"), ("D1", "P2")]
    graph.load({"part": [("P1", 10), ("P2", 20)], "dp": pairs})
    return graph


def said(idiffs: IDiffs) -> dict[tuple[str, str], list[tuple[object, ...]]]:
    """Write i-diffs as rows by alias and kind."""
    return {at: rows(table) for at, table in idiffs.tables().items()}


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    """List a table's rows, sorted."""
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def test_an_update_is_one_diff_whatever_the_number_of_fans() -> None:
    out = timeline().update("tweet", [(7, "ann", "a")], [(7, "ann", "b")], form="idiffs")
    assert said(out.idiffs()) == {("T", "update"): [(7, "b")]}
    assert said(devices().update("part", [("P1", 10)], [("P1", 11)]).idiffs()) == {
        ("part", "update"): [("P1", 11)]
    }


def test_a_delete_is_one_diff_named_by_the_key_alone() -> None:
    out = timeline().delete("tweet", [(7, "ann", "a")], form="idiffs")
    assert said(out.idiffs()) == {("T", "delete"): [(7,)]}


def test_inserts_are_rows_with_a_count_unless_every_alias_is_named() -> None:
    out = timeline().insert("tweet", [(8, "ann", "x")], form="idiffs")
    assert said(out.idiffs()) == {("", "insert"): [("bob", 8, "x", 1), ("eve", 8, "x", 1)]}
    (part,) = devices().insert("dp", [("D3", "P2")], form="idiffs").idiffs().parts
    assert (part.kind, part.key, rows(part.table)) == ("insert", ("pid", "did"), [("D3", "P2", 20)])


@pytest.mark.parametrize(
    ("diffs", "expected"),
    [
        ([("u", 10, 11), ("u", 11, 12)], {("part", "update"): [("P1", 12)]}),
        ([("u", 10, 11), ("u", 11, 10)], {}),
        ([("u", 10, 11), ("d", 11)], {("part", "delete"): [("P1",)]}),
        ([("d", 10), ("i", 12)], {("part", "update"): [("P1", 12)]}),
    ],
)
def test_changes_of_one_row_are_folded(
    diffs: list[tuple[object, ...]], expected: dict[tuple[str, str], list[tuple[object, ...]]]
) -> None:
    names = {"u": "update", "d": "delete", "i": "insert"}
    batch = [(names[str(kind)], "part", *([("P1", p)] for p in prices)) for kind, *prices in diffs]
    for form in ("rows", "idiffs", "factorised"):
        assert said(devices().apply(batch, form=form).idiffs()) == expected


def test_insert_then_delete_is_nothing() -> None:
    batch = [("insert", "part", [("P9", 1)]), ("delete", "part", [("P9", 1)])]
    assert devices().apply(batch, form="idiffs").idiffs().parts == ()


def test_a_batch_says_the_same_whatever_form_it_was_made_in() -> None:
    batch = [
        ("update", "tweet", [(7, "ann", "a")], [(7, "ann", "b")]),
        ("insert", "follower", [("ann", "zoe")]),
        ("delete", "follower", [("ann", "eve")]),
    ]
    expected = {
        ("T", "update"): [(7, "b")],
        ("", "insert"): [("zoe", 7, "b", 1)],
        ("", "delete"): [("eve", 7, 1)],
    }
    for form in ("rows", "idiffs", "factorised"):
        assert said(timeline().apply(batch, form=form).idiffs()) == expected


def test_every_order_of_application_gives_the_view() -> None:
    """The paper's test on whole rows fails here: insert (P1, 11) first, then 10 -> 11."""
    graph = devices()
    before = graph.to_arrow()
    out = graph.apply(
        [
            ("update", "part", [("P1", 10)], [("P1", 11)]),
            ("delete", "part", [("P2", 20)]),
            ("insert", "dp", [("D3", "P1")]),
            ("delete", "dp", [("D2", "P1")]),
        ],
        form="idiffs",
    )
    for parts in itertools.permutations(out.idiffs().parts):
        once = apply_idiffs(before, replace(out.idiffs(), parts=parts))
        assert rows(once) == rows(graph.to_arrow())
        assert rows(apply_idiffs(once, replace(out.idiffs(), parts=parts))) == rows(once)


def test_diffs_of_rows_that_are_not_in_the_view_do_no_harm() -> None:
    graph = devices()
    graph.insert("part", [("P3", 20)])
    before = graph.to_arrow()
    out = graph.update("part", [("P3", 20)], [("P3", 30)], form="idiffs")
    assert said(out.idiffs()) == {("part", "update"): [("P3", 30)]}
    assert rows(apply_idiffs(before, out.idiffs())) == rows(before)


def test_two_diffs_of_one_key_are_refused() -> None:
    twice = pa.table({"pid": ["P1", "P1"], "price": [11, 12]})
    diffs = IDiffs(devices().view.schema, (IDiff("update", "part", ("pid",), twice),))
    with pytest.raises(jg.DiffError, match="two rows with the key"):
        apply_idiffs(devices().to_arrow(), diffs)


def test_a_key_that_is_none_is_noticed_and_nothing_is_applied() -> None:
    graph = devices()
    with pytest.raises(jg.DiffError, match=r"part holds several rows with the key \(pid='P9'\)"):
        graph.insert("part", [("P9", 1), ("P9", 2)], form="idiffs")
    assert graph.stats()["aliases"]["part"]["rows"] == 2


def test_a_filter_that_an_update_crosses_makes_a_delete_or_rows() -> None:
    graph = timeline(SQL + " WHERE T.text <> 'spam'")
    out = graph.update("tweet", [(7, "ann", "a")], [(7, "ann", "spam")], form="idiffs")
    assert said(out.idiffs()) == {("T", "delete"): [(7,)]}
    out = graph.update("tweet", [(7, "ann", "spam")], [(7, "ann", "b")], form="idiffs")
    assert said(out.idiffs()) == {("", "insert"): [("bob", 7, "b", 1), ("eve", 7, "b", 1)]}


def test_a_change_of_the_author_falls_back_to_rows() -> None:
    graph = timeline()
    graph.insert("follower", [("zed", "eve"), ("zed", "zoe")])
    out = graph.update("tweet", [(7, "ann", "a")], [(7, "zed", "b")], form="idiffs")
    assert said(out.idiffs()) == {
        ("T", "update"): [(7, "b")],
        ("", "insert"): [("zoe", 7, "b", 1)],
        ("", "delete"): [("bob", 7, 1)],
    }


def test_both_aliases_of_a_self_join_are_named() -> None:
    tables = {"t": "CREATE TABLE t (k INT PRIMARY KEY, up INT, name STRING)"}
    sql = "SELECT a.k AS ak, a.name AS an, b.k AS bk, b.name AS bn FROM t a JOIN t b ON a.k = b.up"
    graph = jg.JoinGraph(View(sql, tables))
    graph.load({"t": [(1, 1, "x"), (2, 1, "y")]})
    before = graph.to_arrow()
    out = graph.update("t", [(1, 1, "x")], [(1, 1, "z")], form="idiffs")
    assert said(out.idiffs()) == {("a", "update"): [(1, "z")], ("b", "update"): [(1, "z")]}
    assert rows(apply_idiffs(before, out.idiffs())) == rows(graph.to_arrow())


def test_an_equal_attribute_names_an_alias_if_it_holds_all_its_values() -> None:
    tables = {"r": "CREATE TABLE r (k INT PRIMARY KEY, x INT)", "s": "CREATE TABLE s (k BIGINT)"}
    by_equal = jg.JoinGraph(View("SELECT s.k, r.x FROM r JOIN s ON r.k = s.k", tables))
    by_equal.load({"r": [(1, 1)], "s": [(1,)]})
    out = by_equal.update("r", [(1, 1)], [(1, 2)], form="idiffs")
    assert said(out.idiffs()) == {("r", "update"): [(1, 2)]}


def test_explain_says_who_has_idiffs_and_why_not() -> None:
    text = timeline().view.explain()
    assert "T  delete by (id), update of (text); changes of T.author make rows" in text
    assert "F  rows, since follower declares no key" in text
    assert "inserts are upserts by (pid, did)" in devices().view.explain()
    hidden = View("SELECT F.fan, T.text FROM follower F JOIN tweet T USING (author)", TABLES)
    assert "T  rows, since the view does not output T.id" in hidden.explain()


def test_rows_of_a_batch_made_as_idiffs_are_not_there() -> None:
    out = timeline().delete("tweet", [(7, "ann", "a")], form="idiffs")
    with pytest.raises(jg.DiffError, match='form="rows"'):
        out.rows()
    assert repr(out) == "ViewDiff(seq=1, idiffs=1)"


def batches() -> Iterable[list[tuple[object, ...]]]:
    """A batch with every kind of i-diff in it, then one that takes it back."""
    yield [
        ("update", "tweet", [(7, "ann", "a")], [(7, "ann", "it's")]),
        ("insert", "tweet", [(8, "ann", "x")]),
        ("insert", "follower", [("ann", "bob"), ("ann", "zoe")]),
    ]
    yield [
        ("delete", "tweet", [(8, "ann", "x")]),
        ("delete", "follower", [("ann", "bob"), ("ann", "eve")]),
    ]


@pytest.mark.parametrize("library", [sqlite3, duckdb])
@pytest.mark.parametrize("is_open", [True, False])
def test_a_database_gets_the_view(library: object, is_open: bool) -> None:
    connection = sqlite3.connect(":memory:") if library is sqlite3 else duckdb.connect()
    graph = timeline()
    name = 'my "feed"; DROP TABLE x'
    quoted = '"' + name.replace('"', '""') + '"'
    connection.execute(f"CREATE TABLE {quoted} (fan VARCHAR, id BIGINT, text VARCHAR)")
    for row in rows(graph.to_arrow()):
        connection.execute(f"INSERT INTO {quoted} VALUES (?, ?, ?)", row)
    connection.commit()
    for batch in batches():
        if is_open:
            connection.execute("BEGIN")
        apply_idiffs(connection, graph.apply(batch, form="idiffs").idiffs(), name)
        if is_open:
            connection.commit()
        found = connection.execute(f"SELECT * FROM {quoted}").fetchall()
        assert sorted(found) == rows(graph.to_arrow())
    connection.close()


def test_a_failure_leaves_a_database_as_it_was() -> None:
    graph = timeline()
    idiffs = graph.apply(next(iter(batches())), form="idiffs").idiffs()
    for connection in (sqlite3.connect(":memory:"), duckdb.connect()):
        connection.execute(
            "CREATE TABLE feed (fan VARCHAR, id BIGINT CHECK (id < 8), text VARCHAR)"
        )
        connection.execute("INSERT INTO feed VALUES ('bob', 7, 'a')")
        connection.commit()
        with pytest.raises((sqlite3.IntegrityError, duckdb.ConstraintException)):
            apply_idiffs(connection, idiffs, "feed")
        assert connection.execute("SELECT * FROM feed").fetchall() == [("bob", 7, "a")]
        connection.close()


def test_upserts_work_with_and_without_a_unique_index() -> None:
    for key in ("", ", PRIMARY KEY (did, pid)"):
        graph = devices()
        for connection in (sqlite3.connect(":memory:"), duckdb.connect()):
            connection.execute(f"CREATE TABLE v (did VARCHAR, pid VARCHAR, price BIGINT{key})")
            connection.execute("INSERT INTO v VALUES ('D1', 'P1', 5)")
            new = pa.table({"did": ["D1", "D2"], "pid": ["P1", "P1"], "price": [7, 7]})
            part = IDiff("insert", "", ("did", "pid"), new)
            apply_idiffs(connection, IDiffs(graph.view.schema, (part,)), "v")
            assert sorted(connection.execute("SELECT * FROM v").fetchall()) == rows(new)
            connection.close()


@pytest.mark.parametrize("library", [sqlite3, duckdb])
def test_rows_that_sql_cannot_tell_apart_are_deleted_each(library: Any) -> None:
    """0.0 = -0.0, so that two deletes find the same two rows (oracle, forms, seed 210000081)."""
    graph = jg.JoinGraph(View("SELECT x FROM t", {"t": "CREATE TABLE t (x DOUBLE)"}))
    connection = library.connect(":memory:")
    connection.execute("CREATE TABLE v (x DOUBLE)")
    connection.execute("INSERT INTO v VALUES (0.0), (-0.0), (1.5)")
    connection.commit()
    graph.load({"t": [(0.0,), (-0.0,), (1.5,)]})
    idiffs = graph.delete("t", [(0.0,), (-0.0,)]).idiffs()
    assert len(idiffs) == 2
    apply_idiffs(connection, idiffs, "v")
    assert connection.execute("SELECT * FROM v").fetchall() == [(1.5,)]
    connection.close()


def test_statements_for_postgresql_hold_no_values() -> None:
    """DuckDB reads the same text, but for the name by which a row without a key is known."""
    graph = timeline()
    connection = duckdb.connect()
    connection.execute("CREATE TABLE feed (fan VARCHAR, id BIGINT, text VARCHAR)")
    connection.executemany("INSERT INTO feed VALUES (?, ?, ?)", rows(graph.to_arrow()))
    for batch in batches():
        for sql, parameters in idiffs_sql(graph.apply(batch).idiffs(), ("main", "feed")):
            assert "bob" not in sql and "it's" not in sql
            for row in parameters:
                connection.execute(sql.replace("ctid", "rowid"), row)
        found = connection.execute("SELECT * FROM feed").fetchall()
        assert sorted(found) == rows(graph.to_arrow())


def test_idiffs_apply_themselves_and_write_themselves_as_sql() -> None:
    graph = timeline()
    copy = graph.to_arrow()
    idiffs = graph.update("tweet", [(7, "ann", "a")], [(7, "ann", "b")], form="idiffs").idiffs()
    assert rows(idiffs.apply_idiffs(copy)) == rows(jg.apply_idiffs(copy, idiffs))
    assert rows(idiffs.apply_idiffs(copy)) == rows(graph.to_arrow())
    for connection in (sqlite3.connect(":memory:"), duckdb.connect()):
        connection.execute("CREATE TABLE feed (fan VARCHAR, id BIGINT, text VARCHAR)")
        connection.executemany("INSERT INTO feed VALUES (?, ?, ?)", rows(copy))
        connection.commit()
        assert idiffs.apply_idiffs(connection, "feed") is connection
        found = connection.execute("SELECT * FROM feed").fetchall()
        assert sorted(found) == rows(graph.to_arrow())
        connection.close()
    (statement,) = idiffs.sql("feed")
    assert statement.sql == 'UPDATE "feed" SET "text" = $1 WHERE "id" = $2'
    assert statement.parameters == [("b", 7)]


def test_what_cannot_be_applied_to_is_refused() -> None:
    idiffs = timeline().delete("tweet", [(7, "ann", "a")]).idiffs()
    with pytest.raises(jg.DiffError, match="name the table"):
        apply_idiffs(sqlite3.connect(":memory:"), idiffs)
    with pytest.raises(jg.DiffError, match=r"pyarrow.Table.*found list"):
        apply_idiffs([], idiffs, "feed")
    with pytest.raises(jg.DiffError, match="i-diffs of this view need fan, id, text"):
        apply_idiffs(pa.table({"id": [1]}), idiffs)


def test_no_row_is_made_that_an_idiff_says() -> None:
    """So an update costs the same for one fan and for a hundred: no path is walked for it."""
    graph = jg.JoinGraph(View(SQL, TABLES), engine="reference")
    graph.load({"follower": [("ann", "bob"), ("ann", "eve")], "tweet": [(7, "ann", "a")]})
    assert isinstance(graph.engine, ReferenceEngine)
    (ann,) = graph.engine.graph.values[0].values()
    ann.tuples[0] = Untouchable(ann.tuples[0])
    out = graph.update("tweet", [(7, "ann", "a")], [(7, "ann", "b")], form="idiffs")
    assert said(out.idiffs()) == {("T", "update"): [(7, "b")]}
    with pytest.raises(AssertionError, match="walked"):
        graph.update("tweet", [(7, "ann", "b")], [(7, "ann", "c")])


class Untouchable(dict[object, None]):
    """The fans of ann: there, and not to be visited."""

    def __iter__(self) -> NoReturn:
        raise AssertionError("walked")


def test_idiffs_that_cannot_be_are_refused_with_a_subscriber_as_without() -> None:
    tables = {
        "a": "CREATE TABLE a (id BIGINT PRIMARY KEY, j INT)",
        "b": "CREATE TABLE b (bid BIGINT PRIMARY KEY, j INT)",
    }
    view = jg.View("SELECT A.id, B.bid FROM a A JOIN b B ON A.j = B.j", tables)
    errors = list[str]()
    for is_served in (False, True):
        graph = jg.JoinGraph(view)
        if is_served:
            graph.subscribe("s")
        graph.insert("b", [(1, 1)])
        with pytest.raises(jg.DiffError) as caught:
            graph.insert("a", [(5, 1), (5, 1)], form="idiffs")
        errors.append(str(caught.value))
        assert (graph.seq, graph.count()) == (1, 0)
        assert len(graph.insert("a", [(5, 1)], form="idiffs").idiffs()) == 1
    assert errors[0] == errors[1]
