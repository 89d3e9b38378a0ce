"""What a checkout looks like, what is installed from it, and what importing it costs."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import joingraph

ROOT = Path(__file__).parent.parent
STAGES = ("filters", "generators", "maintainers")
OUR_NAMES = {
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "benchmarks",
    "docs",
    "examples",
    "filters",
    "generators",
    "joingraph",
    "maintainers",
    "pyproject.toml",
    "tests",
}
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages_in_the_checkout() -> set[str]:
    """Name every folder that holds code, as it is called once installed."""
    found = set()
    for top in ("joingraph", *STAGES):
        for folder in [ROOT / top, *(ROOT / top).rglob("*/")]:
            if any(folder.glob("*.py")) and folder.name != "__pycache__":
                name = ".".join(folder.relative_to(ROOT).parts)
                found.add(name if top == "joingraph" else f"joingraph.{name}")
    return found


def test_every_folder_of_code_is_in_the_package_list() -> None:
    assert set(CONFIG["tool"]["setuptools"]["packages"]) == packages_in_the_checkout()


def test_every_package_opens_with_an_init_file() -> None:
    for name in CONFIG["tool"]["setuptools"]["packages"]:
        parts = name.split(".")
        folder = ROOT.joinpath(*parts[1:] if parts[1:2] and parts[1] in STAGES else parts)
        assert (folder / "__init__.py").exists(), f"{name} has no __init__.py"


def test_the_stages_install_inside_joingraph() -> None:
    listed = CONFIG["tool"]["setuptools"]["package-dir"]
    assert listed == {f"joingraph.{stage}": stage for stage in STAGES}


def test_the_top_level_holds_the_agreed_names_and_what_git_ignores() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    present = {
        path.name
        for path in ROOT.iterdir()
        if path.name != ".git" and not any(path.match(line.rstrip("/")) for line in ignored)
    }
    assert present == OUR_NAMES


def test_the_version_is_the_same_everywhere() -> None:
    assert joingraph.__version__ == CONFIG["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(joingraph.__version__)}\b", changelog, re.MULTILINE)


def test_importing_joingraph_loads_no_other_library() -> None:
    loaded = run("import joingraph, sys; print(*sys.modules)").split()
    heavy = {"numba", "numpy", "pyspark", "pyarrow", "sqlglot", "networkx"}
    assert "joingraph.common.errors" in loaded
    assert not heavy & set(loaded)


def test_importing_joingraph_takes_under_three_tenths_of_a_second() -> None:
    def seconds(code: str) -> float:
        start = time.perf_counter()
        run(code)
        return time.perf_counter() - start

    assert min(seconds("import joingraph") - seconds("pass") for _ in range(5)) < 0.3


@pytest.mark.parametrize("name", joingraph.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(joingraph, name) is not None
    assert name in dir(joingraph)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Veiw'"):
        _ = joingraph.Veiw


def test_windows_is_refused_by_name() -> None:
    said = run(
        "import sys; sys.platform = 'win32'\n"
        "try:\n    import joingraph\n"
        "except ImportError as error:\n    print(error)"
    )
    assert "does not support Windows" in said


def run(code: str) -> str:
    """Run code in a fresh interpreter, from the checkout, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout
