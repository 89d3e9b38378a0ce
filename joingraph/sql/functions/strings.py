"""Functions of text: patterns and positions are settled here as far as the SQL fixes them."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.functions import FUNCTIONS
from joingraph.expressions.tree import Expression, Literal
from joingraph.sql.functions.binding import Binder, Rule, call, only, required
from joingraph.sql.text.parse import chain
from joingraph.sql.text.refusal import Refusal

BOOL, TEXT = pa.bool_(), pa.string()
_LENGTHS = {"duckdb": pa.int64(), "sqlite": pa.int64()}
_CASE_SUFFIX = {"spark": "_full", "duckdb": "", "postgres": "", "sqlite": "_ascii"}
_SEARCHES: dict[type[exp.Expr], str] = {
    exp.StartsWith: "starts_with",
    exp.EndsWith: "ends_with",
    exp.Contains: "contains",
}
_ESCAPES = {"spark": "\\", "postgres": "\\"}
_ALL_SPACES = " \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"


def _constant(value: str) -> Literal:
    return Literal(value, TEXT)


def bind_concat_operator(node: exp.Expr, bind: Binder) -> Expression:
    """a || b: NULL where either is NULL."""
    only(node, "this", "expression", "safe")
    first, *others = chain(node, exp.DPipe)  # not by recursion: a long chain would exhaust it
    bound = bind.text(first)
    for each in others:
        bound = call("concat", TEXT, bound, bind.text(each))
    return bound


def bind_concat(node: exp.Expr, bind: Binder) -> Expression:
    """CONCAT(a, b): Spark gives NULL where one is NULL, the others leave NULLs out."""
    only(node, "expressions", "safe", "coalesce")
    if "start" not in node.meta:  # sqlglot's reading of 'a' 'b', which not every dialect has
        raise Refusal(node, node.sql(), "two texts stand side by side", "write one, or use ||")
    parts = [bind.text(each) for each in node.expressions]
    return call("concat" if bind.dialect == "spark" else "concat_known", TEXT, *parts)


def bind_length(node: exp.Expr, bind: Binder) -> Expression:
    """LENGTH(s), in characters."""
    only(node, "this")
    return call("length", _LENGTHS.get(bind.dialect, pa.int32()), bind.text(required(node, "this")))


def bind_letters(node: exp.Expr, bind: Binder) -> Expression:
    """UPPER(s), LOWER(s); dialects differ in letters beyond ASCII."""
    only(node, "this")
    return call(node.key + _CASE_SUFFIX[bind.dialect], TEXT, bind.text(required(node, "this")))


def bind_trim(node: exp.Expr, bind: Binder) -> Expression:
    """TRIM(s), LTRIM(s), RTRIM(s), with the characters to drop, spaces if none are given."""
    only(node, "this", "expression", "position")
    position = str(node.args.get("position") or "BOTH").upper()
    names = {"BOTH": "trim", "LEADING": "trim_left", "TRAILING": "trim_right"}
    drop = node.args.get("expression")
    spaces = _ALL_SPACES if bind.dialect == "duckdb" else " "
    characters = spaces if drop is None else bind.constant_text(drop, "what TRIM drops")
    subject = bind.text(required(node, "this"))
    return call(names[position], TEXT, subject, _constant(characters)) if characters else subject


def bind_substring(node: exp.Expr, bind: Binder) -> Expression:
    """SUBSTRING(s, start, length), counted from 1; from the end where start is negative."""
    only(node, "this", "start", "length")
    start = bind.constant_integer(required(node, "start"), "the start")
    count = None
    if node.args.get("length") is not None:
        count = bind.constant_integer(required(node, "length"), "the length")
    if count is not None and count < 0:
        raise Refusal(node, node.sql(), "a negative length is not taken")
    return _slice(bind.text(required(node, "this")), *_window(start, count, bind.dialect))


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
    only(node, "this", "expression")
    count = bind.constant_integer(required(node, "expression"), "the length")
    if bind.dialect == "spark":
        count = max(count, 0)
    return _slice(bind.text(required(node, "this")), 0, count)


def bind_right(node: exp.Expr, bind: Binder) -> Expression:
    """RIGHT(s, n); a negative n leaves out the first -n (in Spark it gives nothing)."""
    only(node, "this", "expression")
    count = bind.constant_integer(required(node, "expression"), "the length")
    subject = bind.text(required(node, "this"))
    if count == 0 or (count < 0 and bind.dialect == "spark"):
        return _slice(subject, 0, 0)
    return _slice(subject, -count, None)


def bind_replace(node: exp.Expr, bind: Binder) -> Expression:
    """REPLACE(s, a, b) for constants a and b; an empty a changes nothing."""
    only(node, "this", "expression", "replacement")
    subject = bind.text(required(node, "this"))
    old = bind.constant_text(required(node, "expression"), "what REPLACE looks for")
    new = ""
    if node.args.get("replacement") is not None:
        new = bind.constant_text(required(node, "replacement"), "what REPLACE puts there")
    return call("replace", TEXT, subject, _constant(old), _constant(new)) if old else subject


def bind_reverse(node: exp.Expr, bind: Binder) -> Expression:
    """REVERSE(s)."""
    only(node, "this")
    return call("reverse", TEXT, bind.text(required(node, "this")))


def bind_search(node: exp.Expr, bind: Binder) -> Expression:
    """STARTSWITH(s, t), ENDSWITH(s, t), CONTAINS(s, t)."""
    only(node, "this", "expression")
    sides = (required(node, "this"), required(node, "expression"))
    return call(_SEARCHES[type(node)], BOOL, *(bind.text(side) for side in sides))


def bind_position(node: exp.Expr, bind: Binder) -> Expression:
    """POSITION(t IN s), INSTR(s, t), LOCATE(t, s): from 1, 0 where t is not found."""
    only(node, "this", "substr")
    sides = (required(node, "this"), required(node, "substr"))
    type = _LENGTHS.get(bind.dialect, pa.int32())
    return call("position", type, *(bind.text(side) for side in sides))


def bind_like(node: exp.Expr, bind: Binder) -> Expression:
    """a LIKE 'pattern', a ILIKE 'pattern'; the escape is \\ in Spark and Postgres, else none."""
    return _like(node, _ESCAPES.get(bind.dialect, ""), bind)


def bind_escaped(node: exp.Expr, bind: Binder) -> Expression:
    """a LIKE 'pattern' ESCAPE 'e'."""
    only(node, "this", "expression")
    escape = bind.constant_text(required(node, "expression"), "ESCAPE")
    if len(escape) != 1 or escape in "%_" or escape.isalpha():
        raise Refusal(node, node.sql(), "ESCAPE takes one character, no letter, not % or _")
    test = required(node, "this")
    if not isinstance(test, exp.Like | exp.ILike):
        raise Refusal(node, node.sql(), "ESCAPE belongs to LIKE")
    return _like(test, escape, bind)


def _like(node: exp.Expr, escape: str, bind: Binder) -> Expression:
    only(node, "this", "expression", "negate")
    subject = bind.text(required(node, "this"))
    pattern = bind.constant_text(required(node, "expression"), "the pattern of LIKE")
    _check_escapes(node, pattern, escape)
    if isinstance(node, exp.ILike) or bind.dialect == "sqlite":  # SQLite's LIKE takes a for A
        function = "lower" + _CASE_SUFFIX[bind.dialect]
        subject = call(function, TEXT, subject)
        pattern = FUNCTIONS[function].column([pa.array([pattern])], TEXT)[0].as_py()
    test = call("like", BOOL, subject, _constant(pattern), _constant(escape))
    return call("not", BOOL, test) if node.args.get("negate") else test


def _check_escapes(node: exp.Expr, pattern: str, escape: str) -> None:
    letters = iter(pattern)
    for letter in letters:
        if escape and letter == escape and next(letters, "") not in ("%", "_", escape):
            why = f"{escape!r} may only stand before %, _ and itself"
            raise Refusal(node, node.sql(), why)


RULES: dict[type[exp.Expr], Rule] = {
    exp.DPipe: bind_concat_operator,
    exp.Concat: bind_concat,
    exp.Length: bind_length,
    exp.Upper: bind_letters,
    exp.Lower: bind_letters,
    exp.Trim: bind_trim,
    exp.Substring: bind_substring,
    exp.Left: bind_left,
    exp.Right: bind_right,
    exp.Replace: bind_replace,
    exp.Reverse: bind_reverse,
    exp.StartsWith: bind_search,
    exp.EndsWith: bind_search,
    exp.Contains: bind_search,
    exp.StrPosition: bind_position,
    exp.Like: bind_like,
    exp.ILike: bind_like,
    exp.Escape: bind_escaped,
}
