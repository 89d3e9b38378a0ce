"""What docs/architecture.md names is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PLACES = sorted(set(re.findall(r"`([a-z_/]+\.py):([A-Za-z_.]+)`", TEXT)))


@cache
def names_in(path: str) -> set[str]:
    """Name what a file defines: functions, classes, and their methods as Class.method."""
    found = set[str]()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            found |= {f"{node.name}.{each.name}" for each in methods}
    return found


@pytest.mark.parametrize(("path", "name"), PLACES, ids=lambda each: str(each))
def test_every_function_on_a_diffs_way_is_there(path: str, name: str) -> None:
    assert name in names_in(path)


def test_the_life_of_a_diff_names_its_functions() -> None:
    assert len(PLACES) >= 20


def test_every_folder_of_code_stands_in_the_floor_plan() -> None:
    plan = TEXT[TEXT.index("## The house") : TEXT.index("The three stages sit")]
    for top in ("joingraph", "filters", "maintainers", "generators"):
        for folder in [ROOT / top, *(ROOT / top).rglob("*/")]:
            if (folder / "__init__.py").exists():
                assert f"{folder.name}/" in plan, f"{folder} is not in the floor plan"


def test_the_traversals_of_look_ahead_are_there() -> None:
    traversals = TEXT.split("own traversals.")[1].split("## ")[0]
    places = re.findall(r"`([\w/]+/\w+\.py)`((?:,? (?:and )?`[\w.]+`)*)", traversals)
    assert len(places) > 5
    for path, names in places:
        found = next(each for each in (ROOT / path, ROOT / "joingraph" / path) if each.exists())
        for name in re.findall(r"`([\w.]+)`", names):
            assert f"def {name.split('.')[-1]}(" in found.read_text("utf-8"), (path, name)


def test_files_to_which_things_are_added_are_there() -> None:
    added = TEXT.split("## Where things are added")[1].split("\n## ")[0]
    paths = set(re.findall(r"`([\w/]+\.py)`", added))
    assert len(paths) > 20
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
