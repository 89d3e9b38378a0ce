"""Batches of which only what is left is asked for: form="net"."""

from __future__ import annotations

from random import Random

import pytest

import joingraph as jg
from tests import ENGINES
from tests.test_groups import TABLES, drawn_row
from tests.test_messages import Held, bag, drawn_batch, drawn_view

TABLE = {"t": "CREATE TABLE t (id INT, g INT, x BIGINT, PRIMARY KEY (id))"}
GREAT = (1 << 63) - 1


@pytest.mark.parametrize("seed", range(40))
def test_net_is_that_of_the_rows(seed: int) -> None:
    chance = Random(seed)
    view, tables = drawn_view(chance)
    one, other = jg.JoinGraph(view), jg.JoinGraph(view, engine="reference")
    held: Held = {table: [] for table in TABLES}
    held.update({table: [drawn_row(chance, table) for _ in range(20)] for table in tables})
    for graph in (one, other):
        graph.load(held)
    for step in range(10):
        batch = drawn_batch(chance, tables, held)
        if step % 3 == 0:
            assert bag(one.what_if(batch, form="net").net()) == bag(other.what_if(batch).net())
        mine = one.apply(batch, form=chance.choice(("net", "net", "rows")))
        theirs = other.apply(batch, form=chance.choice(("net", "rows")))
        assert bag(mine.net()) == bag(theirs.net())
        one.check()
    assert bag(one.scan().read_all().to_pylist()) == bag(other.scan().read_all().to_pylist())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch_is_refused_for_what_one_of_its_diffs_makes(engine: str) -> None:
    graph = jg.JoinGraph(jg.View("SELECT g, SUM(x) AS s FROM t GROUP BY g", TABLE), engine=engine)
    graph.insert("t", [(1, 1, GREAT)])
    with pytest.raises(jg.DiffError, match="nothing was applied"):
        graph.apply([("insert", "t", [(2, 1, 1)]), ("delete", "t", [(2, 1, 1)])], form="net")
    assert graph.seq == 1
    graph.check()


def test_a_group_is_touched_once() -> None:
    sql = "SELECT g, COUNT(*) AS n, SUM(x) AS s, MAX(x) AS m FROM t GROUP BY g"
    graph = jg.JoinGraph(jg.View(sql, TABLE))
    graph.insert("t", [(1, 1, 5), (2, 2, 5)])
    before = graph.stats()["touched"]
    rows = [(at, at % 3, at) for at in range(10, 40)]
    diff = graph.apply([("insert", "t", rows), ("delete", "t", [(2, 2, 5)])], form="net")
    assert graph.stats()["touched"] - before == 3
    assert diff.net() == [
        ("delete", (1, 1, 5, 5), 1),
        ("insert", (1, 11, 240, 37), 1),
        ("delete", (2, 1, 5, 5), 1),
        ("insert", (2, 10, 245, 38), 1),
        ("insert", (0, 10, 255, 39), 1),
    ]
    assert len(diff) == 5 and "net=5" in repr(diff)
    assert diff.to_arrow(net=True, positions=True).column("_seq").to_pylist() == [2] * 5
    for ask in (diff.rows, diff.to_arrow, diff.idiffs, diff.factorised):
        with pytest.raises(jg.DiffError, match='form="net"'):
            ask()


@pytest.mark.parametrize("engine", ENGINES)
def test_what_came_and_went_again_is_not_told(engine: str) -> None:
    sql = "SELECT COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY g"  # groups that show the same row
    graph = jg.JoinGraph(jg.View(sql, TABLE), engine=engine)
    graph.load({"t": [(1, 1, 5), (2, 2, 5), (3, 3, 7)]})
    batch = [
        *(("delete", "t", [(1, 1, 5)]), ("insert", "t", [(4, 1, 5), (9, 9, 9)])),
        *(("delete", "t", [(9, 9, 9)]), ("update", "t", [(2, 2, 5)], [(2, 3, 7)])),
    ]
    diff = graph.apply(batch, form="net")
    assert bag(diff.net()) == bag(
        [("delete", (1, 5.0), 1), ("delete", (1, 7.0), 1), ("insert", (2, 7.0), 1)]
    )
    assert graph.apply([], form="net").net() == []


@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch_of_joined_rows_folds_as_ever(engine: str) -> None:
    view = jg.View("SELECT t.id, u.x FROM t JOIN t u ON t.g = u.g", TABLE)
    graph = jg.JoinGraph(view, engine=engine)
    diff = graph.apply([("insert", "t", [(1, 1, 5)]), ("delete", "t", [(1, 1, 5)])], form="net")
    assert diff.net() == [] and graph.insert("t", [(1, 1, 5)], form="net").net()
    graph.max_view_diffs = 1
    with pytest.raises(jg.LimitError, match="max_view_diffs"):
        graph.insert("t", [(2, 1, 5)], form="net")


def test_a_subscriber_gets_the_rows_of_folded_batches() -> None:
    graph = jg.JoinGraph(jg.View("SELECT g, COUNT(*) AS n FROM t GROUP BY g", TABLE))
    subscription = graph.subscribe("one")
    graph.insert("t", [(1, 1, 5), (2, 1, 5)], form="net")
    got = subscription.next()
    assert got is not None and len(got.rows()) == 3
