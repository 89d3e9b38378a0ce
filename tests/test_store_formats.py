"""Folders of every stored format so far are opened, by both engines, and hold what they held."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import joingraph as jg
from joingraph.storage.disk.folder import FORMAT
from tests import ENGINES
from tests.formats.history import VIEW, told

FORMATS = Path(__file__).parent / "formats"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", range(1, FORMAT + 1))
def test_a_stored_folder_holds_what_it_held(tmp_path: Path, version: int, engine: str) -> None:
    stored = FORMATS / f"v{version}"
    expected = json.loads((stored / "expected.json").read_text(encoding="utf-8"))
    shutil.copytree(stored / "graph", tmp_path / "graph")
    graph = jg.JoinGraph(
        VIEW, tmp_path / "graph", engine=engine, on_missing="quarantine", key_index=["tweet"]
    )
    with graph:
        assert told(graph) == expected
        graph.check()
        graph.delete("tweet", [{"id": 4}])
        graph.snapshot()
    with jg.open(tmp_path / "graph", readonly=True) as opened:
        assert opened.seq == expected["seq"] + 1
