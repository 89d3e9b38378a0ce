"""SELECT ... FROM ... WHERE, flattened: subqueries and CTEs dissolve into aliases of the view.

    WITH recent AS (SELECT T.tweetId AS id FROM tweet T WHERE T.year > 2020)
    SELECT r.id FROM recent r JOIN retweet ON retweet.tweetId = r.id
    ->  aliases     r.T = tweet, retweet = retweet
        conditions  r.T.year > 2020,  retweet.tweetId = r.T.tweetId
        output      id = r.T.tweetId

A subquery's columns stand for the expressions it computes them by, its joins are joins of the
view; a CTE used twice is two sets of aliases, as bag semantics wants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from joingraph.common.names import quoted
from joingraph.sql.binder import ALIASES_MAX, FlatView
from joingraph.sql.clauses import (
    check_join,
    check_select,
    check_star,
    check_subquery,
    check_table,
    check_with,
    kind,
)
from joingraph.sql.definition import Joined
from joingraph.sql.grouping import Item, grouped_fields, is_grouped
from joingraph.sql.joined.trees import Rows, inner
from joingraph.sql.joins import join, merge, starts_group
from joingraph.sql.ordering import order_of
from joingraph.sql.scope import (
    Context,
    Cte,
    Field,
    Relation,
    Scope,
    check_args,
    check_name,
    repeated,
)
from joingraph.sql.text.refusal import Mistake, Refusal

_ONE_SELECT = "a view is one SELECT over joined tables"
_UNNAMED = "subquery"

Fields = tuple[Field, ...]


class Made(NamedTuple):
    """What a query makes: columns, of rows that are joined so."""

    fields: Fields
    joined: Joined


def query(node: exp.Expr, flat: FlatView, context: Context) -> Made:
    """Flatten a query into the view."""
    while isinstance(node, exp.Subquery) and not (node.alias or node.args.get("joins")):
        check_subquery(node)
        context = _with(node, flat, context)
        node = node.this
    if isinstance(node, exp.SetOperation):
        instead = "make a view of each side, and put their diffs together"
        raise Refusal(node.expression, kind(node), _ONE_SELECT, instead)
    if not isinstance(node, exp.Select):
        raise Refusal(node, kind(node), _ONE_SELECT)
    return _select(node, flat, context)


def check_unused(flat: FlatView) -> None:
    """Flatten the queries of WITH that no FROM names, for their errors alone."""
    for cte in reversed(flat.ctes):
        if not cte.used:
            spare = FlatView(flat.tables, flat.dialect)
            _expand(cte, spare, "")
            check_unused(spare)


def _select(select: exp.Select, flat: FlatView, context: Context) -> Made:
    check_select(select, is_view=context.is_view)
    context = _with(select, flat, context)
    start = select.args.get("from_")
    if start is None:
        why = "no diff would ever change it"
        raise Refusal(select, "a SELECT without FROM", why, "name a table")
    first = _source(start.this, flat, context)
    scope, joined = _joined(first, select.args.get("joins"), flat, context)
    where = select.args.get("where")
    if where is not None:
        joined = inner((joined,), flat.require(where.this, scope))
    if not select.expressions:
        raise Mistake(select, "this SELECT lists no columns")
    items = [each for item in select.expressions for each in _items(item, scope, flat)]
    if not is_grouped(select, flat.dialect):
        fields = tuple(_field(item, scope, flat) for item in items)
        flat.order = order_of(select, fields, lambda node: flat.value(node, scope.find).value)
        return Made(fields, joined)
    if not context.is_view:
        why = "it groups the rows of a part of the view"
        raise Refusal(select, "a subquery that groups", why, "keep a view of it, and join that")
    return Made(tuple(grouped_fields(select, items, scope, flat)), joined)


def _items(item: exp.Expr, scope: Scope, flat: FlatView) -> list[Item]:
    """Return what one entry of a SELECT list lists."""
    if isinstance(item, exp.Star):
        check_star(item)
        return _starred(item, scope.fields)
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        check_star(item.this)
        return _starred(item, scope.relation(item).fields)
    if isinstance(item, exp.Alias):
        check_args(item, {"this", "alias"}, "a SELECT list")
        check_name(item.args["alias"])
        return [Item(item.alias, item.this, item, None)]
    bare = item.unnest()
    if isinstance(bare, exp.Column):
        return [Item(scope.find(bare).name, item, item, None)]
    return [Item(item.sql(flat.dialect, comments=False), item, item, None)]


def _field(item: Item, scope: Scope, flat: FlatView) -> Field:
    """Return a column of the view."""
    value = flat.value(item.node, scope.find) if item.field is None else item.field
    return replace(value, name=item.name, item=item.item)


def _starred(star: exp.Expr, fields: Fields) -> list[Item]:
    """Return the columns that `*` lists: this SELECT names none of them."""
    return [Item(field.name, star, None, field) for field in fields]


def _with(node: exp.Expr, flat: FlatView, context: Context) -> Context:
    """Add the queries of a WITH clause to those in reach, each seeing the ones before it."""
    clause = node.args.get("with_")
    if clause is None:
        return context
    check_with(clause)
    if len(clause.expressions) > ALIASES_MAX:
        raise Mistake(clause, f"WITH names over {ALIASES_MAX} queries; that many are not taken")
    twice = repeated(each.args["alias"] for each in clause.expressions)
    if twice is not None:
        raise Mistake(twice, f"two queries of WITH are called {quoted(twice.name)}")
    for each in clause.expressions:
        cte = Cte(each, context)
        flat.ctes.append(cte)
        context = replace(context, ctes={**context.ctes, each.alias.lower(): cte})
    return context


def _expand(cte: Cte, flat: FlatView, prefix: str) -> Made:
    """Flatten a query of a WITH clause once more, with aliases of its own."""
    cte.used = True
    made = query(cte.node.this, flat, replace(cte.context, prefix=prefix, is_view=False))
    return made._replace(fields=_named(made.fields, cte.node))


def _joined(first: Rows, joins: list[exp.Join] | None, flat: FlatView, context: Context) -> Rows:
    """Join a FROM clause, left to right; a comma starts a group where it binds weaker."""
    groups, commas = [first], []
    for each in joins or []:
        check_join(each)
        right = _source(each.this, flat, context)
        if starts_group(each, flat.dialect):
            groups.append(right)
            commas.append(each)
        else:
            groups[-1] = join(groups[-1], right, each, flat)
    scope = groups[0].scope
    for group, comma in zip(groups[1:], commas, strict=True):
        scope = merge(scope, group.scope, comma)
    return Rows(scope, inner(group.joined for group in groups))


def _source(node: exp.Expr, flat: FlatView, context: Context) -> Rows:
    """Flatten one item of FROM, with the joins that hang on it inside parentheses."""
    if isinstance(node, exp.Table):
        check_table(node)
        rows = _table(node, flat, context)
    elif isinstance(node, exp.Subquery):
        check_subquery(node)
        rows = _parenthesised(node, flat, context)
    else:
        why = "its rows come from no table's diffs"
        raise Refusal(node, kind(node), why, "declare a table and load() its rows")
    return _joined(rows, node.args.get("joins"), flat, context)


def _table(node: exp.Table, flat: FlatView, context: Context) -> Rows:
    """Use a base table or a query of WITH, whichever the name means here."""
    name = node.alias or node.name
    cte = None if node.args.get("db") else context.ctes.get(node.name.lower())
    if cte is not None:
        made = _expand(cte, flat, f"{context.prefix}{name}.")
    else:
        made = Made(*flat.alias(node, context.prefix + name, flat.table(node)))
    return Rows(_relation(name, _named(made.fields, node)), made.joined)


def _parenthesised(node: exp.Subquery, flat: FlatView, context: Context) -> Rows:
    """Flatten (SELECT ...) or (a JOIN b); under a name of its own, the inner ones are hidden."""
    inside, name = node.this, node.alias
    context = _with(node, flat, context)
    if isinstance(inside, exp.Query) and not isinstance(inside, exp.Subquery):
        prefix = f"{context.prefix}{name or _UNNAMED}."
        within = replace(context, prefix=prefix, is_view=False)
        made = query(inside, flat, within)
        if not name:
            fields = tuple(replace(field, relation=_UNNAMED) for field in made.fields)
            return Rows(Scope({}, fields), made.joined)
        return Rows(_relation(name, _named(made.fields, node)), made.joined)
    if not name:
        return _source(inside, flat, context)
    within = replace(context, prefix=f"{context.prefix}{name}.")
    rows = _source(inside, flat, within)
    return Rows(_relation(name, _named(rows.scope.fields, node)), rows.joined)


def _relation(name: str, fields: Fields) -> Scope:
    fields = tuple(replace(field, relation=name) for field in fields)
    return Scope({name.lower(): Relation(name, fields)}, fields)


def _named(fields: Fields, node: exp.Expr) -> Fields:
    """Rename columns as an alias with a column list says: recent(id, year)."""
    alias = node.args.get("alias")
    if not isinstance(alias, exp.TableAlias):
        return fields
    check_args(alias, {"this", "columns"}, "a table alias")
    for each in (alias.args.get("this"), *(alias.args.get("columns") or ())):
        check_name(each)
    return renamed(fields, alias.args.get("columns") or [], alias)


def renamed(fields: Fields, columns: list[exp.Expr], place: exp.Expr) -> Fields:
    """Rename all columns, or none where no names are given."""
    if not columns:
        return fields
    if len(columns) != len(fields):
        raise Mistake(
            place, f"{len(columns)} names are given to {len(fields)} columns; give each its name"
        )
    return tuple(
        replace(field, name=column.name) for field, column in zip(fields, columns, strict=True)
    )
