"""SQL text -> one sqlglot statement, or ViewError; what is too long or too deep is not parsed.

sqlglot tries a text one way, goes back, and tries another. For most texts that is a few words; for
some, each such choice doubles the time of all that follows it, so how far it goes back is counted,
and bounded (_Bounded).

Long chains of AND and OR come out balanced: `a OR b OR c OR d` as `(a OR b) OR (c OR d)`, which
means the same, so that a condition of a thousand terms is ten levels deep and not a thousand.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise

from sqlglot import Dialect, exp
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from joingraph.common.errors import ViewError
from joingraph.common.names import is_unicode, quoted, short_repr
from joingraph.sql.text.place import describe, offset, pointed, printable
from joingraph.sql.text.refusal import Refusal

DIALECTS = ("spark", "duckdb", "postgres", "sqlite")
SQL_CHARS_MAX = 200_000  # which are read in a second, whatever they are
NESTING_MAX = 40  # sqlglot takes some 20 Python frames a level, of the 1,000 that CPython grants
REREAD_MAX = 10_000  # words read again, besides as many as there are: 0.1 s; few texts need any

NUMBER_CHARS_MAX = 1_000  # of one number; a DOUBLE written out has up to 770 that count
LONE = re.compile("[\ud800-\udfff]")
_INTERVAL = re.compile(r"\s*-?[0-9.]+\s*([a-zA-Z]+\s*)?")

# What has a part in parsing: whatever else raises is a caller's signal handler.
_PARSING = sys.stdlib_module_names | {"sqlglot", "sqlglotrs", "joingraph"}

_OPENERS = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_STARTS = {
    TokenType.SELECT,
    TokenType.WITH,
    TokenType.CREATE,
    TokenType.L_PAREN,
    TokenType.FROM,
    TokenType.VALUES,
    TokenType.SEMICOLON,
}
_NO_CONDITION = {
    TokenType.SEMICOLON,
    TokenType.COMMA,
    TokenType.R_PAREN,
    TokenType.WHERE,
    TokenType.JOIN,
    TokenType.CROSS,
    TokenType.INNER,
    TokenType.NATURAL,
    TokenType.ON,
    TokenType.USING,
}
_REREAD = (
    "this can be read in too many ways, since many JOINs have no condition or much is nested;"
    " give each JOIN its ON or USING, or write CROSS JOIN, and name inner queries in a WITH clause"
)
_CLOSERS = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}


def parse_one(sql: object, dialect: str) -> exp.Expr:
    """Parse the one statement of a text."""
    check_dialect(dialect)
    sql = check_text(sql)
    statements = _parse(sql, dialect)
    if not statements:
        raise ViewError("the SQL text is empty; a SELECT or CREATE statement is needed")
    if len(statements) > 1:
        at = offset(statements[1], statements[1].key.upper(), sql, dialect) or 0
        count = len(statements)
        raise ViewError(pointed(f"the text holds {count} statements; give one at a time", sql, at))
    return balanced(statements[0])


def parse_part(sql: object, part: type[exp.Expr], dialect: str) -> exp.Expr:
    """Parse what is part of a statement only: a condition, or one entry of ORDER BY."""
    sql = check_text(sql)
    parts = _parse(sql, dialect, part)
    if len(parts) != 1:
        raise ViewError(f"the SQL text has {len(parts)} parts; exactly one is needed")
    return balanced(parts[0])


def check_dialect(dialect: object) -> None:
    """Refuse a dialect whose rules we do not know."""
    if not isinstance(dialect, str) or dialect not in DIALECTS:
        raise ViewError(
            f"no dialect {printable(short_repr(dialect))}; there are {', '.join(DIALECTS)}"
        )


def too_deep() -> ViewError:
    """Return the error for SQL that nests deeper than we follow."""
    return ViewError(
        f"the SQL nests deeper than can be followed; {NESTING_MAX} levels of parentheses, CASE "
        "and subqueries are taken, name the inner ones in a WITH clause"
    )


def check_text(sql: object) -> str:
    """Refuse what is no text, or too long a one."""
    if not isinstance(sql, str):
        raise ViewError(f"SQL is a text, found {type(sql).__name__}")
    if len(sql) > SQL_CHARS_MAX:
        raise ViewError(
            f"the SQL text has {len(sql):,} characters; at most {SQL_CHARS_MAX:,} are taken"
        )
    if not is_unicode(sql):
        raise ViewError(f"the SQL text is no Unicode: it has {short_repr(LONE.findall(sql)[:3])}")
    return sql


@contextmanager
def binding(sql: object, dialect: str, subject: str = "") -> Generator[None]:
    """Raise what is refused while SQL is bound as a ViewError about a subject, with its place.

    Meanwhile the garbage collector pauses: all nodes are alive, and it would walk them all. A
    condition of 9,000 terms has half a million of them: 0.9 s with the collector, 0.5 without.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    except Refusal as refusal:
        assert isinstance(sql, str), "only a text is parsed"
        raise ViewError(f"{subject}{describe(refusal, sql, dialect)}") from None
    except ViewError as error:
        raise ViewError(f"{subject}{error}") from None
    except (RecursionError, TokenError) as error:  # sqlglot tokenizes as it writes nodes
        reraise_foreign(error)
        raise ViewError(f"{subject}{too_deep()}") from None
    finally:
        if enabled:
            gc.enable()


def _parse(sql: str, dialect: str, part: type[exp.Expr] | None = None) -> list[exp.Expr]:
    known = Dialect.get_or_raise(dialect)
    try:
        tokens = known.tokenize(sql)
        if dialect == "spark":
            tokens = _with_doubled_quotes(tokens, sql)
        if part is None:
            _check_start(tokens, sql)
        _check_nesting(tokens)
        _check_numbers(tokens, sql)
        _check_intervals(tokens, sql)
        parser = _bounded(known.parser_class)(dialect=known)
        if part is None:
            _check_join_conditions(tokens, sql)
            found = parser.parse(tokens, sql)
        else:
            found = parser.parse_into(part, tokens, sql)
        return [each for each in found if each is not None]
    except ParseError as error:
        raise ViewError(_explain_parse_error(error, sql, dialect)) from None
    except TokenError as error:
        reraise_foreign(error)
        raise ViewError(_explain_token_error(error, sql, dialect)) from None
    except RecursionError:
        raise too_deep() from None
    except (SqlglotError, ValueError, TypeError, AttributeError, LookupError) as error:
        # sqlglot meets some malformed statements with errors of Python's own.
        reraise_foreign(error)
        raise ViewError(f"not {dialect} SQL: {printable(str(error))}") from None


def reraise_foreign(error: BaseException) -> None:
    """Raise what a signal handler of the caller raised meanwhile, of whatever class that is.

    sqlglot wraps all that is raised while it reads words.
    """
    told = error.__cause__ or error
    trace = told.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "") if trace is not None else ""
    package = str(module).split(".", maxsplit=1)[0]
    if package and package not in _PARSING:
        raise told


@cache
def _bounded(parser: type[Parser]) -> type[Parser]:
    """Make a dialect's parser refuse a text that it would read over and over."""

    class Bounded(parser):  # type: ignore[misc, valid-type]  # a class that is only known now
        """Counts the words that it goes back by."""

        _reread = 0

        def _retreat(self, index: int) -> None:
            """Go back to a word, unless that was done too often."""
            self._reread += max(0, self._index - index)
            if self._reread > REREAD_MAX + self._tokens_size:
                raise ViewError(pointed(_REREAD, self.sql, self._tokens[index].start))
            super()._retreat(index)

        def _warn_unsupported(self) -> None:
            """Log no warning: what sqlglot does not know is refused by name."""

    return Bounded


def _with_doubled_quotes(tokens: list[Token], sql: str) -> list[Token]:
    """Read 'o''b' as Spark does since 4.0, as o'b; to sqlglot it is two texts, 'o' and 'b'."""
    found: list[Token] = []
    for token in tokens:
        last = found[-1] if found else token
        is_text = token.token_type is last.token_type is TokenType.STRING
        if is_text and last.end + 1 == token.start and sql[last.end] == sql[token.start]:
            text = last.text + sql[token.start] + token.text
            found[-1] = Token(
                TokenType.STRING, text, token.line, token.col, last.start, token.end, token.comments
            )
        else:
            found.append(token)
    return found


def _check_start(tokens: list[Token], sql: str) -> None:
    """Refuse at its first word what is neither a query nor a declaration."""
    if tokens and tokens[0].token_type not in _STARTS:
        word = quoted(tokens[0].text)
        sentence = f"{word} begins neither a SELECT nor a CREATE statement; no other is taken"
        raise ViewError(pointed(sentence, sql, tokens[0].start))


def _check_nesting(tokens: list[Token]) -> None:
    """Refuse before parsing what would take the parser too deep."""
    depth = chained = 0
    before = TokenType.SEMICOLON
    for token in tokens:
        if token.token_type in _OPENERS:
            depth += 1
        elif token.token_type in _CLOSERS:
            depth = max(0, depth - 1)
        elif (before, token.token_type) == (TokenType.R_PAREN, TokenType.DOT):
            chained += 1  # a.f().g().h(): sqlglot copies all that is before a dot
        elif token.token_type == TokenType.PIPE_GT:
            chained += 1  # and so before FROM a |> SELECT x |> SELECT x
        if max(depth, chained) > NESTING_MAX:
            raise too_deep()
        before = token.token_type


def _check_numbers(tokens: list[Token], sql: str) -> None:
    """Refuse a number of more digits than Python reads."""
    for token in tokens:
        if token.token_type == TokenType.NUMBER and len(token.text) > NUMBER_CHARS_MAX:
            sentence = f"a number has {len(token.text):,} digits; at most {NUMBER_CHARS_MAX:,}"
            raise ViewError(pointed(sentence + " are taken", sql, token.start))


def _check_intervals(tokens: list[Token], sql: str) -> None:
    """Refuse INTERVAL '1 day 04:05' and '1 day ago', of which sqlglot reads the day alone."""
    for interval, token in pairwise(tokens):
        kinds = interval.token_type, token.token_type
        if kinds == (TokenType.INTERVAL, TokenType.STRING) and not _INTERVAL.fullmatch(token.text):
            sentence = f"INTERVAL {short_repr(token.text)} is not taken: an interval is a whole"
            sentence += " number of one unit, such as INTERVAL '90' MINUTE"
            raise ViewError(pointed(sentence, sql, interval.start))


def _check_join_conditions(tokens: list[Token], sql: str) -> None:
    """Refuse ON and USING with nothing behind, which sqlglot takes for ON TRUE."""
    ends = [*(token.token_type for token in tokens[1:]), TokenType.SEMICOLON]
    for token, one, two in zip(tokens, ends, [*ends[1:], TokenType.SEMICOLON], strict=True):
        if token.token_type == TokenType.ON and one in _NO_CONDITION:
            raise ViewError(pointed("ON has no condition", sql, token.start))
        is_empty = one in _NO_CONDITION or (one, two) == (TokenType.L_PAREN, TokenType.R_PAREN)
        if token.token_type == TokenType.USING and is_empty:
            raise ViewError(pointed("USING names no columns", sql, token.start))


def _explain_parse_error(error: ParseError, sql: str, dialect: str) -> str:
    if not error.errors:
        return f"not {dialect} SQL: {printable(str(error))}"
    first = error.errors[0]
    what = re.sub(r"<class '[\w.]+\.(\w+)'>", r"\1", str(first["description"])).rstrip(".")
    what = re.sub(r"<Token token_type: .*SENTINEL.*>", "the end of the text", what, flags=re.DOTALL)
    what = re.sub(r"<Token token_type: .*?, text: (.*), line: .*>", r"\1", what, flags=re.DOTALL)
    line, end = int(first["line"]), int(first["col"])
    start = sum(len(text) + 1 for text in sql.split("\n")[: line - 1])
    at = max(start, start + end - len(str(first["highlight"])))
    return pointed(f"not {dialect} SQL: {what}", sql, min(at, len(sql)))


def _explain_token_error(error: TokenError, sql: str, dialect: str) -> str:
    """Return what the tokenizer missed; its cause knows, and names the line and the offset."""
    if isinstance(error.__cause__, IndexError):  # it ran out of text
        return pointed(f"not {dialect} SQL: this comment has no end", sql, max(0, sql.rfind("/*")))
    cause = str(error.__cause__ or error)
    found = re.match(r"(Missing .+) from \d+:(\d+)$", cause, re.DOTALL)
    if found is None:
        return f"not {dialect} SQL: {printable(cause)}"
    return pointed(f"not {dialect} SQL: {found[1]} to close this", sql, int(found[2]))


def balanced(root: exp.Expr) -> exp.Expr:
    """Rebuild every chain of AND or OR as a balanced tree; the same terms in the same order."""
    tops = [
        node
        for node in root.walk()
        if isinstance(node, (exp.And, exp.Or)) and type(node.parent) is not type(node)
    ]
    for top in tops:
        terms = list(top.flatten(unnest=False))
        middle = len(terms) // 2
        top.set("this", _joined(terms[:middle], type(top)))
        top.set("expression", _joined(terms[middle:], type(top)))
    return root


def _joined(terms: list[exp.Expr], kind: type[exp.Expr]) -> exp.Expr:
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return kind(this=_joined(terms[:middle], kind), expression=_joined(terms[middle:], kind))
