"""What is told where no groups are kept: the sums of which deltas are made, and no more.

SELECT F.fan, COUNT(*) AS n ... GROUP BY F.fan HAVING MAX(T.score) > 3
told   ()                       HAVING is not applied to deltas, so MAX is not asked for
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from joingraph.common.errors import ViewError
from joingraph.plan.groups.messages import Messages, Read, messages_of
from joingraph.plan.keys.totals import delta_columns
from joingraph.plan.model import Plan
from joingraph.sql.definition import Definition


class ToldTotals(NamedTuple):
    """Who tells what, and which sums each aggregate reads that deltas tell, by its number."""

    messages: Messages
    reads: Mapping[int, tuple[Read, ...]]


def told_totals(plan: Plan, definition: Definition) -> ToldTotals | None:
    """Return how a view's totals travel; None: it has no deltas, or they need the joined rows."""
    grouping = definition.grouping
    assert grouping is not None, "a view that groups"
    if not plan.is_inner:
        return None
    try:
        columns = delta_columns(definition)
    except ViewError:
        return None
    uses = sorted({each.use for each in columns.changes if each.use is not None})
    told = replace(grouping, uses=tuple(grouping.uses[at] for at in uses))
    messages = messages_of(plan, told)
    if messages is None:
        return None
    reads = {
        use: read for use, read in zip(uses, messages.reads, strict=True) if isinstance(read, tuple)
    }
    assert len(reads) == len(uses), "what has totals is computed of sums"
    return ToldTotals(replace(messages, is_set=False), reads)  # deltas count paths
