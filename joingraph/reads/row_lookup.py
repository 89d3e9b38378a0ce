"""A view row that is asked about, as conditions on what the view keeps.

    why(("bob", 9))  ->  words ('bob', 9)    conditions  F.fan = 'bob',  T.id = 9

The conditions lead to the row's paths by an index, as any read's do; they find rows that are equal
as SQL compares. Whether a row is the very one (-0.0 is not 0.0) is decided by its words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa

from joingraph.expressions.python_values import python_value
from joingraph.expressions.tree import Call, Expression, Literal, Value
from joingraph.expressions.words import Word, to_words
from joingraph.plan.model import Plan
from joingraph.reads.access_paths import facts_of, key_words, spread, telling
from joingraph.sql.definition import Definition, Grouping, Output
from joingraph.tables.rows_in import to_table
from joingraph.tables.table import Table

COMPARISONS = ("equal", "less", "less_equal", "greater", "greater_equal", "in", "is_null")


class Asked(NamedTuple):
    """A row of the view's columns: its words, and what they ask of each column.

    `limit` is how many of its paths are wanted; None: all.
    """

    words: tuple[Word, ...]
    conditions: tuple[Call, ...]
    limit: int | None = None

    def is_full(self, paths: int) -> bool:
        """True if so many paths are as many as are wanted."""
        return self.limit is not None and paths >= self.limit


def ask(definition: Definition, row: object, question: str) -> Asked:
    """Read a row, a tuple in the view's order or a dict by column, or raise DiffError."""
    table = to_table([row], Table(definition.name, definition.schema), question)
    columns = [column.combine_chunks() for column in table.columns]
    words = tuple(to_words(column)[0] for column in columns)
    conditions = tuple(
        condition(output, python_value(column[0]))
        for output, column in zip(definition.output, columns, strict=True)
    )
    return Asked(words, conditions)


def of_joined(definition: Definition, asked: Asked) -> Asked:
    """Return what a row that is asked about says of the rows that a view joins.

    A row of a group says what it is grouped by, as far as it shows that.
    """
    grouping = definition.grouping
    return asked if grouping is None else Asked((), of_rows(grouping, asked.conditions))


def of_rows(grouping: Grouping, conditions: Sequence[Expression]) -> tuple[Call, ...]:
    """Return those of some conditions on groups that hold for all rows of a group, or for none.

    They compare what is grouped by with constants, and are asked of the rows that are joined.
    """
    outputs = grouping.joined.output[: grouping.keys]
    keys: dict[Expression, Expression] = {
        value: output.value for value, output in zip(grouping.values, outputs, strict=False)
    }
    return tuple(
        replace(each, args=tuple(keys.get(arg, arg) for arg in each.args))
        for each in of_keys(grouping, conditions)
    )


def of_keys(grouping: Grouping, conditions: Sequence[Expression]) -> Iterator[Call]:
    """Yield those of some conditions on groups that compare what is grouped by with constants."""
    keys = grouping.values[: grouping.keys]
    for each in conditions:
        if not isinstance(each, Call) or each.function not in COMPARISONS:
            continue
        if all(arg in keys or isinstance(arg, Literal) for arg in each.args):
            yield each


def condition(output: Output, value: Value) -> Call:
    """Return the condition that a column has a value."""
    if value is None:
        return Call("is_null", (output.value,), pa.bool_())
    if isinstance(value, list):  # of an aggregate: told apart by its text, as words are
        value = repr(value)
    return Call("equal", (output.value, Literal(value, output.value.type)), pa.bool_())


def known_keys(plan: Plan, asked: Asked) -> dict[tuple[int, int], Literal]:
    """Find which values of keys a row fixes: by vertex, and by class there."""
    facts = spread(plan, facts_of(asked.conditions))
    return {
        (vertex.index, position): facts[known[0]][0]
        for vertex in plan.vertices
        for position, members in enumerate(vertex.members)
        if (known := [member for member in members if member in facts])
    }


def contradictions(plan: Plan, asked: Asked) -> Iterator[tuple[Expression, Expression]]:
    """Yield members of one class to which a row gives different values."""
    facts = telling(plan, facts_of(asked.conditions))
    for vertex in plan.vertices:
        for members, kind in zip(vertex.members, vertex.types, strict=True):
            for one, other in pairwise(member for member in members if member in facts):
                if key_words(facts[one], kind) != key_words(facts[other], kind):
                    yield one, other
