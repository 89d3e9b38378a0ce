"""The benchmarks of forms and of reads run, and record what they found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import forms, reads


def test_forms_are_measured_for_few_and_for_many_rows(tmp_path: Path) -> None:
    saved = tmp_path / "forms.json"
    forms.main(["--size", "tiny", "--data", str(tmp_path / "data"), "--save", str(saved)])
    result = json.loads(saved.read_text())
    assert {(run["operation"], run["form"]) for run in result["runs"]} == {
        (operation, form) for operation in forms.OPERATIONS for form in forms.TAKE
    }
    assert all(run["ratio"] > 0 for run in result["runs"]) and result["commit"]


def test_pages_touch_what_their_subscriber_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "FOLLOWEES", (10,))
    saved = tmp_path / "reads.json"
    reads.main(["--size", "tiny", "--data", str(tmp_path / "data"), "--save", str(saved)])
    for run in json.loads(saved.read_text())["runs"]:
        starts = {"q1": "secondary index", "timeline": "vertex index"}
        if "followees" in run:
            assert starts[run["view"]] in run["start"] and run["again_ms"] > 0
            assert 20 <= run["touched"]["join_tuples"] <= 21
        else:
            assert run["touched"]["projected"] < 3 * run["author_rows"] + 100
