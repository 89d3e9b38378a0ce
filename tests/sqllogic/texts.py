"""A query's text -> a view's text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import TokenType

CREATE_VIEW = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMP(?:ORARY)?\s+)?VIEW\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    r"(?P<name>\"[^\"]+\"|[\w.]+)\s*(?P<columns>\([^()]*\))?\s*AS\s+(?P<body>.*)",
    re.IGNORECASE | re.DOTALL,
)
DROP_VIEW = re.compile(r"DROP\s+VIEW\s+(?:IF\s+EXISTS\s+)?(?P<name>\"[^\"]+\"|\w+)", re.IGNORECASE)
TABLE = re.compile(
    r"(?:CREATE|DROP|ALTER)\s+(?:OR\s+REPLACE\s+)?(?:TEMP(?:ORARY)?\s+)?TABLE\s+"
    r"(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(?P<name>\"[^\"]+\"|\w+)",
    re.IGNORECASE,
)
READING = re.compile(r"\s*\(?\s*(SELECT|WITH|FROM)\b", re.IGNORECASE)
CUTTING = {TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH}
WITH = re.compile(r"\s*WITH\s+(RECURSIVE\s+)?", re.IGNORECASE)


class OutOfPlace(Exception):
    """A query that reads part of a view, or is none: counted, not replayed."""


def as_view(sql: str, width: int, views: Mapping[str, str], dialect: str) -> str:
    """Make a query's text a view's.

    No ORDER BY, the file's own views as CTEs before it, and a name for each of its columns, since
    a view's columns have names of their own and a query's need not.
    """
    if not READING.match(sql):
        raise OutOfPlace(f"not a SELECT: {sql.split()[0].upper()}")
    text = without_order(sql, dialect)
    if used := needed(text, views):
        ctes = ", ".join(views[name] for name in views if name in used)
        inner = WITH.match(text)
        text = f"WITH {ctes}, {text[inner.end() :]}" if inner else f"WITH {ctes} {text}"
    names = ", ".join(f"column{i}" for i in range(1, width + 1))
    return f"CREATE VIEW query({names}) AS {text}"


def without_order(sql: str, dialect: str) -> str:
    """Cut off an ORDER BY that orders the whole result; one with a LIMIT reads part of it."""
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(sql)
    except ValueError as error:
        raise OutOfPlace("sqlglot cannot read its tokens") from error
    depth, cut = 0, None
    for token in tokens:
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0 and token.token_type == TokenType.ORDER_BY:
            cut = token.start
        if depth == 0 and token.token_type in CUTTING:
            raise OutOfPlace("LIMIT reads part of a view")
    return sql if cut is None else sql[:cut].rstrip()


def needed(text: str, views: Mapping[str, str]) -> set[str]:
    """Find the views that a text names, and those that they name."""
    found: set[str] = set()
    waiting = [text]
    while waiting:
        words = {word.lower() for word in re.findall(r"\w+", waiting.pop())}
        new = {name for name in views if name in words} - found
        found |= new
        waiting += [views[name].partition("AS (")[2] for name in new]
    return found


def note_view(sql: str, views: dict[str, str]) -> None:
    """Remember a view that a statement creates, as a CTE; forget one that it drops."""
    if made := CREATE_VIEW.match(sql):
        name = made["name"].strip('"').lower()
        views[name] = f"{made['name']}{made['columns'] or ''} AS ({made['body'].rstrip('; ')})"
    elif gone := DROP_VIEW.match(sql):
        views.pop(gone["name"].strip('"').lower(), None)


def redefined(sql: str) -> list[str]:
    """Name the table that a statement creates, drops or alters."""
    found = TABLE.match(sql.lstrip())
    return [found["name"].strip('"')] if found else []
