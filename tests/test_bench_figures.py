"""What is measured of groups becomes points in a file, and points become figures."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest

from benchmarks import groups

ROOT = Path(__file__).parent.parent


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Measure small groups with an engine that counts: a thousand more each time it is asked."""
    counter = count(step=1_000)
    monkeypatch.setattr(groups, "touched", lambda graph: next(counter))
    monkeypatch.setattr(groups, "FANOUTS", (1, 3))
    groups.main(["--most", "100", "--save", str(tmp_path / "groups.json")])
    return tmp_path


def test_points_are_by_fan_out_and_by_the_values_of_a_group(saved: Path) -> None:
    result = json.loads((saved / "groups.json").read_text())
    assert result["commit"] and result["machine"]
    lines = {(line["figure"], line["name"]): line["points"] for line in result["lines"]}
    wanted = {("touched", name) for name in groups.TOUCHING}
    assert set(lines) == wanted | {("extremes", name) for name in groups.EXTREMES}
    assert all(lines[each] == [[1, 10.0], [3, 10.0]] for each in wanted)
    for name in groups.EXTREMES:
        assert [x for x, _ in lines["extremes", name]] == [10, 100]
        assert all(y > 0 for _, y in lines["extremes", name])


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib draws the figures")
def test_figures_are_drawn_from_points(saved: Path) -> None:
    draw = [sys.executable, "-m", "benchmarks.plots", "--results", str(saved)]
    subprocess.run([*draw, "--figures", str(saved)], cwd=ROOT, check=True)
    first = {path.stem: path.read_bytes() for path in saved.glob("*.svg")}
    assert set(first) == {"touched", "extremes"}
    subprocess.run([*draw, "--figures", str(saved)], cwd=ROOT, check=True)
    assert {path.stem: path.read_bytes() for path in saved.glob("*.svg")} == first


def test_an_engine_that_does_not_count_has_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "touched", lambda graph: None)
    assert list(groups.touched_lines([1])) == []
