"""Snapshots that are taken by themselves: when the log has grown, one at a time, harming nobody."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import joingraph as jg
from joingraph.storage.disk import disk
from tests.crash.feed import view
from tests.crash.run import write_beside

VIEW = jg.View("SELECT r.a, r.text FROM r", {"r": "CREATE TABLE r (a BIGINT, text STRING)"})
AFTER = 20_000  # bytes of log
PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def _no_graph_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "SMALL_BYTES", 0)


@pytest.fixture
def graph(tmp_path: Path) -> jg.JoinGraph:
    """A graph whose snapshots are taken early."""
    made = jg.JoinGraph(VIEW, tmp_path / "g", engine="reference")
    made.snapshot_after = AFTER
    return made


def fill(graph: jg.JoinGraph, first: int) -> None:
    """Apply enough for one snapshot."""
    for number in range(first, first + 10):
        graph.insert("r", [(number, "x" * (AFTER // 8))])


def wait_for(is_there: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_there():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def running() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "snapshot"]


def test_a_log_that_has_grown_is_replaced_by_a_snapshot(
    tmp_path: Path, graph: jg.JoinGraph
) -> None:
    with graph:
        fill(graph, 0)
        wait_for(lambda: graph.stats()["log"]["bytes_after_snapshot"] < AFTER and not running())
        (snapshot,) = (tmp_path / "g").glob("snapshot-*")
        assert snapshot.stat().st_size > AFTER
        assert graph.stats()["log"]["snapshot_failed"] is None
        graph.insert("r", [(100, "y")])
    with jg.open(tmp_path / "g") as opened:
        assert sorted(opened.to_arrow()["a"].to_pylist()) == [*range(10), 100]


def test_a_log_that_was_replayed_counts_too(tmp_path: Path) -> None:
    with jg.JoinGraph(VIEW, tmp_path / "g", engine="reference") as graph:
        graph.snapshot_after = None
        fill(graph, 0)
        assert not running()
    with jg.open(tmp_path / "g") as graph:
        assert graph.stats()["log"]["bytes_after_snapshot"] > AFTER
        graph.snapshot_after = AFTER
        graph.insert("r", [(100, "y")])
        wait_for(lambda: graph.stats()["log"]["bytes_after_snapshot"] < AFTER)


def test_there_are_never_two_at_once(graph: jg.JoinGraph) -> None:
    with graph:
        for number in range(6):
            fill(graph, 10 * number)
            assert len(running()) <= 1
        wait_for(lambda: not running())
        graph.check()
        assert graph.count() == 60


def test_one_that_fails_is_told_and_tried_again(
    tmp_path: Path,
    graph: jg.JoinGraph,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with graph:
        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
            patch.setattr(sys, "executable", "/bin/false")
            fill(graph, 0)
            wait_for(lambda: graph.stats()["log"]["snapshot_failed"] is not None)
            wait_for(lambda: not running())
        assert "no snapshot was made" in caplog.text
        fill(graph, 10)
        wait_for(lambda: graph.stats()["log"]["snapshot_failed"] is None)
        assert graph.count() == 20
    with jg.open(tmp_path / "g") as opened:
        assert opened.count() == 20


def test_a_graph_is_closed_without_waiting_for_one(
    tmp_path: Path, graph: jg.JoinGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(slow))
    fill(graph, 0)
    wait_for(lambda: bool(running()))
    graph.close()
    assert not running()
    with jg.open(tmp_path / "g") as opened:
        assert opened.count() == 10


def test_the_program_of_the_campaign_of_kills_writes_a_snapshot(tmp_path: Path) -> None:
    """Lives with such a program are too rare among the few kills of the suite."""
    with jg.JoinGraph(view(), tmp_path / "g", engine="reference") as graph:
        program = write_beside(tmp_path / "beside", "reference")
        done = subprocess.run(
            [program, "-m", "its name", str(tmp_path / "g"), "0", str(os.getpid())],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert graph.count() == 0
