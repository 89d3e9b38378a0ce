"""The house style as a test: each rule takes one parsed file and yields its complaints.

A rule that good sense must break is broken openly: the place stands in `EXCEPTIONS` with a reason.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
STAGES = ("filters", "maintainers", "generators")
FOLDERS = ("joingraph", *STAGES, "tests", "benchmarks", "examples")

# "path" or "path:name" -> why the rule gives way there.
EXCEPTIONS: dict[str, str] = {}

# The rooms of the house, each level importing only from those above it (docs/architecture.md).
LEVELS = (
    ("common",),
    ("expressions",),
    ("aggregates",),
    ("tables",),
    ("sql",),
    ("plan",),
    ("reads", "view_diffs"),
    ("graph",),
    ("tallies", *STAGES),
    ("engines",),
    ("storage",),
    ("api",),
    ("pipeline",),
    ("spark",),
    ("demo",),
    ("cli",),
)
LEVEL_OF = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
ABOVE_ALL = ("joingraph/__init__.py", "joingraph/__main__.py")
MODULES_MAX, ROOMS_MAX = 12, 18


class File(NamedTuple):
    """A parsed source file; `path` is relative to the checkout, with forward slashes."""

    path: str
    text: str
    tree: ast.Module


Rule = Callable[[File], Iterator[tuple[int, str]]]
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def parse(path: str, text: str) -> File:
    return File(path, text, ast.parse(text))


def is_code(file: File) -> bool:
    return file.path.split("/")[0] in ("joingraph", *STAGES)


def functions(file: File) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(file.tree) if isinstance(node, FUNCTION))


def every_file_opens_with_a_docstring(file: File) -> Iterator[tuple[int, str]]:
    if file.text.strip() and not ast.get_docstring(file.tree):
        yield 1, "says nothing of what it is for: begin with a docstring"


def files_and_functions_are_short(file: File) -> Iterator[tuple[int, str]]:
    lines = file.text.count("\n")
    if lines > 400 and file.path not in EXCEPTIONS:
        yield 401, f"has {lines} lines, at most 400"
    for node in functions(file):
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > 40 and f"{file.path}:{node.name}" not in EXCEPTIONS:
            yield node.lineno, f"{node.name} has {length} lines, at most 40"


def lines_fit_in_100_columns(file: File) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file.text.splitlines(), 1):
        if len(line) > 100:
            yield number, f"is {len(line)} columns wide, at most 100"


EMPTY_WORDS = {"manager", "helper", "helpers", "util", "utils"}


def words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


def names_say_what_a_thing_does(file: File) -> Iterator[tuple[int, str]]:
    if EMPTY_WORDS & set(words(Path(file.path).stem)):
        yield 1, f"{Path(file.path).name} does not say what it holds"
    for node in ast.walk(file.tree):
        if isinstance(node, (ast.ClassDef, *FUNCTION)):
            found = set(words(node.name))
            # A base row is a word of ours; a Base class is not.
            if found & EMPTY_WORDS or (
                isinstance(node, ast.ClassDef) and node.name.endswith("Base")
            ):
                yield node.lineno, f"{node.name} does not say what it does"


def type_checking_imports(file: File) -> set[ast.AST]:
    """The imports that only type checkers see."""
    return {
        child
        for node in file.tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in node.body
    }


def imports_stand_at_the_top(file: File) -> Iterator[tuple[int, str]]:
    allowed = set(file.tree.body) | type_checking_imports(file)
    for node in ast.walk(file.tree):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, f"imports relatively: {ast.unparse(node)}"
        if node not in allowed and file.path not in EXCEPTIONS:
            yield node.lineno, f"imports below the top: {ast.unparse(node)}"


def imported_modules(file: File) -> Iterator[tuple[int, str]]:
    """Name each module that a file imports; `from a import b` counts as a and as a.b."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def imports_point_one_way(file: File) -> Iterator[tuple[int, str]]:
    """Rooms import rooms of lower levels only; imports for type checkers count as well."""
    if not is_code(file) or file.path in ABOVE_ALL:
        return
    own = room_of_path(file.path)
    for line, module in imported_modules(file):
        parts = module.split(".")
        if parts[0] != "joingraph":
            continue
        room = parts[1] if len(parts) > 1 else None
        if room is None:
            if not any(name in LEVEL_OF for name in names_from_the_top(file, line)):
                yield line, "imports joingraph itself, which stands above all"
        elif room != own and LEVEL_OF.get(room, len(LEVELS)) >= LEVEL_OF.get(own, -1):
            yield line, f"{own} must not know {module}"


def room_of_path(path: str) -> str:
    parts = path.split("/")
    return parts[0] if parts[0] in STAGES else parts[1]


def names_from_the_top(file: File, line: int) -> set[str]:
    """Name what `from joingraph import ...` brings in at a line."""
    return {
        alias.name
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ImportFrom) and node.lineno == line
        for alias in node.names
    }


def what_is_installed_stands_alone(file: File) -> Iterator[tuple[int, str]]:
    for line, module in imported_modules(file):
        if is_code(file) and module.split(".")[0] in ("benchmarks", "tests"):
            yield line, f"imports {module}, which is not installed"


def names_come_from_where_they_are_defined(file: File) -> Iterator[tuple[int, str]]:
    if not is_code(file) or file.path == "joingraph/__init__.py":
        return
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("joingraph."):
            home = source_of(node.module or "")
            for alias in node.names:
                if home and not is_defined_in(home, alias.name):
                    yield node.lineno, f"{node.module} does not define {alias.name}"


def source_of(module: str) -> Path | None:
    """Find a module's file in the checkout, if it has one."""
    parts = module.split(".")[1:]
    inside = ROOT.joinpath(*parts) if parts[0] in STAGES else ROOT.joinpath("joingraph", *parts)
    found = [path for path in (inside.with_suffix(".py"), inside / "__init__.py") if path.exists()]
    return found[0] if found else None


def is_defined_in(home: Path, name: str) -> bool:
    if home.name == "__init__.py" and (
        (home.parent / f"{name}.py").exists() or (home.parent / name).is_dir()
    ):
        return True
    return name not in names_imported_by(home)


@cache
def names_imported_by(home: Path) -> set[str]:
    return {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(home.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }


def parameters_are_few(file: File) -> Iterator[tuple[int, str]]:
    # A kernel has no object to carry its arrays; a test takes its cases as parameters.
    most = 8 if "/compiled/" in file.path or "/codegen/" in file.path else 4
    for node in functions(file):
        names = [arg.arg for arg in node.args.posonlyargs + node.args.args]
        counted = [name for name in names if name not in ("self", "cls")]
        known = node.name.startswith("test_") or f"{file.path}:{node.name}" in EXCEPTIONS
        if len(counted) > most and not known:
            yield node.lineno, f"{node.name} takes {len(counted)} parameters, at most {most}"
        if node.args.kwarg:
            yield node.lineno, f"{node.name} takes **{node.args.kwarg.arg}: name its parameters"


STATEMENTS = (
    *(ast.Assert, ast.Assign, ast.AugAssign, ast.Delete, ast.For, ast.If, ast.Import),
    *(ast.ImportFrom, ast.Raise, ast.Return, ast.Try, ast.While, ast.With, *FUNCTION, ast.ClassDef),
)


def is_commented_out(comment: str) -> bool:
    text = comment.lstrip("#").strip()
    if text.endswith(":"):
        text += " pass"
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    return any(
        isinstance(node, STATEMENTS)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
        for node in body
    )


def comments_are_sentences(file: File) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(file.text).readline):
        if token.type == tokenize.COMMENT:
            if re.search(r"\b(TO" + r"DO|FIX" + r"ME|XXX|HACK)\b", token.string):
                yield token.start[0], f"leaves work for later: {token.string}"
            elif is_commented_out(token.string):
                yield token.start[0], f"keeps code in a comment: {token.string}"


def code_does_not_branch_on_versions(file: File) -> Iterator[tuple[int, str]]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Attribute) and node.attr == "version_info" and is_code(file):
            yield node.lineno, "branches on the version of Python"


def texts(file: File) -> Iterator[tuple[int, str]]:
    """Yield the lines of docstrings and comments, which may name files."""
    for token in tokenize.generate_tokens(io.StringIO(file.text).readline):
        if token.type == tokenize.COMMENT or token.string.startswith('"""'):
            yield from enumerate(token.string.splitlines(), token.start[0])


def files_named_in_words_exist(file: File) -> Iterator[tuple[int, str]]:
    """A file is named from its reader's folder, from joingraph/, or from the checkout."""
    if not is_code(file):
        return
    folders = ((ROOT / file.path).parent, ROOT / "joingraph", ROOT)
    for line, text in texts(file):
        for name in re.findall(r"(?<![\w./>])[\w/]+\.py\b", text):
            if not any((folder / name).is_file() for folder in folders):
                yield line, f"names {name}, which is not there"


NAMELESS = re.compile(r"\b(?:no|some|every|any)body\b|\bwhoever\b|\bthose who\b", re.IGNORECASE)


def who_acts_is_named(file: File) -> Iterator[tuple[int, str]]:
    """A caller, writer, reader, subscriber or alias acts: each has a name."""
    if is_code(file):
        for number, line in enumerate(file.text.splitlines(), 1):
            if found := NAMELESS.search(line):
                yield number, f"does not name who acts: {found[0]}"


RULES: tuple[Rule, ...] = (
    every_file_opens_with_a_docstring,
    files_and_functions_are_short,
    lines_fit_in_100_columns,
    names_say_what_a_thing_does,
    imports_stand_at_the_top,
    imports_point_one_way,
    what_is_installed_stands_alone,
    names_come_from_where_they_are_defined,
    parameters_are_few,
    comments_are_sentences,
    code_does_not_branch_on_versions,
    files_named_in_words_exist,
    who_acts_is_named,
)


@cache
def source_files() -> list[File]:
    return [
        parse(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_file_keeps_the_rule(rule: Rule) -> None:
    complaints = [
        f"{file.path}:{line}: {text}" for file in source_files() for line, text in rule(file)
    ]
    assert not complaints, "\n" + "\n".join(complaints)


BREACHES: dict[Rule, tuple[str, str]] = {
    every_file_opens_with_a_docstring: ("joingraph/x.py", "x = 1\n"),
    files_and_functions_are_short: ("joingraph/x.py", "def f():\n" + "    f()\n" * 40),
    lines_fit_in_100_columns: ("joingraph/x.py", "x = " + "1" * 97),
    names_say_what_a_thing_does: ("joingraph/x.py", "class RowManager: ..."),
    imports_stand_at_the_top: ("joingraph/x.py", "def f():\n    import os\n"),
    imports_point_one_way: ("filters/x.py", "from joingraph.maintainers import rows\n"),
    what_is_installed_stands_alone: ("joingraph/x.py", "from benchmarks.harness import cli\n"),
    names_come_from_where_they_are_defined: (
        "filters/x.py",
        "from joingraph.expressions.tree import Iterator\n",
    ),
    parameters_are_few: ("joingraph/x.py", "def f(a, b, c, d, e): ..."),
    comments_are_sentences: ("joingraph/x.py", "x = 1\n# x = " + "2\n"),
    code_does_not_branch_on_versions: ("joingraph/x.py", "import sys\nsys.version_info\n"),
    files_named_in_words_exist: ("joingraph/x.py", '"""As nothing.py does."""\n'),
    who_acts_is_named: ("joingraph/x.py", "# A row that some" + "body has.\n"),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_rule_can_be_broken(rule: Rule) -> None:
    path, text = BREACHES[rule]
    assert list(rule(parse(path, text)))


@pytest.mark.parametrize(
    ("path", "text", "is_right"),
    [
        ("joingraph/plan/view.py", "from joingraph.filters import diffs\n", False),
        ("joingraph/engines/plain.py", "from joingraph.filters import diffs\n", True),
        ("joingraph/reads/why.py", "from joingraph.view_diffs import formats\n", False),
        ("joingraph/cli/main.py", "import joingraph as jg\n", False),
        ("joingraph/cli/main.py", "from joingraph import spark\n", True),
        ("joingraph/api/x.py", "if TYPE_CHECKING:\n    from joingraph.cli import main\n", False),
        ("joingraph/plan/x.py", "from joingraph.unknown import x\n", False),
    ],
)
def test_rooms_know_lower_levels_only(path: str, text: str, is_right: bool) -> None:
    assert (not list(imports_point_one_way(parse(path, text)))) == is_right


def test_every_folder_is_small_and_has_its_level() -> None:
    rooms = [path for path in (ROOT / "joingraph").iterdir() if (path / "__init__.py").exists()]
    assert len(rooms) <= ROOMS_MAX
    assert {room.name for room in rooms} <= set(LEVEL_OF)
    for top in (ROOT / "joingraph", *(ROOT / stage for stage in STAGES)):
        for folder in [top, *top.rglob("*/")]:
            modules = [each for each in folder.glob("*.py") if each.name != "__init__.py"]
            assert len(modules) <= MODULES_MAX, f"{folder} holds {len(modules)} modules"


@pytest.mark.parametrize(
    "page", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], ids=lambda p: p.name
)
def test_pages_name_who_acts(page: Path) -> None:
    assert not NAMELESS.findall(page.read_text(encoding="utf-8"))


def test_a_comment_of_words_is_not_taken_for_code() -> None:
    for comment in ("# Insert comes first.", "# noqa: E402", "# rows, counts", "# why: (a, b)"):
        assert not is_commented_out(comment)


def test_every_exception_is_still_needed() -> None:
    paths = {file.path for file in source_files()}
    assert {place.split(":")[0] for place in EXCEPTIONS} <= paths
