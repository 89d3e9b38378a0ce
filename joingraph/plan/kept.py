"""Finds where an alias keeps a column of its base table, whether the view shows it or not."""

from __future__ import annotations

import pyarrow as pa

from joingraph.expression import Column
from joingraph.plan.classes import bare
from joingraph.plan.model import AliasPlan, Plan, Slot


def kept_slot(plan: Plan, alias: AliasPlan, column: Column) -> Slot | None:
    """Find the place of a column: among what paths read, else in a key that holds it exactly."""
    if column in plan.slots:
        return plan.slots[column]
    for place, key in enumerate(alias.keys):
        for position, each in enumerate(key):
            kind = plan.vertices[alias.vertices[place]].types[position]
            if bare(each) == column and not pa.types.is_floating(kind):
                return Slot(alias.index, place, position, kind)
    return None
