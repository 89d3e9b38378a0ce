"""How many words sums of floats take: each term has a window of bits that all its values lie in.

    19.99  0.05      low -59, high 5      each value is an integer of up to 64 bits, times 2^-59
    part             the windows of its terms, bits of its integers, bits of paths, and a sign

A window is wider than what has come, so that few values ask for another one. If one does, groups
are made anew: the wider a window is, the more it grows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.plan.groups.rooted import Part, Term

LOWEST, HIGHEST = -1074, 1024  # of a double
WORD_BITS, FEWEST_WORDS = 64, 2
SPARE_BITS, SPARE_PATHS, SPARE_PART = 12, 4, 4  # at least; of them for paths; of a window's bits


class Window(NamedTuple):
    """Values are multiples of 2^low, and less than 2^high without their sign."""

    low: int
    high: int

    @property
    def bits(self) -> int:
        """The bits of an integer of this unit, without its sign."""
        return self.high - self.low

    def has(self, other: Window) -> bool:
        """True if all values of another one are values of this one."""
        return self.bits > 0 and self.low <= other.low and other.high <= self.high

    def with_(self, other: Window | None) -> Window:
        """Return a window of both."""
        if other is None:
            return self
        return Window(min(self.low, other.low), max(self.high, other.high))


NOTHING = Window(0, 0)  # of no value but 0


@dataclass(frozen=True)
class Windows:
    """The window of each term of floats; the bits of the other ones, and of the paths."""

    of: Mapping[Term, Window] = field(default_factory=dict)
    bits: Mapping[Term, int] = field(default_factory=dict)
    paths: int = 0

    def words(self, part: Part) -> int:
        """Return how many words a sum of floats takes."""
        return max(FEWEST_WORDS, -(-self.needed(part) // WORD_BITS))

    def needed(self, part: Part) -> int:
        """Bound the bits of a sum, with its sign."""
        floats = sum(self.window(term).bits for term in part if term.is_float)
        return floats + sum(self.bits.get(term, 0) for term in part) + self.paths + 1

    def window(self, term: Term) -> Window:
        """Return the window of a term."""
        return self.of.get(term, NOTHING)

    def low(self, part: Part) -> int:
        """Return the unit of a sum, as a power of two."""
        return sum(self.window(term).low for term in part if term.is_float)

    def hold(self, now: Windows, parts: Sequence[Part]) -> bool:
        """True if sums of parts, and of what comes, surely lie in the words that they have here."""
        if not all(self.window(term).has(each) for term, each in now.of.items()):
            return False
        held = Windows(self.of, now.bits, now.paths)
        return all(held.needed(part) <= WORD_BITS * self.words(part) for part in parts)

    def spared(self) -> Windows:
        """Return windows that are wider than what came."""
        of = {term: widened(each, self.paths) for term, each in self.of.items()}
        return Windows(of, dict(self.bits), self.paths + SPARE_PATHS)


def widened(window: Window, paths: int) -> Window:
    """Return a wider window, of which the sums without other terms take as many words."""
    tight = window.bits + paths + 1
    words = -(-(tight + max(SPARE_BITS, window.bits // SPARE_PART)) // WORD_BITS)
    more = (max(words, FEWEST_WORDS) * WORD_BITS - tight - SPARE_PATHS) // 2
    return Window(max(window.low - more, LOWEST), min(window.high + more, HIGHEST))


def window_of(words: Words, type: pa.DataType) -> Window | None:
    """Return the narrowest window of a column of floats; None if no value is finite and not 0."""
    words = words[words != f.NULL_WORD]
    if type == pa.float32():
        values = words.astype(np.int32).view(np.float32).astype(np.float64)
    else:
        values = np.ascontiguousarray(words).view(np.float64)
    values = values[np.isfinite(values) & (values != 0)]
    if not len(values):
        return None
    fractions, exponents = np.frexp(values)
    whole = np.abs(fractions * 2.0**53).astype(np.int64)  # a double has 53 bits
    _, lowest = np.frexp((whole & -whole).astype(np.float64))
    return Window(int((exponents + lowest).min()) - 54, int(exponents.max()))
