"""A graph in a folder: what is there when it is opened again, by whom, and how."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.storage.disk import disk
from tests.bags import bag

TABLES = {
    "follower": "CREATE TABLE follower (author STRING, fan STRING)",
    "tweet": "CREATE TABLE tweet (author STRING NOT NULL, id BIGINT PRIMARY KEY, text STRING)",
}
SQL = "SELECT F.fan, T.id FROM follower F JOIN tweet T ON F.author = T.author"
VIEW = jg.View(SQL, TABLES)
FANS = [("ann", "bob"), ("ann", "eve")]


def made(
    folder: Path, engine: str = "reference", on_missing: str = "error", durability: str = "fsync"
) -> jg.JoinGraph:
    """Make or open a timeline; the plain engine, unless a test asks for another."""
    return jg.JoinGraph(VIEW, folder, engine=engine, on_missing=on_missing, durability=durability)


def filled(
    folder: Path, engine: str = "reference", on_missing: str = "error", durability: str = "fsync"
) -> jg.JoinGraph:
    """Make a timeline with two fans of ann and one tweet."""
    graph = made(folder, engine, on_missing, durability)
    graph.load({"follower": FANS})
    graph.insert("tweet", [("ann", 1, "hi")])
    return graph


def rows(graph: jg.JoinGraph) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in graph.to_arrow().to_pylist())


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("snapshots", [False, True], ids=["by its log", "by its snapshot"])
def test_what_was_applied_is_there_when_it_is_opened_again(
    tmp_path: Path, engine: str, snapshots: bool
) -> None:
    graph = filled(tmp_path / "graph", engine=engine)
    graph.update("tweet", [("ann", 1, "hi")], [("ann", 2, "hi")])
    graph.delete("follower", [("ann", "eve")])
    if snapshots:
        graph.snapshot()
    before, seq = rows(graph), graph.seq
    graph.close()
    with jg.open(tmp_path / "graph") as graph:
        assert (rows(graph), graph.seq) == (before, seq) == ([("bob", 2)], 3)
        graph.check()
        assert graph.insert("tweet", [("ann", 3, "x")]).seq == 4


TYPES = {
    "b": pa.bool_(),
    "i": pa.int16(),
    "l": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "c": pa.decimal128(30, 2),
    "s": pa.string(),
    "y": pa.binary(),
    "t": pa.date32(),
    "m": pa.timestamp("us"),
}


NULL_INSIDE = -0x7A3F9D215C8EB461  # the number that is NULL's word in the compiled graph


@pytest.mark.parametrize("engines", [("reference", "compiled"), ("compiled", "reference")])
def test_a_snapshot_keeps_values_of_all_types_for_both_engines(
    tmp_path: Path, engines: tuple[str, str]
) -> None:
    schema = pa.schema([pa.field("k", pa.int64()), *(pa.field(*each) for each in TYPES.items())])
    names = ", ".join(f"r.{name}" for name in TYPES)
    view = jg.View(f"SELECT r.k, {names} FROM r JOIN q ON r.k = q.k", {"r": schema, "q": schema})
    some = pa.array(["1", None, "0", "1", "1"])
    columns = [pa.array([NULL_INSIDE, 2, 3, 3, 3])]
    for name, kind in TYPES.items():
        width = {"t": pa.int32(), "m": pa.int64()}.get(name)
        columns.append((some.cast(width) if width else some).cast(kind))
    table = pa.table(columns, schema=schema)
    with jg.JoinGraph(view, tmp_path / "graph", engine=engines[0]) as graph:
        graph.load({"r": table, "q": table})
        before = bag(map(repr, graph.to_arrow().to_pylist()))
        graph.snapshot()
    with jg.JoinGraph(view, tmp_path / "graph", engine=engines[1]) as graph:
        graph.check()
        assert bag(map(repr, graph.to_arrow().to_pylist())) == before


def test_expired_rows_indexes_and_keys_are_as_they_were(tmp_path: Path) -> None:
    view = jg.View(
        "SELECT F.fan, T.id, T.text FROM follower F JOIN tweet T ON F.author = T.author", TABLES
    )
    with jg.JoinGraph(view, tmp_path / "g", engine="reference", key_index=["tweet"]) as graph:
        graph.load({"follower": FANS, "tweet": [("ann", 1, "a"), ("ann", 2, "b")]})
        graph.index("text")
        graph.delete("tweet", [{"id": 1}])
        graph.insert("tweet", [("ann", 3, "c"), ("ann", 4, "d")])
        graph.expire("tweet", "id >= 4")
        graph.snapshot()
        graph.delete("tweet", [{"id": 3}])
    with jg.open(tmp_path / "g") as graph:
        assert sorted(graph.to_arrow()["id"].to_pylist()) == [2, 2]
        assert list(graph.stats()["indexes"]) == ["text"]
        graph.delete("tweet", [{"id": 2}])
        graph.check()


def test_rows_set_aside_are_still_known(tmp_path: Path) -> None:
    with filled(tmp_path / "graph", on_missing="quarantine") as graph:
        graph.delete("tweet", [("ann", 9, "?")])
    for _ in range(2):
        with jg.open(tmp_path / "graph") as graph:
            assert [each.pre["id"] for each in graph.quarantined()] == [9]
            graph.snapshot()


def test_a_refused_batch_is_not_logged(tmp_path: Path) -> None:
    with filled(tmp_path / "graph") as graph:
        size = sum(path.stat().st_size for path in (tmp_path / "graph").glob("log-*"))
        with pytest.raises(jg.DiffError):
            graph.delete("tweet", [("ann", 9, "?")])
        assert size == sum(path.stat().st_size for path in (tmp_path / "graph").glob("log-*"))


def test_one_process_writes_and_others_are_told_who_it_is(tmp_path: Path) -> None:
    said = f"written by process {os.getpid()} on .*readonly"
    with filled(tmp_path / "graph"), pytest.raises(jg.StoreError, match=said):
        jg.open(tmp_path / "graph")
    jg.open(tmp_path / "graph").close()


def test_a_reader_follows_the_writer_through_snapshots(tmp_path: Path) -> None:
    with filled(tmp_path / "graph") as graph, jg.open(tmp_path / "graph", readonly=True) as reader:
        assert rows(reader) == rows(graph)
        for number in range(10, 13):
            graph.insert("tweet", [("ann", number, "x")])
            graph.snapshot()
            reader.refresh()
            assert rows(reader) == rows(graph)
        rewrite: list[Callable[[], object]] = [
            lambda: reader.insert("tweet", []),
            lambda: reader.load({"tweet": []}),
            lambda: reader.expire("follower", "fan = 'bob'"),
            lambda: reader.rebuild(VIEW),
            reader.snapshot,
        ]
        for change in rewrite:
            with pytest.raises(jg.StoreError, match="readonly"):
                change()
        assert rows(reader) == rows(graph)


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    with filled(tmp_path / "graph") as graph:
        graph.snapshot()
        assert stat.S_IMODE((tmp_path / "graph").stat().st_mode) == 0o700
        for path in (tmp_path / "graph").iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_a_folder_of_another_view_or_of_something_else_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "graph").close()
    with pytest.raises(jg.StoreError, match="graph of another view"):
        jg.JoinGraph(jg.View("SELECT author FROM follower", TABLES), tmp_path / "graph")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(jg.StoreError, match=r"other files \(letter.txt\)"):
        made(tmp_path / "other")
    with pytest.raises(jg.StoreError, match="holds no graph"):
        jg.open(tmp_path / "nowhere")


def test_a_snapshot_replaces_the_log_before_it(tmp_path: Path) -> None:
    with filled(tmp_path / "graph") as graph:
        for number in range(50):
            graph.insert("tweet", [("ann", 100 + number, "x" * 1000)])
        before = sum(path.stat().st_size for path in (tmp_path / "graph").glob("log-*"))
        graph.snapshot()
        after = sum(path.stat().st_size for path in (tmp_path / "graph").glob("log-*"))
        assert after < 1000 < before
        assert len(list((tmp_path / "graph").glob("snapshot-*"))) == 1


def test_a_large_graph_is_written_down_by_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "SMALL_BYTES", 0)
    with filled(tmp_path / "graph", on_missing="quarantine") as graph:
        graph.subscribe("slow")
        graph.apply([("insert", "tweet", [("ann", 2, "x")])], source="t", position=1)
        graph.delete("tweet", [("ann", 9, "?")])
        graph.snapshot()
        graph.insert("tweet", [("ann", 3, "x")])
        before = rows(graph)
    with jg.open(tmp_path / "graph") as graph:
        assert rows(graph) == before
        assert graph.positions() == {"t": 1}
        assert len(graph.quarantined()) == 1
        assert [diff.seq for diff in graph.subscribe("slow")] == [2, 3, 4]
        graph.check()


@pytest.mark.parametrize("durability", ["os", "none"])
def test_a_graph_that_was_closed_is_whole_in_every_durability(
    tmp_path: Path, durability: str
) -> None:
    filled(tmp_path / "graph", durability=durability).close()
    with jg.open(tmp_path / "graph") as graph:
        assert rows(graph) == [("bob", 1), ("eve", 1)]


def test_many_callers_share_a_flush(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushes: list[int] = []
    real = os.fdatasync

    def slow(descriptor: int) -> None:
        flushes.append(descriptor)
        threading.Event().wait(0.01)
        real(descriptor)

    with made(tmp_path / "graph") as graph:
        monkeypatch.setattr(os, "fdatasync", slow)

        def apply(author: int) -> None:
            for number in range(5):
                graph.insert("tweet", [(f"a{author}", 100 * author + number, "x")])

        threads = [threading.Thread(target=apply, args=(author,)) for author in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert graph.seq == 40
        assert len(flushes) < 30
    with jg.open(tmp_path / "graph") as graph:
        assert graph.stats()["aliases"]["T"]["rows"] == 40
