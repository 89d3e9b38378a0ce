"""View diffs that a crash left undelivered come again, though nobody wrote them down."""

from __future__ import annotations

from pathlib import Path

import pytest

import joingraph as jg
from joingraph.pipeline.offsets import Position
from joingraph.pipeline.open_graph import Durable, Keeping, Options, keep
from joingraph.storage.disk import disk
from joingraph.view_diffs.view_diff import ViewRow
from tests import ENGINES

VIEW = jg.View(
    "SELECT r.a, s.b FROM r JOIN s ON r.k = s.k",
    {"r": "CREATE TABLE r (k INT, a INT)", "s": "CREATE TABLE s (k INT, b INT)"},
)
SINKS = ("one", "two")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def kept(home: Path, engine: str, *, by_row: bool = False) -> Keeping:
    """Open a pipeline's graph, in which each row of r is two rows of the view."""
    found = keep(VIEW, home, Options(engine, "error", "fsync", (), by_row=by_row), SINKS)
    found.graph.load({"s": [(1, 7), (1, 8)]}, source="load s", position=1)
    return found


def apply(keeping: Keeping, number: int) -> list[ViewRow]:
    """Apply the next micro-batch."""
    return keeping.apply([("insert", "r", [(1, number)])], Position("q", number)).rows()


def deliver(keeping: Keeping, *sinks: str) -> list[tuple[int, list[ViewRow]]]:
    """Deliver what waits to some sinks, or to all; give what the last of them got."""
    got: list[tuple[int, list[ViewRow]]] = []
    for sink in sinks or SINKS:
        got = []
        for diff in keeping.waiting(sink):
            got.append((diff.seq, sorted(diff.rows())))
            keeping.acknowledge(sink, diff.seq)
    return got


def logged(keeping: Keeping) -> list[int | None]:
    """Tell of each batch in the log how many bytes of view diffs stand there."""
    path = keeping.graph._live.journal.store.folder.path  # type: ignore[attr-defined]  # a Disk's
    with jg.open(path, readonly=True) as reader:
        steps = disk.open_disk(path, reader._live.keeping.owner, readonly=True).steps()
        return [s.record.changes_bytes for s in steps if s.record.kind == "batch"]


@pytest.mark.parametrize("snapshots", ["none", "small", "beside"])
def test_what_no_sink_took_comes_again_after_a_crash(
    tmp_path: Path, engine: str, snapshots: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "SMALL_BYTES", 0 if snapshots == "beside" else disk.SMALL_BYTES)
    keeping = kept(tmp_path, engine)
    for number in range(3):
        apply(keeping, number)
        deliver(keeping)
    rows = sorted(apply(keeping, 3))
    deliver(keeping, "one")
    for _ in range(3):
        if snapshots != "none":
            keeping.graph.snapshot()
        keeping.graph.close()
        keeping = kept(tmp_path, engine)
    assert not deliver(keeping, "one")
    assert deliver(keeping, "two") == [(4, rows)]
    apply(keeping, 4)
    assert [seq for seq, _ in deliver(keeping)] == [5]
    keeping.graph.close()


def test_view_diffs_are_not_written_down_for_sinks(tmp_path: Path, engine: str) -> None:
    keeping = kept(tmp_path, engine)
    apply(keeping, 0)
    deliver(keeping)
    assert logged(keeping) == [None]
    keeping.graph.subscribe("search")
    apply(keeping, 1)
    deliver(keeping)
    keeping.graph.unsubscribe("search")
    apply(keeping, 2)
    found = logged(keeping)
    assert (found[0], found[2]) == (None, None)
    assert found[1]
    keeping.graph.close()


def test_they_are_for_a_sink_that_goes_on_within_a_batch(tmp_path: Path, engine: str) -> None:
    keeping = kept(tmp_path, engine, by_row=True)
    apply(keeping, 0)
    assert all(logged(keeping))
    keeping.graph.close()


def test_batches_of_others_are_told_in_order(tmp_path: Path, engine: str) -> None:
    keeping = kept(tmp_path, engine)
    apply(keeping, 0)
    keeping.graph.insert("r", [(1, 50)])
    keeping.graph.insert("r", [(1, 51)])
    keeping.graph.close()
    keeping = kept(tmp_path, engine)
    assert [seq for seq, _ in deliver(keeping)] == [1, 2, 3]
    keeping.graph.insert("r", [(1, 52)])
    apply(keeping, 1)
    keeping.graph.close()
    keeping = kept(tmp_path, engine)
    assert deliver(keeping) == [
        (4, [("insert", (52, 7), 1), ("insert", (52, 8), 1)]),
        (5, [("insert", (1, 7), 1), ("insert", (1, 8), 1)]),
    ]
    keeping.graph.close()


def test_a_batch_is_refused_while_the_one_before_waits(tmp_path: Path, engine: str) -> None:
    keeping = kept(tmp_path, engine)
    assert isinstance(keeping, Durable)
    apply(keeping, 0)
    deliver(keeping, "one")
    with pytest.raises(jg.StoreError, match="'two' has not acknowledged batch 1"):
        apply(keeping, 1)
    deliver(keeping, "two")
    assert keeping.graph.seq == 1
    apply(keeping, 1)
    keeping.graph.close()
