"""Parts of a view that other processes read from the graph's folder, or refuse to."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import joingraph as jg
from joingraph.api.partitions import ElsewherePartition, Partition
from tests import ENGINES
from tests.bags import Row, bag

SQL = "SELECT F.fan, T.id FROM follower F JOIN tweet T ON F.author = T.author"
TABLES = {
    "follower": "CREATE TABLE follower (author STRING, fan STRING)",
    "tweet": "CREATE TABLE tweet (author STRING, id BIGINT)",
}


def rows_of(part: Partition | ElsewherePartition) -> list[Row]:
    """Read a part."""
    return [tuple(row.values()) for row in part.read().read_all().to_pylist()]


def made(path: Path | None, engine: str = "auto", durability: str = "fsync") -> jg.JoinGraph:
    """Fill a graph by a load, a snapshot if it has a folder, and changes in many orders."""
    graph = jg.JoinGraph(jg.View(SQL, TABLES), path, engine=engine, durability=durability)
    graph.load({"follower": [(f"a{i % 7}", f"fan{i}") for i in range(100)]})
    if path is not None:
        graph.snapshot()
    graph.insert("tweet", [(f"a{i % 5}", i) for i in range(40)])
    graph.delete("tweet", [(f"a{i % 5}", i) for i in range(0, 40, 3)])
    graph.delete("follower", [("a0", "fan0"), ("a6", "fan6")])
    return graph


def read_by_others(parts: Sequence[Partition]) -> list[list[Row]]:
    """Read each part in one of two processes that know nothing of the graph."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        return list(pool.map(rows_of, parts))


@pytest.mark.parametrize("engine", ENGINES)
def test_other_processes_read_the_parts_of_a_durable_graph(tmp_path: Path, engine: str) -> None:
    with made(tmp_path / "feed", engine) as graph:
        found = read_by_others(graph.partitions(3))
        expected = bag(tuple(row.values()) for row in graph.to_arrow().to_pylist())
        assert bag(row for rows in found for row in rows) == expected
        assert all(len(rows) > 50 for rows in found)
        some = read_by_others(graph.partitions(2, where="id < 10 AND fan <> 'fan1'"))
    assert bag(row for rows in some for row in rows) == bag(
        row for rows in found for row in rows if row[1] < 10 and row[0] != "fan1"
    )


@pytest.mark.parametrize("durability", ["fsync", "none"])
def test_parts_can_be_read_after_the_graph_is_closed(tmp_path: Path, durability: str) -> None:
    """What was held back of the log is written when the parts are made."""
    with made(tmp_path / "feed", durability=durability) as graph:
        count, parts = graph.count(), graph.partitions(2)
        away = pickle.loads(pickle.dumps(parts))
        assert sum(len(rows_of(part)) for part in away) == count
    assert sum(len(rows_of(part)) for part in away) == count


def test_parts_stay_what_they_were_while_the_graph_goes_on(tmp_path: Path) -> None:
    with made(tmp_path / "feed") as graph:
        expected = bag(tuple(row.values()) for row in graph.to_arrow().to_pylist())
        away = pickle.loads(pickle.dumps(graph.partitions(2)))
        graph.subscribe("search")
        graph.insert("tweet", [("a1", 99)])
        graph.index("id")
        assert bag(row for part in away for row in rows_of(part)) == expected


def test_parts_are_refused_once_there_is_a_new_snapshot(tmp_path: Path) -> None:
    """A snapshot changes nothing but the order by which parts are cut, and the old one is gone."""
    with made(tmp_path / "feed") as graph:
        away = pickle.loads(pickle.dumps(graph.partitions(2)))
        graph.snapshot()
        with pytest.raises(jg.StoreError, match="feed cannot be read as it was when its view was"):
            away[0].read()


def test_a_reader_divides_what_it_has_seen(tmp_path: Path) -> None:
    with made(tmp_path / "feed") as graph, jg.open(tmp_path / "feed", readonly=True) as reader:
        for _ in range(2):
            graph.insert("tweet", [("a1", 99)])
            away = pickle.loads(pickle.dumps(reader.partitions(2)))
            assert sum(len(rows_of(part)) for part in away) == reader.count() < graph.count()
            reader.refresh()


def test_parts_of_a_graph_in_memory_are_not_pickled() -> None:
    (part,) = made(None).partitions(1)
    with pytest.raises(jg.StoreError, match=r"in memory only: make it with JoinGraph\(view, path="):
        pickle.dumps(part)
    assert rows_of(part)


def test_parts_are_read_all_here_or_all_elsewhere(tmp_path: Path) -> None:
    """The graph that wrote a folder may keep its tuples in another order than those who read it."""
    with made(tmp_path / "feed") as graph:
        here, away = graph.partitions(2)
        rows_of(here)
        with pytest.raises(
            jg.StoreError, match="was read here, so no other can be read in another"
        ):
            pickle.dumps(away)
        away, here = graph.partitions(2)
        pickle.dumps(away)
        with pytest.raises(jg.StoreError, match="was read in another process, so no other can be"):
            here.read()
