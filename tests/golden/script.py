"""A golden script: comments, settings, tables and a view, then steps with what they should give.

    # Deleting one of two equal rows.            what the script shows
    on_missing: skip                             a setting (see SETTINGS)
    CREATE TABLE follower (u INT, f INT);
    CREATE VIEW v AS SELECT f FROM follower;

    > insert follower (1, 2) *2                  a step: `>` and indented lines below it
    + (2) *2                                     what it should give

Steps:
    > load TABLE ROW ...              bulk load; also several tables, one an indented line
    > insert TABLE ROW ...            one batch: rows to insert,
    > delete TABLE ROW ...            rows to delete,
    > update TABLE ROW -> ROW, ...    rows to change;
    > batch                           a batch of several, one an indented line
    > net | factorised                the last batch's view diffs, folded, or deltas with groups
    > scan | count | graph            the view, its number of rows, the join graph
    > quarantine                      the diffs put aside
    > maintain_only on | off
A batch gives `+ row`, `- row` and `~ pre -> post` with multiplicities, `nothing`, or `! error`;
with `form: deltas` lines of a group and the columns that change, `(7) | n: +1 | total: -5`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

SCRIPTS = Path(__file__).parent / "scripts"
SETTINGS = {
    "dialect": "spark",
    "on_missing": "error",
    "form": "rows",
    "keep_groups": "on",
    "lookahead": "all",  # or the only mode that takes the view
}


@dataclass(slots=True)
class Step:
    """One command with its indented lines, what is expected of it, and what stands below."""

    line: int
    command: list[str]
    expected: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)

    @property
    def verb(self) -> str:
        """The first word of the command."""
        return self.words[0]

    @property
    def words(self) -> list[str]:
        """The command's first line, cut in words."""
        return self.command[0].removeprefix(">").split()

    @property
    def entries(self) -> list[str]:
        """The diffs of a batch or the tables of a load, one a line."""
        first = self.command[0].removeprefix(">").strip()
        return [first] if len(self.command) == 1 else [line.strip() for line in self.command[1:]]


@dataclass(slots=True)
class Script:
    """A script as read; `text` gives the file back, with the expectations it holds now."""

    path: Path
    head: list[str]
    steps: list[Step]
    settings: dict[str, str]
    tables: dict[str, str]
    view: str

    @property
    def text(self) -> str:
        """The whole file."""
        lines = list(self.head)
        for step in self.steps:
            lines += [*step.command, *step.expected, *step.below]
        return "\n".join(lines).rstrip("\n") + "\n"


def read(path: Path) -> Script:
    """Read a script from its file."""
    return parse_script(path, path.read_text(encoding="utf-8"))


def parse_script(path: Path, text: str) -> Script:
    """Read a script from its text; the path only names it."""
    head: list[str] = []
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(">"):
            steps.append(Step(number, [line]))
        elif not steps:
            head.append(line)
        elif line.startswith(" ") and not steps[-1].expected and not steps[-1].below:
            steps[-1].command.append(line)
        elif steps[-1].below or not line.strip() or line.startswith("#"):
            steps[-1].below.append(line)
        else:
            steps[-1].expected.append(line.rstrip())
    settings, tables, view = parse_head(head)
    return Script(path, head, steps, settings, tables, view)


def parse_head(head: list[str]) -> tuple[dict[str, str], dict[str, str], str]:
    """Find the settings, the CREATE TABLE texts by table, and the view."""
    settings = dict(SETTINGS)
    sql: list[str] = []
    for line in head:
        name, colon, value = line.partition(":")
        if colon and name in SETTINGS:
            settings[name] = value.strip()
        elif not line.startswith("#"):
            sql.append(line)
    *creates, view = [each for each in re.split(r";\s*(?:\n|$)", "\n".join(sql)) if each.strip()]
    return settings, {table_name(create): create for create in creates}, view


def table_name(create: str) -> str:
    """Find the table that a CREATE TABLE text declares."""
    found = re.match(r"\s*CREATE\s+TABLE\s+(\"(?:[^\"]|\"\")+\"|\w+)", create, re.IGNORECASE)
    if found is None:
        raise ValueError(f"expected CREATE TABLE, found {create[:40]!r}")
    return unquoted(found[1])


def unquoted(name: str) -> str:
    """Take the quotes off a name, if it has any."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
