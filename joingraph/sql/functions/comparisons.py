"""Conditions: comparisons, three-valued logic, CASE and its relatives."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from joingraph.expressions.tree import Call, Expression, Literal
from joingraph.expressions.types import FLOATS, SIGNED, UNSIGNED
from joingraph.sql.functions.binding import (
    UNTYPED,
    Binder,
    Rule,
    call,
    fold,
    is_integer,
    only,
    required,
    unify,
)
from joingraph.sql.text.refusal import Refusal

BOOL = pa.bool_()
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
    exp.NullSafeEQ: "not_distinct",
    exp.NullSafeNEQ: "distinct",
}
_TESTS = (*_COMPARISONS, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Not)


def bind_comparison(node: exp.Expr, bind: Binder) -> Expression:
    """a = b and its like; dialects disagree about a = b = c, so it needs parentheses."""
    only(node, "this", "expression")
    sides = [required(node, "this"), required(node, "expression")]
    for side in sides:
        if isinstance(side, _TESTS):
            raise Refusal(
                node, node.sql(), "dialects group such tests differently", "add parentheses"
            )
    if bind.dialect == "sqlite" and isinstance(sides[1], exp.Boolean):
        why = "SQLite takes TRUE for a test after IS, for 1 elsewhere"
        raise Refusal(node, node.sql(), why, "write IS TRUE, or = 1")
    return compare(node, _COMPARISONS[type(node)], [bind(side) for side in sides], bind)


def compare(node: exp.Expr, function: str, sides: list[Expression], bind: Binder) -> Expression:
    """Compare two bound expressions in their common type."""
    if sides == [UNTYPED, UNTYPED]:
        sides = [Literal(None, BOOL), Literal(None, BOOL)]
    if bind.dialect == "sqlite":
        sides = _integers_for_booleans(sides)
    return call(function, BOOL, *unify(node, sides, bind, comparing=True))


def _integers_for_booleans(sides: list[Expression]) -> list[Expression]:
    """Write SQLite's TRUE as the 1 it is, where it meets a number."""
    if all(side.type in (BOOL, pa.null()) for side in sides):
        return sides
    return [call("cast", pa.int64(), side) if side.type == BOOL else side for side in sides]


def bind_and(node: exp.Expr, bind: Binder) -> Expression:
    """a AND b AND …, as one call."""
    return call("and", BOOL, *(bind.boolean(each) for each in _operands(node)))


def bind_or(node: exp.Expr, bind: Binder) -> Expression:
    """a OR b OR …, as one call."""
    return call("or", BOOL, *(bind.boolean(each) for each in _operands(node)))


def _operands(node: exp.Expr) -> list[exp.Expr]:
    only(node, "this", "expression")
    assert isinstance(node, exp.Connector)
    return list(node.flatten(unnest=False))


def bind_not(node: exp.Expr, bind: Binder) -> Expression:
    """NOT a."""
    only(node, "this")
    return negated(bind.boolean(required(node, "this")))


def negated(condition: Expression) -> Expression:
    """Turn a condition round."""
    return call("not", BOOL, condition)


def bind_is(node: exp.Expr, bind: Binder) -> Expression:
    """a IS NULL, a IS TRUE, a IS FALSE; sqlglot has PostgreSQL's IS NOT as one node."""
    only(node, "this", "expression", "negate")
    answer = _is(node, bind)
    return negated(answer) if node.args.get("negate") else answer


def _is(node: exp.Expr, bind: Binder) -> Expression:
    subject, test = required(node, "this"), required(node, "expression")
    if isinstance(test, exp.Null):
        bound = bind(subject)
        return call("is_null", BOOL, Literal(None, BOOL) if bound == UNTYPED else bound)
    if isinstance(test, exp.Boolean):
        return call("is_true" if test.this else "is_false", BOOL, bind.boolean(subject))
    raise Refusal(node, node.sql(), "IS takes NULL, TRUE or FALSE", "write IS NOT DISTINCT FROM")


def bind_between(node: exp.Expr, bind: Binder) -> Expression:
    """a BETWEEN b AND c: a >= b AND a <= c."""
    only(node, "this", "low", "high")
    subject = bind.part(node, "this")
    low = compare(node, "greater_equal", [subject, bind.part(node, "low")], bind)
    high = compare(node, "less_equal", [subject, bind.part(node, "high")], bind)
    return call("and", BOOL, low, high)


def bind_in(node: exp.Expr, bind: Binder) -> Expression:
    """a IN (b, c): one look-up for constants, else a = b OR a = c."""
    if node.args.get("query") is not None:
        raise Refusal(node, "IN (SELECT …)", "subqueries in conditions are not taken", "use a join")
    only(node, "this", "expressions")
    members = [bind(each) for each in node.expressions]
    if not members:
        raise Refusal(node, node.sql(), "the list is empty")
    subject, *members = _one_type(node, [bind.part(node, "this"), *members], bind)
    known = [each for each in members if each != Literal(None, each.type)]
    is_constant = all(isinstance(each, Literal) for each in known)
    if known and is_constant and subject.type not in FLOATS:
        tests: list[Expression] = [call("in", BOOL, subject, *known)]
    else:
        tests = [call("equal", BOOL, subject, each) for each in known]
    if len(known) < len(members):
        tests.append(Literal(None, BOOL))
    return tests[0] if len(tests) == 1 else call("or", BOOL, *tests)


def _one_type(node: exp.Expr, parts: list[Expression], bind: Binder) -> list[Expression]:
    if all(part == UNTYPED for part in parts):
        return [Literal(None, BOOL) for _ in parts]
    if bind.dialect == "sqlite":
        parts = _integers_for_booleans(parts)
    return unify(node, parts, bind, comparing=True)


def alternatives(node: exp.Expr, parts: list[Expression], bind: Binder) -> list[Expression]:
    """Bring values of which one is chosen to one type; SQLite would choose the type by row."""
    kinds = {part.type in FLOATS for part in parts if part != UNTYPED}
    if bind.dialect == "sqlite" and len(kinds) > 1:
        raise Refusal(
            node, node.sql(), "in SQLite the type would differ by row", "write all as REAL: 2.0"
        )
    if bind.dialect == "duckdb" and _depends_on_order(parts):
        why = "DuckDB's type depends on the order of constants of different widths"
        raise Refusal(node, node.sql(), why, "write CAST(… AS BIGINT)")
    return unify(node, parts, bind)


def _depends_on_order(parts: list[Expression]) -> bool:
    """Tell constants of several widths beside a column that each alone would adapt to.

    One constant beside UBIGINT and a shorter unsigned column decides by its place, too.
    """
    constants = [part for part in parts if is_integer(part)]
    widths = {next(type for type in SIGNED if fold(each, type)) for each in constants}
    others = {part.type for part in parts if not is_integer(part)}
    if len(widths) == 1 and len(others) > 1 and pa.uint64() in others:
        return others <= set(UNSIGNED)
    return len(widths) > 1 and bool(others & {*UNSIGNED, pa.int8(), pa.int16()})


def bind_case(node: exp.Expr, bind: Binder) -> Expression:
    """CASE WHEN c THEN v … ELSE e END and CASE x WHEN k THEN v … END."""
    only(node, "this", "ifs", "default")
    subject = bind.part(node, "this") if node.args.get("this") else None
    tests: list[Expression] = []
    values: list[Expression] = []
    for branch in node.args["ifs"]:
        when = branch.this
        tests.append(
            bind.boolean(when)
            if subject is None
            else compare(node, "equal", [subject, bind(when)], bind)
        )
        values.append(bind(required(branch, "true")))
    default = node.args.get("default")
    values.append(UNTYPED if default is None else bind(default))
    return choose(tests, alternatives(node, values, bind))


def choose(tests: list[Expression], values: list[Expression]) -> Expression:
    """Write CASE: one more value than tests, the last for the rest."""
    *picked, rest = values
    pairs = zip(tests, picked, strict=True)
    return Call("case", (*(part for pair in pairs for part in pair), rest), rest.type)


def bind_if(node: exp.Expr, bind: Binder) -> Expression:
    """IF(c, a, b): CASE WHEN c THEN a ELSE b END."""
    only(node, "this", "true", "false")
    test = bind.boolean(required(node, "this"))
    other = UNTYPED if node.args.get("false") is None else bind.part(node, "false")
    return choose([test], alternatives(node, [bind.part(node, "true"), other], bind))


def bind_coalesce(node: exp.Expr, bind: Binder) -> Expression:
    """The first of several that is not NULL."""
    only(node, "this", "expressions")
    parts = [bind.part(node, "this"), *(bind(each) for each in node.expressions)]
    unified = alternatives(node, parts, bind)
    return call("coalesce", unified[0].type, *unified)


def bind_nullif(node: exp.Expr, bind: Binder) -> Expression:
    """NULLIF(a, b): NULL where a = b, else a."""
    only(node, "this", "expression")
    subject = bind.part(node, "this")
    if subject == UNTYPED:
        return UNTYPED
    same = compare(node, "equal", [subject, bind.part(node, "expression")], bind)
    return choose([same], [Literal(None, subject.type), subject])


def bind_extreme(node: exp.Expr, bind: Binder) -> Expression:
    """GREATEST and LEAST: NULLs are left out, but in SQLite's MAX(a, b) one NULL makes it NULL."""
    only(node, "this", "expressions", "ignore_nulls")
    parts = [bind.part(node, "this"), *(bind(each) for each in node.expressions)]
    parts = alternatives(node, parts, bind)
    function = "greatest" if isinstance(node, exp.Greatest) else "least"
    result = call(function, parts[0].type, *parts)
    if node.args.get("ignore_nulls"):
        return result
    missing = call("or", BOOL, *(call("is_null", BOOL, part) for part in parts))
    return choose([missing], [Literal(None, result.type), result])


RULES: dict[type[exp.Expr], Rule] = {
    **dict.fromkeys(_COMPARISONS, bind_comparison),
    exp.And: bind_and,
    exp.Or: bind_or,
    exp.Not: bind_not,
    exp.Is: bind_is,
    exp.Between: bind_between,
    exp.In: bind_in,
    exp.Case: bind_case,
    exp.If: bind_if,
    exp.Coalesce: bind_coalesce,
    exp.Nullif: bind_nullif,
    exp.Greatest: bind_extreme,
    exp.Least: bind_extreme,
}
