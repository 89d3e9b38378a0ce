"""What deltas cost is measured of groups that are kept, and of those that are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import totals


def test_every_case_tells_as_many_groups(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "totals.json"
    totals.main(["--data", str(tmp_path), "--size", "tiny", "--save", str(saved)])
    runs = json.loads(saved.read_text())["runs"]
    assert [(run["workload"], run["form"], run["keep_groups"]) for run in runs] == [*totals.CASES]
    assert all(run["ns_a_diff"] > 0 for run in runs)
    counts = {run["rows"] for run in runs if run["workload"] == "q1agg"}
    assert len(counts) == 1 and counts < {run["rows"] for run in runs}
    out = capsys.readouterr().out
    assert out.count("x q1's rows; ") == out.count("x q1's rows, _diff; ") == 4
    assert out.count("x q1's each; ") == 2 and out.count("x q2agg's cost") == 6
