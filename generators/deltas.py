"""Deltas of groups: what the rows of a join's view diff add to totals, without any group kept.

    rows      fan | score    +/- times     _diff         SELECT fan, COUNT(*) AS n, SUM(score) AS s
    deltas    fan | _diff | n | s | s_count             ... GROUP BY fan

The states of linear aggregates are sums, so those of a base diff's rows alone are its changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.aggregates.exact import fitted
from joingraph.common.errors import DiffError
from joingraph.common.names import quoted
from joingraph.expressions.row_values import bounds
from joingraph.expressions.texts import Numbers, typed
from joingraph.expressions.types import sql_name
from joingraph.expressions.words import from_words, normal, to_words
from joingraph.generators.groups import Group, Groups, Key
from joingraph.plan.keys.totals import Change, delta_columns
from joingraph.sql.definition import Definition
from joingraph.tables.row_batch import number_column
from joingraph.view_diffs.deltas import Deltas

Integers: TypeAlias = npt.NDArray[Any]  # of 64 bits, or Python's own; of their type's scale
KeyOf: TypeAlias = Callable[[int], list[pa.Array]]  # of a row of changes: columns of one row

WORD = 1 << 63  # words are at least its negative, and below it


class DeltaMaker:
    """Makes the deltas of one view, or raises ViewError where it has none."""

    def __init__(self, definition: Definition) -> None:
        self.columns = delta_columns(definition)
        told = {each.use for each in self.columns.changes if each.use is not None}
        self.groups = Groups(definition, sorted(told))  # it keeps none: it makes and names them

    @property
    def none(self) -> Deltas:
        """Deltas of nothing."""
        return Deltas(self.columns.schema.empty_table())

    def of(self, changes: pa.Table) -> Deltas:
        """Return the deltas of the rows of a join's view diff."""
        found = dict[tuple[int, Key], Group]()
        for diff, key, values, times in self.groups.changed_rows(changes):
            group = found.get((diff, key))
            if group is None:
                group = found[diff, key] = self.groups.empty()
            self.groups.change(group, values, times)
        rows, keys = [self.totals(group) for group in found.values()], [key for _, key in found]
        return self.of_columns(
            [
                from_words([key[at] for key in keys], each)
                for at, each in enumerate(self.groups.key_types)
            ],
            np.array([diff for diff, _ in found], np.int64),
            [
                np.array([row[at] for row in rows], object)
                for at in range(len(self.columns.changes))
            ],
        )

    def totals(self, group: Group) -> list[int]:
        """Return the totals of a group whose changes are told."""
        places = ((each.use, each.total.at) for each in self.columns.changes)
        return [group.paths if use is None else group.states[use][at] for use, at in places]

    def of_columns(
        self, keys: Sequence[pa.Array], diffs: Numbers, changes: Sequence[Integers]
    ) -> Deltas:
        """Return deltas of columns, of which those that are all zero are not told."""
        is_told = np.logical_or.reduce([each != 0 for each in changes])
        if not is_told.all():
            keys = [each.filter(pa.array(is_told)) for each in keys]
            diffs, changes = diffs[is_told], [each[is_told] for each in changes]
        columns = self.changes_of(changes, lambda row: [each.slice(row, 1) for each in keys])
        return Deltas(typed([*keys, pa.array(diffs), *columns], self.columns.schema))

    def changes_of(self, changes: Sequence[Integers], key: KeyOf) -> list[pa.Array]:
        """Return changes as columns, or name the group of one that its type does not hold."""
        pairs = zip(self.columns.changes, changes, strict=True)
        return [self.column(change, numbers, key) for change, numbers in pairs]

    def column(self, change: Change, numbers: Integers, key: KeyOf) -> pa.Array:
        """Return changes as a column, or name a group where its type does not hold one."""
        type, (least, most) = change.total.type, bounds(change.total.type)
        are_words = numbers.dtype == np.int64
        if not are_words or least > -WORD or most < WORD - 1:
            for row in np.flatnonzero((numbers < least) | (numbers > most)).tolist():
                self.refuse(change, int(numbers[row]), key(row))
        if are_words:
            return number_column([numbers], type, None)
        return pa.array([fitted(each, type) for each in numbers], type)

    def refuse(self, change: Change, number: int, keys: Sequence[pa.Array]) -> None:
        """Raise DiffError for a change that its type does not hold; keys are columns of a row."""
        key = tuple(word for each in keys for word in to_words(normal(each)))
        try:
            fitted(number, change.total.type)
        except OverflowError as error:
            raise DiffError(
                f"{quoted(change.name)}{self.groups.place(key)} changes by {error.args[0]}, which"
                f" {sql_name(change.total.type)} does not hold; nothing was applied"
            ) from None
