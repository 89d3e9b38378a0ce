"""What no condition or output column may hold, and how large either may be.

A view is a function of its base tables' rows: window functions and subqueries look at other rows,
rand() and current_date at no row at all; an aggregate stands where groups are known (grouping.py).
Everything else is scalars.bind's affair.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from sqlglot import exp

from joingraph.sql.text.refusal import Mistake, Refusal

DEPTH_MAX = 200
NODES_MAX = 100_000

_NOT_OF_THE_DATA = (
    "a view must be a function of its tables, and this changes with no diff",
    "store the value in a column of a table",
)


class Size(NamedTuple):
    """How large an expression is once subqueries' columns are put in place of their names."""

    nodes: int
    depth: int


class Unsupported(NamedTuple):
    """Why nodes of some kinds are refused, and what to write instead."""

    kinds: tuple[type[exp.Expr], ...]
    why: str
    instead: str


_ASKING = (exp.In, exp.Exists, exp.Any, exp.All)
_UNSUPPORTED = (
    Unsupported(
        (exp.Window, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Filter),
        "it looks at other rows of the view",
        "read the view and apply it there",
    ),
    Unsupported(
        _ASKING,
        "this is computed of one row, and a subquery reads a table",
        "write it in WHERE, in ON of an inner join, or in the SELECT list",
    ),
    Unsupported(
        (exp.Query,),
        "it needs a value when there is no partner, and an error when there are two",
        "put it into FROM and JOIN it",
    ),
    Unsupported(
        (exp.UDTF,), "it makes several rows of one", "explode the rows in the table's source"
    ),
    Unsupported(
        (exp.Placeholder, exp.Parameter, exp.SessionParameter),
        "a parameter's value is not known when the view is made",
        "write the constant, or JOIN a table of parameters",
    ),
    Unsupported(
        tuple(
            vars(exp)[name]
            for name in dir(exp)
            if name.startswith(("Current", "Rand", "Utc", "Localtime", "SessionUser", "Uuid"))
            and name != "UuidProperty"
        ),
        *_NOT_OF_THE_DATA,
    ),
    Unsupported(
        (exp.AggFunc,),
        "it sums up many rows, and this is asked of each row",
        "write it in the SELECT list or in HAVING",
    ),
    Unsupported((exp.Collate,), "strings compare byte by byte", "compare LOWER(…)"),
)
# Functions of which sqlglot makes no node of their own.
_NAMES_NOT_OF_THE_DATA = frozenset(
    [
        *("now", "today", "getdate", "sysdate", "curdate", "curtime", "timeofday"),
        *("transaction_timestamp", "statement_timestamp", "clock_timestamp", "unix_timestamp"),
        *("monotonically_increasing_id", "spark_partition_id", "input_file_name"),
        *("nextval", "currval", "setseed", "last_insert_rowid", "changes", "total_changes"),
        *("newid", "uuidv4", "uuidv7", "random_bytes", "randomblob", "version", "user"),
    ]
)


def survey(expression: exp.Expr) -> tuple[Size, list[exp.Column]]:
    """Refuse what no expression may hold, measure the rest, and list the columns it names."""
    nodes = deepest = 0
    columns: list[exp.Column] = []
    waiting = [(expression, 1)]
    while waiting:
        node, depth = waiting.pop()
        nodes, deepest = nodes + 1, max(deepest, depth)
        _refuse(node)
        if isinstance(node, exp.Column):
            columns.append(node)
        waiting += [(child, depth + 1) for child in node.iter_expressions(reverse=True)]
    check_size(expression, Size(nodes, deepest))
    return Size(nodes, deepest), columns


def check_size(node: exp.Expr, size: Size) -> None:
    """Refuse an expression larger than can be kept and walked."""
    if size.depth > DEPTH_MAX:
        raise Mistake(
            node, f"this expression is {size.depth} operators deep; at most {DEPTH_MAX} are taken"
        )
    if size.nodes > NODES_MAX:
        raise Mistake(
            node,
            f"the view's expressions have over {NODES_MAX:,} operators, columns and constants "
            "once its subqueries' columns are written out; that many are not taken",
        )


def _refuse(node: exp.Expr) -> None:
    found = _unsupported(type(node))  # type: ignore[arg-type]  # a class is hashable
    if found is not None and not _is_list(node):
        if isinstance(node, _ASKING) and not isinstance(_asked(node), exp.Query):
            what = f"{node.key.upper()} of something other than a subquery"
            instead = "write a SELECT in the parentheses, or IN (1, 2)"
            raise Refusal(node, what, "it looks into no declared table", instead)
        raise Refusal(node, _name(node), found.why, found.instead)
    if isinstance(node, exp.Anonymous) and node.name.lower() in _NAMES_NOT_OF_THE_DATA:
        raise Refusal(node, _name(node), *_NOT_OF_THE_DATA)


def _asked(node: exp.Expr) -> object:
    return node.args.get("query") if isinstance(node, exp.In) else node.this


@cache
def _unsupported(kind: type[exp.Expr]) -> Unsupported | None:
    """Return why nodes of a kind are refused; looked up once a kind, not once a node."""
    return next((each for each in _UNSUPPORTED if issubclass(kind, each.kinds)), None)


def _is_list(node: exp.Expr) -> bool:
    """True for `a IN (1, 2)`, which looks at one row only, not for `a IN (SELECT ...)`."""
    return isinstance(node, exp.In) and not any(
        node.args.get(name) for name in ("query", "unnest", "field")
    )


def _name(node: exp.Expr) -> str:
    """Name a construct as people do: count(), IN (SELECT), a window function by its function."""
    match node:
        case exp.Window():
            return _name(node.this) + " OVER (...)"
        case exp.Filter() | exp.IgnoreNulls() | exp.RespectNulls():
            return _name(node.this)
        case exp.In():
            return "IN (SELECT ...)"
        case exp.Query():
            return "SELECT in an expression"
        case exp.Exists():
            return "EXISTS (SELECT ...)"
        case exp.Any() | exp.All():
            return type(node).__name__.upper() + " (...)"
        case exp.Placeholder():
            return f":{node.this} (a parameter)" if node.args.get("this") else "? (a parameter)"
        case exp.Parameter() | exp.SessionParameter():
            return f"the parameter {node.name}"
        case exp.Anonymous():
            return f"{node.name}()"
        case exp.Collate():
            return node.sql()
        case exp.Func():
            return f"{node.sql_name().lower()}()"
        case _:
            return type(node).__name__
