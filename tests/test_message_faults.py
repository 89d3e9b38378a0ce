"""Faults planted in the kernels of messages are found; what finds them holds of compiled ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import first, message_faults, mode_faults
from tests.test_groups_faults import Fault

ROOT = Path(__file__).parent.parent
CHUNK = 4
SCRIPTS = (*message_faults.SCRIPTS, *mode_faults.SCRIPTS)
FAULTS = {each.__name__: each.FAULTS for each in (message_faults, mode_faults)}
CHUNKS = [(name, at) for name, faults in FAULTS.items() for at in range(0, len(faults), CHUNK)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_scripts_hold(script: Callable[[], None]) -> None:
    script()


@pytest.mark.parametrize("fault", sum(FAULTS.values(), ()), ids=lambda fault: fault.name)
def test_a_fault_is_planted_in_one_place(fault: Fault) -> None:
    text = Path(str(fault.module.__file__)).read_text(encoding="utf-8")
    assert text.count(fault.right) == 1


@pytest.mark.parametrize("chunk", first(2, CHUNKS[::-1]), ids=str)
def test_faults_that_are_planted_are_found(chunk: tuple[str, int]) -> None:
    """A process of its own, in which kernels are plain Python."""
    name, number = chunk
    command = [sys.executable, "-m", name, str(number), str(number + CHUNK)]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "NOT FOUND" not in run.stdout, run.stdout
    assert run.stdout.count("\n") == len(FAULTS[name][number : number + CHUNK])
