"""Views of outer joins, EXISTS and IN under a memory limit, and in parts that others read."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random

import pytest

import joingraph as jg
from joingraph.api.partitions import ElsewherePartition, Partition
from tests import ENGINES
from tests.outer import Batch, Feed, Row, rows_of, view_of

LIMIT = 4 << 20
LIMITED = ("left", "left by two columns", "block", "full", "full and left", "anti of a chain",
           "not in", "mark", "self, full")  # fmt: skip
PARTED = ("left", "left, then asked", "block", "full", "full and left", "semi of a chain", "mark")


def batch_of(view: jg.View, number: int) -> Batch:
    """Make a batch of new rows, a few of them alike in what they are joined by."""
    chance = Random(number)
    keys = [None, *range(6), *(chance.randrange(10**6) for _ in range(300))]
    return [
        (
            "insert",
            table,
            [(200 * number + at, chance.choice(keys), chance.choice(keys)) for at in range(200)],
        )
        for table in view.tables
    ]


def filled(view: jg.View) -> tuple[jg.JoinGraph, list[Batch]]:
    """Fill a graph to its limit."""
    graph, done = jg.JoinGraph(view, memory_limit=LIMIT), list[Batch]()
    with pytest.raises(jg.LimitError, match=r"memory_limit=[\d,]+: the graph takes [\d,]+ bytes"):
        for number in range(1000):
            graph.apply(batch_of(view, number), form="net")
            done.append(batch_of(view, number))
    return graph, done


@pytest.mark.parametrize("name", LIMITED)
def test_a_graph_grows_to_its_limit_and_what_deletes_free_is_used_again(name: str) -> None:
    view = view_of(name)
    graph, done = filled(view)
    assert LIMIT / 3 < graph.stats()["bytes"] <= LIMIT
    graph.check()
    other = jg.JoinGraph(view)
    for batch in done:
        other.apply(batch, form="net")
    assert graph.count() == other.count()
    assert rows_of(graph.scan()) == rows_of(other.scan())
    for batch in done:
        graph.apply([("delete", table, rows) for _, table, rows in batch], form="net")
    assert not graph.count()
    for batch in done[: len(done) // 2]:
        graph.apply(batch, form="net")
    graph.check()


def test_rows_that_have_no_room_are_not_loaded() -> None:
    graph = jg.JoinGraph(view_of("full"), memory_limit=LIMIT // 4)
    rows = {name: [(at, None, at) for at in range(20_000)] for name in "ab"}
    with pytest.raises(jg.LimitError, match="nothing was changed"):
        graph.load(rows)
    assert not graph.count()
    graph.load({name: some[:1000] for name, some in rows.items()})
    assert graph.count() == 2000


def read_part(part: Partition | ElsewherePartition) -> Counter[Row]:
    """Read a part."""
    return rows_of(part.read())


@pytest.mark.parametrize("engine", ENGINES)
def test_other_processes_read_the_parts_of_outer_joins(tmp_path: Path, engine: str) -> None:
    """Each row is in one part: those that begin at values without a left side, too."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for number, name in enumerate(PARTED):
            view, feed = view_of(name), Feed(number)
            with jg.JoinGraph(view, tmp_path / str(number), engine=engine) as graph:
                for at, batch in enumerate(feed.batches(view, 30)):
                    graph.apply(batch)
                    if at == 20:
                        graph.snapshot()
                right = feed.answer(view)
                for where in (None, f"{view.schema.names[-1]} IS NULL"):
                    parts = graph.partitions(3, where=where)
                    found = sum(pool.map(read_part, parts), Counter[Row]())
                    assert found == (feed.answer(view, where) if where else right), (name, where)
