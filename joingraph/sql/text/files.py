"""Files of SQL: a view's text, and a file of CREATE TABLE statements -> one text for each table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from joingraph.common.errors import ViewError
from joingraph.sql.text.parse import check_text, parse_one


def read_sql(path: Path) -> str:
    """Read a file of SQL."""
    try:
        return path.read_text(encoding="utf-8")
    except ValueError as error:  # of its bytes, or of its name
        raise ViewError(f"{path} cannot be read as UTF-8 text: {error}") from None


def declarations(text: str, dialect: str) -> dict[str, str]:
    """Cut a file of CREATE TABLE statements into one text for each table.

    >>> declarations("CREATE TABLE a (x INT); CREATE TABLE b (y INT);", "spark")
    {'a': 'CREATE TABLE a (x INT)', 'b': 'CREATE TABLE b (y INT)'}
    """
    found: dict[str, str] = {}
    try:
        for statement in statements(text, dialect):
            table = parse_one(statement, dialect).find(exp.Table)
            if table is None:
                raise ViewError(f"not a CREATE TABLE statement: {statement:.80}")
            if table.name in found:
                raise ViewError(f"table {table.name} is declared twice; declare it once")
            found[table.name] = statement
    except (SqlglotError, ValueError, ViewError) as error:
        raise ViewError(f"the file of CREATE TABLE statements: {error}") from None
    return found


def statements(text: str, dialect: str) -> Iterator[str]:
    """Cut a text at the semicolons between its statements; comments around them are left out."""
    tokens = sqlglot.tokenize(check_text(text), read=dialect)
    for is_end, group in groupby(tokens, lambda each: each.token_type is TokenType.SEMICOLON):
        if not is_end:
            words = list(group)
            yield text[words[0].start : words[-1].end + 1]
