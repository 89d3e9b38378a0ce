"""Where groups and messages lie, counted in words; it follows from a layout and who tells whom.

parts    ()   n   [n is not NULL]        a sum of paths takes a word, one of values two, one of
                                         floats what their windows say
sizes    1    2   1
record   | key words | sums | serial number of its note | rows that have its number |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_layout import BagLayout, kept_of
from joingraph.graph.compiled.groups.bag_nodes import NUMBER, entry_words
from joingraph.graph.compiled.groups.windows import Windows
from joingraph.graph.compiled.layout import Layout, slot_words
from joingraph.graph.compiled.values.words import numbers
from joingraph.plan.groups.bags import Bag
from joingraph.plan.groups.messages import Best, Messages
from joingraph.plan.groups.rooted import PATHS, Part, Term
from joingraph.plan.model import Plan, Slot

MOST_CLIMBED = 12  # aliases; CPython takes 20 nested blocks
BEST_WORDS = 2  # of a best value: whether there is one, and its word
# The words that are a term's 1, of a word that stands for TRUE, or of a float.
EQUALS = {"true": 1.0, "nan": math.nan, "inf": math.inf, "-inf": -math.inf}
FLOATS = {pa.float32().id: f.FLOAT_32, pa.float64().id: f.FLOAT_64}


@dataclass(frozen=True)
class GroupLayout:
    """The layout of one view's groups; `wide`: each sum takes two words at least."""

    plan: Plan
    layout: Layout
    messages: Messages
    wide: bool = False
    windows: Windows = field(default_factory=Windows)

    def sizes_of(self, parts: Sequence[Part]) -> list[int]:
        """Return the words of the sum of each part."""
        return list(map(self.size_of, parts))

    def size_of(self, part: Part) -> int:
        """Return the words of a part's sum."""
        if any(term.is_float for term in part):
            return self.windows.words(part)
        return 2 if self.wide or any(term.kind == "value" for term in part) else 1

    @cached_property
    def sizes(self) -> list[int]:
        """The words of each sum of a group."""
        return self.sizes_of(self.messages.sums)

    @cached_property
    def words(self) -> int:
        """The words of what a group's state is: its sums, its best values, then what bags tell."""
        return self.bags_at + sum(bag.state_words for bag in self.bags)

    @property
    def bags_at(self) -> int:
        """Where the words lie that bags tell."""
        return sum(self.sizes) + BEST_WORDS * len(self.messages.bests)

    @cached_property
    def bags(self) -> list[BagLayout]:
        """The layouts of the bags."""
        return [self.bag(bag, at) for at, bag in enumerate(self.messages.bags)]

    def bag(self, bag: Bag, number: int) -> BagLayout:
        """Return the layout of a bag."""
        return BagLayout(bag, number, self.places, self.plan.is_nullable)

    def told_words(self, alias: int) -> int:
        """Return the words of what an alias tells: its sums, then the best values beyond it."""
        sizes = self.sizes_of(self.messages.tells[alias].parts)
        return sum(sizes) + BEST_WORDS * len(self.messages.carried[alias])

    @cached_property
    def trees(self) -> list[tuple[int, int]]:
        """The bags: by alias, and which of the best values it tells."""
        return [(alias, best) for alias, of in enumerate(self.messages.carried) for best in of]

    def best_row(self, best: Best) -> BagLayout:
        """Return the layout of the bags of a best value: the least of their words is the best."""
        return self.bag(Bag("best", (kept_of(best),), best.condition), 0)

    @cached_property
    def orders_texts(self) -> bool:
        """True if notes and the nodes of bags may name texts that no row has any more."""
        rows = [*map(self.best_row, self.messages.bests), *self.bags]
        return any(order != NUMBER for row in rows for order in row.orders)

    @property
    def bag_entries(self) -> list[int]:
        """The words of an entry in the tree of each bag, then in the logs of lists."""
        every = [*self.bags, *self.lists]
        return [entry_words(len(bag.parts), weighed=bag.is_weighed) for bag in every]

    @cached_property
    def lists(self) -> list[BagLayout]:
        """The bags that are listed: a log has what a base diff has changed in each."""
        return [bag for bag in self.bags if bag.bag.kind == "list"]

    @cached_property
    def logs(self) -> dict[int, int]:
        """The place of each list's log among the trees, by the number of its bag."""
        first = len(self.trees) + len(self.bags)
        return {bag.number: first + at for at, bag in enumerate(self.lists)}

    def tree_of(self, bag: BagLayout) -> int:
        """Return the place of a bag among the trees."""
        return len(self.trees) + bag.number

    def word_of(self, bag: BagLayout) -> int:
        """Return where the words lie that a group's state has of a bag."""
        return self.bags_at + sum(each.state_words for each in self.bags[: bag.number])

    @property
    def holders(self) -> list[tuple[int, int]]:
        """The alias whose rows each tree holds, and the words of an entry."""
        bests = [(alias, entry_words(1, weighed=False)) for alias, _ in self.trees]
        root = self.messages.root
        return bests + [(root, entry) for entry in self.bag_entries if root is not None]

    @property
    def tree_count(self) -> int:
        """How many trees there are: of best values, then of bags."""
        return len(self.trees) + len(self.bag_entries)

    @cached_property
    def first_tree(self) -> int:
        """Where the first bag is described: behind the groups, the aliases and the vertices."""
        tells, meets = len(self.messages.tells), len(self.messages.meets)
        return f.GROUPS_WORDS + tells * f.TELL_WORDS + meets * f.MEET_WORDS

    @property
    def is_linear(self) -> bool:
        """True if changes of sums alone travel."""
        return not self.messages.bests and not self.messages.is_set

    @property
    def is_long(self) -> bool:
        """True if a sum takes more than two words, which a view's own kernels have for it."""
        return max(self.sizes) > 2

    @property
    def is_written(self) -> bool:
        """True if the view has kernels of its own: changes of sums alone travel and are kept.

        They have a loop for each alias on the way to the groups; among modes, for any number.
        """
        is_short = self.plan.is_inner or self.messages.highest <= MOST_CLIMBED
        is_short &= self.messages.missing is None
        return self.is_linear and not self.messages.bags and is_short

    @cached_property
    def keys(self) -> list[tuple[int, int, int]]:
        """Where a path has the words of the key: source, word, and of which float it is."""
        of_slots = ((slot, FLOATS.get(slot.stored.id, 0)) for slot in self.messages.keys)
        return [(*each, kind) for slot, kind in of_slots for each in self.places(slot)]

    @cached_property
    def rows_word(self) -> int:
        """Where a record counts the rows that have its number."""
        return len(self.keys) + self.words + 1

    @cached_property
    def stride(self) -> int:
        """The words of a record."""
        place = self.rows_word + 1
        return 4 if place <= 4 else -(-place // 8) * 8

    @cached_property
    def note_columns(self) -> int:
        """The columns of notes."""
        return 1 + len(self.keys) + 2 * self.words

    @cached_property
    def kept(self) -> list[int]:
        """The aliases of which is kept what they tell; of others it is their lists' lengths."""
        return [
            number
            for number, told in enumerate(self.messages.tells)
            if told.up is not None and not self.is_length(number)
        ]

    def is_length(self, alias: int) -> bool:
        """True if what an alias tells is the length of its list."""
        parts, links = self.messages.tells[alias].parts, self.layout.aliases[alias].links
        return self.is_linear and len(links) == 1 and parts == (PATHS,)

    def places(self, slot: Slot) -> list[tuple[int, int]]:
        """Say where a path has the words of a slot: source and word."""
        return slot_words(self.plan, len(self.layout.vertices), self.layout.aliases, slot)


def equal_word(term: Term) -> int:
    """Return the word of the one value of which a term is 1."""
    (word,) = numbers(pa.array([EQUALS[term.kind]]).cast(term.type))[0].tolist()
    return int(word)


def tell_word(alias: int, word: int) -> int:
    """Return where a word of an alias' description lies."""
    return f.GROUPS_WORDS + alias * f.TELL_WORDS + word
