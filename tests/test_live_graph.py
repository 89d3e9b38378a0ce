"""The parts of JoinGraph, each by itself: the live graph, its durability, its reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import joingraph as jg
from joingraph.api.durability import Durability
from joingraph.api.reads import Reads
from joingraph.storage.attempt import Attempt
from joingraph.storage.disk.disk import Disk
from joingraph.storage.disk.owner import Owner
from joingraph.storage.live_graph import LiveGraph
from joingraph.storage.open_graph import Keeping
from joingraph.storage.record import Record
from joingraph.tables.batch import read_batch

VIEW = jg.View("SELECT t.a FROM t", {"t": "CREATE TABLE t (a BIGINT)"})
OPTIONS = {"engine": "reference", "lookahead": "auto", "on_missing": "error"}


def made(folder: Path | None = None) -> LiveGraph:
    return LiveGraph(Keeping(folder, Owner(VIEW, (), OPTIONS), "os"))


def put(live: LiveGraph, value: int, *, fails: str = "") -> int:
    """Insert a row, or fail before or after its record is logged."""
    entries = read_batch([("insert", "t", [(value,)])], VIEW.tables)

    def work(attempt: Attempt) -> int:
        live.engine.apply(entries, skip=False, generate=False)
        if fails == "before":
            raise KeyboardInterrupt
        said = {"skip": False, "quarantine": False, "source": None, "position": None}
        number = live.commit(attempt, Record("batch", live.journal.state.seq + 1, said, entries))
        if fails == "after":
            raise KeyboardInterrupt
        attempt.is_done = True
        return number

    with live.lock:
        return live.change(work)


@pytest.mark.parametrize("is_durable", [True, False], ids=["in a folder", "in memory"])
def test_a_change_stands_exactly_if_its_record_does(is_durable: bool, tmp_path: Path) -> None:
    live = made(tmp_path / "g" if is_durable else None)
    reads = Reads(live)
    put(live, 1)
    with pytest.raises(KeyboardInterrupt):
        put(live, 2, fails="before")
    assert (live.seq, reads.count()) == (1, 1)
    with pytest.raises(KeyboardInterrupt):
        put(live, 3, fails="after")
    assert (live.seq, reads.count()) == (2, 2)
    live.settled().check()
    live.close()


def test_a_reader_is_good_until_the_next_change() -> None:
    live = made()
    reads = Reads(live)
    put(live, 1)
    reader = reads.scan()
    put(live, 2)
    with pytest.raises(jg.StoreError, match="scan again"):
        reader.read_all()
    assert sorted(reads.scan("a > 0").read_all()["a"].to_pylist()) == [1, 2]


def test_a_change_amid_another_is_refused() -> None:
    live = made()

    def work(_: Attempt) -> None:
        with pytest.raises(jg.StoreError, match="in the middle of another call"):
            put(live, 1)

    with live.lock:
        live.change(work)
    assert Reads(live).count() == 0


def test_what_cannot_be_waited_for_fails_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = made(tmp_path / "g")
    number = put(live, 1)

    store = live.journal.store
    assert isinstance(store, Disk)

    def fail(_: int) -> None:
        store.writing.fail("the disk is gone")
        raise jg.StoreError("the disk is gone")

    monkeypatch.setattr(store, "sync", fail)
    with pytest.raises(jg.StoreError, match="the disk is gone"):
        Durability(live).wait(number)
    with pytest.raises(jg.StoreError, match=r"since this: the disk is gone; .* open it again"):
        Reads(live).count()
    live.close()


def test_a_rebuilt_graph_is_read_by_its_new_view() -> None:
    live = made()
    reads = Reads(live)
    put(live, 1)
    assert reads.count("a = 1") == 1
    other = jg.View("SELECT t.a AS b FROM t", {"t": "CREATE TABLE t (a BIGINT)"})
    Durability(live).rebuild(other)
    assert reads.count("b = 1") == 1
    with pytest.raises(jg.ViewError):
        reads.count("a = 1")
