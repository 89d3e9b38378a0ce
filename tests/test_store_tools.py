"""The commands over a graph's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import joingraph as jg
from joingraph.cli.main import main

VIEW = jg.View(
    "SELECT r.a, s.b FROM r JOIN s ON r.k = s.k",
    {"r": "CREATE TABLE r (k INT PRIMARY KEY, a INT)", "s": "CREATE TABLE s (k INT, b INT)"},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A graph's folder with a snapshot, a log, a position and a subscriber."""
    with jg.JoinGraph(VIEW, tmp_path / "graph", engine="reference", key_index=["r"]) as graph:
        graph.load({"s": [(1, 7), (2, 8)]}, source="s", position=5)
        graph.subscribe("search")
        graph.index("b")
        graph.snapshot()
        graph.insert("r", [(1, 3), (2, 4)])
    return tmp_path / "graph"


def test_inspect_tells_what_is_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(folder)]) == 0
    said = capsys.readouterr().out
    for part in (
        "batches     1",
        "s: 5",
        "search: acknowledged up to batch 0",
        "after the snapshot: 2",
    ):
        assert part in said


def test_verify_checks_and_snapshot_shortens_the_log(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(folder)]) == 0
    assert "is right" in capsys.readouterr().out
    assert main(["snapshot", str(folder)]) == 0
    assert "after the snapshot: 1" in capsys.readouterr().out


def test_a_dump_can_be_loaded_elsewhere(folder: Path, tmp_path: Path) -> None:
    out, new = str(tmp_path / "out"), str(tmp_path / "new")
    assert main(["dump", str(folder), out]) == 0
    assert main(["load", out, new]) == 0
    with jg.open(folder) as old, jg.open(new) as graph:
        assert graph.to_arrow().sort_by("a").equals(old.to_arrow().sort_by("a"))
        assert (graph.seq, graph.positions()) == (1, {"s": 5})
        assert graph.delete("r", [{"k": 2}]).rows() == [("delete", (4, 8), 1)]


@pytest.mark.parametrize("command", ["inspect", "verify", "snapshot", "dump", "load"])
def test_what_is_wrong_is_one_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (snapshot,) = folder.glob("snapshot-*")
    snapshot.write_bytes(snapshot.read_bytes()[:-3])
    more = [str(tmp_path / "x")] if command in ("dump", "load") else []
    assert main([command, str(folder), *more]) == 2
    said = capsys.readouterr().err
    assert said.startswith("joingraph: ")
    assert said.count("\n") == 1
