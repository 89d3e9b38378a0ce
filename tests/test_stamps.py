"""Cached machine code is used while nothing it was made of has changed, and made anew otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from joingraph import JoinGraph, View
from joingraph.engines.compiled import engine
from joingraph.graph.compiled.machine import kernel, stamps
from joingraph.graph.compiled.memory.reserved import INTERPRETED

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")

LOW = """
from joingraph.graph.compiled.machine.kernel import kernel
STEP = 1

@kernel
def low(x: int) -> int:
    return x + 1
"""
CONSTANTS = "STEP, OTHER = 2, 3\n"
HIGH = """
import constants as c
from joingraph.graph.compiled.machine.kernel import kernel
from low import low

@kernel
def high(x: int) -> int:
    return between(x)

@kernel
def between(x: int) -> int:
    return low(x) * c.STEP
"""
APART = """
import low
from constants import OTHER
from joingraph.graph.compiled.machine.kernel import kernel

@kernel
def apart(x: int) -> int:
    return x * OTHER
"""
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from apart import apart
from high import high
for kernel in (high, apart):
    print(kernel(10), sum(kernel.stats.cache_hits.values()))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write kernels in three files, of which one calls another and one calls none."""
    texts = {"low": LOW, "constants": CONSTANTS, "high": HIGH, "apart": APART}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    ran(tmp_path)
    return tmp_path


def ran(folder: Path) -> list[tuple[int, bool]]:
    """Run the kernels in a process; gives what each returned, and whether its cache had it."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", RUN, str(folder)],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line.split() for line in done.stdout.splitlines()]
    return [(int(value), hits == "1") for value, hits in lines]


def change(path: Path, old: str, new: str) -> None:
    """Change a text in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_nothing_changed_nothing_compiled(folder: Path) -> None:
    assert ran(folder) == [(22, True), (30, True)]


def test_a_changed_kernel_changes_those_that_reach_it_and_no_others(folder: Path) -> None:
    change(folder / "low.py", "x + 1", "x + 2")
    assert ran(folder) == [(24, False), (30, True)]


def test_a_changed_constant_changes_those_that_read_it_and_no_others(folder: Path) -> None:
    change(folder / "constants.py", "2, 3", "2, 4")
    assert ran(folder) == [(22, True), (40, False)]
    change(folder / "constants.py", "2, 4", "5, 4")
    assert ran(folder) == [(55, False), (40, True)]


def test_a_file_that_is_edited_after_it_was_read_does_not_count(tmp_path: Path) -> None:
    """What runs is what was imported: cached as the edited file, it would be found for that."""
    path = tmp_path / "kernels.py"
    path.write_text("def kernel(): ...\n")
    before = stamps.contents(tmp_path)
    path.write_text("def kernel(): return 1\n")
    assert stamps.contents(tmp_path) == before == (stamps.content(str(path)),)


def test_what_is_imported_but_not_called_changes_nothing(folder: Path) -> None:
    change(folder / "low.py", "STEP = 1", "STEP = 7")
    assert ran(folder)[1] == (30, True)


def test_a_constant_whose_changes_no_stamp_can_tell_is_refused() -> None:
    def kernel() -> object:
        return folder_of

    folder_of = Path()
    with pytest.raises(TypeError, match="a kernel reads folder_of"):
        stamps.stamp_of(kernel)


def test_few_files_are_behind_most_kernels() -> None:
    assert engine.CompiledEngine, "it imports them all"
    facts = [stamps.facts_of(each) for each in kernel.SHARED]
    files = {each.__code__.co_filename for each in kernel.SHARED}
    reached = sorted(sum(stamps.content(file) in each for each in facts) for file in files)
    assert reached[len(files) // 2] < len(facts) / 10


def test_a_second_graph_computes_no_stamp(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stamp of all kernels takes as long as all else that a new graph does."""
    view = View("SELECT a.x FROM a", {"a": "CREATE TABLE a (x INT)"})
    JoinGraph(view, engine="compiled").close()
    monkeypatch.setattr(stamps, "digest", pytest.fail)
    JoinGraph(view, engine="compiled").close()
