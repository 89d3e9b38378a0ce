"""Forgets the strings that no row has any more, now and then, so that memory follows the rows.

    rows of all aliases -> the ids of their texts -> the interner keeps these

It is done when as many bytes of text have come since the last time as were kept then, or as it
takes to make the way through all rows worth it. So a diff pays its share, and what is forgotten is
never more than what is there, but for a few megabytes.

In: a graph at rest, between two batches. A holder of ids must take them from rows that are there:
an undone batch would not, so the last one can no longer be undone.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from joingraph.expressions.texts import is_text
from joingraph.expressions.types import words_of
from joingraph.generators.compiled.reads.starts import Starts
from joingraph.graph.compiled.fields import A_ROWS
from joingraph.graph.compiled.sorted_index import SortedIndex
from joingraph.graph.compiled.values import string_pool
from joingraph.plan.model import AliasPlan, Plan

FEWEST_BYTES = 4 << 20  # of new texts
BYTES_A_ROW = 8


class Sweeper:
    """Knows when one graph's texts were last looked through."""

    def __init__(self, starts: Starts) -> None:
        self.starts, self.interner = starts, starts.walker.interner
        places = {alias.index: text_places(starts.plan, alias) for alias in starts.plan.aliases}
        self.places = {alias: found for alias, found in places.items() if found}
        self.fewest_bytes = FEWEST_BYTES
        self.kept_bytes = 0

    def is_due(self) -> bool:
        """True if enough texts have come since the last time."""
        if not self.places:
            return False
        come = int(self.interner.state[string_pool.TOP]) - self.kept_bytes
        if come <= max(self.fewest_bytes, self.kept_bytes):
            return False
        memory = self.starts.walker.memory
        return come > BYTES_A_ROW * sum(int(memory.alias(alias)[A_ROWS]) for alias in self.places)

    def sweep(self, indexes: Iterable[SortedIndex]) -> None:
        """Keep only the texts of rows that are there."""
        for index in indexes:
            index.settled()
        mark = np.zeros(int(self.interner.state[string_pool.COUNT]), bool)
        for alias, places in self.places.items():
            for piece in self.starts.everyone(alias):
                ids = self.starts.walker.row_words(piece, alias)[:, places]
                mark[ids[ids >= 0]] = True
        self.interner.keep(mark)
        self.kept_bytes = int(self.interner.state[string_pool.TOP])


def text_places(plan: Plan, alias: AliasPlan) -> list[int]:
    """Return which words of an alias' row are ids of texts."""
    types = [kind for vertex in alias.vertices for kind in plan.vertices[vertex].types]
    types += [each.type for each in alias.projected]
    ends = np.cumsum([words_of(kind) for kind in types])
    return [int(end) - 1 for end, kind in zip(ends, types, strict=True) if is_text(kind)]
