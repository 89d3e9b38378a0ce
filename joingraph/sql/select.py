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
from typing import NamedTuple, NoReturn

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
    is_any_row,
    kind,
)
from joingraph.sql.definition import Joined
from joingraph.sql.grouping import Item, grouped_fields, has_groups, is_grouped, refuse_distinct_on
from joingraph.sql.joined.probes import Expand, Probes, Subquery
from joingraph.sql.joined.questions import refuse_questions
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
    return _select(*_bare(node, flat, context), flat)


def _bare(node: exp.Expr, flat: FlatView, context: Context) -> tuple[exp.Select, Context]:
    """Return the SELECT of a query, and what it can name."""
    while isinstance(node, exp.Subquery) and not (node.alias or node.args.get("joins")):
        check_subquery(node)
        context = _with(node, flat, context)
        node = node.this
    if isinstance(node, exp.SetOperation):
        instead = "make a view of each side, and put their diffs together"
        if context.around is not None:
            instead = "ask each side by itself, and combine the answers"
        raise Refusal(node.expression, kind(node), _ONE_SELECT, instead)
    if not isinstance(node, exp.Select):
        raise Refusal(node, kind(node), _ONE_SELECT)
    return node, context


def check_unused(flat: FlatView) -> None:
    """Flatten the queries of WITH that no FROM names, for their errors alone."""
    used = {id(cte.node) for cte in flat.ctes if cte.used}
    for cte in {id(cte.node): cte for cte in reversed(flat.ctes)}.values():
        if id(cte.node) not in used:
            spare = FlatView(flat.tables, flat.dialect)
            _expand(cte, spare, "")
            check_unused(spare)


def _select(select: exp.Select, context: Context, flat: FlatView) -> Made:
    check_select(select, has_order=context.is_view)
    rows = _rows(select, flat, context)
    where, having = select.args.get("where"), select.args.get("having")
    if where is not None:
        rows.require(where.this)
    if having is not None:
        why = "it would be asked of groups, and the join knows rows"
        refuse_questions(having, "HAVING", (why, "keep a view of the groups, and ask it there"))
    items = _asking(_listed(select, rows.scope, flat), rows)
    if not is_grouped(select, flat.dialect):
        fields = tuple(_field(item, rows.scope, flat) for item in items)
        flat.order = order_of(select, fields, lambda node: flat.value(node, rows.scope.find).value)
        return Made(fields, rows.joined)
    if not context.is_view:
        _refuse_groups(select)
    return Made(tuple(grouped_fields(select, items, rows.scope, flat)), rows.joined)


def _subquery(node: exp.Expr, flat: FlatView, context: Context, *, is_exists: bool) -> Subquery:
    """Flatten a subquery of a condition; of EXISTS, any row will do, whatever it shows."""
    select, context = _bare(node, flat, context)
    has_limit = is_exists and is_any_row(select.args.get("limit"))
    check_select(select, has_order=True, has_limit=has_limit)
    rows = _rows(select, flat, context)
    where, distinct = select.args.get("where"), select.args.get("distinct")
    conditions = [] if where is None else rows.ask(where.this)
    if has_groups(select, flat.dialect):
        _refuse_groups(select)
    if distinct is not None and distinct.args.get("on") and not is_exists:
        refuse_distinct_on(select)
    items = _listed(select, rows.scope, flat)
    fields = [
        _field(item, rows.scope, flat) for item in (items if is_exists else _asking(items, rows))
    ]
    return Subquery(fields, rows.joined, conditions)


def _expander(flat: FlatView, context: Context) -> Expand:
    """Return what flattens the subqueries of a SELECT's conditions."""

    def expand(node: exp.Expr, around: Scope, word: str) -> Subquery:
        within = replace(context, prefix=f"{context.prefix}{word}.", is_view=False, around=around)
        return _subquery(node, flat, within, is_exists=word == "exists")

    return expand


def _rows(select: exp.Select, flat: FlatView, context: Context) -> Probes:
    """Flatten the FROM of a SELECT, with what WITH names in reach."""
    context = _with(select, flat, context)
    start = select.args.get("from_")
    if start is None:
        why = "no diff would ever change it"
        raise Refusal(select, "a SELECT without FROM", why, "name a table")
    first = _source(start.this, flat, context)
    rows = _joined(first, select.args.get("joins"), flat, context)
    return Probes(rows, flat, _expander(flat, context))


def _refuse_groups(select: exp.Select) -> NoReturn:
    why = "it groups the rows of a part of the view"
    raise Refusal(select, "a subquery that groups", why, "keep a view of it, and join that")


def _listed(select: exp.Select, scope: Scope, flat: FlatView) -> list[Item]:
    """Return what a SELECT lists."""
    if not select.expressions:
        raise Mistake(select, "this SELECT lists no columns")
    return [each for item in select.expressions for each in _items(item, scope, flat)]


def _asking(items: list[Item], rows: Probes) -> list[Item]:
    """Return entries of a SELECT list with columns in place of what they ask."""
    return [
        each if each.field is not None else each._replace(node=rows.value(each.node))
        for each in items
    ]


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
            expand = _expander(flat, context)
            groups[-1] = join(groups[-1], right, each, flat, expand=expand)
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
    return Rows(_relation(name, _named(made.fields, node), context), made.joined)


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
            return Rows(Scope({}, fields, context.around), made.joined)
        return Rows(_relation(name, _named(made.fields, node), context), made.joined)
    if not name:
        return _source(inside, flat, context)
    within = replace(context, prefix=f"{context.prefix}{name}.")
    rows = _source(inside, flat, within)
    return Rows(_relation(name, _named(rows.scope.fields, node), context), rows.joined)


def _relation(name: str, fields: Fields, context: Context) -> Scope:
    fields = tuple(replace(field, relation=name) for field in fields)
    return Scope({name.lower(): Relation(name, fields)}, fields, context.around)


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
