"""Reads sqllogictest files of SQLite's and DuckDB's kind into records.

query II rowsort label          statement ok            skipif mysql
SELECT a, b FROM t              INSERT INTO t ...       onlyif joingraph
----
1
2     or 1<TAB>2     or "2 values hashing to 7b4f..."
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

OURS = "joingraph"
HARMLESS = frozenset(
    [
        "vector_size",
        "noforcestorage",
        "skip_reload",
        "no_alternative_verify",
        "no_vector_verification",
        "64bit",
        "notwindows",
        "notmingw",
        "noalternativeverify",
        "no_latest_storage",
    ]
)
IGNORED = frozenset(["hash-threshold", "reset", "sleep", "unzip", "template", "tags", "test-env"])
SIGNED = "tinyint smallint integer bigint hugeint"
UNSIGNED = "utinyint usmallint uinteger ubigint uhugeint"
CLASSES = {
    "<signed>": SIGNED.split(),
    "<unsigned>": UNSIGNED.split(),
    "<integral>": f"{SIGNED} {UNSIGNED}".split(),
    "<numeric>": f"{SIGNED} {UNSIGNED} float double".split(),
}
HASH = re.compile(r"^(\d+) values hashing to ([0-9a-f]{32})$")


class Stop(Exception):
    """The rest of the file cannot be replayed, for a reason that is counted."""


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL that changes something; `fails` when it must be refused."""

    line: int
    sql: str
    fails: bool


@dataclass(frozen=True, slots=True)
class Query:
    """SQL that reads, and what it should give: values, or how many with which hash."""

    line: int
    sql: str
    types: str
    sort: str
    values: tuple[str, ...]
    by_rows: bool  # the values are lines of tab-separated rows
    hash: str = ""


Record = Statement | Query
Line = tuple[int, str]


def read_records(text: str, dialect: str) -> Iterator[Record]:
    """Yield a file's records; raise Stop where it goes beyond what can be replayed."""
    lines = [(number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1)]
    state = Switches(dialect)
    yield from read_lines(lines, state)


@dataclass(slots=True)
class Switches:
    """What the lines so far have switched: names that mean us, skipping, the next one only."""

    dialect: str
    skip_all: bool = False
    skip_next: bool = False

    def take(self, words: Sequence[str]) -> None:
        """Follow a `skipif`, `onlyif` or `mode` line."""
        ours = words[1] in (OURS, self.dialect)
        match words[0]:
            case "skipif":
                self.skip_next |= ours
            case "onlyif":
                self.skip_next |= not ours
            case _:
                self.skip_all = words[1] == "skip" or (self.skip_all and words[1] != "unskip")


def read_lines(lines: Sequence[Line], state: Switches) -> Iterator[Record]:
    """Yield the records of some lines, loops written out."""
    at = 0
    while at < len(lines):
        (number, line), at = lines[at], at + 1
        words = line.split()
        if not words or line.startswith("#") or words[0] in IGNORED:
            continue
        match words[0]:
            case "skipif" | "onlyif" | "mode":
                state.take(words)
            case "require":
                if words[1] not in HARMLESS:
                    raise Stop(f"require {words[1]}")
            case "loop" | "foreach":
                end = end_of_loop(lines, at)
                for value in loop_values(words):
                    yield from read_lines(replaced(lines[at:end], words[1], value), state)
                at = end + 1
            case "halt":
                if not state.skip_next:
                    return
                state.skip_next = False
            case "statement" | "query":
                end = end_of_record(lines, at)
                if not (state.skip_next or state.skip_all):
                    yield read_record(number, words, [text for _, text in lines[at:end]])
                state.skip_next = False
                at = end
            case _:
                raise Stop(words[0])  # load, restart, concurrentloop, ...


def end_of_record(lines: Sequence[Line], start: int) -> int:
    """Find the empty line that ends a record."""
    empty = (at for at in range(start, len(lines)) if not lines[at][1].strip())
    return next(empty, len(lines))


def end_of_loop(lines: Sequence[Line], start: int) -> int:
    """Find the `endloop` of a loop whose body starts at a line."""
    depth = 1
    for at in range(start, len(lines)):
        first = (lines[at][1].split() or [""])[0]
        depth += (first in ("loop", "foreach")) - (first == "endloop")
        if not depth:
            return at
    raise Stop("loop without endloop")


def loop_values(words: Sequence[str]) -> list[str]:
    """List what a loop's variable becomes."""
    if words[0] == "loop":
        return [str(value) for value in range(int(words[2]), int(words[3]))]
    values = [each for value in words[2:] for each in CLASSES.get(value, [value])]
    if any(value.startswith(("<", "!")) for value in values):
        raise Stop(f"{' '.join(words[2:])}: a foreach over a class of types")
    return values


def replaced(lines: Sequence[Line], name: str, value: str) -> list[Line]:
    """Write a loop's body for one value of its variable."""
    return [(number, line.replace(f"${{{name}}}", value)) for number, line in lines]


def read_record(number: int, words: Sequence[str], body: Sequence[str]) -> Record:
    """Read one statement or query."""
    cut = body.index("----") if "----" in body else len(body)
    sql = "\n".join(body[:cut]).strip().rstrip(";")
    if words[0] == "statement":
        return Statement(number, sql, fails=words[1] == "error")
    expected = list(body[cut + 1 :])
    hashed = HASH.match(expected[0]) if len(expected) == 1 else None
    types = words[1] if len(words) > 1 else ""
    sort = words[2] if len(words) > 2 and words[2] in ("rowsort", "valuesort") else "nosort"
    by_rows = len(types) == 1 or any("\t" in line for line in expected)
    values = () if hashed else tuple(expected)
    return Query(number, sql, types, sort, values, by_rows, hashed[2] if hashed else "")
