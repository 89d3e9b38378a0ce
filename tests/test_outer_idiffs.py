"""I-diffs of views with outer joins, EXISTS and IN: who is named; copies that they keep right."""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.plan.keys.distinct import are_told_apart
from joingraph.view_diffs.idiffs_sql import idiffs_sql
from tests import ENGINES
from tests.outer import VIEWS, Feed, Row, rows_of, table_of, view_of

SHOWN = [
    *("left", "left, few columns", "left, gated", "left, null safe", "left, computed", "chain"),
    *("block", "full", "full, coalesced", "semi", "anti of a chain", "mark", "self", "self, full"),
]


def lines_of(name: str) -> list[str]:
    """Return what explain() says of a view's i-diffs."""
    text = view_of(name).explain()
    return [line.strip() for line in text[text.index("i-diffs\n") :].splitlines()[1:] if line]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("form", ["rows", "idiffs"])
def test_idiffs_bring_copies_up_to_date(name: str, form: str, engine: str) -> None:
    view, feed = view_of(name), Feed(sum(map(ord, name + form)))
    graph = jg.JoinGraph(view, engine=engine)
    copy = graph.to_arrow()
    lite, duck, statements = sqlite3.connect(":memory:"), duckdb.connect(), duckdb.connect()
    for connection in (lite, duck, statements):
        declared = ", ".join(f"{each} INT" for each in view.schema.names)
        connection.execute(f"CREATE TABLE copy ({declared})")
    for batch in feed.batches(view, 14):
        idiffs = graph.apply(batch, form=form).idiffs()
        copy = jg.apply_idiffs(copy, idiffs)
        for sql, parameters in idiffs_sql(idiffs, "copy"):
            for row in parameters:
                statements.execute(sql.replace("ctid", "rowid"), row)
        right = feed.answer(view)
        assert rows_of(copy.to_batches()) == right
        for connection in (lite, duck):
            jg.apply_idiffs(connection, idiffs, "copy")
        for connection in (lite, duck, statements):
            assert Counter(connection.execute("SELECT * FROM copy").fetchall()) == right
    for connection in (lite, duck, statements):
        connection.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_side_that_may_be_missing_is_named_and_its_last_row_leaves_rows_of_nulls(
    engine: str,
) -> None:
    graph = jg.JoinGraph(view_of("left"), engine=engine)
    graph.load({"a": [(1, 1, 1)], "b": [(5, 1, 3)]})
    idiffs = graph.apply([("delete", "b", (5, 1, 3))], form="idiffs").idiffs()
    delete, insert = idiffs.parts
    assert (delete.kind, delete.alias, delete.key) == ("delete", "b", ("bi",))
    assert delete.table.to_pylist() == [{"bi": 5}]
    assert (insert.kind, insert.key) == ("insert", ("ai", "bi"))
    assert insert.table.to_pylist() == [
        {"ai": 1, "ak": 1, "ax": 1, "bi": None, "bk": None, "bx": None}
    ]


def test_an_alias_that_is_asked_for_names_no_row_and_keeps_none_from_being_named() -> None:
    said = lines_of("semi")
    assert said == [
        "a  delete by (i), update of (x); changes of a.k make rows",
        "exists.b  rows, since it is asked for, and in no row",
        "inserts are upserts by (i)",
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_key_is_not_had_from_the_other_side_of_an_outer_join(engine: str) -> None:
    shown = "SELECT b.i AS bi, a.x FROM a {} JOIN b ON a.i = b.i"
    assert lines_of(shown.format("LEFT"))[0] == "a  rows, since the view does not output a.i"
    assert lines_of(shown.format("INNER"))[0].startswith("a  delete by (bi)")
    graph, feed = jg.JoinGraph(view_of(shown.format("LEFT"))), Feed(3)
    copy: pa.Table = graph.to_arrow()
    for batch in feed.batches(graph.view, 25):
        copy = jg.apply_idiffs(copy, graph.apply(batch, form="idiffs").idiffs())
        assert rows_of(copy.to_batches()) == feed.answer(graph.view)


def test_rows_are_not_told_apart_by_a_key_beyond_an_outer_join() -> None:
    shown = "SELECT b.i AS bi FROM a {} JOIN b ON a.i = b.i"
    assert are_told_apart(view_of(shown.format("INNER")).plan)
    assert not are_told_apart(view_of(shown.format("LEFT")).plan)
    assert are_told_apart(view_of("semi").plan)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["left", "self, anti", "full and left"])
def test_idiffs_by_keys_alone_do_as_whole_rows_do(name: str, engine: str) -> None:
    view, feed = view_of(name), Feed(11)
    graph = jg.JoinGraph(view, key_index=list(view.tables), engine=engine)
    copy = table_of(Counter[Row](), view)
    for batch in feed.batches(view, 25):
        by_key: list[Any] = [
            each if each[0] == "insert" else (each[0], each[1], {"i": each[2][0]}, *each[3:])
            for each in batch
        ]
        copy = jg.apply_idiffs(copy, graph.apply(by_key, form="idiffs").idiffs())
        assert rows_of(copy.to_batches()) == feed.answer(view)


def test_the_views_are_known() -> None:
    assert set(SHOWN) <= set(VIEWS)
