"""Which parts of a SELECT, a join and a table reference are taken; all others are refused by name.

The lists say what is known, not what is forbidden: a part that sqlglot learns to parse tomorrow
is refused until it is decided what it means for a view.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from joingraph.sql.text.refusal import Mistake, Refusal, word_of


class Reason(NamedTuple):
    """How a clause is written, why it is not taken, and what to write instead."""

    what: str
    why: str
    instead: str


_ORDER = Reason(
    "ORDER BY",
    "a part of a view is a bag of rows",
    "write it at the view's end, or read by scan(order_by=..., limit=...)",
)
_SORT = Reason("SORT BY", "a view's rows are in no partitions", "write ORDER BY at the view's end")
_LIMIT = Reason(
    "LIMIT",
    "which rows remain would depend on the order of diffs",
    "a limit belongs to reading: scan(order_by=..., limit=...)",
)
_TABLESAMPLE = Reason(
    "TABLESAMPLE",
    "which rows are drawn is not a function of the data",
    "write a condition on a column in WHERE",
)
_PIVOT = Reason("PIVOT", "its columns depend on the data", "read the view and pivot there")
_LATERAL = Reason(
    "LATERAL",
    "it makes rows of each row of the tables before it",
    "explode the rows in the table's source, or JOIN a table of them",
)
_HINT = Reason("the hint", "joingraph makes its own plan, which no hint reaches", "leave it out")

_SELECT = {
    "windows": Reason("WINDOW", "it looks at other rows of the view", "apply it to a scan"),
    "qualify": Reason("QUALIFY", "it looks at other rows of the view", "apply it to a scan"),
    "order": _ORDER,
    "sort": _SORT._replace(what="SORT BY"),
    "cluster": _SORT._replace(what="CLUSTER BY"),
    "distribute": _SORT._replace(what="DISTRIBUTE BY"),
    "limit": _LIMIT,
    "offset": _LIMIT._replace(what="OFFSET"),
    "locks": Reason("FOR UPDATE", "a view reads and locks nothing", "leave it out"),
    "into": Reason("INTO", "a view is no new table", "leave it out, and write its diffs to a sink"),
    "hint": _HINT,
    "sample": _TABLESAMPLE,
    "laterals": _LATERAL,
    "pivots": _PIVOT,
    "connect": Reason(
        "CONNECT BY", "recursion has no bound on joins", "write each level as a join"
    ),
    "kind": Reason("SELECT AS", "a row of a view is a list of columns", "name the columns"),
    "exclude": Reason("EXCLUDE", "a view's columns are settled by name", "list the columns"),
}
_TIME_TRAVEL = Reason(
    "AS OF (time travel)",
    "a view follows its tables as they change",
    "load() the table's old state under a name of its own",
)
_TABLE = {
    "version": _TIME_TRAVEL,
    "when": _TIME_TRAVEL,
    "system_time": _TIME_TRAVEL,
    "changes": _TIME_TRAVEL,
    "sample": _TABLESAMPLE,
    "pivots": _PIVOT,
    "laterals": _LATERAL,
    "hints": _HINT,
    "only": Reason("ONLY", "tables do not inherit here", "leave it out"),
    "ordinality": Reason("WITH ORDINALITY", "rows of a table have no number", "add a column"),
}
_KINDS = {
    "": ("", "INNER", "CROSS", "SEMI", "ANTI"),
    "LEFT": ("", "OUTER", "SEMI", "ANTI"),
    "RIGHT": ("", "OUTER"),
    "FULL": ("", "OUTER"),
}
# Why a kind of join is not taken, and what to write instead.
_JOIN = {
    "ASOF": ("which partner is nearest depends on the other rows", "join on a range"),
    "POSITIONAL": ("rows have no position", "join on a column"),
}

_SELECT_TAKEN = {
    *("expressions", "from_", "joins", "where", "with_", "distinct", "group", "having"),
}
_JOIN_TAKEN = {"this", "on", "using", "side", "kind", "method"}
_TABLE_TAKEN = {"this", "db", "catalog", "alias", "joins"}
_SUBQUERY_TAKEN = {"this", "alias", "joins", "with_"}
_WITH_TAKEN = {"expressions"}
_CTE_TAKEN = {"this", "alias", "materialized"}


def check_select(select: exp.Select, *, has_order: bool, has_limit: bool = False) -> None:
    """Refuse every clause of a SELECT but its list, FROM, WHERE, WITH, and what groups.

    An order is that of a view; a subquery of a condition may have one as well, to no effect, and
    EXISTS a limit.
    """
    place = next(iter(select.expressions), select)
    more = {name for name, has in (("order", has_order), ("limit", has_limit)) if has}
    _check(select, _SELECT_TAKEN | more, _SELECT, place)


def is_any_row(limit: exp.Expr | None) -> bool:
    """True for LIMIT or FETCH of one row or more."""
    if isinstance(limit, exp.Fetch):
        options = limit.args.get("limit_options")
        if options is not None and options.args.get("percent"):
            return False
        count = limit.args.get("count")
    else:
        count = None if limit is None else limit.expression
    return isinstance(count, exp.Literal) and count.this.isdigit() and int(count.this) > 0


def check_subquery(subquery: exp.Subquery) -> None:
    """Refuse clauses that hang on a parenthesised query: (SELECT ...) LIMIT 3."""
    _check(subquery, _SUBQUERY_TAKEN, _SELECT | _TABLE, subquery)


def check_table(table: exp.Table) -> None:
    """Refuse samples, versions and all else that makes of a table something other than itself."""
    if not isinstance(table.this, exp.Identifier):
        instead = "declare a table and load() its rows"
        raise Refusal(table.this, "a table function", "its rows come from no diff", instead)
    _check(table, _TABLE_TAKEN, _TABLE, table)


def check_join(join: exp.Join) -> None:
    """Refuse every join but inner, outer, semi and anti ones."""
    parts = [str(join.args.get(name) or "").upper() for name in ("method", "side", "kind")]
    what = " ".join(part for part in (*parts, "JOIN") if part)
    for part in reversed(parts):
        if part in _JOIN:
            raise Refusal(join, what, *_JOIN[part])
    method, side, kind_ = parts
    if kind_ == "OUTER" and not side:
        raise Mistake(join, "OUTER JOIN is LEFT, RIGHT or FULL; write which")
    if side in ("RIGHT", "FULL") and kind_ in ("SEMI", "ANTI"):
        why = "a semi or anti join keeps rows of the table before it"
        raise Refusal(join, what, why, f"write the tables the other way round, with {kind_} JOIN")
    if method not in ("", "NATURAL") or kind_ not in _KINDS.get(side, ()):
        raise Refusal(join, what, "its meaning for a view is not settled", "use JOIN")
    _check(join, _JOIN_TAKEN, _TABLE, join)
    if sum(bool(join.args.get(name)) for name in ("on", "using", "method")) > 1:
        raise Refusal(join, "NATURAL JOIN with a condition", "NATURAL is one", "put it into WHERE")


def check_with(clause: exp.With) -> None:
    """Refuse recursion and what else a WITH clause may say besides naming queries."""
    if clause.args.get("recursive"):
        why = "it has no bound on the number of joins"
        raise Refusal(clause, "RECURSIVE", why, "write each level as a join")
    _check(clause, _WITH_TAKEN, {}, clause)
    for cte in clause.expressions:
        _check(cte, _CTE_TAKEN, {}, cte)


def check_star(star: exp.Star) -> None:
    """Refuse `* EXCEPT (...)` and its kin."""
    for name, value in star.args.items():
        if value:
            why = "a view's columns are settled by name"
            raise Refusal(star, f"* {word_of(name)}", why, "list the columns")


def kind(node: exp.Expr) -> str:
    """Name a statement or an item of FROM as it is written."""
    match node:
        case exp.Command():
            return f"this {node.this} statement"
        case exp.Create():
            return f"CREATE {node.kind}"
        case exp.Subquery():
            return "a parenthesised join or an alias outside of FROM"
        case _:
            return str(node.key).upper()


def _check(node: exp.Expr, taken: set[str], reasons: dict[str, Reason], place: exp.Expr) -> None:
    for name, value in node.args.items():
        if value and name not in taken:
            unsettled = Reason(word_of(name), "its meaning for a view is not settled", "")
            reason = reasons.get(name, unsettled)
            first = value[0] if isinstance(value, list) else value
            inside = first if isinstance(first, exp.Expr) else place
            raise Refusal(inside, _written(first) or reason.what, reason.why, reason.instead)


def _written(clause: object) -> str | None:
    """Name a clause that is written otherwise than the others of its place."""
    if isinstance(clause, exp.Fetch):
        return "FETCH"
    return "UNPIVOT" if isinstance(clause, exp.Pivot) and clause.unpivot else None
