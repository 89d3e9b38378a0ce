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
    refused,
    unify,
)

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
    sides = (node.this, node.expression)
    if any(isinstance(side, _TESTS) for side in sides):
        raise refused(node, "dialects group such tests differently", "add parentheses")
    if bind.dialect == "sqlite" and isinstance(node.expression, exp.Boolean):
        why = "SQLite takes TRUE for a test after IS, for 1 elsewhere"
        raise refused(node, why, "write IS TRUE, or = 1")
    return compare(node, _COMPARISONS[type(node)], [bind(side) for side in sides], bind)


def compare(node: exp.Expr, function: str, sides: list[Expression], bind: Binder) -> Expression:
    """Compare two bound expressions in their common type."""
    return call(function, BOOL, *_one_type(node, sides, bind))


def _integers_for_booleans(sides: list[Expression]) -> list[Expression]:
    """Write SQLite's TRUE as the 1 it is, where it meets a number."""
    if all(side.type in (BOOL, pa.null()) for side in sides):
        return sides
    return [call("cast", pa.int64(), side) if side.type == BOOL else side for side in sides]


def bind_connector(node: exp.Expr, bind: Binder) -> Expression:
    """a AND b AND …, or a OR b OR …, as one call."""
    return call(node.key, BOOL, *(bind.boolean(each) for each in node.flatten(unnest=False)))


def bind_not(node: exp.Expr, bind: Binder) -> Expression:
    """NOT a."""
    return call("not", BOOL, bind.boolean(node.this))


def bind_is(node: exp.Expr, bind: Binder) -> Expression:
    """a IS NULL, a IS TRUE, a IS FALSE; sqlglot has PostgreSQL's IS NOT as one node."""
    test = node.expression
    if isinstance(test, exp.Null):
        bound = bind(node.this)
        answer = call("is_null", BOOL, Literal(None, BOOL) if bound == UNTYPED else bound)
    elif isinstance(test, exp.Boolean):
        answer = call("is_true" if test.this else "is_false", BOOL, bind.boolean(node.this))
    else:
        raise refused(node, "IS takes NULL, TRUE or FALSE", "write IS NOT DISTINCT FROM")
    return call("not", BOOL, answer) if node.args.get("negate") else answer


def bind_between(node: exp.Expr, bind: Binder) -> Expression:
    """a BETWEEN b AND c: a >= b AND a <= c."""
    subject = bind(node.this)
    low = compare(node, "greater_equal", [subject, bind(node.args["low"])], bind)
    high = compare(node, "less_equal", [subject, bind(node.args["high"])], bind)
    return call("and", BOOL, low, high)


def bind_in(node: exp.Expr, bind: Binder) -> Expression:
    """a IN (b, c): one look-up for constants, else a = b OR a = c."""
    members = [bind(each) for each in node.expressions]
    if not members:
        raise refused(node, "the list is empty")
    subject, *members = _one_type(node, [bind(node.this), *members], bind)
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
    """Bring values that are compared to one type."""
    if all(part == UNTYPED for part in parts):
        return [Literal(None, BOOL) for _ in parts]
    if bind.dialect == "sqlite":
        parts = _integers_for_booleans(parts)
    return unify(node, parts, bind, comparing=True)


def alternatives(node: exp.Expr, parts: list[Expression], bind: Binder) -> list[Expression]:
    """Bring values of which one is chosen to one type; SQLite would choose the type by row."""
    kinds = {part.type in FLOATS for part in parts if part != UNTYPED}
    if bind.dialect == "sqlite" and len(kinds) > 1:
        raise refused(node, "in SQLite the type would differ by row", "write all as REAL: 2.0")
    if bind.dialect == "duckdb" and _depends_on_order(parts):
        why = "DuckDB's type depends on the order of constants of different widths"
        raise refused(node, why, "write CAST(… AS BIGINT)")
    return unify(node, parts, bind)


def _depends_on_order(parts: list[Expression]) -> bool:
    """True for constants of several widths beside a column that each alone would adapt to.

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
    subject = bind(node.this) if node.this else None
    tests: list[Expression] = []
    values: list[Expression] = []
    for branch in node.args["ifs"]:
        when = branch.this
        tests.append(
            bind.boolean(when)
            if subject is None
            else compare(node, "equal", [subject, bind(when)], bind)
        )
        values.append(bind(branch.args["true"]))
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
    test, other = bind.boolean(node.this), node.args.get("false")
    values = [bind(node.args["true"]), UNTYPED if other is None else bind(other)]
    return choose([test], alternatives(node, values, bind))


def bind_coalesce(node: exp.Expr, bind: Binder) -> Expression:
    """The first of several that is not NULL."""
    parts = _arguments(node, bind)
    return call("coalesce", parts[0].type, *parts)


def bind_nullif(node: exp.Expr, bind: Binder) -> Expression:
    """NULLIF(a, b): NULL where a = b, else a."""
    subject = bind(node.this)
    if subject == UNTYPED:
        return UNTYPED
    same = compare(node, "equal", [subject, bind(node.expression)], bind)
    return choose([same], [Literal(None, subject.type), subject])


def bind_extreme(node: exp.Expr, bind: Binder) -> Expression:
    """GREATEST and LEAST: NULLs are left out, but in SQLite's MAX(a, b) one NULL makes it NULL."""
    parts = _arguments(node, bind)
    result = call(node.key, parts[0].type, *parts)
    if node.args.get("ignore_nulls"):
        return result
    missing = call("or", BOOL, *(call("is_null", BOOL, part) for part in parts))
    return choose([missing], [Literal(None, result.type), result])


def _arguments(node: exp.Expr, bind: Binder) -> list[Expression]:
    """Bind values of which one is chosen, in one type."""
    return alternatives(node, [bind(each) for each in (node.this, *node.expressions)], bind)


_CONNECTOR = Rule(bind_connector, ("this", "expression"))
_EXTREME = Rule(bind_extreme, ("this",), ("expressions", "ignore_nulls"))

RULES: dict[type[exp.Expr], Rule] = {
    **dict.fromkeys(_COMPARISONS, Rule(bind_comparison, ("this", "expression"))),
    exp.And: _CONNECTOR,
    exp.Or: _CONNECTOR,
    exp.Not: Rule(bind_not, ("this",)),
    exp.Is: Rule(bind_is, ("this", "expression"), ("negate",)),
    exp.Between: Rule(bind_between, ("this", "low", "high")),
    exp.In: Rule(bind_in, ("this",), ("expressions",)),
    exp.Case: Rule(bind_case, (), ("this", "ifs", "default")),
    exp.If: Rule(bind_if, ("this", "true"), ("false",), absent=("postgres",)),
    exp.Coalesce: Rule(bind_coalesce, ("this",), ("expressions",)),
    exp.Nullif: Rule(bind_nullif, ("this", "expression")),
    exp.Greatest: _EXTREME,
    exp.Least: _EXTREME,
}
