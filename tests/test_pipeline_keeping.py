"""View diffs that a crash left undelivered come again, though nobody wrote them down."""

from __future__ import annotations

from pathlib import Path

import pytest

import joingraph as jg
from joingraph.pipeline.offsets import Position
from joingraph.pipeline.open_graph import DurableOutbox, Options, Outbox, open_outbox
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


def kept(home: Path, engine: str, *, by_row: bool = False) -> Outbox:
    """Open a pipeline's graph, in which each row of r is two rows of the view."""
    found = open_outbox(VIEW, Options(home, engine, by_row=by_row), SINKS)
    found.graph.load({"s": [(1, 7), (1, 8)]}, source="load s", position=1)
    return found


def apply(outbox: Outbox, number: int) -> list[ViewRow]:
    """Apply the next micro-batch."""
    return outbox.apply([("insert", "r", [(1, number)])], Position("q", number)).rows()


def deliver(outbox: Outbox, *sinks: str) -> list[tuple[int, list[ViewRow]]]:
    """Deliver what waits to some sinks, or to all; give what the last of them got."""
    got: list[tuple[int, list[ViewRow]]] = []
    for sink in sinks or SINKS:
        got = []
        for diff in outbox.waiting(sink):
            got.append((diff.seq, sorted(diff.rows())))
            outbox.acknowledge(sink, diff.seq)
    return got


def logged(outbox: Outbox) -> list[int | None]:
    """Tell of each batch in the log how many bytes of view diffs stand there."""
    path = outbox.graph._live.journal.store.folder.path  # type: ignore[attr-defined]  # a Disk's
    with jg.open(path, readonly=True) as reader:
        steps = disk.open_disk(path, reader._live.keeping.owner, readonly=True).steps()
        return [s.record.changes_bytes for s in steps if s.record.kind == "batch"]


@pytest.mark.parametrize("snapshots", ["none", "small", "beside"])
def test_what_no_sink_took_comes_again_after_a_crash(
    tmp_path: Path, engine: str, snapshots: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "SMALL_BYTES", 0 if snapshots == "beside" else disk.SMALL_BYTES)
    outbox = kept(tmp_path, engine)
    for number in range(3):
        apply(outbox, number)
        deliver(outbox)
    rows = sorted(apply(outbox, 3))
    deliver(outbox, "one")
    for _ in range(3):
        if snapshots != "none":
            outbox.graph.snapshot()
        outbox.graph.close()
        outbox = kept(tmp_path, engine)
    assert not deliver(outbox, "one")
    assert deliver(outbox, "two") == [(4, rows)]
    apply(outbox, 4)
    assert [seq for seq, _ in deliver(outbox)] == [5]
    outbox.graph.close()


def test_view_diffs_are_not_written_down_for_sinks(tmp_path: Path, engine: str) -> None:
    outbox = kept(tmp_path, engine)
    apply(outbox, 0)
    deliver(outbox)
    assert logged(outbox) == [None]
    outbox.graph.subscribe("search")
    apply(outbox, 1)
    deliver(outbox)
    outbox.graph.unsubscribe("search")
    apply(outbox, 2)
    found = logged(outbox)
    assert (found[0], found[2]) == (None, None)
    assert found[1]
    outbox.graph.close()


def test_they_are_for_a_sink_that_goes_on_within_a_batch(tmp_path: Path, engine: str) -> None:
    outbox = kept(tmp_path, engine, by_row=True)
    apply(outbox, 0)
    assert all(logged(outbox))
    outbox.graph.close()


def test_batches_of_others_are_told_in_order(tmp_path: Path, engine: str) -> None:
    outbox = kept(tmp_path, engine)
    apply(outbox, 0)
    outbox.graph.insert("r", [(1, 50)])
    outbox.graph.insert("r", [(1, 51)])
    outbox.graph.close()
    outbox = kept(tmp_path, engine)
    assert [seq for seq, _ in deliver(outbox)] == [1, 2, 3]
    outbox.graph.insert("r", [(1, 52)])
    apply(outbox, 1)
    outbox.graph.close()
    outbox = kept(tmp_path, engine)
    assert deliver(outbox) == [
        (4, [("insert", (52, 7), 1), ("insert", (52, 8), 1)]),
        (5, [("insert", (1, 7), 1), ("insert", (1, 8), 1)]),
    ]
    outbox.graph.close()


def test_a_batch_is_refused_while_the_one_before_waits(tmp_path: Path, engine: str) -> None:
    outbox = kept(tmp_path, engine)
    assert isinstance(outbox, DurableOutbox)
    apply(outbox, 0)
    deliver(outbox, "one")
    with pytest.raises(jg.StoreError, match="'two' has not acknowledged batch 1"):
        apply(outbox, 1)
    deliver(outbox, "two")
    assert outbox.graph.seq == 1
    apply(outbox, 1)
    outbox.graph.close()
