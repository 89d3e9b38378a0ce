"""How the rows of a bag lie as words, and what a group's state has of them.

row     x, y  ->  | x's word | y's low word | y's high word |       each described by itself
state   of a set  | sums over its different rows |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from joingraph.aggregates.sums import Monomial
from joingraph.expressions.types import words_of
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_tree import NUMBER
from joingraph.plan.bags import Bag, Kept
from joingraph.plan.messages import Part, product
from joingraph.plan.model import Slot

ZEROS = {pa.float32(): f.NEGATIVE_ZERO_32, pa.float64(): f.NEGATIVE_ZERO_64}
MOST_WORD = (1 << 63) - 1
KINDS = {"set": f.SET}

Places = Callable[[Slot], list[tuple[int, int]]]


@dataclass(frozen=True)
class BagLayout:
    """The layout of a bag's rows, by where a path has the words of a slot."""

    bag: Bag
    places: Places

    @cached_property
    def parts(self) -> list[list[int]]:
        """The words of a row, each described by its fields."""
        return [part for column in self.bag.columns for part in self.parts_of(column)]

    def parts_of(self, column: Kept) -> Iterator[list[int]]:
        """Describe the words of a value."""
        places = self.places(column.slot)
        _, last = places[-1]
        test = last if column.slot.vertex is None else -1
        zero = ZEROS.get(column.type, 0) if column.is_one_zero else 0
        for source, word in places:
            yield [source, word, test, 0, f.NULL_WORD, zero, 0, 0, MOST_WORD]

    @property
    def orders(self) -> list[int]:
        """How each word of a row compares."""
        return [NUMBER] * len(self.parts)

    @cached_property
    def starts(self) -> list[int]:
        """Where the words of each column begin."""
        sizes = [words_of(each.type) for each in self.bag.columns]
        return [sum(sizes[:at]) for at in range(len(sizes))]

    @cached_property
    def sizes(self) -> list[int]:
        """The words of each sum."""
        return [1 + any(is_value(each.kind) for each in of) for of in self.bag.monomials]

    def factors(self, monomial: Monomial) -> list[int]:
        """Describe what a monomial takes of a row; a square is a value twice."""
        found = list[int]()
        for argument, kind in monomial:
            column, start = self.bag.columns[argument], self.starts[argument]
            is_wide, nullable = words_of(column.type) > 1, int(column.slot.vertex is None)
            taken, word = {"known": f.KNOWN, "true": f.TRUE}.get(kind, f.VALUE), start
            if taken == f.VALUE and is_wide:
                taken = f.WIDE_VALUE
            elif is_wide:
                word += 1  # which tells whether it is NULL
            found += [taken, word, nullable] * (1 + (kind == "square"))
        return found

    @property
    def kind(self) -> int:
        """The word that tells what it is for."""
        return KINDS[self.bag.kind]

    @property
    def state_words(self) -> int:
        """The words that a group's state has of it."""
        return sum(self.sizes)


def is_value(kind: str) -> bool:
    """True if a sum of such factors takes two words."""
    return kind in ("value", "square")


def parts_of(bag: Bag) -> Iterator[Part]:
    """Yield what is added over the different rows of a set, as products of kept values."""
    for monomial in bag.monomials:
        factors = [(bag.columns[each.argument], each.kind) for each in monomial]
        yield product((column.slot, kind, column.type) for column, kind in factors)
