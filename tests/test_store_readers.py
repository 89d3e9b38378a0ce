"""A read-only graph beside its writer: never a false alarm, never half of what was written.

Interleavings are made by hand: a test does the writer's next step at the moment when the reader
has just done one of its own. tests/crash/readers.py leaves them to chance, a million times.
"""

from __future__ import annotations

import gc
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import joingraph as jg
from joingraph.api.partitions import parts_in
from joingraph.storage import recovery
from joingraph.storage.disk import beside, files, log, log_reader, new_folder, segment
from joingraph.storage.disk.folder import Folder
from joingraph.storage.journal import Prompt
from tests import ENGINES
from tests.faults import of_the_system

TABLES = {"r": "CREATE TABLE r (a BIGINT, text STRING)"}
VIEW = jg.View("SELECT a, text FROM r", TABLES)
OTHER = jg.View("SELECT text, a FROM r", TABLES)


def made(path: Path, engine: str = "reference", durability: str = "os") -> jg.JoinGraph:
    graph = jg.JoinGraph(VIEW, path, engine=engine, durability=durability)
    graph.insert("r", [(0, "x")])
    return graph


def held(graph: jg.JoinGraph) -> list[int]:
    """Read the numbers that a graph holds."""
    return sorted(graph.to_arrow()["a"].to_pylist())


def add(graph: jg.JoinGraph, number: int, text: str = "x") -> None:
    graph.insert("r", [(number, text)])


class Meanwhile:
    """Does something once, just after a function of a module has been called so many times."""

    def __init__(self, patch: pytest.MonkeyPatch, module: Any, name: str, *, calls: int) -> None:
        self.left, self.do, self.was_done = calls, lambda: None, False
        real = getattr(module, name)

        def call(*given: Any) -> Any:
            found = real(*given)
            self.left -= 1
            if self.left == 0:
                self.was_done = True
                self.do()
            return found

        patch.setattr(module, name, call)


def grown(graph: jg.JoinGraph, *, snapshots: bool) -> Callable[[], None]:
    """Return a step of the writer: batches through several segments, and perhaps a snapshot."""

    def step() -> None:
        for number in range(100, 104):
            add(graph, number, "y" * 1_000)
        if snapshots:
            graph.snapshot()
            add(graph, 110)

    return step


@pytest.mark.parametrize("snapshots", [False, True], ids=["rotating", "snapshots"])
@pytest.mark.parametrize("does", ["refreshes", "opens", "divides"])
@pytest.mark.parametrize("after", ["listing", "opening", "reading", "measuring"])
def test_whatever_the_writer_does_meanwhile_a_reader_sees_a_sound_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: str, does: str, snapshots: bool
) -> None:
    monkeypatch.setattr(log, "SEGMENT_BYTES", 2_000)
    where: dict[str, tuple[Any, str]] = {
        "listing": (os, "listdir"),
        "opening": (files, "read_from"),
        "reading": (log_reader, "read_found"),
        "measuring": (os, "fstat"),
    }
    with made(tmp_path / "g") as graph:
        for calls in (1, 2, 3, 5, 8):
            with jg.open(tmp_path / "g", readonly=True) as reader, monkeypatch.context() as patch:
                add(graph, calls)
                before = held(graph)
                meanwhile = Meanwhile(patch, *where[after], calls=calls)
                meanwhile.do = grown(graph, snapshots=snapshots)
                if does == "refreshes":
                    reader.refresh()
                    assert held(reader) in (before, held(graph)), f"{calls} calls"
                elif does == "opens":
                    with jg.open(tmp_path / "g", readonly=True) as second:
                        assert held(second)[: len(before)] == before, f"{calls} calls"
                else:
                    parts = parts_in(tmp_path / "g", 2, None)
                    assert len(parts) == 2
            graph.expire("r", "a >= 100")
            if not meanwhile.was_done:
                return


def test_a_record_that_becomes_whole_while_it_is_read_is_not_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader finds half a record, and then one behind it that says that it was flushed."""
    with made(tmp_path / "g", durability="fsync") as graph:
        (path,) = (tmp_path / "g").glob("log-*")
        with jg.open(tmp_path / "g", readonly=True) as reader:
            size = path.stat().st_size
            add(graph, 1)
            add(graph, 2)
            real, cut = segment.read_found, [1]

            def torn(descriptor: int, offset: int, name: Path) -> segment.Found | None:
                return (
                    None if offset == size and cut and cut.pop() else real(descriptor, offset, name)
                )

            monkeypatch.setattr(log_reader, "read_found", torn)
            reader.refresh()
            assert not cut
            assert held(reader) == [0, 1, 2]


def failing(patch: pytest.MonkeyPatch) -> None:
    """Let a write fail once all of it is written, as an interrupt may do it."""
    real = os.writev

    def late(descriptor: int, parts: Any) -> int:
        real(descriptor, parts)
        raise OSError(5, "late")

    patch.setattr(os, "writev", of_the_system(late))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch_that_its_writer_took_back_is_taken_back_by_a_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    with made(tmp_path / "g", engine) as graph, jg.open(tmp_path / "g", readonly=True) as reader:
        with monkeypatch.context() as patch:
            real = files.cut

            def seen(descriptor: int, length: int, path: Path) -> None:
                reader.refresh()
                real(descriptor, length, path)

            failing(patch)
            patch.setattr(files, "cut", seen)
            with pytest.raises(jg.StoreError, match="late"):
                add(graph, 1)
        assert held(reader) == [0, 1]
        add(graph, 2)  # as long as the one before, and of its number
        reader.refresh()
        assert held(reader) == held(graph) == [0, 2]
        assert reader.seq == graph.seq == 2


def test_a_cut_of_what_failed_is_no_news(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with made(tmp_path / "g") as graph, jg.open(tmp_path / "g", readonly=True) as reader:
        (path,) = (tmp_path / "g").glob("log-*")
        size = path.stat().st_size
        with path.open("ab") as file:
            file.write(b"JGRC" + b"\x01" * 30)
        reader.refresh()
        os.truncate(path, size)
        add(graph, 1)
        reader.refresh()
        assert held(reader) == [0, 1]


def test_a_torn_tail_is_cut_by_the_next_writer_under_its_readers(tmp_path: Path) -> None:
    made(tmp_path / "g").close()
    (path,) = (tmp_path / "g").glob("log-*")
    with path.open("ab") as file:
        file.write(b"JGRC" + b"\x01" * 300)
    with jg.open(tmp_path / "g", readonly=True) as reader:
        reader.refresh()
        with jg.open(tmp_path / "g") as graph:
            reader.refresh()
            add(graph, 1)
            reader.refresh()
            assert held(reader) == [0, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_refresh_that_fails_leaves_the_graph_as_it_was_and_goes_on_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """Records read ahead of one that fails are not passed over by the next refresh."""
    with made(tmp_path / "g", engine) as graph, jg.open(tmp_path / "g", readonly=True) as reader:
        for number in range(1, 6):
            add(graph, number)
        with monkeypatch.context() as patch:
            real, left = recovery.replay, [3]

            def refusing(*given: Any, generate: bool) -> recovery.Replayed:
                left[0] -= 1
                if not left[0]:
                    raise jg.LimitError("full")
                return real(*given, generate=generate)

            patch.setattr(recovery, "replay", refusing)
            with pytest.raises(jg.StoreError, match="record 4 cannot be replayed: full"):
                reader.refresh()
        assert held(reader) == [0, 1, 2]
        assert reader.seq == 3
        reader.refresh()
        assert held(reader) == [0, 1, 2, 3, 4, 5]
        assert reader.seq == graph.seq


def test_view_diffs_that_are_remade_hold_back_no_record_of_a_refresh_that_fails(
    tmp_path: Path,
) -> None:
    """Records behind the last such batch are read before it is carried out."""
    with (
        made(tmp_path / "g", durability="fsync") as graph,
        jg.open(tmp_path / "g", readonly=True) as reader,
    ):
        graph.subscribe("s")
        graph.prompt = Prompt("feed", frozenset({"s"}))
        graph.apply([("insert", "r", [(1, "x")])], source="feed", position=1)
        graph.insert("r", [(2, "x")])
        graph.insert("r", [(3, "x")])
        (path,) = (tmp_path / "g").glob("log-*")
        whole = path.read_bytes()
        with path.open("r+b") as file:
            file.seek(whole.rindex(b"JGRC", 0, whole.rindex(b"JGRC")))
            file.write(b"?")
        with pytest.raises(jg.StoreError, match="damaged at byte"):
            reader.refresh()
        at = reader.seq
        with path.open("r+b") as file:
            file.write(whole)
        reader.refresh()
        assert held(reader) == [0, 1, 2, 3]
        assert at < reader.seq == 4


@pytest.mark.parametrize("engine", ENGINES)
def test_an_interrupted_refresh_answers_nothing_until_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    with made(tmp_path / "g", engine) as graph, jg.open(tmp_path / "g", readonly=True) as reader:
        add(graph, 1)
        add(graph, 2)
        with monkeypatch.context() as patch:
            real = recovery.replay

            def interrupted(*given: Any, generate: bool) -> None:
                real(*given, generate=generate)
                raise KeyboardInterrupt

            patch.setattr(recovery, "replay", interrupted)
            with pytest.raises(KeyboardInterrupt):
                reader.refresh()
        with pytest.raises(jg.StoreError, match="open it again"):
            reader.count()
        reader.refresh()
        assert held(reader) == [0, 1, 2]


def test_a_refresh_without_news_leaves_open_readers_alone(tmp_path: Path) -> None:
    with made(tmp_path / "g") as graph, jg.open(tmp_path / "g", readonly=True) as reader:
        (part,) = reader.partitions(1)
        reader.refresh()
        assert part.read().read_all().num_rows == 1
        add(graph, 1)
        reader.refresh()
        with pytest.raises(jg.JoinGraphError):
            part.read().read_all()


def test_diffs_set_aside_are_followed_too(tmp_path: Path) -> None:
    view = jg.JoinGraph(VIEW, tmp_path / "g", engine="reference", on_missing="quarantine")
    with view as graph, jg.open(tmp_path / "g", readonly=True) as reader:
        graph.delete("r", [(9, "?")])
        reader.refresh()
        assert [each.pre["a"] for each in reader.quarantined()] == [9]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_reader_of_the_view_before_stops_at_a_rebuild(tmp_path: Path, engine: str) -> None:
    with made(tmp_path / "g", engine) as graph, jg.open(tmp_path / "g", readonly=True) as reader:
        away = pickle.loads(pickle.dumps(reader.partitions(1)))
        add(graph, 1)
        graph.subscribe("s")  # who keeps the log, so that there is something to follow
        graph.rebuild(OTHER)
        add(graph, 2)
        for _ in range(2):
            with pytest.raises(jg.StoreError, match="graph of another view"):
                reader.refresh()
            assert held(reader) in ([0], [0, 1])
        with pytest.raises(jg.StoreError, match="cannot be read as it was"):
            away[0].read()
        with jg.open(tmp_path / "g", readonly=True) as later:
            assert later.view.schema.names == ["text", "a"]
            assert held(later) == [0, 1, 2]


def test_a_folder_replaced_by_another_graphs_is_refused_and_by_its_own_copy_followed(
    tmp_path: Path,
) -> None:
    made(tmp_path / "g").close()
    shutil.copytree(tmp_path / "g", tmp_path / "copy")
    with jg.open(tmp_path / "g", readonly=True) as reader:
        (away,) = pickle.loads(pickle.dumps(reader.partitions(1)))
        (tmp_path / "g").rename(tmp_path / "old")
        with pytest.raises(jg.StoreError, match="holds no graph"):
            reader.refresh()
        made(tmp_path / "g").close()
        with pytest.raises(jg.StoreError, match="replaced by the folder of another graph"):
            reader.refresh()
        with pytest.raises(jg.StoreError, match="cannot be read as it was"):
            away.read()
        assert held(reader) == [0]
        (tmp_path / "g").rename(tmp_path / "other")
        (tmp_path / "copy").rename(tmp_path / "g")
        with jg.open(tmp_path / "g") as graph:
            add(graph, 5)
        reader.refresh()
        assert held(reader) == [0, 5]


@pytest.mark.parametrize("engine", ENGINES)
def test_two_readers_in_one_process_do_not_meet(tmp_path: Path, engine: str) -> None:
    with made(tmp_path / "g", engine) as graph, jg.open(tmp_path / "g", readonly=True) as one:
        with jg.open(tmp_path / "g", readonly=True) as two:
            for number in range(1, 9):
                add(graph, number)
                if number % 3 == 0:
                    graph.snapshot()
                one.refresh()
                assert held(one) == held(graph)
            two.refresh()
            assert held(two) == held(one)
        one.refresh()
        assert held(one) == list(range(9))


def test_a_graph_that_is_being_made_is_none_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    real = new_folder.write_snapshot

    def look(*given: Any) -> None:
        with pytest.raises(jg.StoreError, match="holds no graph") as found:
            jg.open(tmp_path / "g", readonly=True)
        seen.append(str(found.value))
        real(*given)

    monkeypatch.setattr(new_folder, "write_snapshot", look)
    made(tmp_path / "g").close()
    assert seen


def test_a_folder_that_never_stands_still_is_given_up_with_what_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "LOOKS_MAX", 3)
    tries: list[int] = []

    def read() -> None:
        tries.append(1)
        (tmp_path / f"log-{len(tries):020d}").touch()
        raise files.Stale("log-7 is missing")

    with pytest.raises(jg.StoreError, match=r"under each of 3 attempts.*log-7 is missing"):
        beside.look_again(Folder(tmp_path), read)
    assert len(tries) == 3


def test_files_that_a_reader_opened_are_closed(tmp_path: Path) -> None:
    def count() -> int:
        gc.collect()  # a mapped file has a descriptor of its own
        return len(os.listdir("/dev/fd"))

    with made(tmp_path / "g") as graph:
        before = count()
        with jg.open(tmp_path / "g", readonly=True) as reader:
            for number in range(1, 6):
                add(graph, number)
                graph.snapshot()
                reader.refresh()
            parts_in(tmp_path / "g", 1, None)[0].read().read_all()
        del reader  # and with it its mapped snapshot
        assert count() == before
