"""What bags make aggregates show: the words of a group's state -> a column, many groups at once.

best      | 1 | 5 |              ->   5, or NULL where no row is there
places    | 4 | 2 | 3 |          ->   of 4 rows the two in the middle are 2 and 3: 2.5
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from joingraph.aggregates.contract import Row
from joingraph.expressions.python_values import python_values
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_layout import BagLayout, words_back
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.graph.compiled.values.words import from_words


class BagRows:
    """Reads the rows of a bag, which lie as words one beside the other."""

    def __init__(self, layout: BagLayout, interner: Interner) -> None:
        self.layout, self.interner = layout, interner
        self.columns = layout.bag.columns
        columns = enumerate(self.columns)
        told = {each.argument: at for at, each in columns if each.argument is not None}
        self.arguments = [told[argument] for argument in sorted(told)]

    def best(self, states: Words) -> pa.Array:
        """Return what the first row of each bag shows: its last value."""
        return self.column(states[:, 1:], len(self.columns) - 1, states[:, 0] != 0)

    def places(self, states: Words) -> list[list[tuple[Row, int]]]:
        """Return a bag of as many rows as each has, of which those are right that decide."""
        places, width = self.layout.bag.places, len(self.layout.parts)
        assert places is not None, "of such a bag"
        starts = range(1, states.shape[1], width)
        rows = [rows_of(self.arrays(states[:, start : start + width])) for start in starts]
        counted = zip(states[:, 0].tolist(), zip(*rows, strict=True), strict=True)
        return [places.rows(size, of) for size, of in counted]

    def arrays(self, words: Words) -> list[pa.Array]:
        """Return the values of rows, by the aggregate's arguments."""
        return [self.column(words, at) for at in self.arguments]

    def column(self, words: Words, at: int, is_there: Any = None) -> pa.Array:
        """Return a value of rows, NULL where none is there."""
        kept, start, known = self.columns[at], self.layout.starts[at], self.layout.changes[at]
        own = [words[:, start + word] for word in range(len(known))]
        found = words_back(kept, known, own, nullable=self.layout.is_nullable(kept.slot))
        if is_there is not None:
            found = [np.where(is_there, each, f.NULL_WORD) for each in found]
        return from_words(found, kept.type, self.interner)


def rows_of(columns: list[pa.Array]) -> list[Row]:
    """Return rows as values."""
    return list(zip(*map(python_values, columns), strict=True))
