"""Rows in text: ('joe', 2, NULL, DATE '2015-02-02') *3 <-> Python values and a multiplicity."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

Row = tuple[object, ...]

TOKEN = re.compile(
    r"""\s*(?:
      (?P<typed>(?:DATE|TIMESTAMP|DECIMAL|X)\s*'(?:[^']|'')*')
    | (?P<text>'(?:[^']|'')*')
    | (?P<number>-?(?:\d+\.?\d*(?:e[+-]?\d+)?|Infinity))
    | (?P<word>[^\s(),*'][^\s(),']*)
    | (?P<mark>->|[(),*])
    )""",
    re.VERBOSE,
)
NAMED = {"NULL": None, "true": True, "false": False, "NaN": float("nan"), "Infinity": float("inf")}


def render(value: object) -> str:
    """Write a value as a literal; every type looks different, so that a wrong type shows."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case float():
            return repr(value).replace("inf", "Infinity").replace("nan", "NaN")
        case bytes():
            return f"X'{value.hex()}'"
        case Decimal():
            return f"DECIMAL '{value}'"
        case dt.datetime():
            return f"TIMESTAMP '{value}'"
        case dt.date():
            return f"DATE '{value}'"
        case _:
            return repr(value)


def render_row(row: Row, count: int = 1) -> str:
    """Write a row as a parenthesised list, with its multiplicity if it is not one."""
    text = "(" + ", ".join(render(value) for value in row) + ")"
    return text if count == 1 else f"{text} *{count}"


def parse(literal: str) -> object:
    """Read one literal: the inverse of `render`."""
    if literal in NAMED:
        return NAMED[literal]
    kind, quote, text = literal.partition("'")
    if not quote:
        whole = re.fullmatch(r"-?\d+", literal)
        return int(literal) if whole else float(literal)
    text = text[:-1].replace("''", "'")
    match kind.strip():
        case "X":
            return bytes.fromhex(text)
        case "DATE":
            return dt.date.fromisoformat(text)
        case "TIMESTAMP":
            return dt.datetime.fromisoformat(text)
        case "DECIMAL":
            return Decimal(text)
        case _:
            return text


def tokens(text: str) -> Iterator[str]:
    """Cut a line into literals, words and marks."""
    at = 0
    text = text.strip()
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"cannot read {text[at:]!r}")
        yield found[0].strip()
        at = found.end()


@dataclass(slots=True)
class Reader:
    """Reads rows off a line's tokens, from the left."""

    rest: list[str]

    def take(self, mark: str) -> bool:
        """Step over a mark if it comes next."""
        if self.rest[:1] != [mark]:
            return False
        self.rest.pop(0)
        return True

    def row(self) -> Row:
        """Read one row."""
        if not self.take("("):
            raise ValueError(f"a row should start at {' '.join(self.rest)!r}")
        values: list[object] = []
        while not self.take(")"):
            values.append(parse(self.rest.pop(0)))
            self.take(",")
        return tuple(values)

    def times(self) -> int:
        """Read a multiplicity; none written is one."""
        return int(self.rest.pop(0)) if self.take("*") else 1

    def rows(self) -> Iterator[Row]:
        """Read all rows to the end of the line, as often as they count."""
        while self.rest:
            row = self.row()
            yield from [row] * self.times()
            self.take(",")
