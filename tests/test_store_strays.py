"""Files in a graph's folder that are not of its log: refused by name, and nothing is removed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import joingraph as jg
from joingraph.storage.disk import files, log, segment
from joingraph.storage.disk.folder import Folder

VIEW = jg.View("SELECT id FROM t", {"t": "CREATE TABLE t (id BIGINT)"})
BATCHES = 30


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A graph's folder whose log has many segments, all wanted by a subscriber."""
    monkeypatch.setattr(log, "SEGMENT_BYTES", 3_000)
    with jg.JoinGraph(VIEW, tmp_path / "g", engine="reference", durability="os") as graph:
        graph.subscribe("slow")
        for number in range(BATCHES):
            graph.insert("t", [(number,)])
        graph.snapshot()
        graph.insert("t", [(99,)])
    return Folder(tmp_path / "g")


def rebegun(data: bytes, first: int) -> bytes:
    """Give a segment's bytes another first number, with a header that is right."""
    graph = segment.HEADER.unpack_from(data)[3]
    header = segment.write_header(first, segment.Identity(graph, b""))
    return header + data[segment.HEADER.size :]


def copied(folder: Folder) -> Path:
    """A copy of one segment under another number."""
    path = folder.segment(2)
    shutil.copy(folder.segment(folder.segments()[-2]), path)
    return path


def between(folder: Folder) -> Path:
    """A segment whose header says its number, to which no record leads."""
    path = folder.segment(2)
    path.write_bytes(rebegun(folder.segment(1).read_bytes(), 2))
    return path


def behind(folder: Folder) -> Path:
    """A segment behind the last one."""
    path = folder.segment(1_000)
    path.write_bytes(rebegun(folder.segment(1).read_bytes(), 1_000))
    return path


def empty(folder: Folder) -> Path:
    path = folder.segment(2)
    path.touch()
    return path


def directory(folder: Folder) -> Path:
    path = folder.segment(2)
    path.mkdir()
    return path


def fifo(folder: Folder) -> Path:
    path = folder.segment(1_000)
    os.mkfifo(path)
    return path


def link(folder: Folder) -> Path:
    path = folder.segment(2)
    path.symlink_to(folder.segment(1))
    return path


def snapshot(folder: Folder) -> Path:
    """A copy of the snapshot under a later number."""
    path = folder.snapshot(1_000)
    shutil.copy(folder.snapshot(folder.snapshots()[-1]), path)
    return path


def snapshot_fifo(folder: Folder) -> Path:
    path = folder.snapshot(1_000)
    os.mkfifo(path)
    return path


def another_graphs(folder: Folder) -> Path:
    jg.JoinGraph(VIEW, folder.path.with_name("other"), engine="reference").close()
    path = folder.segment(2)
    data = Folder(folder.path.with_name("other")).segment(1).read_bytes()
    graph = segment.HEADER.unpack_from(data)[3]
    path.write_bytes(segment.write_header(2, segment.Identity(graph, b"")))
    return path


STRAYS = (
    copied, between, behind, empty, directory, fifo, link, snapshot, snapshot_fifo, another_graphs,
)  # fmt: skip


@pytest.mark.parametrize("stray", STRAYS, ids=lambda each: each.__name__)
def test_a_stray_file_is_refused_by_name_and_nothing_is_lost(
    folder: Folder, stray: Callable[[Folder], Path]
) -> None:
    path = stray(folder)
    names = sorted(os.listdir(folder.path))
    for readonly in (True, False):
        with pytest.raises(jg.StoreError) as refused:
            jg.open(folder.path, readonly=readonly)
        assert path.name in str(refused.value)
    assert sorted(os.listdir(folder.path)) == names
    path.rmdir() if stray is directory else path.unlink()
    with jg.open(folder.path) as graph:
        assert len(list(graph.subscribe("slow"))) == BATCHES + 1
        assert graph.count() == BATCHES + 1


def test_a_later_snapshot_of_the_same_graph_is_refused_by_name(folder: Folder) -> None:
    """It is of a copy that went on by itself; its log is not here."""
    copy = folder.path.with_name("copy")
    shutil.copytree(folder.path, copy)
    with jg.open(copy) as graph:
        graph.insert("t", [(100,)])
        graph.snapshot()
    (later,) = copy.glob("snapshot-*")
    shutil.copy(later, folder.path)
    for readonly in (True, False):
        with pytest.raises(jg.StoreError, match=f"{later.name}, is missing"):
            jg.open(folder.path, readonly=readonly)
    (folder.path / later.name).unlink()
    with jg.open(folder.path) as graph:
        assert graph.count() == BATCHES + 1


def test_a_log_that_ends_before_its_snapshot_is_refused(folder: Folder) -> None:
    last, empty_one = folder.segments()[-2], folder.segments()[-1]
    path, size = folder.segment(last), segment.HEADER.size
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"JGRC")])  # the record that leads on is gone
    os.truncate(folder.segment(empty_one), size)
    for readonly in (True, False):
        with pytest.raises(jg.StoreError, match=r"the log ends with record .* and the snapshot is"):
            jg.open(folder.path, readonly=readonly)


def test_a_segment_brought_back_that_leads_nowhere_is_named(folder: Folder) -> None:
    first, second, *_ = folder.segments()
    folder.segment(second).unlink()
    with pytest.raises(jg.StoreError) as refused:
        jg.open(folder.path)
    assert folder.segment(first).name in str(refused.value)
    assert folder.segment(second).name in str(refused.value)


def test_a_segment_that_a_failed_rotation_left_takes_no_other_with_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is empty, and stands between two others once the log has gone on."""
    with jg.open(folder.path) as graph:
        kept = folder.segments()
        with monkeypatch.context() as patch:

            def fail(*given: object) -> None:
                raise jg.StoreError("the disk failed")

            patch.setattr(files, "write", lambda d, parts, path: fail() if len(parts) > 1 else None)
            patch.setattr(files, "unlink", lambda path: None if path.suffix else fail())
            with pytest.raises(jg.StoreError, match="the disk failed"):
                graph.snapshot()
        (left,) = set(folder.segments()) - set(kept)
        folder.segment(left).write_bytes(rebegun(folder.segment(1).read_bytes(), left)[:48])
        for number in range(100, 110):
            graph.insert("t", [(number,)])
        assert {each for each in folder.segments() if each > left}
        subscription = graph.subscribe("slow")
        told = [diff.seq for diff in subscription]
        subscription.ack(told[-5])
        graph.insert("t", [(200,)])
        graph.insert("t", [(201,)])
        with jg.open(folder.path, readonly=True) as reader:
            assert reader.count() == graph.count()
    with jg.open(folder.path) as graph:
        assert left not in folder.segments()
        again = [diff.seq for diff in graph.subscribe("slow")]
        assert again == [*told[-4:], told[-1] + 1, told[-1] + 2]
