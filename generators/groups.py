"""Groups of the rows of a join: an exact state for each aggregate, and how many paths there are.

    rows      fan | score    +/- times           SELECT fan, SUM(score), MAX(score) ... GROUP BY fan
    groups    ('ann',) -> 3 paths, [12, 5]       a state is what joingraph/aggregates/ keeps

    absorb rows, base diff by base diff  ->  what groups were and are  ->  rows of the view diff

A group is there as long as a path is. Before its first touch in a base diff its values are noted;
what has not changed is not told. States are exact: what comes and goes leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from joingraph.aggregates.contract import Aggregate
from joingraph.aggregates.registry import aggregate
from joingraph.common.errors import DiffError, LimitError
from joingraph.expressions.evaluate import NoAnswer, evaluate, holds
from joingraph.expressions.python_values import plain_text, python_values
from joingraph.expressions.texts import Numbers, take_rows, typed
from joingraph.expressions.tree import Column, Expression, Value
from joingraph.expressions.types import sql_name
from joingraph.expressions.words import Word, from_words, normal, to_words, words_of
from joingraph.generators.group_size import group_bytes
from joingraph.reads.access_paths import AllGroups
from joingraph.reads.group_keys import GroupsByKey, GroupsWay
from joingraph.sql.definition import Definition, Use
from joingraph.view_diffs.view_diff import META, SIGNS, DiffRows, change_table, signed_counts

INSERT, DELETE, PRE, POST = SIGNS
Key: TypeAlias = tuple[Word, ...]
Values: TypeAlias = tuple[Value, ...]


class Group:
    """One group: how many paths there are, and the states of its aggregates."""

    __slots__ = ("paths", "states")

    def __init__(self, states: list[Any]) -> None:
        self.paths, self.states = 0, states


class Touched(NamedTuple):
    """What a base diff did to a group: its aggregates before and after, None where it is not."""

    diff: int
    key: Key
    old: Values | None
    new: Values | None


class At(NamedTuple):
    """How many groups there are in columns, and what finds the key of one, to name it."""

    rows: int
    key: Callable[[int], Key]


class Shown(NamedTuple):
    """Groups that pass HAVING: their places among those asked for, their values, their rows."""

    passing: Numbers
    values: dict[Expression, pa.Array]
    rows: pa.Table


class Rows(NamedTuple):
    """Joined rows as they are absorbed: keys, and the values of each aggregate's columns."""

    keys: list[Key]
    values: list[Values]


class Groups:
    """The groups of one view, with the states of all its aggregates or of those at some places."""

    def __init__(self, definition: Definition, places: Sequence[int] | None = None) -> None:
        assert definition.grouping is not None, "a view without groups has none"
        self.definition, self.grouping = definition, definition.grouping
        self.aggregates = [aggregate(use.asked) for use in self.grouping.uses]
        self.places = range(len(self.aggregates)) if places is None else places
        self.key_types = [each.type for each in self.grouping.values[: self.grouping.keys]]
        self.of: dict[Key, Group] = {}
        if self.grouping.is_whole:
            self.of[()] = self.empty()

    def empty(self) -> Group:
        """Return a group of no path."""
        return Group([each.zero() for each in self.aggregates])

    def rows(self, table: pa.Table) -> Rows:
        """Read joined rows."""
        count = table.num_rows
        words = [key_words(table.column(at)) for at in range(self.grouping.keys)]
        columns = [python_values(each) for each in table.columns]
        keys: list[Key] = list(zip(*words, strict=True)) if words else [()] * count
        return Rows(keys, list(zip(*columns, strict=True)))

    def __len__(self) -> int:
        return len(self.of)

    def add_rows(self, rows: pa.Table) -> None:
        """Add joined rows, each once."""
        for key, values in zip(*self.rows(rows), strict=True):
            self.add(key, values, 1)

    def add(self, key: Key, values: Values, times: int) -> None:
        """Add a joined row so many times; below zero: take it away."""
        group = self.of.get(key)
        if group is None:
            group = self.of[key] = self.empty()
        self.change(group, values, times)
        if not group.paths and not self.grouping.is_whole:
            del self.of[key]

    def change(self, group: Group, values: Values, times: int) -> None:
        """Bring a joined row to the states of its group."""
        group.paths += times
        for at in self.places:
            use, each = self.grouping.uses[at], self.aggregates[at]
            if use.condition is None or values[use.condition] is True:
                given = tuple(values[column] for column in use.columns)
                group.states[at] = each.add(group.states[at], given, times)

    def values_of(self, key: Key) -> Values | None:
        """Compute a group's aggregates; None if it is not there."""
        group = self.of.get(key)
        if group is None:
            return None
        uses = zip(self.grouping.uses, self.aggregates, group.states, strict=True)
        return tuple(self.result(key, use, each, state) for use, each, state in uses)

    def result(self, key: Key, use: Use, aggregate: Aggregate, state: Any) -> Value:
        """Compute an aggregate, or name the group whose value its type does not hold."""
        try:
            found: Value = aggregate.result(state)
        except (OverflowError, ZeroDivisionError) as error:
            named = f"{use.text}{self.place(key)}"
            if isinstance(error, ZeroDivisionError):
                raise DiffError(f"{named} divides by zero") from None
            raise DiffError(
                f"{named} is {error.args[0]}, which {sql_name(use.type)} does not hold"
            ) from None
        return found

    def place(self, key: Key) -> str:
        """Name a group by its key."""
        if not key:
            return ""
        columns = [from_words([word], kind) for word, kind in zip(key, self.key_types, strict=True)]
        shown = {output.value: output.name for output in self.definition.output}
        texts = [
            f"{shown.get(value, value.name)} = {plain_text(python_values(column)[0])}"
            for value, column in zip(self.grouping.values, columns, strict=False)
        ]
        return f" of the group {', '.join(texts)}"

    def absorbed(self, changes: pa.Table) -> tuple[DiffRows, None]:
        """Add the rows of the join's view diff; give the groups' view diff."""
        return self.diff_rows(list(self.absorb(changes))), None

    def absorb(self, changes: pa.Table) -> Iterator[Touched]:
        """Add the rows of the join's view diff; yield what each base diff did to the groups.

        They come in the order of their first touch; before each, its rows are added.
        """
        number, before = 0, dict[Key, Values | None]()
        for diff, key, values, times in self.changed_rows(changes):
            if diff != number:
                yield from self.touched(number, before)
                number, before = diff, {}
            if key not in before:
                before[key] = self.values_of(key)
            self.add(key, values, times)
        yield from self.touched(number, before)

    def changed_rows(self, changes: pa.Table) -> list[tuple[int, Key, Values, int]]:
        """List base diff, key, values and signed count of each row of the join's view diff."""
        width = changes.num_columns - len(META)
        keys, values = self.rows(changes.select(range(width)))
        times, diffs = signed_counts(changes, width).tolist(), changes.column(width + 2).to_pylist()
        return list(zip(diffs, keys, values, times, strict=True))

    def touched(self, diff: int, before: Mapping[Key, Values | None]) -> Iterator[Touched]:
        """Yield what a base diff did to the groups that it has touched."""
        for key, old in before.items():
            yield Touched(diff, key, old, self.values_of(key))

    def table(self, keys: Sequence[Key], values: Sequence[Values]) -> dict[Expression, pa.Array]:
        """Return the values of groups as columns, by the names that expressions call them by."""
        places = self.grouping.values
        key_columns = [[key[at] for key in keys] for at in range(self.grouping.keys)]
        others = [[each[at] for each in values] for at in range(len(self.aggregates))]
        found: dict[Expression, pa.Array] = {}
        for place, words in zip(places, key_columns, strict=False):
            found[place] = from_words(words, place.type)
        for place, column in zip(places[self.grouping.keys :], others, strict=True):
            found[place] = one_array(column, place)
        return found

    def shown(self, keys: Sequence[Key], values: Sequence[Values]) -> Shown:
        """Return which groups pass HAVING, their values, and the view's rows of these."""
        return self.shown_of(self.table(keys, values), At(len(keys), keys.__getitem__))

    def shown_of(self, columns: dict[Expression, pa.Array], at: At) -> Shown:
        """Do so of groups whose values are columns."""
        passing, every = np.arange(at.rows), at.key
        if self.grouping.having is not None:
            mark = np.asarray(self.over(holds, self.grouping.having, columns, at), bool)
            passing = np.flatnonzero(mark)
            columns = {name: each.filter(pa.array(mark)) for name, each in columns.items()}
            places = passing.tolist()
            at = At(len(places), lambda row: every(places[row]))
        outputs = [self.over(evaluate, each.value, columns, at) for each in self.definition.output]
        return Shown(passing, columns, typed(outputs, self.definition.schema))

    def over(
        self,
        compute: Callable[..., Any],
        value: Expression,
        columns: Mapping[Expression, pa.Array],
        at: At,
    ) -> Any:
        """Compute an expression over groups, or name the one for which it has no answer."""
        try:
            return compute(value, columns, at.rows)
        except NoAnswer as error:
            raise DiffError(f"{error.why}{self.place(at.key(error.row))}") from None

    def all_shown(self) -> Shown:
        """Return what all groups show."""
        return self.shown_by(AllGroups())

    def shown_by(self, way: GroupsWay) -> Shown:
        """Return what the groups show at which a read looks."""
        keys = self.keys_by(way)
        values = [each for each in map(self.values_of, keys) if each is not None]
        return self.shown(keys, values)

    def keys_by(self, way: GroupsWay) -> list[Key]:
        """Return the keys of the groups at which a read looks."""
        if isinstance(way, GroupsByKey):
            return [each for each in way.keys if each in self.of]
        keys, names = list(self.of), self.grouping.values
        if not way.tests:
            return keys
        columns: dict[Expression, pa.Array] = {
            names[at]: from_words([key[at] for key in keys], kind)
            for at, kind in enumerate(self.key_types)
        }
        return [keys[at] for at in surviving(way.tests, columns, len(keys))]

    def keys_of(self, words: tuple[Word, ...], way: GroupsWay) -> list[Key]:
        """Return the keys of the groups that show a row, of those at which a read looks."""
        found, keys = self.shown_by(way), self.keys_by(way)
        rows = zip(*map(words_of, found.rows.columns), strict=True)
        return [keys[at] for at, row in zip(found.passing, rows, strict=True) if row == words]

    def take_back(self, changes: pa.Table) -> None:
        """Take back the rows of the join's view diff that were absorbed, the last one first."""
        for _, key, values, times in reversed(self.changed_rows(changes)):
            self.add(key, values, -times)

    @property
    def bytes(self) -> int:
        """About how many bytes groups take."""
        return group_bytes(self.of)

    def states(self) -> dict[Key, tuple[int, list[Any]]]:
        """Return how many paths each group has, and its states."""
        return {key: (group.paths, group.states) for key, group in self.of.items()}

    def diff_rows(self, touched: Sequence[Touched]) -> DiffRows:
        """Return the view diff of groups: an update, a birth, a death, or nothing of each."""
        images = [(each.key, of) for each in touched for of in each[2:] if of is not None]
        passing, _, rows = self.shown([key for key, _ in images], [of for _, of in images])
        words = list(zip(*map(words_of, rows.columns), strict=True))
        place = dict(zip(passing.tolist(), range(len(passing)), strict=True))
        picked, kinds, diffs, number = list[int](), list[str](), list[int](), 0
        for each in touched:
            old = place.get(number) if each.old is not None else None
            number += each.old is not None
            new = place.get(number) if each.new is not None else None
            number += each.new is not None
            if old is not None and new is not None:
                told = [(old, PRE), (new, POST)] if words[old] != words[new] else []
            else:
                told = [(at, kind) for at, kind in ((old, DELETE), (new, INSERT)) if at is not None]
            for at, kind in told:
                picked.append(at)
                kinds.append(kind)
                diffs.append(each.diff)
        some = take_rows(rows, np.array(picked, np.int64))
        return DiffRows.of(change_table(some, kinds, [1] * len(kinds), diffs))


def one_array(values: Sequence[object], of: Column) -> pa.Array:
    """Return results as one array, or refuse texts that do not fit it."""
    found = pa.array(values, of.type)
    if isinstance(found, pa.ChunkedArray):
        raise LimitError(
            f"{of.name} of the groups that are told at once has more than 2 GiB of text; apply"
            " fewer diffs at once"
        )
    return found


def key_words(column: pa.ChunkedArray) -> list[Word]:
    """Return a column's words, by which values are the same group; both zeros are one."""
    return [word for chunk in column.chunks for word in to_words(normal(chunk))]


def surviving(
    tests: Sequence[Expression], values: Mapping[Expression, pa.Array], count: int
) -> Numbers:
    """Number the rows on which conditions are TRUE, one condition after the other."""
    left = np.arange(count)
    for test in tests:
        left = left[np.asarray(holds(test, some(values, left), len(left)), bool)]
    return left


def some(values: Mapping[Expression, pa.Array], rows: Numbers) -> dict[Expression, pa.Array]:
    """Take some of the rows of columns."""
    return {name: column.take(pa.array(rows)) for name, column in values.items()}
