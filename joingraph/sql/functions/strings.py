"""Functions of text: patterns and positions are settled here as far as the SQL fixes them."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.functions import FUNCTIONS
from joingraph.expressions.tree import Expression, Literal
from joingraph.sql.functions.binding import Binder, Rule, call, function, refused

BOOL, TEXT = pa.bool_(), pa.string()
_LENGTHS = {
    "spark": pa.int32(),
    "duckdb": pa.int64(),
    "postgres": pa.int32(),
    "sqlite": pa.int64(),
}
# Dialects differ in letters beyond ASCII.
_UPPER = {"spark": "upper_full", "duckdb": "upper", "postgres": "upper", "sqlite": "upper_ascii"}
_LOWER = {"spark": "lower_full", "duckdb": "lower", "postgres": "lower", "sqlite": "lower_ascii"}
_ESCAPES = {"spark": "\\", "postgres": "\\"}
_ALL_SPACES = " \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"


def _constant(value: str) -> Literal:
    return Literal(value, TEXT)


def bind_concat_operator(node: exp.Expr, bind: Binder) -> Expression:
    """a || b: NULL where either is NULL."""
    first, *others = node.flatten(unnest=False)  # a long chain would exhaust recursion
    bound = bind.text(first)
    for each in others:
        bound = call("concat", TEXT, bound, bind.text(each))
    return bound


def bind_concat(node: exp.Expr, bind: Binder) -> Expression:
    """CONCAT(a, b): Spark gives NULL where one is NULL, the others leave NULLs out."""
    if "start" not in node.meta:  # sqlglot's reading of 'a' 'b', which not every dialect has
        raise refused(node, "two texts stand side by side", "write one, or use ||")
    parts = [bind.text(each) for each in node.expressions]
    return call("concat" if bind.dialect == "spark" else "concat_known", TEXT, *parts)


def bind_trim(node: exp.Expr, bind: Binder) -> Expression:
    """TRIM(s), LTRIM(s), RTRIM(s), with the characters to drop, spaces if none are given."""
    position = str(node.args.get("position") or "BOTH").upper()
    names = {"BOTH": "trim", "LEADING": "trim_left", "TRAILING": "trim_right"}
    drop = node.args.get("expression")
    spaces = _ALL_SPACES if bind.dialect == "duckdb" else " "
    characters = spaces if drop is None else bind.constant_text(drop, "what TRIM drops")
    subject = bind.text(node.this)
    return call(names[position], TEXT, subject, _constant(characters)) if characters else subject


def bind_substring(node: exp.Expr, bind: Binder) -> Expression:
    """SUBSTRING(s, start, length), counted from 1; from the end where start is negative."""
    start = bind.constant_integer(node.args["start"], "the start")
    length = node.args.get("length")
    count = None if length is None else bind.constant_integer(length, "the length")
    if count is not None and count < 0:
        raise refused(node, "a negative length is not taken")
    return _slice(bind.text(node.this), *_window(start, count, bind.dialect))


def _window(start: int, count: int | None, dialect: str) -> tuple[int, int | None]:
    """Return the part as Python's s[start:stop] counts it."""
    if start == 0 and dialect == "spark":
        start = 1
    if start > 0 or start == 0 or dialect == "postgres":
        stop = None if count is None else max(start - 1 + count, 0)
        return max(start - 1, 0), stop
    stop = None if count is None or start + count >= 0 else start + count
    return start, stop


def _slice(subject: Expression, start: int, stop: int | None) -> Expression:
    bounds = (Literal(start, pa.int64()), Literal(stop, pa.int64()))
    return call("slice", TEXT, subject, *bounds)


def bind_left(node: exp.Expr, bind: Binder) -> Expression:
    """LEFT(s, n); a negative n leaves out the last -n (in Spark it gives nothing)."""
    count = bind.constant_integer(node.expression, "the length")
    if bind.dialect == "spark":
        count = max(count, 0)
    return _slice(bind.text(node.this), 0, count)


def bind_right(node: exp.Expr, bind: Binder) -> Expression:
    """RIGHT(s, n); a negative n leaves out the first -n (in Spark it gives nothing)."""
    count = bind.constant_integer(node.expression, "the length")
    subject = bind.text(node.this)
    if count == 0 or (count < 0 and bind.dialect == "spark"):
        return _slice(subject, 0, 0)
    return _slice(subject, -count, None)


def bind_replace(node: exp.Expr, bind: Binder) -> Expression:
    """REPLACE(s, a, b) for constants a and b; an empty a changes nothing."""
    subject = bind.text(node.this)
    old = bind.constant_text(node.expression, "what REPLACE looks for")
    replacement = node.args.get("replacement")
    new = "" if replacement is None else bind.constant_text(replacement, "what REPLACE puts there")
    return call("replace", TEXT, subject, _constant(old), _constant(new)) if old else subject


def bind_like(node: exp.Expr, bind: Binder) -> Expression:
    """a LIKE 'pattern', a ILIKE 'pattern'; the escape is \\ in Spark and Postgres, else none."""
    return _like(node, _ESCAPES.get(bind.dialect, ""), bind)


def bind_escaped(node: exp.Expr, bind: Binder) -> Expression:
    """a LIKE 'pattern' ESCAPE 'e'."""
    escape = bind.constant_text(node.expression, "ESCAPE")
    if len(escape) != 1 or escape in "%_" or escape.isalpha():
        raise refused(node, "ESCAPE takes one character, no letter, not % or _")
    if not isinstance(node.this, exp.Like | exp.ILike):
        raise refused(node, "ESCAPE belongs to LIKE")
    _LIKE.check(node.this)
    return _like(node.this, escape, bind)


def _like(node: exp.Expr, escape: str, bind: Binder) -> Expression:
    subject = bind.text(node.this)
    pattern = bind.constant_text(node.expression, "the pattern of LIKE")
    _check_escapes(node, pattern, escape)
    if isinstance(node, exp.ILike) or bind.dialect == "sqlite":  # SQLite's LIKE takes a for A
        lower = _LOWER[bind.dialect]
        subject = call(lower, TEXT, subject)
        pattern = FUNCTIONS[lower].column([pa.array([pattern])], TEXT)[0].as_py()
    test = call("like", BOOL, subject, _constant(pattern), _constant(escape))
    return call("not", BOOL, test) if node.args.get("negate") else test


def _check_escapes(node: exp.Expr, pattern: str, escape: str) -> None:
    letters = iter(pattern)
    for letter in letters:
        if escape and letter == escape and next(letters, "") not in ("%", "_", escape):
            raise refused(node, f"{escape!r} may only stand before %, _ and itself")


_TEXT = {"this": Binder.text}
_TWO_TEXTS = {"this": Binder.text, "expression": Binder.text}
_LIKE = Rule(bind_like, ("this", "expression"), ("negate",))

RULES: dict[type[exp.Expr], Rule] = {
    exp.DPipe: Rule(bind_concat_operator, ("this", "expression"), ("safe",)),
    exp.Concat: Rule(bind_concat, (), ("expressions", "safe", "coalesce"), absent=("sqlite",)),
    exp.Length: function("length", _TEXT, _LENGTHS),
    exp.Upper: function(_UPPER, _TEXT, TEXT),
    exp.Lower: function(_LOWER, _TEXT, TEXT),
    exp.Trim: Rule(bind_trim, ("this",), ("expression", "position")),
    exp.Substring: Rule(bind_substring, ("this", "start"), ("length",)),
    exp.Left: Rule(bind_left, ("this", "expression"), absent=("sqlite",)),
    exp.Right: Rule(bind_right, ("this", "expression"), absent=("sqlite",)),
    exp.Replace: Rule(bind_replace, ("this", "expression"), ("replacement",)),
    exp.Reverse: function("reverse", _TEXT, TEXT, absent=("duckdb", "sqlite")),
    exp.StartsWith: function("starts_with", _TWO_TEXTS, BOOL, absent=("sqlite",)),
    exp.EndsWith: function("ends_with", _TWO_TEXTS, BOOL, absent=("postgres", "sqlite")),
    exp.Contains: function("contains", _TWO_TEXTS, BOOL, absent=("postgres", "sqlite")),
    exp.StrPosition: function("position", {"this": Binder.text, "substr": Binder.text}, _LENGTHS),
    exp.Like: _LIKE,
    exp.ILike: _LIKE._replace(absent=("sqlite",)),
    exp.Escape: Rule(bind_escaped, ("this", "expression")),
}
