"""Remembers which projected columns have ever held NULL: the others need not be searched for it.

    columns   T.text [a, NULL]  T.date [1, 2]     ->     met {(T, 0)}

A column that held NULL once is searched from then on. Of rows that came otherwise than through the
filter nothing is known, so all columns are searched.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from joingraph.plan.model import Slot


class Nulls:
    """The projected columns of one graph, by alias and position, that may hold NULL."""

    def __init__(self) -> None:
        self._met: set[tuple[int, int]] = set()
        self._unknown = False

    def forget(self) -> None:
        """Know nothing more of any column."""
        self._unknown = True

    def note(self, alias: int, columns: Sequence[pa.Array]) -> None:
        """Look at what an alias projects of some rows."""
        for position, column in enumerate(columns):
            if column.null_count:
                self._met.add((alias, position))

    def may_be(self, slot: Slot) -> bool:
        """Say whether a slot may hold NULL; keys never do."""
        return slot.vertex is None and (self._unknown or (slot.alias, slot.position) in self._met)
