"""The cache of compiled kernels: wherever and whatever it is, the graph works and says so once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.homes import DAMAGES, SCRIPT, damage

ROOT = Path(__file__).parent.parent


def worked(home: Path | None, *, run: str = SCRIPT) -> str:
    """Run a small graph with its own kernels in a process; gives its warnings."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    if home is not None:
        environment["XDG_CACHE_HOME"] = str(home)
    done = subprocess.run(
        [sys.executable, "-c", run],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[('insert', ('bob', 2), 1)]\n"
    return done.stderr


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a cache with the kernels of the small graph."""
    home = tmp_path_factory.mktemp("cache")
    worked(home)
    return home


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_cache_is_made_anew(filled: Path, tmp_path: Path, how: str) -> None:
    home = tmp_path / "home"
    shutil.copytree(filled, home)
    for path in (home / "joingraph" / "kernels").rglob("*.*"):
        if path.is_file():
            damage(path, how)
    assert worked(home).count("damaged") == 1
    assert "damaged" not in worked(home)


def a_file(path: Path) -> None:
    path.write_text("no folder")


def open_to_all(path: Path) -> None:
    folder = path / "joingraph" / "kernels"
    folder.mkdir(parents=True)
    folder.chmod(0o777)


@pytest.mark.parametrize("make", [a_file, open_to_all])
def test_a_cache_that_cannot_be_used_is_none(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "home")
    assert worked(tmp_path / "home").count("compiled anew in each process") == 1


NAMELESS = """
import os, pwd
def nobody(uid):
    raise KeyError(uid)
pwd.getpwuid = nobody
os.environ.pop("HOME", None)
"""


def test_a_user_without_name_or_home_has_a_graph() -> None:
    assert worked(None, run=NAMELESS + SCRIPT).count("compiled anew in each process") == 1


def are_readable(*paths: str) -> bool:
    """Say whether any user can read the interpreter and this checkout."""
    every = [each for path in paths for each in (Path(path), *Path(path).resolve().parents)]
    return all(each.stat().st_mode & 0o005 == 0o005 for each in every)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
@pytest.mark.skipif(not are_readable(sys.base_prefix, str(ROOT)), reason="others cannot read here")
def test_another_user_who_may_write_nothing_has_a_graph() -> None:
    become = "import os; os.setgid(54321); os.setuid(54321); os.environ.pop('HOME', None)\n"
    assert worked(None, run=become + SCRIPT).count("compiled anew in each process") == 1
