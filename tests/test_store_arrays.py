"""Snapshots whose arrays are mapped: the graph is that of the rows, and nobody made them up."""

from __future__ import annotations

import json
import logging
import pickle
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import xxhash

import joingraph as jg
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.graph.compiled.memory import image
from joingraph.storage.disk.folder import Folder
from joingraph.storage.disk.snapshot import TAIL, TAIL_MAGIC, Snapshot
from tests import LOOKAHEADS
from tests.bags import bag

TABLES = {
    "follower": "CREATE TABLE follower (author STRING, fan BIGINT)",
    "tweet": "CREATE TABLE tweet (id BIGINT PRIMARY KEY, author STRING, topic BIGINT, text STRING)",
    "topic": "CREATE TABLE topic (topic BIGINT, name STRING, score DOUBLE)",
}
VIEW = jg.View(
    "SELECT F.fan, T.id, T.text, P.name, P.score FROM follower F JOIN tweet T"
    " ON F.author = T.author JOIN topic P ON T.topic = P.topic",
    TABLES,
)
Batch = list[tuple[str, str, list[tuple[object, ...]]]]


@pytest.fixture(autouse=True)
def _all_graphs_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "FEWEST_BYTES", 0)


def feed(seed: int, batches: int, rows: int) -> list[Batch]:
    """Make batches of inserts and deletes, some of them of rows with NULLs."""
    chance, held, found = random.Random(seed), dict[str, list[tuple[object, ...]]](), list[Batch]()
    for number in range(batches):
        batch: Batch = []
        for table in TABLES:
            new = [row(chance, table, number * rows + each) for each in range(rows)]
            mine = held.setdefault(table, [])
            gone = [mine.pop(chance.randrange(len(mine))) for _ in range(min(len(mine), rows // 2))]
            mine += new
            batch += [("delete", table, gone), ("insert", table, new)]
        found.append(batch)
    return found


def row(chance: random.Random, table: str, number: int) -> tuple[object, ...]:
    author, topic = f"author {chance.randrange(60)}", chance.randrange(40)
    text = chance.choice([None, "x" * chance.randrange(50), f"text {number}"])
    return {
        "follower": (author, chance.randrange(100)),
        "tweet": (number, author, topic, text),
        "topic": (topic, text, chance.choice([None, 0.5, -1.0])),
    }[table]


def rows(graph: jg.JoinGraph) -> object:
    return bag(tuple(each.values()) for each in graph.to_arrow().to_pylist())


def spoil(path: Path, *, arrays: bool) -> None:
    """Flip a bit of each block: of the rows, or of the arrays."""
    folder = Folder(path)
    snapshot = Snapshot(folder, folder.snapshots()[-1])
    places = snapshot.array_places if arrays else snapshot.places
    assert places, "there is something to spoil"
    data = bytearray(snapshot.path.read_bytes())
    for place in places.values():
        if place.length:
            data[place.offset + place.length // 2] ^= 4
    snapshot.close()
    snapshot.path.unlink()
    snapshot.path.write_bytes(data)


@pytest.mark.parametrize("lookahead", LOOKAHEADS)
def test_a_mapped_graph_goes_on_as_the_one_that_was_written(tmp_path: Path, lookahead: str) -> None:
    model = jg.JoinGraph(VIEW, engine="reference")
    made = jg.JoinGraph(VIEW, tmp_path / "g", lookahead=lookahead, key_index=["tweet"])
    made.index("score")
    made.index("text")
    made.close()
    for life, batch in enumerate(feed(seed=7, batches=9, rows=60)):
        with jg.open(tmp_path / "g") as graph:
            assert rows(graph) == rows(model)
            for where in ("text = 'text 1'", "score < 0.2", "score IS NULL"):
                assert graph.count(where) == model.count(where)
            assert bag(graph.apply(batch).rows()) == bag(model.apply(batch).rows())
            graph.check()
            assert rows(graph) == rows(model)
            graph.snapshot()
        if life % 3:
            spoil(tmp_path / "g", arrays=False)  # so that only the arrays can tell


@pytest.mark.parametrize("is_mapped", [True, False])
def test_an_opened_graph_knows_which_columns_held_null(tmp_path: Path, *, is_mapped: bool) -> None:
    batch: Batch = [
        ("insert", "follower", [("a", 1)]),
        ("insert", "tweet", [(1, "a", 5, "text")]),
        ("insert", "topic", [(5, "name", None)]),
    ]
    with jg.JoinGraph(VIEW, tmp_path / "g", engine="compiled") as graph:
        graph.apply(batch)
        graph.snapshot()
    if not is_mapped:
        spoil(tmp_path / "g", arrays=True)
    with jg.open(tmp_path / "g") as graph:
        engine = graph.engine
        assert isinstance(engine, CompiledEngine)
        columns = zip(VIEW.schema.names, engine.outputs.columns, strict=True)
        known = {name: engine.nulls.may_be(kept.slot) for name, kept in columns if kept}
        assert [name for name, may_be in known.items() if may_be] == ["score"]
        assert [*graph.to_arrow().to_pydict().values()] == [[1], [1], ["text"], ["name"], [None]]


def test_a_mapped_file_is_never_written_to(tmp_path: Path) -> None:
    with jg.JoinGraph(VIEW, tmp_path / "g") as graph:
        graph.apply(feed(seed=1, batches=1, rows=300)[0])
        graph.snapshot()
    (snapshot,) = (tmp_path / "g").glob("snapshot-*")
    before = snapshot.read_bytes()
    with jg.open(tmp_path / "g") as graph:
        for batch in feed(seed=2, batches=4, rows=100):
            graph.apply(batch)
        for table in TABLES:
            graph.expire(table, f"{'fan' if table == 'follower' else 'topic'} >= 0", diffs=False)
        graph.check()
        assert graph.count() == 0
        assert snapshot.read_bytes() == before


def written(folder: Path) -> object:
    """Write a graph with arrays; gives its rows."""
    with jg.JoinGraph(VIEW, folder) as graph:
        graph.apply(feed(seed=3, batches=1, rows=100)[0])
        graph.snapshot()
        return rows(graph)


def test_damaged_arrays_are_told_and_the_rows_are_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = written(tmp_path / "g")
    spoil(tmp_path / "g", arrays=True)
    with caplog.at_level(logging.WARNING), jg.open(tmp_path / "g") as graph:
        assert rows(graph) == expected
    assert "its arrays are damaged" in caplog.text
    spoil(tmp_path / "g", arrays=False)
    with pytest.raises(jg.StoreError, match="is damaged: block 'rows-0'"):
        jg.open(tmp_path / "g")


def test_another_engine_or_look_ahead_reads_the_rows(tmp_path: Path) -> None:
    expected = written(tmp_path / "g")
    for options in ({"engine": "reference"}, {"lookahead": "none"}):
        with jg.JoinGraph(VIEW, tmp_path / "g", **options) as graph:
            assert rows(graph) == expected
            graph.check()


def lose_the_key(cache: Path, snapshot: Path) -> None:
    (cache / "joingraph" / "key").unlink()


def let_others_read_the_key(cache: Path, snapshot: Path) -> None:
    (cache / "joingraph" / "key").chmod(0o644)


def make_up_the_list(cache: Path, snapshot: Path) -> None:
    """Do what somebody can who may write the folder, and has not got the key."""
    found = Snapshot(Folder(snapshot.parent), int(snapshot.name[-20:]))
    data, footer = found.path.read_bytes(), found.footer
    places = footer["arrays"]["blocks"]
    places[next(iter(places))][1] -= 8
    text = json.dumps(footer).encode()
    blocks = data[: max(each.offset + each.length for each in found.array_places.values())]
    tail = TAIL.pack(len(text), xxhash.xxh3_64_intdigest(text), TAIL_MAGIC)
    found.close()
    snapshot.unlink()
    snapshot.write_bytes(blocks + text + tail)


@pytest.mark.parametrize("change", [lose_the_key, let_others_read_the_key, make_up_the_list])
def test_arrays_that_this_user_did_not_seal_here_are_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path, Path], None]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    expected = written(tmp_path / "g")
    (snapshot,) = (tmp_path / "g").glob("snapshot-*")
    change(tmp_path / "cache", snapshot)
    with jg.open(tmp_path / "g") as graph:
        assert rows(graph) == expected
    spoil(tmp_path / "g", arrays=False)
    with pytest.raises(jg.StoreError, match="rows-0"):
        jg.open(tmp_path / "g")


def test_parts_read_by_who_can_map_arrays_and_who_cannot_give_the_view_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with jg.JoinGraph(VIEW, tmp_path / "g") as graph:
        for batch in feed(seed=5, batches=4, rows=100):
            graph.apply(batch)
        graph.snapshot()
        one, two = map(pickle.dumps, graph.partitions(2))
        found = [tuple(each.values()) for each in pickle.loads(one).read().read_all().to_pylist()]
        lose_the_key(tmp_path / "cache", tmp_path)
        found += [tuple(each.values()) for each in pickle.loads(two).read().read_all().to_pylist()]
        assert bag(found) == rows(graph)
