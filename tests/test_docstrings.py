"""The examples in docstrings are run, under the names that modules have once imported."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import joingraph
import joingraph.filters
import joingraph.generators
import joingraph.maintainers


def modules_of(package: str, folder: Path) -> list[str]:
    """Name every module below a package's folder."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        found.append(".".join([package, *(part for part in parts if part != "__init__")]))
    return found


MODULES = [
    name
    for package in (joingraph, joingraph.filters, joingraph.generators, joingraph.maintainers)
    for name in modules_of(package.__name__, Path(str(package.__file__)).parent)
]

OPTIONAL = ("delta", "pyspark", "redis", "rich")  # which only pipelines need


@pytest.mark.parametrize("name", dict.fromkeys(MODULES))
def test_the_examples_of_a_module_hold(name: str) -> None:
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        pytest.skip(f"{error.name} is not installed: make spark runs what needs it")
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_a_wrong_example_would_be_noticed() -> None:
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(wrong, out=lambda _: None).failed == 1
