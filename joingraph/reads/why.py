"""Why a row is in the view: its complete paths, as data that draws itself.

    F (author = 'ann', fan = 'bob')
    └─ {ann} ─ T (author = 'ann', id = 1) x2

Every form of the graph gives, for each path, what each alias keeps on it; here that gets the names
and types of the base tables' columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from joingraph.expressions.python_values import plain_text, python_values
from joingraph.expressions.show import show
from joingraph.expressions.tree import Column, Expression, Value
from joingraph.expressions.words import Word, from_words
from joingraph.plan.classes import bare
from joingraph.plan.model import Nearer, Plan
from joingraph.plan.show import tree_lines


class Kept(NamedTuple):
    """What an alias keeps of base rows: its key, its projected values, how many rows."""

    key: tuple[tuple[Word, ...], ...]
    row: tuple[Word, ...]
    times: int


class WhyPath(dict[str, dict[str, Value]]):
    """A complete path: for each alias the columns it keeps. Printing draws it.

    `counts` tells how many base rows each alias has like this; their product is `times`.
    """

    def __init__(self, plan: Plan, kept: Sequence[dict[str, Value]], path: Sequence[Kept]) -> None:
        names = [alias.name for alias in plan.aliases]
        super().__init__(zip(names, kept, strict=True))
        self.counts = {name: each.times for name, each in zip(names, path, strict=True)}
        self._plan, self._path = plan, path

    @property
    def times(self) -> int:
        """How many equal view rows the path stands for."""
        return prod(self.counts.values())

    def __str__(self) -> str:
        return "\n".join(tree_lines(self._plan, self._row_text, self._words_between))

    def _row_text(self, alias: int) -> str:
        """Write what an alias keeps, and how often."""
        name = self._plan.aliases[alias].name
        values = ", ".join(
            f"{column} = {plain_text(value)}" for column, value in self[name].items()
        )
        return f"{name} ({values})" + (f" x{self.counts[name]}" if self.counts[name] > 1 else "")

    def _words_between(self, nearer: Nearer) -> str:
        """Write the vertex value by which an alias and the one before it meet."""
        place = self._plan.aliases[nearer.alias].vertices.index(nearer.vertex)
        return f"{{{', '.join(map(str, self._path[nearer.alias].key[place]))}}}"


class Why(list[WhyPath]):
    """The complete paths behind a view row; printing draws them."""

    def __str__(self) -> str:
        return "\n\n".join(map(str, self)) or "no path leads to this row; why_not(row) tells why"


def paths_text(plan: Plan, paths: Sequence[Sequence[Kept]]) -> Why:
    """Return the paths as the base tables' columns, by alias."""
    by_alias = [
        columns_kept(plan, alias.index, [path[alias.index] for path in paths])
        for alias in plan.aliases
    ]
    rows = zip(*by_alias, strict=True)
    return Why(WhyPath(plan, row, path) for row, path in zip(rows, paths, strict=True))


def columns_kept(plan: Plan, alias: int, kept: Sequence[Kept]) -> list[dict[str, Value]]:
    """Name what an alias keeps by base column, in declared order, then expressions by text."""
    mine = plan.aliases[alias]
    columns: dict[str, list[Value]] = {}
    for place, (vertex, members) in enumerate(zip(mine.vertices, mine.keys, strict=True)):
        for position, member in enumerate(members):
            words = [each.key[place][position] for each in kept]
            column = from_words(words, plan.vertices[vertex].types[position])
            columns[base_name(member)] = python_values(column.cast(bare(member).type))
    for position, value in enumerate(mine.projected):
        words = [each.row[position] for each in kept]
        columns[base_name(value)] = python_values(from_words(words, value.type))
    declared = [*plan.definition.tables[mine.table].schema.names, *columns]
    names = sorted(columns, key=declared.index)
    return [{name: columns[name][i] for name in names} for i in range(len(kept))]


def base_name(kept: Expression) -> str:
    """Call a kept value by its base column, or by its text."""
    plain = bare(kept)
    return plain.name if isinstance(plain, Column) else show(kept)
