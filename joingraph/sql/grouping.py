"""SELECT with aggregates, GROUP BY, DISTINCT or HAVING: what is grouped, and what a group shows.

    SELECT F.fan AS f, COUNT(*) + 1 AS n FROM ... GROUP BY f HAVING MAX(T.id) > 7
    ->  joined    F.fan, T.id                        what the rows have that are grouped
        keys      F.fan                              uses   COUNT(*), MAX(T.id)
        output    f = key 0, n = use 0 + 1           having use 1 > 7

An expression that is grouped by is known by what it means, however it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, NoReturn

import pyarrow as pa
from sqlglot import exp

from joingraph.aggregates.contract import Asked, Order, Refused
from joingraph.aggregates.registry import aggregate
from joingraph.common.names import quoted
from joingraph.expressions.functions import SAFE
from joingraph.expressions.tree import Call, Column, Expression, Literal, Value
from joingraph.expressions.types import sql_name
from joingraph.sql.aggregates import Written, has_aggregate, is_aggregate, written
from joingraph.sql.binder import FlatView
from joingraph.sql.definition import Output, Use, key_value
from joingraph.sql.functions.comparisons import choose
from joingraph.sql.functions.scalars import bind
from joingraph.sql.limits import Size
from joingraph.sql.ordering import order_of
from joingraph.sql.scope import Field, Scope
from joingraph.sql.text.refusal import Mistake, Refusal

_LEAF = Size(1, 1)
_SETS = "each of these groupings is a view of its own", "make a view of each"
_CALLED: dict[type, str] = {
    exp.Rollup: "ROLLUP",
    exp.Cube: "CUBE",
    exp.GroupingSets: "GROUPING SETS",
    exp.Tuple: "a list in parentheses",
}


class Item(NamedTuple):
    """An entry of a SELECT list; of `*`, one of the columns it stands for."""

    name: str
    node: exp.Expr
    item: exp.Expr | None
    field: Field | None


class Grouped(NamedTuple):
    """What a SELECT groups."""

    joined: tuple[Output, ...]
    keys: int
    uses: tuple[Use, ...]
    having: Expression | None
    is_whole: bool


def is_grouped(select: exp.Select, dialect: str) -> bool:
    """True if a SELECT groups its rows."""
    return bool(select.args.get("distinct")) or has_groups(select, dialect)


def has_groups(select: exp.Select, dialect: str) -> bool:
    """True if a SELECT sums up groups of rows, and does more than drop copies."""
    clauses = any(select.args.get(each) for each in ("group", "having"))
    return clauses or any(has_aggregate(each, dialect) for each in select.expressions)


def grouped_fields(
    select: exp.Select, items: Sequence[Item], scope: Scope, flat: FlatView
) -> list[Field]:
    """Return the columns of a view that groups; the view is told what it groups."""
    grouper = Grouper(select, items, scope, flat)
    grouper.add_keys()
    fields = [grouper.shown(each) for each in items]
    having = select.args.get("having")
    condition = None if having is None else grouper.condition(having.this)
    if select.args.get("distinct") and not grouper.tells_groups_apart(fields):
        why, instead = "two groups may show one row", "add what is grouped by to the SELECT list"
        raise Refusal(select, "DISTINCT over groups", why, instead)
    names = (Output(f"column {at}", value) for value, at in grouper.joined.items())
    flat.order = order_of(select, fields, lambda node: grouper.value(node).value)
    # A row has at least one column: without any, Arrow does not know how many rows there are.
    joined = tuple(names) or (Output("column 0", Literal(True, pa.bool_())),)
    is_whole = not grouper.keys  # as of GROUP BY ALL where all columns are aggregates
    flat.grouped = Grouped(joined, len(grouper.keys), tuple(grouper.uses), condition, is_whole)
    return fields


class Grouper:
    """Groups the rows of one SELECT, whose FROM and WHERE are known."""

    def __init__(
        self, select: exp.Select, items: Sequence[Item], scope: Scope, flat: FlatView
    ) -> None:
        self.select, self.items, self.scope, self.flat = select, items, scope, flat
        self.joined: dict[Expression, int] = {}  # columns of the joined rows, by place
        self.keys: list[Expression] = []
        self.uses: list[Use] = []
        self.values: dict[str, Field] = {}  # of a group, by the names that stand for them

    def has_aggregate(self, node: exp.Expr) -> bool:
        """True if there is an aggregate in an expression."""
        return has_aggregate(node, self.flat.dialect)

    def add_keys(self) -> None:
        """Find what the rows are grouped by."""
        clause, distinct = self.select.args.get("group"), self.select.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            refuse_distinct_on(self.select)
        is_free = clause is None and not self.select.args.get("having")
        if is_free and not any(self.has_aggregate(each.node) for each in self.items):
            for item in self.items:
                self.add_key(self.bound_item(item))
        for each in self.grouped_by(clause) if clause is not None else ():
            self.add_key(each)

    def grouped_by(self, clause: exp.Group) -> list[Expression]:
        """Bind the entries of GROUP BY."""
        for name, value in clause.args.items():
            if value and name not in ("expressions", "all"):
                raise Refusal(self.select, f"GROUP BY {name.upper()}", *_SETS)
        if clause.args.get("all"):
            return [
                self.bound_item(each) for each in self.items if not self.has_aggregate(each.node)
            ]
        return [self.entry(each) for each in clause.expressions]

    def entry(self, node: exp.Expr) -> Expression:
        """Bind an entry of GROUP BY: an ordinal, a column, an alias of the list, an expression."""
        bare = node.unnest()
        if type(bare) in _CALLED:
            raise Refusal(self.select, f"GROUP BY {_CALLED[type(bare)]}", *_SETS)
        if isinstance(bare, exp.Literal) and not bare.is_string and bare.this.isdigit():
            place = int(bare.this)
            if not 1 <= place <= len(self.items):
                raise Mistake(node, f"GROUP BY {place}: the SELECT list ends at {len(self.items)}")
            return self.bound_item(self.items[place - 1])
        if isinstance(bare, exp.Column) and not bare.table and not self.is_column(bare):
            named = [each for each in self.items if each.name.lower() == bare.name.lower()]
            if len(named) == 1:
                return self.bound_item(named[0])
        return self.flat.value(node, self.scope.find).value

    def is_column(self, node: exp.Column) -> bool:
        """True if a bare name is that of a column of FROM."""
        return node.name.lower() in self.scope.by_name

    def bound_item(self, item: Item) -> Expression:
        """Bind an entry of the SELECT list over the joined rows."""
        if item.field is not None:
            return item.field.value
        if self.has_aggregate(item.node):
            raise Mistake(item.node, f"{quoted(item.name)} is an aggregate; group by a column")
        return self.flat.value(item.node, self.scope.find).value

    def add_key(self, key: Expression) -> None:
        """Group by a value, once."""
        if key not in self.keys:
            self.keys.append(key)
            self.column(key)

    def tells_groups_apart(self, fields: Sequence[Field]) -> bool:
        """True if no two groups show the same row."""
        shown = {each.value for each in fields}
        return all(key_value(each) in shown for each in self.keys)

    def column(self, value: Expression) -> int:
        """Return the place of a value among the columns of the joined rows."""
        return self.joined.setdefault(value, len(self.joined))

    def shown(self, item: Item) -> Field:
        """Return a column of the view."""
        if item.field is not None:
            value = self.key_field(item.field.value)
            if value is None:
                raise self.ungrouped(item.item or self.select, item.field.name)
        else:
            value = self.value(item.node)
        return replace(value, name=item.name, item=item.item)

    def condition(self, node: exp.Expr) -> Expression:
        """Bind the condition of HAVING."""
        bound = self.value(node, has_aliases=self.flat.dialect != "postgres").value
        if isinstance(bound, Literal) and bound.value is None:
            bound = Literal(None, pa.bool_())
        if not pa.types.is_boolean(bound.type):
            raise Mistake(node, f"HAVING must be BOOLEAN, and this is {sql_name(bound.type)}")
        return bound

    def value(self, node: exp.Expr, *, has_aliases: bool = False) -> Field:
        """Bind an expression over a group."""
        rewritten = self.rewritten(node, has_aliases=has_aliases)
        return self.flat.value(rewritten, lambda each: self.values[each.name])

    def rewritten(self, node: exp.Expr, *, has_aliases: bool) -> exp.Expr:
        """Put names in place of what is grouped by, and of aggregates."""
        if isinstance(node, (exp.Query, exp.Window)):
            return node  # which is refused where it is bound
        if is_aggregate(node, self.flat.dialect):
            return self.named(self.use(node, written(node, self.flat.dialect)), node)
        key = None if self.has_aggregate(node) else self.key_of(node)
        if key is not None:
            return self.named(key, node)
        if isinstance(node, exp.Column):
            named = [each for each in self.items if each.name.lower() == node.name.lower()]
            if has_aliases and not node.table and not self.is_column(node) and len(named) == 1:
                return self.rewritten(named[0].node, has_aliases=False)
            self.scope.find(node)
            raise self.ungrouped(node, node.sql())
        found = node.copy()
        for name, part in node.args.items():
            if isinstance(part, exp.Expr):
                found.set(name, self.rewritten(part, has_aliases=has_aliases))
            elif isinstance(part, list):
                parts = [
                    self.rewritten(each, has_aliases=has_aliases)
                    if isinstance(each, exp.Expr)
                    else each
                    for each in part
                ]
                found.set(name, parts)
        return found

    def named(self, field: Field, node: exp.Expr) -> exp.Expr:
        """Return a column that stands for a value of a group, where another node was."""
        self.values[field.name] = field
        found = exp.column(field.name)
        found.meta.update(node.meta)
        return found

    def key_of(self, node: exp.Expr) -> Field | None:
        """Return the key that an expression means, if it is one."""
        if isinstance(node, exp.Literal) or not isinstance(node, exp.Condition):
            return None
        try:
            bound = bind(node, lambda each: self.scope.find(each).value, self.flat.dialect)
        except Refusal:
            return None
        return self.key_field(bound)

    def key_field(self, value: Expression) -> Field | None:
        """Return a value of the joined rows as a group has it, if it is grouped by."""
        if value not in self.keys:
            return None
        return of_group(key_value(value))

    def ungrouped(self, node: exp.Expr, name: str) -> Mistake:
        """Make the error for a column that has several values in a group."""
        text = f"{name} is neither grouped nor aggregated; add it to GROUP BY, or write MIN({name})"
        return Mistake(node, text)

    def use(self, node: exp.Expr, found: Written) -> Field:
        """Return an aggregate as a group has it."""
        for part in (*found.args, *found.order, *filter(None, [found.condition])):
            if self.has_aggregate(part):
                raise Mistake(part, "an aggregate in an aggregate has no meaning; use one of them")
        values = [self.flat.value(each, self.scope.find).value for each in found.args]
        order = list[Order]()
        for each in found.order:
            by = self.flat.value(each.this, self.scope.find).value
            values += [by] if by not in values else []
            descending, nulls_first = (bool(each.args.get(n)) for n in ("desc", "nulls_first"))
            order.append(Order(values.index(by), descending, nulls_first))
        constants = tuple(self.constant(each, found) for each in found.constants)
        types, dialect = tuple(each.type for each in values), self.flat.dialect
        asked = Asked(found.name, types, dialect, found.is_distinct, constants, tuple(order))
        try:
            kind = aggregate(asked).type
        except Refused as error:
            what = f"{found.name.lower()}()" if error.what == found.name else error.what
            raise Refusal(found.node, what, error.why, error.instead) from None
        condition = None if found.condition is None else self.filter(found.condition)
        columns = tuple(self.column(filtered(each, condition)) for each in values)
        text = node.sql(dialect)
        use = Use(asked, columns, None if condition is None else self.column(condition), kind, text)
        if use not in self.uses:
            self.uses.append(use)
        return of_group(use.value)

    def filter(self, node: exp.Expr) -> Expression:
        """Bind the condition of FILTER."""
        bound = self.flat.value(node, self.scope.find).value
        if not pa.types.is_boolean(bound.type):
            raise Mistake(node, f"FILTER takes a condition, and this is {sql_name(bound.type)}")
        return bound

    def constant(self, node: exp.Expr, found: Written) -> Value:
        """Return the value of an argument that must be a constant."""
        bound = self.flat.value(node, self.scope.find).value
        if not isinstance(bound, Literal):
            raise Mistake(node, f"{found.name} takes a constant here, and this is {node.sql()}")
        return bound.value


def refuse_distinct_on(select: exp.Select) -> NoReturn:
    """Refuse DISTINCT ON."""
    why = "which row remains depends on an order"
    raise Refusal(select, "DISTINCT ON", why, "GROUP BY it, and write MIN_BY(...)")


def filtered(value: Expression, condition: Expression | None) -> Expression:
    """Return an argument as it is computed: what may fail, on the rows that FILTER leaves."""
    if condition is None or is_safe(value):
        return value
    return choose([condition], [value, Literal(None, value.type)])


def is_safe(value: Expression) -> bool:
    """True if an expression has a value on every row."""
    return not isinstance(value, Call) or (value.function in SAFE and all(map(is_safe, value.args)))


def of_group(value: Column) -> Field:
    """Return a value of a group as a column that can be named."""
    return Field(value.name, "", value, _LEAF)
