"""Complete paths by column of words, as blocks give them; rows of one op and weight are a segment.

words      one column a word that the output needs     [7, 7, 7, 9]  [1, 2, 3, 1]
starts     where each segment begins                   [0, 3]
ops        the op of each segment, or -1               [0, 1]
weights    how often each of its rows counts           [1, -1]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.reserved import Words


@dataclass(frozen=True, slots=True)
class Paths:
    """Complete paths in the order they were found."""

    words: list[Words]
    starts: Words
    ops: Words
    weights: Words
    length: int

    def __len__(self) -> int:
        return self.length

    def lengths(self) -> Words:
        """Return how many rows each segment has."""
        return self.ends() - self.starts

    def ends(self) -> Words:
        """Return where each segment ends."""
        ends = np.empty_like(self.starts)
        ends[:-1], ends[-1:] = self.starts[1:], self.length
        return ends

    def by_row(self, of_segment: Words) -> Words:
        """Repeat what is said of segments for each of their rows."""
        return np.repeat(of_segment, self.lengths())

    def moved(self, ops: int) -> Paths:
        """Number the ops anew, by how many came before."""
        return Paths(self.words, self.starts, self.ops + ops, self.weights, self.length)

    def part(self, first: int, end: int) -> Paths:
        """Return the rows between two places."""
        if (first, end) == (0, self.length):
            return self
        low = np.searchsorted(self.starts, first, side="right") - 1
        some = slice(max(0, int(low)), int(np.searchsorted(self.starts, end)))
        words = [each[first:end] for each in self.words]
        starts = np.maximum(self.starts[some] - first, 0)
        return Paths(words, starts, self.ops[some], self.weights[some], end - first)

    def where(self, mark: npt.NDArray[np.bool_]) -> Paths:
        """Return the rows that a mask marks."""
        if mark.all():
            return self
        before = np.concatenate([[0], np.cumsum(mark)])
        ends = before[self.ends()]
        starts = before[self.starts]
        some = starts < ends
        words = [each[mark] for each in self.words]
        return Paths(words, starts[some], self.ops[some], self.weights[some], int(before[-1]))


def read_block(state: Words, block: Words, segments: Words, *, copied: bool = True) -> Paths:
    """Copy what a block holds; or copy but the segments, if the block is the reader's."""
    rows, count = int(state[f.ROWS]), int(state[f.SEGMENT_COUNT])
    table = segments[: count * f.SEGMENT_WORDS].reshape(-1, f.SEGMENT_WORDS)
    starts = range(0, int(state[f.COLUMN_COUNT]) * f.COLUMN_STRIDE, f.COLUMN_STRIDE)
    columns = [block[start : start + rows] for start in starts]
    return Paths(
        [each.copy() for each in columns] if copied else columns,
        table[:, f.G_START].copy(),
        table[:, f.G_OP].copy(),
        table[:, f.G_WEIGHT].copy(),
        rows,
    )


def joined(parts: Sequence[Paths], columns: int) -> Paths:
    """Put the paths of several blocks together."""
    if len(parts) == 1:
        return parts[0]
    none = np.empty(0, np.int64)
    lengths = [len(part) for part in parts]
    before = np.cumsum([0, *lengths])[:-1]
    return Paths(
        [np.concatenate([none, *(part.words[c] for part in parts)]) for c in range(columns)],
        np.concatenate([none, *(p.starts + n for p, n in zip(parts, before, strict=True))]),
        np.concatenate([none, *(part.ops for part in parts)]),
        np.concatenate([none, *(part.weights for part in parts)]),
        sum(lengths),
    )
