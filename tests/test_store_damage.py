"""Damaged folders and malformed bytes: refused by name, or what was true after some batch."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import joingraph as jg
from joingraph.graph.compiled.memory import image
from tests import ENGINES, first
from tests.crash.damage import healthy, run
from tests.crash.feed import view
from tests.crash.malformed import READERS, inputs_survived


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cases", first(1, [40, 120]))
def test_damaged_folders_never_give_a_wrong_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, cases: int
) -> None:
    monkeypatch.setattr(image, "FEWEST_BYTES", 0)
    found = run(tmp_path, cases=cases, seed=3, engine=engine)
    assert cases / 4 < found["refused"] < cases
    assert found.total() == cases


@pytest.mark.parametrize("reader", READERS)
def test_malformed_bytes_are_refused_by_name_and_quickly(reader: str) -> None:
    assert inputs_survived(reader, inputs=300, seed=4, seconds_max=10) > 0


def test_a_missing_segment_and_a_missing_snapshot_are_named(tmp_path: Path) -> None:
    healthy(tmp_path / "graph", 1)
    segments = sorted((tmp_path / "graph").glob("log-*"))
    (snapshot,) = (tmp_path / "graph").glob("snapshot-*")
    for lost in (segments[-1], snapshot):
        shutil.copytree(tmp_path / "graph", tmp_path / "copy")
        (tmp_path / "copy" / lost.name).unlink()
        with pytest.raises(jg.StoreError, match=r"backup|holds no graph"):
            jg.JoinGraph(view(), tmp_path / "copy", engine="reference")
        shutil.rmtree(tmp_path / "copy")


def test_the_last_formats_files_are_opened_and_newer_ones_refused(tmp_path: Path) -> None:
    healthy(tmp_path / "graph", 1)
    (snapshot,) = (tmp_path / "graph").glob("snapshot-*")
    data = bytearray(snapshot.read_bytes())
    data[8] = 99
    snapshot.write_bytes(data)
    with pytest.raises(jg.StoreError, match=r"format 99; this version .* reads formats up to 2"):
        jg.open(tmp_path / "graph")
