"""Every step on the disk fails once: a batch is refused or applied whole, and all is right."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

import joingraph as jg
from joingraph.stores import log
from tests.faults import Faults

SQL = "SELECT r.a, r.n FROM r"
TABLES = {"r": "CREATE TABLE r (a BIGINT, n BIGINT)"}
VIEW = jg.View(SQL, TABLES)
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
