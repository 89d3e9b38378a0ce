"""Arrays in memory that is used again: never for two of them at once, and not for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.graph.compiled.memory import leases
from joingraph.graph.compiled.memory.leases import FEWEST_KEPT, KEPT_WORDS, MOST_WORDS, leased
from joingraph.graph.compiled.memory.reserved import Words, address_of
from joingraph.tables.batch import read_batch
from tests.test_forks import child
from tests.test_store_arrays import VIEW, rows

SHAPE = 4000, 5


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "pools", {})


def test_memory_is_used_again_once_no_array_refers_to_it() -> None:
    first = leased(SHAPE)
    place, column = address_of(first), first[:, 2]
    del first
    others = [leased(SHAPE) for _ in range(3)]
    assert place not in map(address_of, others), "a column of it is left"
    del column
    assert address_of(leased((3500, 5))) == place


def test_few_are_kept_and_small_and_huge_ones_never() -> None:
    kept = KEPT_WORDS >> 15
    many = [leased(SHAPE) for _ in range(kept + 3)]
    many += [leased((MOST_WORDS, 1)) for _ in range(FEWEST_KEPT + 1)]
    many += [leased((10, 5)), leased((MOST_WORDS + 1, 1))]
    many.clear()
    found = {size: len(each.free) for size, each in leases.pools.items()}
    assert found == {1 << 15: kept, MOST_WORDS: FEWEST_KEPT}


def test_threads_share_no_memory() -> None:
    def fill(number: int) -> bool:
        found: Words = leased(SHAPE)
        found[:] = number
        return bool((np.sort(found, axis=0) == number).all())

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(fill, range(400)))


def batch(size: int, first: int = 0) -> list[tuple[str, str, pa.Table]]:
    ids = range(first, first + size)
    columns = {"id": ids, "author": ["ann"] * size, "topic": ids, "text": ["x"] * size}
    return [("insert", "tweet", pa.table(columns))]


def test_a_batch_is_taken_back_from_the_memory_of_its_own() -> None:
    graph, other = (jg.JoinGraph(VIEW, engine="compiled") for _ in range(2))
    for each in (graph, other):
        each.load({"follower": [("ann", 7)], "topic": [(5000, "name", 1.0), (7000, "name", 1.0)]})
        each.apply(batch(6000))
    before = rows(graph)
    attempts = graph.engine, other.engine
    entries = read_batch(batch(6000, 6000), VIEW.tables)
    for engine in attempts:
        engine.keep()
        engine.apply(entries, skip=False, generate=True)
    for engine in attempts:
        engine.undo()
    for each in (graph, other):
        each.check()
        assert rows(each) == before
        each.apply(batch(6000, 6000))
        assert each.stats()["aliases"]["T"]["rows"] == 12_000


def test_a_child_and_its_parent_write_to_memory_of_their_own() -> None:
    lent = leased(SHAPE)
    lent[:] = 7

    def work() -> bool:
        lent[:], again = 8, leased(SHAPE)
        again[:] = 9
        return bool((lent == 8).all())

    assert child(work) == "True"
    again = leased(SHAPE)
    again[:] = 10
    assert (lent == 7).all()
