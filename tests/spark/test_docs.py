"""What docs/spark.md shows runs, in order, on the example that `joingraph init` writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from joingraph.cli.main import main

pytestmark = pytest.mark.spark
PAGE = Path(__file__).parent.parent.parent / "docs" / "spark.md"


def test_what_the_page_shows_runs(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["init", str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, Any] = {"spark": spark}
    for block in blocks:
        # Spark's own process does not follow us into another folder.
        block = block.replace('"state/', f'"{tmp_path}/state/')
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102  # our own page
        names["pipeline"].graph.close()
    assert "'text': 'hello'" in capsys.readouterr().out


def test_the_example_of_init_runs(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["init", str(tmp_path)])
    file = tmp_path / "pipeline.toml"
    text = file.read_text().replace('state = "state"', 'state = "state"\nengine = "reference"')
    file.write_text(text)
    assert main(["run", str(file)]) == 0
    assert main(["status", str(file)]) == 0
    said = capsys.readouterr().out
    assert "timeline.1.Parquet: exactly once" in said
    assert "dead letters: 1" in said
    assert "s after it was written" in said
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 1


def test_the_demo_runs(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--seconds", "2"]) == 0
    assert "view diffs" in capsys.readouterr().out
