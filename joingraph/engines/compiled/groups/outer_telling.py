"""Groups kept by messages over outer joins, EXISTS and IN: modes decide what seats tell.

TellingEngine     rows are told of, groups are noted              as for inner joins
OuterEngine       seats have modes; reads of the joined rows      where groups are not told
"""

from __future__ import annotations

from collections.abc import Sequence

from joingraph.engines.compiled.groups.telling import TellingEngine
from joingraph.engines.compiled.outer.engine import OuterEngine
from joingraph.plan.groups.messages import Messages
from joingraph.plan.model import Plan
from joingraph.sql.definition import Definition
from joingraph.tables.batch import Entry, Refused


class OuterTellingEngine(TellingEngine, OuterEngine):
    """Keeps the groups of a view whose seats have modes."""

    def fanout(self, entries: Sequence[Entry], *, skip: bool) -> tuple[int, bool, list[Refused]]:
        """Count the groups that a batch touches by telling of it; change nothing."""
        if not self.tells:
            return super().fanout(entries, skip=skip)
        self.know_groups()
        batch = self._admit(entries, skip=skip)
        self._begin()
        noted = self._carry_out(batch.ops, batch.feed.matrices, generate=True)
        self.undo()
        return sum(map(len, noted)), True, batch.refused


def telling_engine(
    definition: Definition,
    plan: Plan,
    messages: Messages,
    lookahead: str,
    key_index: Sequence[str] = (),
) -> TellingEngine:
    """Return the engine that keeps a view's groups by messages; among modes look-ahead is exact."""
    if plan.is_inner:
        return TellingEngine(definition, plan, messages, lookahead, key_index)
    return OuterTellingEngine(definition, plan, messages, "exact", key_index)
