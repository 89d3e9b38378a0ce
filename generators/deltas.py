"""Deltas of groups: what the rows of a join's view diff add to totals, without any group kept.

    rows      fan | score    +/- times     _diff         SELECT fan, COUNT(*) AS n, SUM(score) AS s
    deltas    fan | _diff | n | s | s_count             ... GROUP BY fan

The states of linear aggregates are sums, so those of a base diff's rows alone are its changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa

from joingraph.aggregates.exact import fitted
from joingraph.common.errors import DiffError
from joingraph.common.names import quoted
from joingraph.expressions.texts import typed
from joingraph.expressions.types import sql_name
from joingraph.expressions.words import from_words
from joingraph.generators.groups import Group, Groups, Key
from joingraph.plan.keys.totals import Change, delta_columns
from joingraph.sql.definition import Definition
from joingraph.view_diffs.deltas import Deltas


class DeltaMaker:
    """Makes the deltas of one view, or raises ViewError where it has none."""

    def __init__(self, definition: Definition) -> None:
        self.columns = delta_columns(definition)
        told = {each.use for each in self.columns.changes if each.use is not None}
        self.groups = Groups(definition, sorted(told))  # it keeps none: it makes and names them

    def of(self, changes: pa.Table) -> Deltas:
        """Return the deltas of the rows of a join's view diff."""
        found = dict[tuple[int, Key], Group]()
        for diff, key, values, times in self.groups.changed_rows(changes):
            group = found.get((diff, key))
            if group is None:
                group = found[diff, key] = self.groups.empty()
            self.groups.change(group, values, times)
        return self.of_groups(found)

    def of_groups(self, found: Mapping[tuple[int, Key], Group]) -> Deltas:
        """Return deltas of groups that hold what base diffs add to them."""
        rows = {at: self.numbers(at[1], group) for at, group in found.items()}
        return Deltas(self.table({at: row for at, row in rows.items() if any(row)}))

    def numbers(self, key: Key, group: Group) -> list[int | Decimal]:
        """Return the changes of a group."""
        return [self.number(key, each, group) for each in self.columns.changes]

    def number(self, key: Key, change: Change, group: Group) -> int | Decimal:
        """Return a change, or name the group where its type does not hold it."""
        use, total = change.use, change.total
        try:
            return fitted(group.paths if use is None else group.states[use][total.at], total.type)
        except OverflowError as error:
            raise DiffError(
                f"{quoted(change.name)}{self.groups.place(key)} changes by {error.args[0]}, which"
                f" {sql_name(total.type)} does not hold; nothing was applied"
            ) from None

    def table(self, rows: Mapping[tuple[int, Key], list[int | Decimal]]) -> pa.Table:
        """Write the changes of groups by base diff."""
        schema, width = self.columns.schema, len(self.columns.key)
        columns: list[pa.Array] = [
            from_words([key[at] for _, key in rows], schema.field(at).type) for at in range(width)
        ]
        columns.append(pa.array([diff for diff, _ in rows], pa.int64()))
        for at, change in enumerate(self.columns.changes):
            columns.append(pa.array([row[at] for row in rows.values()], change.total.type))
        return typed(columns, schema)
