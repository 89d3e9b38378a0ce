"""A process that keeps a graph is killed, many times: nothing acknowledged is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import ENGINES, first

ROOT = Path(__file__).parent.parent


def test_readers_beside_a_writer_see_the_view_after_some_batch() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.readers", "--refreshes", "1", "--batches", "100"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "answers compared" in done.stdout


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", [[], ["--groups"]], ids=["rows", "groups"])
@pytest.mark.parametrize("kills", first(1, [10, 25]))
def test_nothing_acknowledged_is_lost_in_many_kills(
    engine: str, options: list[str], kills: int
) -> None:
    # In a process of its own, which has no threads and may fork.
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash", "--kills", str(kills), "--seed", "6",
         "--engine", engine, *options],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"{kills} kills ({engine})" in done.stdout
    assert "none lost, none twice" in done.stdout
