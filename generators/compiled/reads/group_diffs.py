"""What a batch did to groups: notes -> rows of the view diff, by base diff or folded.

    notes   [diff, number] [key words] [sums before] [sums now]      in the order of base diffs
    rows    what each base diff did to a group: an update, a birth, a death, or nothing
    net     its first sums before and its last ones: what the batch did to it

Keys are read at once, as a group may be gone later; rows are made when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.expressions.consolidation import comparable
from joingraph.expressions.texts import Numbers, take_rows
from joingraph.expressions.words import Word
from joingraph.generators.compiled.reads.group_table import GroupTable, Marks, Some
from joingraph.generators.groups import Group
from joingraph.graph.compiled.fields import LOW
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.plan.bags import Bag
from joingraph.view_diffs.view_diff import CODES, DiffRows, beside, consolidated

Codes = npt.NDArray[np.int8]


class Images(NamedTuple):
    """Rows that groups showed and show: where before and after each note, -1 where none."""

    rows: pa.Table
    before: Numbers
    after: Numbers


class GroupDiffs:
    """What the notes of one batch say."""

    def __init__(self, table: GroupTable, notes: Sequence[Words]) -> None:
        self.table = table
        start, words = 1 + len(table.memory.at.keys), table.memory.at.words
        old, new = notes[start : start + words], notes[start + words :]
        differ = np.any([one != other for one, other in zip(old, new, strict=True)], axis=0)
        if not differ.all():
            notes = [each[differ] for each in notes]
            old, new = notes[start : start + words], notes[start + words :]
        self.diffs, numbers = notes[0] >> 32, notes[0] & LOW
        self.old, self.new = np.stack(old, axis=1), np.stack(new, axis=1)
        order, count = np.arange(len(numbers)), len(table.records)
        first, self.last = np.empty(count, np.int64), np.empty(count, np.int64)
        first[numbers[::-1]] = order[::-1]
        self.last[numbers] = order
        self.firsts = np.flatnonzero(first[numbers] == order)  # notes that are a group's first
        distinct = numbers[self.firsts]
        self.last = self.last[distinct]
        place = first  # of a group among those that were touched
        place[distinct] = np.arange(len(distinct))
        self.places = place[numbers]
        self.keys = table.keys(distinct)

    def keys_at(self, notes: Numbers) -> list[pa.Array]:
        """Return the keys of the groups of notes, by column."""
        return [each.take(pa.array(self.places[notes])) for each in self.keys]

    def changed_groups(self) -> dict[tuple[int, tuple[Word, ...]], Group]:
        """Return what base diffs add to groups, as groups of their own."""
        some = Some(self.keys_at(np.arange(len(self.diffs))), self.old)
        pairs = zip(self.table.numbers(self.old), self.table.numbers(self.new), strict=True)
        sums = [(new.astype(object) - old.astype(object)).tolist() for old, new in pairs]
        found = dict[tuple[int, tuple[Word, ...]], Group]()
        for row, key in enumerate(self.table.key_words(some)):
            of = [
                tuple(read.times * sums[read.sum][row] for read in reads)
                for reads in self.table.reads
                if not isinstance(reads, int | Bag)
            ]
            group = found[int(self.diffs[row]), key] = Group(of)
            group.paths = sums[0][row]
        return found

    @property
    def always_answer(self) -> bool:
        """True if no result can fail: all sums fit words, and nothing is computed of results."""
        if not self.table.always_answers:
            return False
        numbers = [*self.table.numbers(self.old), *self.table.numbers(self.new)]
        return all(each.dtype == np.int64 for each in numbers)

    @cached_property
    def each(self) -> Images:
        """The rows before and after each note."""
        every = np.arange(len(self.diffs))
        return self.images(every, every)

    def changes(self) -> DiffRows:
        """Return the rows by base diff."""
        return DiffRows(self.told, self.told_diffs)

    def net(self, changes: DiffRows) -> pa.Table:
        """Fold the batch: groups that no longer show a row, and those that do."""
        if not self.table.is_keyed:
            return consolidated(changes.rows, len(self.table.definition.schema))
        images = self.images(self.firsts, self.last)
        places = np.concatenate([images.before, images.after])
        order = np.argsort(np.concatenate([self.firsts, self.last]), kind="stable")
        some = order[places[order] >= 0]
        codes = np.where(some < len(self.firsts), CODES["delete"], CODES["insert"]).astype(np.int8)
        return put_together(images.rows, places[some], codes)

    def images(self, before: Numbers, after: Numbers) -> Images:
        """Make the rows that groups showed before some notes, and show after others."""
        old, new = self.old[before], self.new[after]
        went = np.flatnonzero(self.table.is_there(old))
        came = np.flatnonzero(self.table.is_there(new))
        keys = self.keys_at(np.concatenate([before[went], after[came]]))
        some = Some(keys, np.concatenate([old[went], new[came]]))
        passing, _, rows = self.table.shown_some(some)
        is_old = passing < len(went)
        first, last = np.full(len(before), -1), np.full(len(after), -1)
        first[went[passing[is_old]]] = np.flatnonzero(is_old)
        last[came[passing[~is_old] - len(went)]] = np.flatnonzero(~is_old)
        pairs = np.flatnonzero((first >= 0) & (last >= 0))
        same = pairs[are_alike(rows, first[pairs], last[pairs])]
        first[same] = last[same] = -1
        return Images(rows, first, last)

    def told(self) -> pa.Table:
        """Return pre- and post-images one after the other."""
        before, after = self.each.before, self.each.after
        is_pair = (before >= 0) & (after >= 0)
        places = np.stack([before, after], axis=1)
        codes = np.empty(places.shape, np.int8)
        codes[:, 0] = np.where(is_pair, CODES["update_preimage"], CODES["delete"])
        codes[:, 1] = np.where(is_pair, CODES["update_postimage"], CODES["insert"])
        marks = places >= 0
        return put_together(self.each.rows, places[marks], codes[marks])

    def told_diffs(self) -> pa.Array:
        """Return the base diff of each row that is told."""
        marks = np.stack([self.each.before, self.each.after], axis=1) >= 0
        return pa.array(np.repeat(self.diffs, 2).reshape(-1, 2)[marks])


def put_together(rows: pa.Table, places: Numbers, codes: Codes) -> pa.Table:
    """Return rows with what happened to each, once."""
    counts = pa.array(np.ones(len(places), np.int64))
    return beside(take_rows(rows, places), pa.array(codes), counts)


def are_alike(rows: pa.Table, one: Numbers | slice, other: Numbers | slice) -> Marks:
    """Mark the pairs of rows that are equal, word by word; those of the last columns seldom are."""
    found: Marks = np.ones(1, bool)
    for column in reversed(rows.columns):
        words = comparable(column)
        if pa.types.is_integer(words.type) and not words.null_count:
            numbers = words.to_numpy()
            found = found & (numbers[one] == numbers[other])
        else:
            places = np.arange(len(rows))
            pair = words.take(pa.array(places[one])), words.take(pa.array(places[other]))
            alike = pc.fill_null(pc.equal(*pair), False)
            both = pc.and_(*(each.is_null() for each in pair))
            found = found & np.asarray(pc.or_(alike, both), bool)
        if not found.any():
            break
    return found
