"""A new view over the rows that a graph keeps: what it keeps of its base tables, loaded anew.

    old T keeps (author, id, text), new view needs T.author, T.id    ->  base rows from old T's rows
    new view needs T.day                                             ->  refused: T.day is not kept

A graph has no base rows, only what its aliases keep of them. A base table of the new view can be
had from an old alias of it that keeps every column the new one needs, and that drops no row which
the new one would take: each of its conditions is one of the new alias' too, and so is each join
attribute that may be NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.common.errors import DiffError, ViewError
from joingraph.engines.contract import Engine
from joingraph.expressions.texts import take_rows
from joingraph.expressions.tree import Column, Expression, columns_of
from joingraph.graph.row_blocks import COUNT, block_name, read_rows
from joingraph.plan.classes import bare
from joingraph.plan.kept_columns import kept_slot
from joingraph.plan.model import AliasPlan, Plan, Slot
from joingraph.plan.view import View
from joingraph.reads.expire import of_alias
from joingraph.tables.batch import Entry
from joingraph.tables.table import Table


class Origin(NamedTuple):
    """The old alias that a base table is had from, and where it keeps each column needed."""

    alias: AliasPlan
    slots: dict[str, Slot]


def load_from(engine: Engine, old: View, new: View, into: Engine) -> None:
    """Load an empty graph of a new view with the rows that a graph keeps."""
    origins = {name: origin_of(old, new, name) for name in tables_of(new.plan)}
    blocks = {block.name: block for block in engine.dump()}
    for name, origin in origins.items():
        written = memoryview(b"".join(map(bytes, blocks[block_name(origin.alias)].pieces)))
        for batch in read_rows(old.plan, origin.alias, written):
            rows = base_rows(new.tables[name], origin, batch)
            try:
                into.load([Entry("insert", name, None, rows)])
            except DiffError as error:
                raise ViewError(f"rebuild: {error}") from error


def still_there(indexes: Sequence[str], view: View) -> list[str]:
    """Leave out the indexes that a view cannot have."""
    plan = view.plan
    values = plan.slots.keys() - plan.marks.keys()
    kept = {each.name for each in view.definition.output if each.value in values}
    return [column for column in indexes if column in kept]


def tables_of(plan: Plan) -> list[str]:
    """Name the base tables that a view uses, each once."""
    return list(dict.fromkeys(alias.table for alias in plan.of_tables))


def origin_of(old: View, new: View, name: str) -> Origin:
    """Find an old alias that has all that a new view needs of a table, or refuse by column."""
    aliases = [alias for alias in new.plan.aliases if alias.table == name]
    needed = {column.name for alias in aliases for column in needed_by(alias)}
    schema, said = new.tables[name].schema, [f"no alias of the graph's view is of table {name}"]
    if name in old.tables and old.tables[name].schema != schema:
        raise ViewError(f"rebuild: table {name} is declared otherwise than the graph has it")
    for alias in old.plan.aliases:
        if alias.table == name:
            pairs = {n: Column(alias.name, n, schema.field(n).type) for n in sorted(needed)}
            slots = {n: kept_slot(old.plan, alias, column) for n, column in pairs.items()}
            missing = [f"{name}.{n}" for n, slot in slots.items() if slot is None]
            dropped = [why for each in aliases for why in dropped_by(old, alias, each)]
            if not missing and not dropped:
                return Origin(alias, {n: slot for n, slot in slots.items() if slot is not None})
            kept = (
                [f"{', '.join(missing)} is not kept by its alias {alias.name}"] if missing else []
            )
            said = [*kept, *dropped]
    raise ViewError(
        f"rebuild: the graph's history does not have what the new view needs: {'; '.join(said)};"
        " make a new graph and load it from the source"
    )


def needed_by(alias: AliasPlan) -> Iterator[Column]:
    """Yield the columns that an alias reads of its base rows."""
    keys = [each for key in alias.keys for each in key]
    for expression in (*alias.conditions, *keys, *alias.projected):
        yield from columns_of(expression)


def dropped_by(view: View, old: AliasPlan, new: AliasPlan) -> Iterator[str]:
    """Name the reasons for which an old alias may have dropped rows that a new one takes."""
    schema = view.tables[old.table].schema
    for condition in old.conditions:
        if of_alias(condition, new) not in new.conditions:
            yield f"its alias {old.name} has only rows that meet a condition of its own"
    joined = {bare(each) for each in new.binding}
    for each in old.binding:
        column = bare(each)
        if not is_never_null(column, schema) and of_alias(column, new) not in joined:
            yield f"its alias {old.name} has no rows whose join attributes are NULL"


def is_never_null(expression: Expression, schema: pa.Schema) -> bool:
    """True for a column that is declared NOT NULL."""
    return isinstance(expression, Column) and not schema.field(expression.name).nullable


def base_rows(table: Table, origin: Origin, batch: pa.RecordBatch) -> pa.Table:
    """Make base rows of kept ones, each as often as it counts; unneeded columns are NULL."""
    at = np.repeat(np.arange(batch.num_rows), batch.column(COUNT).to_numpy())
    columns: Sequence[pa.Array] = [
        batch.column(column_name(origin.slots[field.name])).cast(field.type)
        if field.name in origin.slots
        else pa.nulls(batch.num_rows, field.type)
        for field in table.schema
    ]
    return take_rows(pa.table(columns, names=table.schema.names), at)


def column_name(slot: Slot) -> str:
    """Name the column of kept rows that a slot is in."""
    if slot.vertex is None:
        return f"projected {slot.position}"
    return f"key {slot.vertex}.{slot.position}"
