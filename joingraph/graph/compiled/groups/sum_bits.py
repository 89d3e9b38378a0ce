"""How many bits sums may need, bounded by the rows there are and the values that came.

paths    the root's rows, times the longest list of each alias below it
values   the largest of each, multiplied; of floats the bits of their windows
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import numpy as np

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_layout import parts_of
from joingraph.graph.compiled.groups.windows import Window, Windows, window_of
from joingraph.graph.compiled.layout import row_places
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.plan.groups.messages import Messages
from joingraph.plan.groups.rooted import Part, Term
from joingraph.plan.model import Plan


class SumBits:
    """The bits that values of each term had, in the rows of words that came."""

    def __init__(self, plan: Plan, messages: Messages, memory: GraphMemory) -> None:
        self.memory, self.messages, self.sums = memory, messages, messages.sums
        self.sums += tuple(part for bag in messages.bags for part in parts_of(bag))
        # Lists as they were seen, rows that have come since, and those of the batch under way.
        self.longest, self.come, self.waiting = dict[int, int](), 0, 0
        terms = {term for part in self.sums for term in part if term.kind == "value"}
        aliases = memory.layout.aliases
        self.places = {
            term: row_places(plan, aliases[term.slot.alias], term.slot) for term in terms
        }
        self.of = {term: 0 for term in terms if not term.is_float}
        self.windows = dict[Term, Window]()
        told = {part for each in messages.tells for part in each.parts}
        told |= {part for each in messages.meets for part in each.parts}
        self.floats = [part for part in told if any(term.is_float for term in part)]

    def note(self, alias: int, rows: Words) -> None:
        """Look at rows that come to an alias."""
        for term, places in self.places.items():
            if term.slot.alias != alias or not len(rows):
                continue
            if not term.is_float:
                self.of[term] = max(self.of[term], bits_of([rows[:, at] for at in places]))
            elif (window := window_of(rows[:, places[0]], term.type)) is not None:
                self.windows[term] = window.with_(self.windows.get(term))

    def await_rows(self, rows: int) -> None:
        """Count the rows of a batch that begins; they are not in any list yet."""
        self.come += rows
        self.waiting = rows

    @contextmanager
    def tried(self) -> Generator[None]:
        """Forget the values of a batch that is refused meanwhile."""
        before = dict(self.of)
        try:
            yield
        except BaseException:
            self.of = before
            raise

    def of_values(self) -> int:
        """Bound the bits of the products of values of which sums are made."""
        return max(map(self.of_part, self.sums))

    def of_part(self, part: Part) -> int:
        """Bound the bits of a product."""
        return sum(self.of.get(term, 0) for term in part)

    def of_floats(self, ops: int = 0) -> Windows:
        """Return the windows of the floats that came, after so many ops at most."""
        return Windows(self.windows, self.of, self.of_paths(ops))

    def of_paths(self, ops: int = 0) -> int:
        """Bound the bits of the number of paths of all groups, after so many ops at most."""
        root, more = self.messages.root, self.come + ops
        if root is None:
            starts = int(self.memory.vertex(self.messages.root_vertex)[f.V_LIVE])
        else:
            starts = int(self.memory.alias(root)[f.A_ROWS])
        if self.messages.missing is not None:
            starts += int(self.memory.vertex(self.messages.missing)[f.V_LIVE])
        lists = sum((length + more).bit_length() for length in self.longest.values())
        return (starts + ops).bit_length() + lists

    def look(self) -> None:
        """See how long lists are: of each alias below the root, where it tells."""
        self.come = self.waiting
        for alias in self.messages.order:
            vertex = self.messages.tells[alias].up
            assert vertex is not None, "an alias below the root tells a vertex"
            vd, seats = self.memory.vertex(vertex), self.memory.layout.vertices[vertex].seats
            (seat,) = (each for each in seats if each.alias == alias)
            stride, count = int(vd[f.V_STRIDE]), int(vd[f.V_NEXT])
            records = self.memory.records[vertex].words[: stride * count].reshape(count, stride)
            lengths = records[:, seat.length] & f.LENGTH
            self.longest[alias] = int(lengths.max(initial=0))

    def aliases(self) -> list[int]:
        """List the aliases whose values are added."""
        return sorted({term.slot.alias for term in self.places})


def bits_of(words: Sequence[Words]) -> int:
    """Return how many bits the largest of some integers has, of one word or two; NULL has none."""
    *lower, last = words
    known = last != f.NULL_WORD
    magnitude = int(np.bitwise_or.reduce(np.where(known, last ^ (last >> 63), 0)))
    return magnitude.bit_length() + 64 * len(lower)
