"""SQL text -> Definition: the view's aliases, conditions and output columns, names resolved.

What comes in is a SELECT or CREATE VIEW and the tables it may name; what goes out says the same
without SQL. The life of a text:

    text/parse.py      limits, then sqlglot's tree
    select.py          FROM, joins (joins.py), subqueries and CTEs dissolve into aliases
    joined/            the tree of a view's joins, and what its conditions ask of subqueries
    clauses.py         refuses each clause that is not known to be taken
    scope.py           says what names mean
    distinct_names.py  writes the SELECT anew whose columns share a name
    grouping.py        what GROUP BY, DISTINCT and aggregates make of the rows (aggregates.py)
    binder.py          conditions and columns: surveyed (limits.py), bound (functions/scalars.py)
    text/place.py      line and column, where something was refused
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from joingraph.common.errors import ViewError
from joingraph.common.names import quoted
from joingraph.sql.binder import FlatView
from joingraph.sql.clauses import kind
from joingraph.sql.definition import META_NAMES, Definition, Grouping, Inner, Output
from joingraph.sql.distinct_names import with_distinct_names
from joingraph.sql.joined.trees import is_plain
from joingraph.sql.scope import Context, Field, check_args, repeated
from joingraph.sql.select import check_unused, query, renamed
from joingraph.sql.text.parse import binding, check_dialect, parse_one
from joingraph.sql.text.place import places_of, printable
from joingraph.sql.text.refusal import Mistake, Refusal
from joingraph.tables.table import Table

OFFERED_CHARS_MAX = 800  # of a SELECT that an error offers
_CREATE_TAKEN = {"this", "kind", "expression", "exists", "replace", "properties"}
_PROPERTIES_TAKEN = (exp.TemporaryProperty, exp.MaterializedProperty, exp.SchemaCommentProperty)


def define(
    sql: str, tables: Mapping[str, Table], dialect: str = "spark", *, is_stored: bool = False
) -> Definition:
    """Understand a view: resolve its names, flatten its subqueries, type its expressions.

    A view that was stored may have columns of any name.

    >>> follower = Table("follower", pa.schema([("userId", pa.int64())]))
    >>> define("SELECT f.userId + 1 AS next FROM follower f", {"follower": follower}).schema
    next: int64
    """
    check_dialect(dialect)
    _check_spelling(tables)
    with binding(sql, dialect):
        return _define(sql, tables, dialect, is_stored=is_stored)


def _define(sql: str, tables: Mapping[str, Table], dialect: str, *, is_stored: bool) -> Definition:
    statement = parse_one(sql, dialect)
    name, columns, body = _view(statement)
    flat = FlatView(tables, dialect)
    made = query(body, flat, Context({}))
    fields = renamed(made.fields, columns, statement.this)
    check_unused(flat)
    clash = repeated(fields)
    if clash is not None:
        remedy = "give each its own"
        if not columns:
            offered = _offered(fields, sql, tables, dialect)
            remedy = f"write {offered}" if offered else "list the columns and rename one with AS"
        text = f"two columns of the view are called {quoted(clash.name)}; {remedy}"
        raise Mistake(_item(body, clash.name), text)
    _check_types(fields, body)
    if not is_stored:
        _check_meta_names(fields, body)
    is_inner = is_plain(made.joined)
    rows = Definition(
        name,
        sql,
        dialect,
        dict(tables),
        tuple(flat.aliases),
        made.joined.conditions if isinstance(made.joined, Inner) and is_inner else (),
        tuple(Output(field.name, field.value) for field in fields),
        order=tuple(flat.order),
        tree=None if is_inner else made.joined,
        places={} if is_inner else places_of(flat.written, sql),
    )
    if flat.grouped is None:
        return rows
    shown, keys, uses, having, is_whole = flat.grouped
    joined = replace(rows, output=shown)
    return replace(rows, grouping=Grouping(joined, keys, uses, having, is_whole))


def _view(statement: exp.Expr) -> tuple[str, list[exp.Expr], exp.Expr]:
    """Return the name, column names and SELECT of CREATE VIEW; a bare SELECT is "view"."""
    if not isinstance(statement, exp.Create):
        return "view", [], statement
    check_args(statement, _CREATE_TAKEN, "CREATE VIEW")
    body = statement.args.get("expression")
    if statement.kind != "VIEW" or body is None:
        what = "CREATE VIEW without AS" if statement.kind == "VIEW" else kind(statement)
        raise Mistake(statement, f"{what} is no view; write CREATE VIEW ... AS SELECT, or SELECT")
    properties = statement.args.get("properties")
    for each in properties.expressions if properties is not None else ():
        if not isinstance(each, _PROPERTIES_TAKEN):
            raise Mistake(statement, f"{each.sql()} is not taken in CREATE VIEW; leave it out")
    target = statement.this
    columns = target.expressions if isinstance(target, exp.Schema) else []
    table = target.this if isinstance(target, exp.Schema) else target
    return ".".join(part.name for part in table.parts), columns, body


def _check_spelling(tables: Mapping[str, Table]) -> None:
    """Refuse tables that SQL cannot tell apart."""
    spelled: dict[str, str] = {}
    for name in tables:
        other = spelled.setdefault(name.lower(), name)
        if other != name:
            raise ViewError(f"tables {quoted(other)} and {quoted(name)} differ in case only")


def _offered(
    fields: tuple[Field, ...], sql: str, tables: Mapping[str, Table], dialect: str
) -> str | None:
    """Return the view with a name for each column, if it is a view and short enough to read."""
    if len(sql) + len(fields) > OFFERED_CHARS_MAX:
        return None
    text = with_distinct_names(fields, sql, dialect)
    if text is None or len(text) > OFFERED_CHARS_MAX or printable(text) != text:
        return None
    try:
        _define(text, tables, dialect, is_stored=False)
    except (Refusal, ViewError):
        return None
    return text


def _check_types(fields: tuple[Field, ...], body: exp.Expr) -> None:
    """Refuse columns of the view that have no type."""
    for field in fields:
        if pa.types.is_null(field.value.type):
            raise Mistake(
                _item(body, field.name),
                f"column {quoted(field.name)} has no type; write CAST(NULL AS ...)",
            )


def _check_meta_names(fields: tuple[Field, ...], body: exp.Expr) -> None:
    """Refuse columns that view diffs have beside the view's."""
    for field in fields:
        if field.name.lower() in META_NAMES:
            free = field.name.lstrip("_")
            raise Mistake(
                _item(body, field.name),
                f"column {quoted(field.name)} has the name of a column that view diffs add"
                f" ({', '.join(META_NAMES)}); rename it, for example ... AS {quoted(free)}",
            )


def _item(body: exp.Expr, name: str) -> exp.Expr:
    """Find the last entry of the SELECT list that is called so; the list where `*` is."""
    items = body.unnest().expressions
    named = [item for item in items if item.alias_or_name.lower() == name.lower()]
    return next(reversed(named), next(iter(items), body))
