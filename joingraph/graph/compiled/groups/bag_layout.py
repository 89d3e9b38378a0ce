"""How the rows of a bag lie as words, and what a group's state has of them.

row     x, y  ->  | x's word | y's low word | y's high word |       each described by itself
    state   of a set  | sums over its different rows |
            best      | is there a row | its words |
            places    | how many rows | the words of some |
            list      | the number of its group, by which its rows are found |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.aggregates.sums import Monomial
from joingraph.expressions.texts import is_text
from joingraph.expressions.types import words_of
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_nodes import DOWN, NULLS_FIRST, NUMBER, TEXT
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.plan.groups.bags import Bag, Kept
from joingraph.plan.groups.messages import Best, product
from joingraph.plan.groups.rooted import Part
from joingraph.plan.model import Slot

ZEROS = {pa.float32(): f.NEGATIVE_ZERO_32, pa.float64(): f.NEGATIVE_ZERO_64}
MASKS = {pa.float32(): (1 << 31) - 1, pa.float64(): (1 << 63) - 1}
LEAST_WORD, MOST_WORD = -1 << 63, (1 << 63) - 1
KINDS = {"set": f.OF_SET, "best": f.OF_BEST, "places": f.OF_PLACES, "list": f.OF_LIST}

Places = Callable[[Slot], list[tuple[int, int]]]


class Change(NamedTuple):
    """What makes a word of a value one whose order is the value's, and what stands for NULL."""

    null: int = f.NULL_WORD
    mask: int = 0
    xor: int = 0
    hole: int = MOST_WORD
    is_up: bool = False

    def undone(self, words: Words) -> Words:
        """Return the words that were changed, where they are not NULL."""
        if self.is_up:
            words = np.where((words <= self.hole) & (words != LEAST_WORD), words - 1, words)
        elif self.hole < MOST_WORD:
            words = np.where((words >= self.hole) & (words != MOST_WORD), words + 1, words)
        if self.xor:
            words = words ^ self.xor
        return np.where(words < 0, words ^ self.mask, words) if self.mask else words


def changes(column: Kept) -> list[Change]:
    """Return what changes each word of a value."""
    if column.order == "none" or is_text(column.type):
        return [Change()] * words_of(column.type)
    mask, down = MASKS.get(column.type, 0), -(column.order == "down")
    first = (LEAST_WORD if column.type == pa.uint64() else 0) ^ down
    leading = Change(MOST_WORD, mask, first)
    if not column.skips_null:
        is_up = column.nulls_first
        null = LEAST_WORD if is_up else MOST_WORD
        leading = Change(null, mask, first, f.NULL_WORD ^ mask ^ first, is_up)
    return [leading, *[Change(xor=LEAST_WORD ^ down)] * (words_of(column.type) - 1)]


def kept_of(best: Best) -> Kept:
    """Return a best value as one of a bag."""
    order: Literal["up", "down"] = "down" if best.is_greatest else "up"
    return Kept(best.slot, best.type, is_one_zero=True, order=order, skips_null=True)


def text_order(column: Kept) -> int:
    """Return how the words of a value compare."""
    if column.order == "none" or not is_text(column.type):
        return NUMBER
    return TEXT | (column.order == "down") * DOWN | column.nulls_first * NULLS_FIRST


def in_order(column: Kept, words: Sequence[Any]) -> list[Any]:
    """Put the words of a value in the order in which they decide, or back again."""
    return [*words] if column.order == "none" else [*reversed(words)]


def words_back(
    column: Kept, known: Sequence[Change], words: Sequence[Words], *, nullable: bool
) -> list[Words]:
    """Return the words of a value as columns have them, from those in bags."""
    found = [change.undone(word) for word, change in zip(words, known, strict=True)]
    if not column.skips_null and nullable:
        leading = -1 if column.order == "none" else 0
        is_null = words[leading] == known[leading].null
        found = [np.where(is_null, f.NULL_WORD, each) for each in found]
    return in_order(column, found)


@dataclass(frozen=True)
class BagLayout:
    """The layout of a bag's rows, by where a path has the words of a slot."""

    bag: Bag
    number: int  # of the view's bags
    places: Places
    is_nullable: Callable[[Slot], bool]

    @cached_property
    def parts(self) -> list[list[int]]:
        """The words of a row, each described by its fields."""
        return [part for column in self.bag.columns for part in self.parts_of(column)]

    def parts_of(self, column: Kept) -> Iterator[list[int]]:
        """Describe the words of a value; the high one of two decides first."""
        places = self.places(column.slot)
        _, last = places[-1]
        test = last if self.is_nullable(column.slot) else -1
        zero = ZEROS.get(column.type, 0) if column.is_one_zero else 0
        for (source, word), change in zip(in_order(column, places), changes(column), strict=True):
            row = [source, word, test, int(column.skips_null)]
            yield [*row, change.null, zero, change.mask, change.xor, change.hole, change.is_up]

    @property
    def condition(self) -> tuple[int, int]:
        """Where the word lies that must be TRUE."""
        return (-1, 0) if self.bag.condition is None else self.places(self.bag.condition)[0]

    @property
    def orders(self) -> list[int]:
        """How each word of a row compares."""
        kinds = [(column, text_order(column)) for column in self.bag.columns]
        return [kind for column, kind in kinds for _ in range(words_of(column.type))]

    @cached_property
    def changes(self) -> list[list[Change]]:
        """What changes each word of each column."""
        return [changes(each) for each in self.bag.columns]

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
            is_wide, nullable = words_of(column.type) > 1, int(self.is_nullable(column.slot))
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
        if self.bag.kind == "set":
            return sum(self.sizes)
        return 1 + self.rows_told * len(self.parts)  # of a list: the number of its group

    @property
    def rows_told(self) -> int:
        """How many of its rows a group's state has."""
        if self.bag.places is not None:
            return self.bag.places.values
        return int(self.bag.kind == "best")

    @property
    def is_weighed(self) -> bool:
        """True if rows are found by their places."""
        return self.bag.kind == "places"


def is_value(kind: str) -> bool:
    """True if a sum of such factors takes two words."""
    return kind in ("value", "square")


def parts_of(bag: Bag) -> Iterator[Part]:
    """Yield what is added over the different rows of a set, as products of kept values."""
    for monomial in bag.monomials:
        kept = [bag.columns[each.argument] for each in monomial]
        pairs = zip(kept, monomial, strict=True)
        yield product((column.slot, each.kind, column.type) for column, each in pairs)
