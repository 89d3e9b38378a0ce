"""Bags that are listed, before and after each base diff: as they lie, less what it has changed.

    bag     5: 2, 7: 1       log of the base diff   + 7, - 9       before   5: 2, 9: 1

A note has the number of its group where its list should be; `take` puts one below zero there, by
which the list is known while the batch is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.aggregates.bag import Counted
from joingraph.generators.compiled.groups.bag_results import BagRows, rows_of
from joingraph.graph.compiled.fields import LOW
from joingraph.graph.compiled.groups.bag_layout import BagLayout
from joingraph.graph.compiled.groups.bag_nodes import B_ENTRIES
from joingraph.graph.compiled.groups.group_memory import GroupMemory
from joingraph.graph.compiled.groups.merged_entries import merge_entries
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent
from joingraph.graph.compiled.values.string_pool import Interner


class Listed(NamedTuple):
    """Rows in order, and how often each is in a list."""

    columns: list[pa.Array]
    counts: Words


class BagLists:
    """The lists of one batch."""

    def __init__(self, memory: GroupMemory, interner: Interner) -> None:
        self.memory, at = memory, memory.at
        self.rows = {at.tree_of(bag): BagRows(bag, interner) for bag in at.lists}
        notes = 1 + len(at.keys)
        self.places = [
            (at.tree_of(bag), at.logs[bag.number], notes + at.word_of(bag)) for bag in at.lists
        ]
        self.made = list[Listed]()
        self.last = dict[tuple[int, int], int]()  # by a tree, and a group's number

    def take(self, notes: Sequence[Words]) -> None:
        """Put into the notes of one base diff which lists groups had before, and have now."""
        for tree, log, of_note in self.places:
            is_changed = self.memory.tree(log)[B_ENTRIES] > 0
            for row, number in enumerate((notes[0] & LOW).tolist()):
                before, now = self.changed(tree, number, log if is_changed else None)
                notes[of_note][row], notes[of_note + self.memory.at.words][row] = before, now
                self.last[tree, number] = now
        self.memory.forget_logs()

    def changed(self, tree: int, number: int, log: int | None) -> tuple[int, int]:
        """Make the lists of a group before and after what was changed."""
        known = self.last.get((tree, number))
        if known is not None and log is None:
            return known, known
        entries = self.entries(tree, number, log)
        now, before = entries[:, -2], entries[:, -1]
        columns = self.rows[tree].arrays(entries)
        if known is None:
            known = self.keep(columns, before)
        return known, known if (now == before).all() else self.keep(columns, now)

    def keep(self, columns: list[pa.Array], counts: Words) -> int:
        """Keep a list; gives the number below zero by which it is known."""
        self.made.append(Listed(columns, counts))
        return -len(self.made)

    def entries(self, tree: int, number: int, log: int | None = None) -> Words:
        """Return the rows of a group as they lie, how often each is there, and was before."""
        bd = self.memory.tree_address(tree)
        changed = 0 if log is None else self.memory.tree_address(log)
        width = len(self.rows[tree].layout.parts) + 2
        found = np.empty((merge_entries(bd, changed, number, 0), width), np.int64)
        with lent(found):
            merge_entries(bd, changed, number, address_of(found))
        return found

    def of(self, bag: BagLayout, word: int) -> Counted:
        """Return the list that a group's state or a note names."""
        if word < 0:
            columns, counts = self.made[-1 - word]
        else:
            tree = self.memory.at.tree_of(bag)
            entries = self.entries(tree, word)
            columns, counts = self.rows[tree].arrays(entries), entries[:, -1]
        found = zip(rows_of(columns), counts.tolist(), strict=True)
        return [each for each in found if each[1]]
