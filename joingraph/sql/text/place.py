"""Where in the text a node stands: line, column and the line itself with a caret under it.

sqlglot remembers offsets for names, literals and functions only. A clause (LEFT JOIN, ORDER BY)
is found by its keyword: the nearest one at or before the first remembered offset inside the node.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp, tokenize
from sqlglot.errors import SqlglotError

from joingraph.expressions.tree import Expression
from joingraph.sql.text.refusal import Refusal

LINE_CHARS_MAX = 100
SENTENCE_CHARS_MAX = 1_000


def describe(refusal: Refusal, sql: str, dialect: str) -> str:
    """Write the refusal as people see it: place, sentence, the line and a caret."""
    at = offset(refusal.node, _keyword(refusal.what), sql, dialect)
    start = len(sql) - len(sql.lstrip())
    return pointed(_as_written(refusal, sql), sql, start if at is None else at)


def places_of(written: Mapping[Expression, exp.Expr], sql: str) -> dict[Expression, int]:
    """Return where expressions begin in the text, as far as it is known; else where it begins."""
    start = len(sql) - len(sql.lstrip())
    return {each: _first_offset(node) or start for each, node in written.items()}


def pointed(sentence: str, sql: str, at: int) -> str:
    """Return a sentence with its place before it, the offending line and a caret below it."""
    start = sql.rfind("\n", 0, at) + 1
    line = sql.count("\n", 0, at) + 1
    end = sql.find("\n", at)
    text = sql[start : end if end >= 0 else len(sql)]
    left = max(0, at - start - LINE_CHARS_MAX // 2)
    shown = printable(text[left : left + LINE_CHARS_MAX].rstrip())
    caret = " " * (at - start - left) + "^"
    place = f"line {line}, column {at - start + 1}"
    return f"{place}: {_ended(sentence)}\n  {shown}\n  {caret}"


def printable(text: str) -> str:
    """Replace what a terminal would act on; hostile names stay text."""
    return "".join(char if char.isprintable() else "\N{MIDDLE DOT}" for char in text)


def _as_written(refusal: Refusal, sql: str) -> str:
    """Call a function as the text does: sqlglot knows collect_list() as array_agg()."""
    sentence = refusal.sentence()
    meta = {} if refusal.node is None else refusal.node.meta
    if refusal.what.endswith("()") and "start" in meta:
        written = sql[meta["start"] : meta["end"] + 1]
        return written + sentence.removeprefix(refusal.what.removesuffix("()"))
    return sentence


def _ended(sentence: str) -> str:
    if len(sentence) > SENTENCE_CHARS_MAX:
        sentence = f"{sentence[:SENTENCE_CHARS_MAX]}..."
    return printable(sentence) + ("" if sentence.endswith(("?", ";")) else ".")


def _keyword(what: str) -> str:
    """Return the word to look for, from a construct's name: LEFT JOIN, current_date()."""
    word = what.split(" ")[0]
    if word.startswith((":", "?")):
        return word[0]
    return word.removesuffix("()").upper() if word.isupper() or word.endswith("()") else ""


def offset(node: exp.Expr | None, keyword: str, sql: str, dialect: str) -> int | None:
    """Find where a node begins, or its keyword where sqlglot remembers no offset of its own."""
    if node is None or "start" in node.meta:
        return None if node is None else int(node.meta["start"])
    near = _first_offset(node)
    if not keyword:
        return near
    try:
        tokens = tokenize(sql, dialect=dialect)
    except SqlglotError:
        return near
    starts = [token.start for token in tokens if token.text.upper().split(" ")[0] == keyword]
    before = [start for start in starts if near is not None and start <= near]
    return before[-1] if before else next(iter(starts), near)


def _first_offset(node: exp.Expr | None) -> int | None:
    """Find the least offset remembered inside a node, or inside the nearest node around it."""
    while node is not None:
        found = [each.meta["start"] for each in node.walk() if "start" in each.meta]
        if found:
            return int(min(found))
        node = node.parent
    return None
