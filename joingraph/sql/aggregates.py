"""How aggregates are written: which function, of what, with which order, filter and constants.

    STRING_AGG(DISTINCT x, ',' ORDER BY y DESC) FILTER (WHERE z)
    ->  STRING_AGG   args x   constants ','   order y DESC   is_distinct   condition z

What they mean is settled in joingraph/aggregates/; here their spellings become one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot import exp

from joingraph.aggregates import registry
from joingraph.sql.functions.binding import refused
from joingraph.sql.scope import check_args
from joingraph.sql.text.refusal import Mistake, Refusal

# What sqlglot calls otherwise than most people do.
_NAMES: dict[type, str] = {
    exp.ArgMin: "MIN_BY",
    exp.ArgMax: "MAX_BY",
    exp.LogicalAnd: "BOOL_AND",
    exp.LogicalOr: "BOOL_OR",
    exp.GroupConcat: "STRING_AGG",
    exp.ArrayUniqueAgg: "COLLECT_SET",
    exp.BitwiseAndAgg: "BIT_AND",
    exp.BitwiseOrAgg: "BIT_OR",
    exp.BitwiseXorAgg: "BIT_XOR",
    exp.JSONArrayAgg: "JSON_AGG",
    exp.JSONObjectAgg: "JSON_OBJECT_AGG",
}
_QUANTILES: dict[type, str] = {
    exp.PercentileCont: "PERCENTILE_CONT",
    exp.PercentileDisc: "PERCENTILE_DISC",
    exp.Quantile: "PERCENTILE",
}
_AROUND = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.ArraySort)


class Written(NamedTuple):
    """An aggregate as it is written."""

    node: exp.Expr  # the function itself
    name: str
    args: Sequence[exp.Expr]
    constants: Sequence[exp.Expr] = ()
    order: Sequence[exp.Ordered] = ()
    condition: exp.Expr | None = None
    is_distinct: bool = False


def is_aggregate(node: exp.Expr, dialect: str) -> bool:
    """True for a node that is an aggregate, with all that hangs on it."""
    if isinstance(node, _AROUND):
        return is_aggregate(node.this, dialect)
    if isinstance(node, exp.Anonymous):
        return registry.is_aggregate(node.name.upper(), dialect)
    if isinstance(node, exp.Any):  # of a condition, in Spark; beside a comparison it is another
        is_alone = isinstance(node.this, exp.Paren) and not isinstance(node.parent, exp.Predicate)
        return is_alone and registry.is_aggregate("ANY", dialect)
    return isinstance(node, exp.AggFunc)


def has_aggregate(node: exp.Expr, dialect: str) -> bool:
    """True if there is an aggregate in an expression, not in a subquery or window of it."""
    if isinstance(node, (exp.Query, exp.Window)):
        return False
    parts = node.iter_expressions()
    return is_aggregate(node, dialect) or any(has_aggregate(each, dialect) for each in parts)


def written(node: exp.Expr, dialect: str) -> Written:
    """Read an aggregate."""
    match node:
        case exp.Filter():
            return _filtered(node, dialect)
        case exp.WithinGroup():
            return _within_group(node)
        case exp.ArraySort():
            return _sorted(node, dialect)
        case exp.IgnoreNulls() | exp.RespectNulls():
            return written(node.this, dialect)
        case exp.Any():
            return Written(node, "ANY", [node.this.this])
        case exp.Func() if not isinstance(node, exp.Anonymous):
            return _function(node, dialect)
        case _:
            return Written(node, node.name.upper(), node.expressions)


def _filtered(node: exp.Filter, dialect: str) -> Written:
    """Read aggregate(...) FILTER (WHERE ...)."""
    return written(node.this, dialect)._replace(condition=node.expression.this)


def _within_group(node: exp.WithinGroup) -> Written:
    """Read aggregate(constant) WITHIN GROUP (ORDER BY x)."""
    found = node.this
    name = _QUANTILES.get(type(found))
    if name is None:
        raise refused(node, "this form is not taken", "write ORDER BY inside the parentheses")
    check_args(found, {"this"}, name)
    order = node.expression.expressions
    if len(order) != 1:
        raise Mistake(node, f"{name} takes one ORDER BY")
    return Written(found, name, [order[0].this], [found.this], order)


def _sorted(node: exp.ArraySort, dialect: str) -> Written:
    """Read Spark's sort_array(collect_list(x))."""
    check_args(node, {"this", "nulls_first"}, "sort_array")
    found = written(node.this, dialect)
    if dialect != "spark" or found.name not in ("ARRAY_AGG", "COLLECT_SET"):
        raise refused(node, "this form is not taken", "docs/functions.md lists what is")
    order = exp.Ordered(this=found.args[0], desc=False, nulls_first=True)
    return found._replace(order=[order])


def _listed(node: exp.Func) -> str:
    """Return the name of a function, of several the one that is listed."""
    names = [name.upper() for name in node.sql_names()]
    return next((name for name in names if name in registry.ENTRIES), names[0])


def _function(node: exp.Func, dialect: str) -> Written:
    """Read a plain call, whose first argument may carry DISTINCT and ORDER BY."""
    name = _NAMES.get(type(node)) or _QUANTILES.get(type(node)) or _listed(node)
    if name == "PERCENTILE" and dialect == "duckdb":
        name = "QUANTILE"
    first, order, is_distinct = node.args.get("this"), list[exp.Ordered](), False
    if isinstance(first, exp.Order):
        first, order = first.this, first.expressions
    args = [] if first is None or isinstance(first, exp.Star) else [first]
    if isinstance(first, exp.Distinct):
        if first.args.get("on"):
            raise refused(node, "this form is not taken")
        args, is_distinct = first.expressions, True
    constants = [node.args[each] for each in ("separator", "quantile") if node.args.get(each)]
    second = node.args.get("expression")
    if second is not None:
        (constants if type(node) in _QUANTILES else args).append(second)
    args += node.args.get("expressions") or []
    if node.args.get("count"):
        why, instead = "lists of the best are not supported", "write it of one value"
        raise Refusal(node, f"{name} of several values", why, instead)
    known = {"this", "expression", "expressions", "separator", "quantile", "big_int"}
    known |= {"nulls_excluded"} if dialect == "spark" else set()
    check_args(node, known, name)
    return Written(node, name, args, constants, order, is_distinct=is_distinct)
