"""Why a row is in the view: its complete paths, as data that draws itself.

    F (author = 'ann', fan = 'bob')
    └─ {ann} ─ T (author = 'ann', id = 1) x2
       └─ {1} ─ no row of R                       of an outer join, or NOT EXISTS

Every form of the graph gives, for each path, what each alias keeps on it; here that gets the names
and types of the base tables' columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from joingraph.expressions.python_values import plain_text, python_values
from joingraph.expressions.show import show
from joingraph.expressions.tree import Column, Expression, Value
from joingraph.expressions.words import Word, from_words
from joingraph.plan.classes import bare
from joingraph.plan.model import AliasPlan, Nearer, Plan
from joingraph.plan.show import tree_lines


class Kept(NamedTuple):
    """What an alias keeps of base rows: its key, its projected values, how many rows."""

    key: tuple[tuple[Word, ...], ...]
    row: tuple[Word, ...]
    times: int


OnPath = Sequence[Kept | None]  # by alias; None where it is missing, or is asked for


class WhyPath(dict[str, dict[str, Value]]):
    """A complete path: for each alias that has a row on it the columns it keeps. Printing draws it.

    `counts` tells how many base rows each alias has like this; their product is `times`.
    """

    def __init__(self, plan: Plan, kept: Sequence[dict[str, Value]], path: OnPath) -> None:
        there = [alias for alias in plan.aliases if path[alias.index] and alias.is_shown]
        super().__init__((alias.name, kept[alias.index]) for alias in there)
        self.counts = {alias.name: of.times for alias in there if (of := path[alias.index])}
        self._plan, self._path = plan, path

    @property
    def times(self) -> int:
        """How many equal view rows the path stands for."""
        return prod(self.counts.values())

    def __str__(self) -> str:
        lines = tree_lines(self._plan, self._row_text, self._words_between, has_pairs=False)
        return "\n".join(lines)

    def _row_text(self, alias: int) -> str:
        """Write what an alias keeps, and how often."""
        name = self._plan.aliases[alias].name
        if name not in self:
            return f"{'a' if self._is_there(alias) else 'no'} row of {name}"
        values = ", ".join(
            f"{column} = {plain_text(value)}" for column, value in self[name].items()
        )
        return f"{name} ({values})" + (f" x{self.counts[name]}" if self.counts[name] > 1 else "")

    def _is_there(self, alias: int) -> bool:
        """True if an alias that is asked for has a row."""
        plan = self._plan
        if not plan.aliases[alias].is_silent:
            return False
        tree = plan.tree_from(plan.starts[0])
        while plan.aliases[tree[alias].alias].is_silent:
            alias = tree[alias].alias
        found = self._path[alias]
        return (
            plan.mode(alias, tree[alias].vertex) == "semi" if found is None else bool(found.row[0])
        )

    def _words_between(self, nearer: Nearer) -> str:
        """Write the vertex value by which an alias and the one before it meet.

        Of two that are paired it is the farther one's, or else the nearer one's.
        """
        found = self._words_at(nearer.vertex)
        if found is None and self._plan.aliases[nearer.alias].is_of_pairs:
            found = self._words_at(self._plan.tree_from(0)[nearer.alias].vertex)
        return found or "{…}"

    def _words_at(self, vertex: int) -> str | None:
        """Write a vertex value, if an alias has a row there."""
        at = self._plan.vertices[vertex]
        for alias in at.aliases:
            kept, mine = self._path[alias], self._plan.aliases[alias]
            if kept is not None and mine.is_shown:
                words = kept.key[mine.vertices.index(at.index)][: len(at.types)]
                return f"{{{', '.join('NULL' if word is None else str(word) for word in words)}}}"
        return None


class Why(list[WhyPath]):
    """The complete paths behind a view row, or the first of them; printing draws them.

    `times` tells how many joined rows all of them make: of a row that is no group, how often the
    view has it.
    """

    def __init__(self, paths: Iterable[WhyPath], times: int | None = None) -> None:
        super().__init__(paths)
        self.times = sum(each.times for each in self) if times is None else times

    def __str__(self) -> str:
        if not self.times:
            return "no path leads to this row; why_not(row) tells why"
        drawn = [*map(str, self)]
        if self.times > sum(each.times for each in self):
            drawn.append(f"... of {self.times:,} joined rows in all")
        return "\n\n".join(drawn)


def paths_text(plan: Plan, paths: Sequence[OnPath], times: int | None) -> Why:
    """Return the paths as the base tables' columns, by alias; `times` where others are left out."""
    by_alias = [
        columns_where_kept(plan, alias, [path[alias.index] for path in paths])
        for alias in plan.aliases
    ]
    rows = zip(*by_alias, strict=True)
    drawn = (WhyPath(plan, row, path) for row, path in zip(rows, paths, strict=True))
    return Why(drawn, times)


def columns_where_kept(
    plan: Plan, alias: AliasPlan, kept: Sequence[Kept | None]
) -> list[dict[str, Value]]:
    """Name what an alias keeps on each path; nothing where it is missing, or asked for."""
    there = [each for each in kept if each is not None] if alias.is_shown else []
    columns = iter(columns_kept(plan, alias.index, there))
    return [next(columns) if each is not None and alias.is_shown else {} for each in kept]


def columns_kept(plan: Plan, alias: int, kept: Sequence[Kept]) -> list[dict[str, Value]]:
    """Name what an alias keeps by base column, in declared order, then expressions by text."""
    if not kept:
        return []
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
