"""What README.md and docs/ tell people to run is run here, and what they show is what comes out."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from joingraph.cli.main import commands, main

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
TARGETS = set(
    re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
)


class Fence(NamedTuple):
    """A block of a page between ``` lines."""

    language: str
    text: str


def fences(page: Path) -> list[Fence]:
    found = re.findall(
        r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return [Fence(language, text) for language, text in found]


def command_lines() -> Iterator[list[str]]:
    for page in PAGES:
        for fence in fences(page):
            if fence.language == "sh":
                yield from (shlex.split(line) for line in fence.text.splitlines())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_on_the_page_runs_and_prints_what_is_shown(page: Path) -> None:
    names: dict[str, object] = {}
    printed = io.StringIO()
    for fence in fences(page):
        if fence.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(fence.text, str(page), "exec"), names)  # noqa: S102  # our own pages
        elif fence.language == "text":
            assert printed.getvalue() == fence.text


def test_every_command_shown_is_one_of_ours() -> None:
    for words in command_lines():
        assert words[0] in ("make", "joingraph"), words
        if words[0] == "make":
            assert words[1] in TARGETS, words


@pytest.mark.parametrize(
    "words", [words for words in command_lines() if words[0] == "joingraph"], ids=" ".join
)
def test_every_joingraph_command_shown_runs(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    shorter = ["--no-spark", "--seconds", "0.2"] if words[1] == "demo" else []
    assert main([*words[1:], *shorter]) == 0


def test_every_command_has_help_and_is_documented() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    (listed,) = [each for each in commands()._actions if isinstance(each.choices, dict)]
    helped = {each.dest: each.help for each in listed._get_subactions()}
    for command, parser in (listed.choices or {}).items():
        assert helped[command], f"{command} is missing its help"
        assert f"joingraph {command}" in pages, f"{command} is not documented"
        for each in parser._actions:
            assert each.help, f"{command} {each.dest} is missing its help"


def test_every_target_of_make_that_people_run_has_help() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("help", "demo", "test", "check", "fuzz", "bench", "clean"):
        assert re.search(rf"^{target}:.*## \w+", text, re.MULTILINE), (
            f"{target} is missing its help"
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_checkout_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    for name in re.findall(r"`([\w.-]+/[\w./*-]+)`", page.read_text(encoding="utf-8")):
        if name.split("/")[0] in folders:
            assert list(ROOT.glob(name)), name


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name
)
def test_every_example_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
