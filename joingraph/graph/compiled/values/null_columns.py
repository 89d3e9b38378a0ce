"""Remembers which projected columns have ever held NULL: the others need not be searched for it.

    columns   T.text [a, NULL]  T.date [1, 2]     ->     met   | 1 | 0 |     a word a column

A column that held NULL once is searched from then on. The words go into snapshots with the graph's.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from joingraph.graph.compiled.memory.reserved import reserve
from joingraph.plan.model import ALWAYS, Plan, Slot


class Nulls:
    """The projected columns of one graph, alias after alias, that may hold NULL."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        counts = [len(alias.projected) for alias in plan.aliases]
        self.firsts = [sum(counts[:number]) for number in range(len(counts))]
        self._region = reserve(sum(counts) + 1)  # which kernels write to
        self.met = self._region.words[: sum(counts)]

    def note(self, alias: int, columns: Sequence[pa.Array]) -> None:
        """Look at what an alias projects of some rows."""
        for position, column in enumerate(columns):
            if column.null_count:
                self.met[self.firsts[alias] + position] = 1

    def may_be(self, slot: Slot) -> bool:
        """True if a slot may hold NULL; keys do where a row counts without partners."""
        alias = self.plan.aliases[slot.alias]
        if slot.vertex is not None:
            return alias.lone[slot.vertex]
        if alias.presence != ALWAYS:
            return True
        return bool(self.met[self.firsts[slot.alias] + slot.position])
