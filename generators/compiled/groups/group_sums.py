"""The sums of some groups, each read when an aggregate takes it: as numbers, or word by word.

number    one number a group: words if all of them fit, else Python's integers
limbs     one row of words a group, of a unit that is a power of two
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from joingraph.aggregates.exact import DOUBLE_BITS
from joingraph.aggregates.quotients import Marks, quotients
from joingraph.aggregates.sums import Ratio
from joingraph.graph.compiled.groups.group_layout import GroupLayout
from joingraph.graph.compiled.memory.reserved import Words

COUNT_BITS = 31  # of counts whose divisors surely fit a word


class GroupSums:
    """Reads sums from the words of groups' states, one row a group."""

    def __init__(self, at: GroupLayout, states: Words) -> None:
        self.at, self.states, self.known = at, states, dict[int, Words]()

    def limbs(self, place: int) -> Words:
        """Return the words of a sum, the low one first."""
        first = sum(self.at.sizes[:place])
        return self.states[:, first : first + self.at.sizes[place]]

    def unit(self, place: int) -> int:
        """Return what a sum is a number of, as a power of two."""
        return self.at.windows.low(self.at.messages.sums[place])

    def number(self, place: int) -> Words:
        """Return a sum as aggregates take it (aggregates/exact.py)."""
        if place not in self.known:
            found, part = number(self.limbs(place)), self.at.messages.sums[place]
            if floats := sum(term.is_float for term in part):
                found = found.astype(object) << (self.unit(place) + floats * DOUBLE_BITS)
            self.known[place] = found
        return self.known[place]

    def ratios(self, ratio: Ratio, places: Sequence[int]) -> tuple[pa.Array, Marks]:
        """Return quotients by column, and which of them are right."""
        counts = self.number(places[1])
        if counts.dtype != np.int64:
            return pa.nulls(len(counts), pa.float64()), np.zeros(len(counts), bool)
        divisors = counts * ratio.scale if ratio.is_mean else np.ones_like(counts)
        found, are_right = quotients(self.limbs(places[0]), divisors, self.unit(places[0]))
        are_right &= counts >> COUNT_BITS == 0
        for odd in places[2:]:
            are_right &= self.number(odd) == 0
        return pa.array(found, mask=counts == 0), are_right | (counts == 0)


def number(words: Words) -> Words:
    """Return sums of some words: as words if all of them fit, else as objects."""
    low, others = words[:, 0], words[:, 1:]
    if (others == (low >> 63)[:, None]).all():
        return low
    found: Words = words[:, -1].astype(object)
    for lower in reversed(words.T[:-1]):
        found = (found << 64) + np.ascontiguousarray(lower).view(np.uint64).astype(object)
    return found
