"""Every step on the disk fails once: a batch is refused or applied whole, and all is right."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from unittest.mock import Mock

import pytest

import joingraph as jg
from joingraph.common import atomic_file
from joingraph.storage.attempt import Attempt
from joingraph.storage.disk import files, log
from joingraph.storage.disk.disk import Disk
from joingraph.storage.memory import Memory
from tests import ENGINES
from tests.faults import Faults, of_the_system

SQL = "SELECT r.a, r.n FROM r"
TABLES = {"r": "CREATE TABLE r (a BIGINT, n BIGINT)"}
VIEW = jg.View(SQL, TABLES)
KEYED = jg.View(SQL, {"r": "CREATE TABLE r (a BIGINT, n BIGINT, PRIMARY KEY (a, n))"})
BATCHES = 6
ENOUGH = 1_000  # steps are fewer


def made(folder: Path) -> jg.JoinGraph:
    return jg.JoinGraph(VIEW, folder, engine="reference")


def held(graph: jg.JoinGraph) -> set[int]:
    """Give the batches a graph holds; each of them has two rows."""
    found = graph.to_arrow()["a"].to_pylist()
    whole = {each for each in found if found.count(each) == 2}
    assert len(found) == 2 * len(whole), f"a batch is there in part: {found}"
    return whole


def work(folder: Path) -> set[int]:
    """Apply batches, snapshot, close; gives the batches that were acknowledged."""
    acknowledged: set[int] = set()
    try:
        graph = made(folder)
    except jg.StoreError:
        return acknowledged
    for number in range(BATCHES):
        try:
            batch = [("insert", "r", [(number, 1), (number, 2)])]
            if number % 2:
                graph.apply(batch, source="s", position=number)
            else:
                graph.apply(batch)  # is logged before it is carried out
            acknowledged.add(number)
            if number == 3:
                graph.snapshot()
        except jg.StoreError:
            pass
        try:
            assert held(graph) >= acknowledged
        except jg.StoreError:
            graph.close()
            return acknowledged
    with contextlib.suppress(jg.StoreError):
        graph.close()
    return acknowledged


@pytest.mark.parametrize("kind", ["EIO", "short"])
@pytest.mark.parametrize("lasts", [False, True], ids=["once", "from then on"])
def test_the_next_open_is_right_whichever_step_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, lasts: bool
) -> None:
    monkeypatch.setattr(log, "SEGMENT_BYTES", 2_000)
    for step in range(1, ENOUGH):
        folder = tmp_path / str(step)
        with monkeypatch.context() as patch:
            faults = Faults(patch, step, kind, lasts)
            acknowledged = work(folder)
        with made(folder) as graph:
            found = held(graph)
            assert acknowledged <= found <= set(range(BATCHES)), f"step {step}"
            known = [number for number in found if number % 2]
            assert graph.positions() == ({"s": max(known)} if known else {})
            graph.insert("r", [(99, 1), (99, 2)])
        with made(folder) as graph:
            assert held(graph) == found | {99}
        if not faults.failed:
            return
    raise AssertionError("the work takes more steps than were tried")


@pytest.mark.parametrize("lasts", [False, True], ids=["once", "from then on"])
def test_the_folder_is_of_one_view_or_the_other_whichever_step_of_a_rebuild_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasts: bool
) -> None:
    """What is logged after a rebuild that failed is of a table that the new view does not have."""
    tables = {"r": "CREATE TABLE r (a BIGINT NOT NULL, n BIGINT)"}
    both = {**tables, "s": "CREATE TABLE s (a BIGINT)"}
    view, later = jg.View("SELECT r.n FROM r JOIN s ON r.a = s.a", both), jg.View(SQL, tables)
    for step in range(1, ENOUGH):
        with jg.JoinGraph(view, tmp_path / str(step), engine="reference") as graph:
            graph.insert("r", [(1, 1)])
            with monkeypatch.context() as patch, contextlib.suppress(jg.StoreError):
                faults = Faults(patch, step, "EIO", lasts)
                graph.rebuild(later)
            with contextlib.suppress(jg.StoreError):
                graph.insert("r", [(2, 2)])
                if "s" in graph.view.tables:
                    graph.insert("s", [(1,), (2,), (3,)])
        seq = graph.seq
        with jg.open(tmp_path / str(step)) as graph:
            graph.check()
            assert graph.seq == seq, f"step {step}"
            if "s" in graph.view.tables and seq < 3:
                graph.insert("s", [(1,), (2,), (3,)])
            assert sorted(graph.to_arrow()["n"].to_pylist()) == [1, 2][: 2 if seq > 1 else 1]
        if not faults.failed:
            return
    raise AssertionError("a rebuild takes more steps than were tried")


class FlushOfTheSnapshot:
    """Flushes folders, but for the second time: of a rebuild, when its snapshot was renamed."""

    def __init__(self, patch: pytest.MonkeyPatch, error: BaseException) -> None:
        self.calls = 0

        def flush(folder: Path, real: Callable[[Path], None] = atomic_file.flush_folder) -> None:
            self.calls += 1
            if self.calls == 2:
                raise error
            real(folder)

        patch.setattr(atomic_file, "flush_folder", of_the_system(flush))


def test_a_rebuild_that_was_interrupted_flushes_its_snapshots_name_before_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with made(tmp_path / "graph") as graph:
        graph.insert("r", [(1, 1), (1, 2)])
        flush = FlushOfTheSnapshot(monkeypatch, Boom())
        with pytest.raises(Boom):
            graph.rebuild(jg.View("SELECT r.a FROM r", TABLES))
        assert graph.view.schema.names == ["a"]
        assert flush.calls == 3
        graph.insert("r", [(2, 1), (2, 2)])
    with jg.open(tmp_path / "graph") as graph:
        assert held(graph) == {1, 2}


def test_nothing_is_logged_while_the_snapshot_of_a_view_that_failed_may_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with made(tmp_path / "graph") as graph:
        graph.insert("r", [(1, 1), (1, 2)])
        with monkeypatch.context() as patch:
            FlushOfTheSnapshot(patch, OSError(errno.EIO, os.strerror(errno.EIO)))
            patch.setattr(Disk, "_unwrite", interrupted_amid(Disk._unwrite, patch))
            with pytest.raises(Boom):
                graph.rebuild(jg.View("SELECT r.a FROM r", TABLES))
        with pytest.raises(jg.StoreError, match="could not be removed"):
            graph.insert("r", [(2, 1), (2, 2)])
    with jg.open(tmp_path / "graph") as graph:
        assert held(graph) == {1}


def interrupted_amid(step: Callable[..., None], patch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Interrupt a step when it removes a file."""

    def interrupted(*given: object) -> None:
        with patch.context() as inner:
            inner.setattr(files, "unlink", Mock(side_effect=Boom))
            step(*given)

    return interrupted


def test_a_full_disk_refuses_a_batch_and_the_graph_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with made(tmp_path / "graph") as graph:
        graph.insert("r", [(1, 1), (1, 2)])
        with monkeypatch.context() as patch:
            Faults(patch, 1, "short", lasts=False)
            with pytest.raises(jg.StoreError, match=r"cannot write .*No space left"):
                graph.insert("r", [(2, 1), (2, 2)])
        assert held(graph) == {1}
        graph.insert("r", [(3, 1), (3, 2)])
    with made(tmp_path / "graph") as graph:
        assert held(graph) == {1, 3}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("before", [[], [(1, 1), (1, 2)]], ids=["empty", "filled"])
def test_a_full_disk_refuses_a_load_and_the_graph_goes_on(
    engine: str, before: list[tuple[int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = {1} if before else set[int]()
    with jg.JoinGraph(KEYED, tmp_path / "graph", engine=engine, key_index=["r"]) as graph:
        graph.index("n")
        graph.load({"r": before})
        with monkeypatch.context() as patch:
            Faults(patch, 1, "short", lasts=False)
            with pytest.raises(jg.StoreError, match=r"cannot write .*No space left"):
                graph.load({"r": [(2, 1), (2, 2)]}, source="r", position=1)
        assert held(graph) == numbers
        assert graph.positions() == {}
        assert graph.count("n = 2") == len(numbers)
        graph.check()
        graph.load({"r": [(2, 1), (2, 2)]}, source="r", position=1)
        assert held(graph) == numbers | {2}
    with jg.open(tmp_path / "graph") as graph:
        assert held(graph) == numbers | {2}


def test_after_a_failed_flush_nothing_is_answered_until_the_graph_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = made(tmp_path / "graph")
    with monkeypatch.context() as patch:
        Faults(patch, 2, "EIO", lasts=False)
        with pytest.raises(jg.StoreError, match="cannot flush"):
            graph.insert("r", [(1, 1), (1, 2)])
    with pytest.raises(jg.StoreError, match="open it again"):
        graph.count()
    with pytest.raises(jg.StoreError, match="open it again"):
        graph.insert("r", [(2, 1), (2, 2)])
    graph.close()
    with made(tmp_path / "graph") as graph:
        assert held(graph) <= {1}


@of_the_system
def full(descriptor: int, parts: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("ends_by", ["snapshot", "close", "insert"])
def test_what_is_held_outlives_a_write_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends_by: str
) -> None:
    """With durability="none", a full disk refuses; with room again, nothing is lost."""
    monkeypatch.setattr(log, "HELD_BYTES", 3_000)
    graph = jg.JoinGraph(VIEW, tmp_path / "graph", engine="reference", durability="none")
    for number in range(3):
        graph.insert("r", [(number, 1), (number, 2)])
    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", full)
        with pytest.raises(jg.StoreError, match="cannot "):
            if ends_by == "insert":
                for number in range(3, 1_000):
                    graph.insert("r", [(number, 1), (number, 2)])
            elif ends_by == "close":
                graph.close()
            else:
                graph.snapshot()
    if ends_by == "close":
        graph.close()
        acknowledged = 3
    else:
        assert len(held(graph)) == graph.seq
        acknowledged = graph.insert("r", [(-1, 1), (-1, 2)]).seq
        graph.close()
    with made(tmp_path / "graph") as graph:
        assert len(held(graph)) == graph.seq == acknowledged


class Boom(BaseException):
    """What a signal handler raises on top."""


class Handled:
    """Is a signal handler that comes when a flush begins, or when it has ended."""

    def __init__(self, error: Exception | Boom, event: str) -> None:
        self.error, self.event = error, event

    def __call__(self, frame: FrameType, event: str, given: object) -> None:
        if given is os.fdatasync and event == self.event:
            raise self.error


RAISED: dict[str, Callable[[], Exception | Boom]] = {
    "TimeoutError": TimeoutError,
    "OSError": lambda: OSError(errno.EIO, "of a handler"),
    "StoreError": lambda: jg.StoreError("of a handler"),
    "Boom": Boom,
}


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("event", ["c_call", "c_return"])
def test_what_a_signal_handler_raises_in_a_flush_is_no_failure_of_the_disk(
    tmp_path: Path, raised: str, event: str
) -> None:
    graph, error = made(tmp_path / "graph"), RAISED[raised]()
    sys.setprofile(Handled(error, event))
    try:
        with pytest.raises(type(error)) as found:
            graph.apply([("insert", "r", [(1, 1), (1, 2)])], source="s", position=1)
    finally:
        sys.setprofile(None)
    assert found.value is error
    assert (held(graph), graph.positions()) == ({1}, {"s": 1})
    assert graph.insert("r", [(2, 1), (2, 2)]).seq == 2
    graph.close()
    with made(tmp_path / "graph") as graph:
        assert held(graph) == {1, 2}


def test_a_failed_flush_is_not_forgotten_for_what_a_handler_raises_on_top(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(error: BaseException) -> bool:
        raise Boom

    graph = made(tmp_path / "graph")
    with monkeypatch.context() as patch:
        patch.setattr(files, "is_foreign", interrupted)
        patch.setattr(os, "fdatasync", partial(os.lseek, -1, 0))  # a function of C that fails
        with pytest.raises(Boom):
            graph.apply([("insert", "r", [(1, 1), (1, 2)])], source="s", position=1)
    with pytest.raises(jg.StoreError, match="open it again"):
        graph.count()
    graph.close()
    with made(tmp_path / "graph") as graph:
        assert held(graph) <= {1}


def test_what_a_handler_raises_while_an_interrupted_batch_is_settled_is_no_failure_either() -> None:
    """In memory nothing can fail: whatever passes by, the graph goes on."""
    graph = jg.JoinGraph(VIEW, engine="reference")
    with pytest.raises(jg.StoreError, match="of a handler"):
        graph._live.change(refused)
    assert (graph.count(), graph.insert("r", [(1, 1)]).seq) == (0, 1)


def test_what_a_handler_raises_while_view_diffs_are_forgotten_comes_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = jg.JoinGraph(VIEW, engine="reference")
    with monkeypatch.context() as patch:
        patch.setattr(Memory, "forget", Mock(side_effect=jg.StoreError("of a handler")))
        with pytest.raises(jg.StoreError, match="of a handler"):
            graph.insert("r", [(1, 1)])
    assert (graph.seq, graph.count()) == (1, 1)


def test_a_segment_that_cannot_be_removed_is_removed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with made(tmp_path / "graph") as graph:
        graph.subscribe("late")
        graph.snapshot()
        graph.insert("r", [(1, 1), (1, 2)])
        graph.snapshot()
        assert len(list((tmp_path / "graph").glob("log-*"))) > 1
        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", os.rmdir)  # which a file is not
            graph.unsubscribe("late")
        assert "it will be tried again" in caplog.text
        graph.insert("r", [(2, 1), (2, 2)])
        assert len(list((tmp_path / "graph").glob("log-*"))) == 1


def refused(attempt: Attempt) -> None:
    """Meet an exception in the midst of a change, and another one as it is settled."""

    def again() -> None:
        attempt.then = None
        raise jg.StoreError("of another handler")

    attempt.then = again
    raise jg.StoreError("of a handler")
