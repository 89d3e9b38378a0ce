"""A view with two columns of one name -> the same text with a name for each, to be offered.

    SELECT * FROM tweet t, retweet r
    SELECT t.id, t.text, r.id AS r_id FROM tweet t, retweet r;

Only the SELECT list is written anew; the words before and behind it stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp, tokenize
from sqlglot.tokenizer_core import Token, TokenType

from joingraph.sql.scope import Field


def with_distinct_names(fields: tuple[Field, ...], sql: str, dialect: str) -> str | None:
    """Return the text with an alias where a name comes again; None if it has no SELECT ... FROM."""
    tokens = tokenize(sql, dialect=dialect)
    depths = list(_depths(tokens))
    selects = [at for at, token in enumerate(tokens) if token.token_type == TokenType.SELECT]
    if not selects:
        return None
    # Those of WITH and of FROM stand deeper, or before.
    depth = min(depths[at] for at in selects)
    start = max(at for at in selects if depths[at] == depth)
    ends = (
        at
        for at in range(start + 1, len(tokens))
        if tokens[at].token_type == TokenType.FROM
        and depths[at] == depth
        and tokens[at - 1].token_type != TokenType.DISTINCT  # a IS DISTINCT FROM b
    )
    end = next(ends, None)
    if end is None:
        return None
    entries = ", ".join(_entries(fields, dialect))
    return f"{_joined(tokens[: start + 1], sql)} {entries} {_joined(tokens[end:], sql)};"


def _depths(tokens: list[Token]) -> Iterator[int]:
    """Yield for each token how many parentheses are open before it."""
    depth = 0
    for token in tokens:
        yield depth
        depth += token.token_type == TokenType.L_PAREN
        depth -= token.token_type == TokenType.R_PAREN


def _joined(tokens: list[Token], sql: str) -> str:
    """Write tokens on one line; a comment between them is left out."""
    parts: list[str] = []
    end = tokens[0].start
    for token in tokens:
        if token.token_type != TokenType.SEMICOLON:
            parts += [" "] if token.start > end else []
            parts.append(sql[token.start : token.end + 1])
        end = token.end + 1
    return "".join(parts)


def _entries(fields: tuple[Field, ...], dialect: str) -> Iterator[str]:
    """Yield the entries of the SELECT list, each with a name that no other column has."""
    taken = {field.name.lower() for field in fields}
    earlier: set[str] = set()
    for field in fields:
        entry = field.item or exp.column(field.name, table=field.relation or None)
        if field.name.lower() in earlier:
            value = entry.this if isinstance(entry, exp.Alias) else entry
            prefix = f"{value.table}_" if isinstance(value, exp.Column) and value.table else ""
            name, number = f"{prefix}{field.name}", 2
            while name.lower() in taken:
                name, number = f"{prefix}{field.name}_{number}", number + 1
            taken.add(name.lower())
            entry = exp.alias_(value, name)
        earlier.add(field.name.lower())
        yield entry.sql(dialect, comments=False)
