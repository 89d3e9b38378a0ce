"""What the compiled form alone has to do for outer joins: words that stand for NULL, and memory."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import joingraph as jg
from joingraph.engines.compiled.outer.engine import OuterEngine
from joingraph.graph.compiled.values.columns import OTHER_NULL

TEXTS = {n: f"CREATE TABLE {n} (k VARCHAR, x VARCHAR)" for n in "ab"}
FULL = "SELECT a.k, a.x, b.k AS bk, b.x AS bx FROM a FULL JOIN b ON a.k = b.k"


def graph_of(sql: str, tables: dict[str, str]) -> jg.JoinGraph:
    graph = jg.JoinGraph(jg.View(sql, tables, dialect="duckdb"))
    assert isinstance(graph.engine, OuterEngine)
    return graph


def rows(graph: jg.JoinGraph) -> list[tuple[Any, ...]]:
    found = (tuple(row.values()) for row in graph.scan().read_all().to_pylist())
    return sorted(found, key=repr)


def test_nulls_of_both_sides_of_full_join_are_two() -> None:
    graph = graph_of(FULL, TEXTS)
    graph.apply([("insert", "a", [(None, "p"), ("m", "q")]), ("insert", "b", [(None, "r")])])
    assert rows(graph) == [("m", "q", None, None), (None, "p", None, None), (None,) * 3 + ("r",)]
    assert len(graph.why((None, "p", None, None))) == len(graph.why((None, None, None, "r"))) == 1
    graph.delete("b", [(None, "r")])
    assert rows(graph) == [("m", "q", None, None), (None, "p", None, None)]
    graph.check()


def test_texts_are_forgotten_where_keys_are_null(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(FULL, TEXTS)
    chance = Random(1)
    engine = graph.engine
    assert isinstance(engine, OuterEngine)
    engine.sweeper.fewest_bytes = 1 << 8
    for at in range(60):
        some = [(chance.choice((None, f"key {at}", "m")), f"text {at} {n}") for n in range(3)]
        graph.apply([("insert", "a", some), ("insert", "b", some)])
        graph.apply([("delete", "a", some[:2]), ("delete", "b", some[1:])])
    graph.check()
    assert len(rows(graph)) == graph.count()


def test_a_key_that_is_the_word_for_null_is_refused() -> None:
    graph = graph_of(
        "SELECT a.k, b.k AS bk FROM a FULL JOIN b ON a.k = b.k",
        {n: f"CREATE TABLE {n} (k BIGINT)" for n in "ab"},
    )
    for table in "ab":
        for word in (OTHER_NULL, OTHER_NULL ^ 1):
            with pytest.raises(jg.LimitError, match="stands for NULL"):
                graph.insert(table, [(word,)])
    graph.insert("a", [(None,), (5,)])
    assert graph.count() == 2


def test_flips_of_many_values_are_told_block_by_block() -> None:
    tables = {"a": "CREATE TABLE a (k INT, x INT)", "b": "CREATE TABLE b (k INT)"}
    graph = graph_of("SELECT a.x, b.k FROM a LEFT JOIN b ON a.k = b.k", tables)
    graph.load({"a": [(1, at) for at in range(200_000)]})
    diff = graph.insert("b", [(1,)])
    assert len(diff) == 400_000
    assert len(diff.net()) == 400_000
    assert len(graph.delete("b", [(1,)])) == 400_000
    graph.check()


def test_a_value_that_is_freed_and_used_again_in_one_diff_is_not_told_of() -> None:
    tables = {"a": "CREATE TABLE a (k INT, x INT)", "b": "CREATE TABLE b (k INT, y INT)"}
    graph = graph_of("SELECT a.k, a.x, b.y FROM a LEFT JOIN b ON a.k = b.k", tables)
    graph.insert("a", [(1, 1)])
    graph.insert("a", [(2, 2)])
    graph.insert("b", [(1, 7)])
    told = graph.update("b", [(1, 7)], [(2, 8)]).rows()
    assert sorted(told, key=repr) == sorted(
        [
            ("delete", (1, 1, 7), 1),
            ("insert", (1, 1, None), 1),
            ("delete", (2, 2, None), 1),
            ("insert", (2, 2, 8), 1),
        ],
        key=repr,
    )
    graph.check()


def test_a_row_of_nulls_that_an_update_leaves_as_it_is_is_not_told() -> None:
    tables = {n: f"CREATE TABLE {n} (i INT PRIMARY KEY, k INT)" for n in "ab"}
    graph = graph_of("SELECT a.i, b.i AS j FROM a LEFT JOIN b ON a.k = b.k", tables)
    graph.insert("a", [(1, 1)])
    assert graph.update("a", [(1, 1)], [(1, 2)]).rows() == []


def test_a_row_that_does_not_show_the_mark_that_turns_is_not_told() -> None:
    tables = {n: f"CREATE TABLE {n} (i INT PRIMARY KEY, k INT)" for n in "ab"}
    asked = "EXISTS (SELECT 1 FROM b WHERE b.k = a.k)"
    graph = graph_of(f"SELECT a.i FROM a WHERE a.i = 1 OR {asked}", tables)
    graph.insert("a", [(1, 5), (2, 5)])
    assert graph.insert("b", [(1, 5)]).rows() == [("insert", (2,), 1)]


@pytest.mark.parametrize("form", ("rows", "net"))
def test_a_row_that_a_later_insert_of_its_batch_takes_is_not_net(form: Any) -> None:
    tables = {n: f"CREATE TABLE {n} (i INT PRIMARY KEY, k INT)" for n in "ab"}
    graph = graph_of("SELECT a.i, b.i AS j FROM a LEFT JOIN b ON a.k = b.k", tables)
    both = [("insert", "a", [(1, 5)]), ("insert", "b", [(2, 5)])]
    assert len(graph.apply(both, form=form).net()) == 1
    gone = [("delete", *each[1:]) for each in both]
    assert len(graph.apply(gone, form=form).net()) == 1
