"""A view's conditions and columns as Spark SQL, so that what does not matter never leaves the JVM.

    F.a > 5 AND F.k joined          ->  (a > 5) AND k IS NOT NULL
    two aliases, or two views       ->  one condition OR the other

The graph judges every row again, so a filter here may let too much through and never too little.
Only functions of one meaning in Spark and in joingraph are taken over, in the order of the view
and up to the first that is not: a row that an earlier condition drops raises no error in a later
one, there as here. Columns are made of Spark's own objects; no text is ever pasted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from operator import and_, or_

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from joingraph.common.errors import ViewError
from joingraph.expressions.tree import Call, Column, Expression, Literal, columns_of
from joingraph.plan.model import AliasPlan
from joingraph.plan.view import View
from joingraph.spark.types import spark_type
from joingraph.tables.table import Table

Make = Callable[[Sequence[SparkColumn]], SparkColumn]
MAKERS: Mapping[str, Make] = {
    "equal": lambda args: args[0] == args[1],
    "not_equal": lambda args: args[0] != args[1],
    "less": lambda args: args[0] < args[1],
    "less_equal": lambda args: args[0] <= args[1],
    "greater": lambda args: args[0] > args[1],
    "greater_equal": lambda args: args[0] >= args[1],
    "not_distinct": lambda args: args[0].eqNullSafe(args[1]),
    "distinct": lambda args: ~args[0].eqNullSafe(args[1]),
    "in": lambda args: reduce(or_, (args[0] == each for each in args[1:])),
    "is_null": lambda args: args[0].isNull(),
    "is_true": lambda args: args[0].eqNullSafe(F.lit(True)),
    "is_false": lambda args: args[0].eqNullSafe(F.lit(False)),
    "not": lambda args: ~args[0],
    "and": lambda args: reduce(and_, args),
    "or": lambda args: reduce(or_, args),
}


def wanted(views: Iterable[View], table: Table) -> SparkColumn | None:
    """Return a condition of the rows that matter to any view; None if all of them may."""
    aliases = [alias for view in views for alias in view.plan.aliases if alias.table == table.name]
    never_null = {field.name for field in table.schema if not field.nullable}
    conditions = [condition(alias, never_null) for alias in aliases]
    found = [each for each in conditions if each is not None]
    return reduce(or_, found) if found and len(found) == len(aliases) else None


def condition(alias: AliasPlan, never_null: AbstractSet[str]) -> SparkColumn | None:
    """Return a condition of the rows that pass an alias' filter; None if Spark cannot judge them.

    A column that is declared NOT NULL is not tested: a row in which it is NULL all the same is
    malformed, and the driver must get it.
    """
    parts: list[SparkColumn] = []
    for each in alias.conditions:
        made = translated(each)
        if made is None:
            return reduce(and_, parts) if parts else None
        parts.append(made)
    for key in alias.binding:
        column = innermost(key)
        if column is not None and column.name not in never_null:
            parts.append(F.col(spark_name(column.name)).isNotNull())
    return reduce(and_, parts) if parts else None


def innermost(key: Expression) -> Column | None:
    """Return the column that a key is, or is a cast of: NULL exactly where the key is."""
    if isinstance(key, Call) and key.function == "cast":
        return innermost(key.args[0])
    return key if isinstance(key, Column) else None


def translated(expression: Expression) -> SparkColumn | None:
    """Return a Spark column of an expression; None where the two might differ."""
    match expression:
        case Column(_, name, _):
            return F.col(spark_name(name))
        case Literal():
            return F.lit(expression.value).cast(spark_type(expression.type))
        case Call("cast", (inner,), type):
            made = translated(inner)
            return made.cast(spark_type(type)) if made is not None and widens(inner, type) else None
        case Call(function, args, _):
            if function not in MAKERS or any(pa.types.is_timestamp(each.type) for each in args):
                return None
            parts = [translated(each) for each in args]
            known = [each for each in parts if each is not None]
            return MAKERS[function](known) if len(known) == len(args) else None


def widens(inner: Expression, type: pa.DataType) -> bool:
    """True for casts that lose nothing in any system."""
    for is_one in (pa.types.is_signed_integer, pa.types.is_floating):
        if is_one(inner.type) and is_one(type):
            return bool(inner.type.bit_width <= type.bit_width)
    return False


def spark_name(name: str) -> str:
    """Return a column's name, quoted so that Spark reads every character as it is."""
    return "`" + name.replace("`", "``") + "`"


def pruned(view: View) -> View:
    """Make the same view over tables that have only the columns it reads.

    Its text may name others, in a subquery that hands them on to no output; then all columns stay.
    """
    tables = {name: narrow_table(view, table) for name, table in view.tables.items()}
    try:
        found = View(view.sql, tables, view.dialect)
    except ViewError:
        return view
    same = (
        found.definition.aliases == view.definition.aliases
        and found.definition.conditions == view.definition.conditions
        and found.definition.joined.tree == view.definition.joined.tree
        and found.definition.joined.output == view.definition.joined.output
    )
    return found if same else view


def narrow_table(view: View, table: Table) -> Table:
    """Leave out the columns of a table that a view does not read; its key stays."""
    aliases = {each.name for each in view.definition.aliases if each.table == table.name}
    read = [
        *view.definition.all_conditions,
        *(each.value for each in view.definition.joined.output),
    ]
    names = {each.name for one in read for each in columns_of(one) if each.alias in aliases}
    fields = [field for field in table.schema if field.name in {*names, *table.key}]
    return Table(table.name, pa.schema(fields or [table.schema.field(0)]), table.key)
