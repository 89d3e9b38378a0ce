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
from joingraph.generators.compiled.groups.group_table import GroupTable, Marks, Some
from joingraph.graph.compiled.fields import LOW
from joingraph.graph.compiled.machine.kernel import kernel, ld, sto
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.graph.compiled.memory.path_blocks import joined as put_together
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent
from joingraph.view_diffs.view_diff import CODES, DiffRows, beside, consolidated

Codes = npt.NDArray[np.int8]


class Images(NamedTuple):
    """Rows that groups showed and show: where before and after each note, -1 where none."""

    rows: pa.Table
    before: Numbers
    after: Numbers


class ByGroup(NamedTuple):
    """The first and the last note of each group, and which of these groups each note is of."""

    firsts: Numbers
    lasts: Numbers
    places: Numbers


class Notes(NamedTuple):
    """Notes of base diffs that have changed a sum, by column; sums have a row a note."""

    heads: Words  # base diff and number of the group
    keys: list[Words]
    old: Words
    new: Words

    @property
    def diffs(self) -> Words:
        """The base diffs."""
        return self.heads >> 32


class GroupDiffs:
    """What the notes of one batch say, which come in blocks that no base diff is cut by."""

    def __init__(self, table: GroupTable, parts: Sequence[Paths]) -> None:
        self.table, self.parts = table, parts
        if table.has_texts:  # which may be gone later
            assert self.keys, "they are read now"

    @cached_property
    def notes(self) -> Notes:
        """All notes."""
        columns = self.table.memory.at.note_columns
        return read_notes(self.table, put_together(self.parts, columns).words)

    @cached_property
    def groups(self) -> ByGroup:
        """Which group each note is of, in the order of their first ones."""
        return by_group(self.notes.heads & LOW)

    @cached_property
    def keys(self) -> list[pa.Array]:
        """The keys of the groups, by column."""
        return self.table.key_columns([each[self.groups.firsts] for each in self.notes.keys])

    def keys_at(self, notes: Numbers) -> list[pa.Array]:
        """Return the keys of the groups of notes, by column."""
        return [each.take(pa.array(self.groups.places[notes])) for each in self.keys]

    @property
    def always_answer(self) -> bool:
        """True if no result can fail: all sums fit words, and nothing is computed of results."""
        if not self.table.always_answers:
            return False
        if all(size == 1 for size in self.table.memory.at.sizes):
            return True
        return self.table.fit(self.notes.old) and self.table.fit(self.notes.new)

    @cached_property
    def each(self) -> Images:
        """The rows before and after each note."""
        every = np.arange(len(self.notes.heads))
        return self.images(every, every)

    def changes(self) -> DiffRows:
        """Return the rows by base diff."""
        return DiffRows(self.told, self.told_diffs)

    def net(self, changes: DiffRows) -> pa.Table:
        """Fold the batch: groups that no longer show a row, and those that do."""
        if not self.table.is_keyed:
            return consolidated(changes.rows, len(self.table.definition.schema))
        firsts, lasts, _ = self.groups
        images = self.images(firsts, lasts)
        places = np.concatenate([images.before, images.after])
        order = np.argsort(np.concatenate([firsts, lasts]), kind="stable")
        some = order[places[order] >= 0]
        codes = np.where(some < len(firsts), CODES["delete"], CODES["insert"]).astype(np.int8)
        return told_once(images.rows, places[some], codes)

    def images(self, before: Numbers, after: Numbers) -> Images:
        """Make the rows that groups showed before some notes, and show after others."""
        old, new = self.notes.old[before], self.notes.new[after]
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
        return told_once(self.each.rows, places[marks], codes[marks])

    def told_diffs(self) -> pa.Array:
        """Return the base diff of each row that is told."""
        marks = np.stack([self.each.before, self.each.after], axis=1) >= 0
        return pa.array(np.repeat(self.notes.diffs, 2).reshape(-1, 2)[marks])


def read_notes(table: GroupTable, columns: Sequence[Words]) -> Notes:
    """Return what columns of notes say, but those of groups that are as they were."""
    start, words = 1 + len(table.memory.at.keys), table.memory.at.words
    old, new = columns[start : start + words], columns[start + words :]
    differ = np.logical_or.reduce([one != other for one, other in zip(old, new, strict=True)])
    if not differ.all():
        columns = [each[differ] for each in columns]
    sums = (by_row(columns[at : at + words]) for at in (start, start + words))
    return Notes(columns[0], [*columns[1:start]], *sums)


def by_row(columns: Sequence[Words]) -> Words:
    """Return columns as one array, a row each; one column stays where it is."""
    return columns[0].reshape(-1, 1) if len(columns) == 1 else np.stack(columns, axis=1)


def by_group(numbers: Words) -> ByGroup:
    """Group notes, of which the numbers of their groups are given."""
    firsts, lasts, places = (np.empty(len(numbers), np.int64) for _ in range(3))
    place_of = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
    arrays = [numbers, place_of, firsts, lasts, places]
    with lent(*arrays):
        found = list_groups(np.array([*map(address_of, arrays), len(numbers)]))
    return ByGroup(firsts[:found], lasts[:found], places)


@kernel
def list_groups(given: Words) -> int:
    """List each group at its first note; gives how many there are."""
    numbers, place_of, firsts, lasts, places = given[0], given[1], given[2], given[3], given[4]
    found = 0
    for at in range(given[5]):
        number = ld(numbers, at)
        place = ld(place_of, number) - 1
        if place < 0:
            place = found
            sto(place_of, number, place + 1)
            sto(firsts, place, at)
            found += 1
        sto(lasts, place, at)
        sto(places, at, place)
    return found


def told_once(rows: pa.Table, places: Numbers, codes: Codes) -> pa.Table:
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
