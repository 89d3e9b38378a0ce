"""Pieces of paths by column: what reads of the compiled graph hand on.

values {v0: [7, 7, 9]}   projected {F: [[1, 2, 1]]}   times [1, 1, 1]        three paths
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from joingraph.graph.compiled.memory.reserved import Words


@dataclass(frozen=True, slots=True)
class Piece:
    """Paths that have come equally far."""

    values: Mapping[int, Words]
    projected: Mapping[int, Sequence[Words]]
    times: Words
    counts: Mapping[int, Words] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.times)

    def take(self, rows: Words | slice) -> Piece:
        """Pick paths, some of them perhaps several times."""
        return Piece(
            {vertex: ids[rows] for vertex, ids in self.values.items()},
            {alias: [word[rows] for word in of] for alias, of in self.projected.items()},
            self.times[rows],
            {alias: count[rows] for alias, count in self.counts.items()},
        )

    def weighed(self, alias: int, counts: Words) -> Piece:
        """Let each path stand for several equal rows of an alias."""
        return replace(self, times=self.times * counts, counts={**self.counts, alias: counts})


class Entered(NamedTuple):
    """What came of a piece by entering an alias, and which path each of it continues."""

    piece: Piece
    parents: Words


def joined(pieces: Sequence[Piece]) -> Piece:
    """Put pieces one behind the other, with what all of them have; there is at least one."""
    first = pieces[0]
    if len(pieces) == 1:
        return first
    values, projected, counts = (
        set[int].intersection(*map(set, maps))
        for maps in zip(*((p.values, p.projected, p.counts) for p in pieces), strict=True)
    )
    return Piece(
        {at: np.concatenate([each.values[at] for each in pieces]) for at in values},
        {
            alias: [
                np.concatenate([each.projected[alias][word] for each in pieces])
                for word in range(len(first.projected[alias]))
            ]
            for alias in projected
        },
        np.concatenate([each.times for each in pieces]),
        {alias: np.concatenate([each.counts[alias] for each in pieces]) for alias in counts},
    )
