"""What groups show: sums -> aggregates -> columns of the view, many groups at once.

notes     | diff | group | sums before | sums now |          of base diffs, block by block
sums      3, 12, 3     ->     COUNT(*) 3, SUM(n) 12          NULL where no value was known
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.aggregates.bag import Counted, Ordered
from joingraph.aggregates.contract import Aggregate
from joingraph.aggregates.distinct import Distinct
from joingraph.aggregates.sums import Linear
from joingraph.expressions.texts import Numbers, is_text
from joingraph.expressions.tree import Column, Expression
from joingraph.expressions.types import words_of
from joingraph.expressions.words import Word, normal, to_words
from joingraph.expressions.words import from_words as words_to_arrow
from joingraph.generators.compiled.groups.bag_lists import BagLists
from joingraph.generators.compiled.groups.bag_results import BagRows
from joingraph.generators.compiled.groups.group_sums import GroupSums, number
from joingraph.generators.compiled.reads.find_values import find_in
from joingraph.generators.groups import At, Groups, Shown, Values, one_array, surviving
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_layout import BagLayout, changes, kept_of, words_back
from joingraph.graph.compiled.groups.group_layout import BEST_WORDS
from joingraph.graph.compiled.groups.group_memory import GroupMemory
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.graph.compiled.values.words import from_words
from joingraph.graph.compiled.values.words import to_words as to_graph_words
from joingraph.plan.groups.bags import Bag
from joingraph.plan.groups.messages import Read
from joingraph.reads.access_paths import AllGroups
from joingraph.reads.group_keys import GroupsByKey, GroupsWay
from joingraph.sql.definition import Definition

Marks = npt.NDArray[np.bool_]


class Some(NamedTuple):
    """Some groups: their keys by column, and the words of their sums."""

    keys: list[pa.Array]
    sums: Words


def only(some: Some, rows: Numbers) -> Some:
    """Return some of these groups."""
    return Some([each.take(pa.array(rows)) for each in some.keys], some.sums[rows])


class GroupTable:
    """Reads what the groups in a memory show."""

    def __init__(
        self,
        definition: Definition,
        memory: GroupMemory,
        interner: Interner,
        lists: BagLists | None = None,  # that the notes of a batch name
    ) -> None:
        assert definition.grouping is not None, "a view without groups has no table of them"
        self.plain = Groups(definition)  # which knows what aggregates make of sums
        self.definition, self.grouping = definition, definition.grouping
        self.memory, self.interner = memory, interner
        self.lists = lists or BagLists(memory, interner)

    @cached_property
    def is_keyed(self) -> bool:
        """True if the view shows all that it groups by, so that groups have different rows."""
        shown = {each.value for each in self.definition.output}
        return all(each in shown for each in self.grouping.values[: self.grouping.keys])

    @property
    def has_texts(self) -> bool:
        """True if a key has words that name texts, which are kept as long as a row has them."""
        return any(is_text(slot.stored) for slot in self.memory.messages.keys)

    @cached_property
    def always_answers(self) -> bool:
        """True if no result can fail, whatever the sums are, as long as they fit words."""
        is_plain = all(isinstance(each.value, Column) for each in self.definition.output)
        known = [each for each in self.plain.aggregates if isinstance(each, Linear)]
        fits = all(each.by_column is not None or each.never_fails for each in known)
        return is_plain and fits and self.grouping.having is None and not self.memory.messages.bags

    @property
    def reads(self) -> tuple[tuple[Read, ...] | int | Bag, ...]:
        """The sums that each aggregate reads, which best value it is, or which bag it needs."""
        return self.memory.messages.reads

    @property
    def records(self) -> Words:
        """All records of the table, one a row."""
        vd = self.memory.state
        stride, count = int(vd[f.V_STRIDE]), int(vd[f.V_NEXT])
        return self.memory.area.regions[0].words[: stride * count].reshape(count, stride)

    def everyone(self) -> Some:
        """Return all groups that have a path; a whole view's one in any case."""
        return self.some_by(AllGroups())

    def some_by(self, way: GroupsWay) -> Some:
        """Return the groups at which a read looks."""
        sums = self.sums
        if isinstance(way, GroupsByKey):
            numbers = self.numbers_of(way.keys)
            numbers = numbers[self.is_there(sums[numbers])]
            return Some(self.keys(numbers), sums[numbers])
        numbers = np.flatnonzero(self.is_there(sums))
        keys = self.keys(numbers)
        if way.tests:
            columns = dict[Expression, pa.Array](zip(self.grouping.values, keys, strict=False))
            left = surviving(way.tests, columns, len(numbers))
            keys, numbers = [each.take(pa.array(left)) for each in keys], numbers[left]
        return Some(keys, sums[numbers])

    def numbers_of(self, keys: Sequence[tuple[Word, ...]]) -> Words:
        """Find groups by their keys; those that are not there are left out."""
        found = list[Words]()
        for place, slot in enumerate(self.memory.messages.keys):
            column = words_to_arrow([key[place] for key in keys], slot.stored)
            words = to_graph_words(column, self.interner, key=True)
            if self.memory.at.plan.is_nullable(slot) and column.null_count:
                valid = np.asarray(column.is_valid())
                words = [np.where(valid, each, f.NULL_WORD) for each in words]
            found += words
        rows = np.stack(found, axis=1) if found else np.zeros((len(keys), 1), np.int64)
        numbers = find_in(self.memory.state, np.ascontiguousarray(rows))
        there = np.flatnonzero(numbers >= 0)
        # A NULL, and the value that stands for it, have the same word.
        kept = self.key_words(Some(self.keys(numbers[there]), self.sums[numbers[there]]))
        is_it = [keys[at] == key for at, key in zip(there.tolist(), kept, strict=True)]
        same: Words = numbers[there[np.array(is_it, bool)]]
        return same

    def __len__(self) -> int:
        return int(np.count_nonzero(self.is_there(self.sums)))

    @property
    def sums(self) -> Words:
        """The sums of all records."""
        keys = len(self.memory.at.keys)
        return self.records[:, keys : keys + self.memory.at.words]

    def is_there(self, sums: Words) -> Marks:
        """Mark the sums of groups that have a path."""
        if self.grouping.is_whole:
            return np.ones(len(sums), bool)
        words = (sums[:, word] != 0 for word in range(self.memory.at.sizes[0]))
        found: Marks = np.logical_or.reduce([*words])
        return found

    def all_shown(self) -> Shown:
        """Return what all groups show."""
        return self.shown_by(AllGroups())

    def shown_by(self, way: GroupsWay) -> Shown:
        """Return what the groups show at which a read looks."""
        return self.shown_some(self.some_by(way))

    def shown(self, keys: Sequence[tuple[Word, ...]], values: Sequence[Values]) -> Shown:
        """Return what groups of such keys and aggregates show."""
        return self.plain.shown(keys, values)

    def shown_some(self, some: Some) -> Shown:
        """Return which of some groups pass HAVING, their values, and the view's rows of these."""
        columns: dict[Expression, pa.Array] = dict(
            zip(self.grouping.values, [*some.keys, *self.results(some)], strict=True)
        )
        at = At(len(some.sums), lambda row: self.key_words(only(some, np.array([row])))[0])
        return self.plain.shown_of(columns, at)

    def keys(self, numbers: Words) -> list[pa.Array]:
        """Return the keys of groups, by column."""
        records = self.records
        return self.key_columns([records[numbers, at] for at in range(len(self.memory.at.keys))])

    def key_columns(self, words: Sequence[Words]) -> list[pa.Array]:
        """Turn the words of keys into columns."""
        found, first = list[pa.Array](), 0
        for slot in self.memory.messages.keys:
            end = first + words_of(slot.stored)
            of = [*map(np.ascontiguousarray, words[first:end])]
            nulls = self.memory.at.plan.is_nullable(slot)
            found.append(from_words(of, slot.stored, self.interner, nulls=nulls))
            first = end
        return found

    def results(self, some: Some) -> list[pa.Array]:
        """Return the aggregates of groups, by column."""
        of_sums, found = GroupSums(self.memory.at, some.sums), []
        for at, reads in enumerate(self.reads):
            if isinstance(reads, int):
                found.append(self.best(reads, some.sums))
                continue
            if isinstance(reads, Bag):
                found.append(self.of_bag(at, some))
                continue
            quotients = self.ratio(at, some, of_sums)
            if quotients is None:
                quotients = self.result(at, some, given(reads, of_sums))
            found.append(quotients)
        return found

    def best(self, number: int, states: Words) -> pa.Array:
        """Return a best value of groups; a group without any has NULL."""
        best = self.memory.messages.bests[number]
        place = sum(self.memory.at.sizes) + BEST_WORDS * number
        kept, of = kept_of(best), [states[:, place + 1]]
        (words,) = words_back(kept, changes(kept), of, nullable=False)  # NULLs are left out
        words = np.where(states[:, place] != 0, words, f.NULL_WORD)
        return from_words([words], best.type, self.interner)

    def of_bag(self, at: int, some: Some) -> pa.Array:
        """Return an aggregate of groups that bags decide."""
        layout = self.memory.at
        place = layout.messages.bags.index(self.reads[at])
        first = layout.bags_at + sum(each.state_words for each in layout.bags[:place])
        bag = layout.bags[place]
        states = some.sums[:, first : first + bag.state_words]
        rows = BagRows(bag, self.interner)
        if bag.bag.kind == "best":
            return rows.best(states)
        if bag.bag.kind == "places":
            return self.each_result(at, some, rows.places(states))
        if bag.bag.kind == "list":
            words = states[:, 0].tolist()
            return self.each_result(at, some, (self.listed(at, bag, word) for word in words))
        ends = np.cumsum([0, *bag.sizes])
        return self.result(at, some, [number(states[:, a:b]) for a, b in pairwise(ends)])

    def listed(self, at: int, bag: BagLayout, word: int) -> Counted:
        """Return the rows of a group's list; in a set each is there once."""
        rows = self.lists.of(bag, word)
        if isinstance(self.plain.aggregates[at], Distinct):
            return [(row, 1) for row, _ in rows]
        return rows

    def numbers(self, sums: Words) -> list[Words]:
        """Return each sum of groups: as words if all of them fit, else as objects."""
        of_sums = GroupSums(self.memory.at, sums)
        return list(map(of_sums.number, range(len(self.memory.at.sizes))))

    def fit(self, sums: Words) -> bool:
        """True if the sums of which results are made by column fit a word each."""
        of_sums = GroupSums(self.memory.at, sums)
        pairs = zip(self.plain.aggregates, self.reads, strict=True)
        return all(
            of_sums.number(read.sum).dtype == np.int64
            for aggregate, reads in pairs
            if isinstance(aggregate, Linear) and not isinstance(reads, int | Bag)
            if aggregate.by_column is not None
            for read in reads
        )

    def ratio(self, at: int, some: Some, of_sums: GroupSums) -> pa.Array | None:
        """Return an aggregate that is a quotient of sums, of each group; None: it is none."""
        aggregate, reads = self.plain.aggregates[at], self.reads[at]
        assert isinstance(aggregate, Linear) and not isinstance(reads, int | Bag), "it is of sums"
        if aggregate.ratio is None or any(read.times != 1 for read in reads):
            return None
        found, are_right = of_sums.ratios(aggregate.ratio, [read.sum for read in reads])
        others = np.flatnonzero(~are_right)
        if len(others):
            rest = only(some, others)
            of_rest = GroupSums(self.memory.at, rest.sums)
            computed = self.result(at, rest, given(reads, of_rest))
            found = pc.replace_with_mask(found, pa.array(~are_right), computed)
        return found

    def result(self, at: int, some: Some, sums: Sequence[Words]) -> pa.Array:
        """Return an aggregate of groups; name one whose value its type does not hold."""
        aggregate = self.aggregate(at)
        assert isinstance(aggregate, Linear), "only these are sums"
        if aggregate.by_column is not None and all(each.dtype == np.int64 for each in sums):
            return aggregate.by_column(sums)
        return self.each_result(at, some, zip(*(each.tolist() for each in sums), strict=True))

    def aggregate(self, at: int) -> Aggregate:
        """Return an aggregate; one over a set is given what is in the set."""
        found = self.plain.aggregates[at]
        return found.of_set if isinstance(found, Distinct) else found

    def each_result(self, at: int, some: Some, states: Iterable[Any]) -> pa.Array:
        """Return an aggregate of each group, by its state."""
        use, aggregate, found = self.grouping.uses[at], self.aggregate(at), list[object]()
        in_order = aggregate.finish if isinstance(aggregate, Ordered) else None
        for row, state in enumerate(states):
            try:
                found.append(aggregate.result(state) if in_order is None else in_order(state))
            except (OverflowError, ZeroDivisionError):
                if in_order is not None:
                    state = dict(enumerate(state))
                (key,) = self.key_words(only(some, np.array([row])))
                self.plain.result(key, use, aggregate, state)  # raises, with the group's name
        return one_array(found, use.value)

    def key_words(self, some: Some) -> list[tuple[Word, ...]]:
        """Return the keys of groups, by which the plain form knows them."""
        columns = [to_words(normal(each)) for each in some.keys]
        return list(zip(*columns, strict=True)) if columns else [()] * len(some.sums)

    def keys_of(self, words: tuple[Word, ...], way: GroupsWay) -> list[tuple[Word, ...]]:
        """Return the keys of the groups that show a row, of those at which a read looks."""
        some = self.some_by(way)
        found = self.shown_some(some)
        marks = np.ones(found.rows.num_rows, bool)
        for column, word in zip(found.rows.columns, words, strict=True):
            known = [each for chunk in column.chunks for each in to_words(chunk)]
            marks &= np.array([each == word for each in known], bool)
        return self.key_words(only(some, found.passing[marks]))

    def values_of(self, key: tuple[Word, ...]) -> Values | None:
        """Compute a group's aggregates; None if it is not there."""
        some = self.some_by(GroupsByKey((key,)))
        if not len(some.sums):
            return None
        return tuple(each[0].as_py() for each in self.results(some))

    def states(self) -> dict[tuple[Word, ...], str]:
        """Return what each group shows and is, to compare it."""
        some = self.everyone()
        numbers = [each.tolist() for each in self.numbers(some.sums)]
        results = [each.to_pylist() for each in self.results(some)]
        rows = zip(*numbers, *results, strict=True)
        return dict(zip(self.key_words(some), map(repr, rows), strict=True))


def given(reads: Sequence[Read], of_sums: GroupSums) -> list[Words]:
    """Return the sums that an aggregate reads."""
    return [of_sums.number(read.sum) * read.times for read in reads]
