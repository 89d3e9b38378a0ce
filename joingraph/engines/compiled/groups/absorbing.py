"""Groups kept of joined rows: what no message tells is seen on a path, and brought to its group.

    entries -> engine of the joined rows -> its view diff, by column -> groups -> theirs

Taken where residual predicates or expressions are over several tables, or what groups are asked for
is. Where a sum may need more bits than are kept, the plain groups take over.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pyarrow as pa

from joingraph.engines.compiled.groups.absorbed_groups import AbsorbedGroups, OutgrownError
from joingraph.engines.contract import Engine
from joingraph.engines.grouping import GroupingEngine, Known
from joingraph.expressions.tree import Expression
from joingraph.generators.compiled.groups.bag_lists import BagLists
from joingraph.generators.compiled.groups.group_deltas import deltas_of
from joingraph.generators.deltas import DeltaMaker
from joingraph.graph.compiled.groups.windows import Windows
from joingraph.plan.groups.joined_rows import JoinedPlan
from joingraph.sql.definition import Definition
from joingraph.view_diffs.deltas import Deltas
from joingraph.view_diffs.view_diff import DiffRows, Fold


class AbsorbingEngine(GroupingEngine):
    """Keeps the groups of one view by column, as long as their sums are no wider than is kept."""

    def __init__(
        self, definition: Definition, rows: Engine, joined: JoinedPlan | None, *, keep_groups: bool
    ) -> None:
        super().__init__(definition, rows, keep_groups=keep_groups)
        self.joined = joined  # None: groups are plain
        self.windows = Windows()  # of floats that came

    def new_groups(self) -> Known:
        """Return groups of no rows."""
        if self.joined is None:
            return super().new_groups()
        return AbsorbedGroups(self.definition, self.joined, self.windows)

    def made_groups(self, conditions: Sequence[Expression] = ()) -> Known:
        """Make groups of the joined rows: of all, or of those that may be of such groups."""
        while True:
            try:
                groups = super().made_groups(conditions)
            except OutgrownError as error:
                self.make_room(error)
                continue
            if isinstance(groups, AbsorbedGroups):
                groups.made()
            return groups

    def make_room(self, error: OutgrownError) -> None:
        """Let new groups have wider windows, or be plain."""
        if error.windows is None:
            self.joined = None
        else:
            self.windows = error.windows

    def _absorbed_by(self, groups: Known | None, changes: DiffRows) -> tuple[DiffRows, Fold | None]:
        """Let groups absorb a view diff of the joined rows; None: they are made anew once asked."""
        while True:
            try:
                return super()._absorbed_by(groups, changes)
            except OutgrownError as error:
                self.make_room(error)
                self._absorbed = None
            groups = self.made_groups()  # of all rows, also of those that came with this batch
            groups.take_back(changes.table)

    def deltas_of(self, changes: pa.Table, maker: DeltaMaker) -> Deltas:
        """Return the deltas of the rows of a join's view diff: what they make of no groups."""
        nothing = self.new_groups()
        if isinstance(nothing, AbsorbedGroups):
            with suppress(OutgrownError):
                lists = BagLists(nothing.memory, nothing.interner)
                return deltas_of(nothing, nothing.told(changes, lists), maker)
        return super().deltas_of(changes, maker)

    def keep(self) -> None:
        """Keep what was done so far: `undo` does not reach behind it."""
        super().keep()
        if isinstance(self._groups, AbsorbedGroups) and self._groups.is_outgrown:
            self._groups = None
