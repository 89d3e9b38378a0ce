"""What is derived from the rows of a compiled graph: key indexes, and indexes on output columns.

    a batch was carried out -> its ops are noted       it was interrupted -> all is made anew

Invariant: between two batches an index lists just the rows that the graph holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from joingraph.engines.compiled.batches import Carrying, Run
from joingraph.generators.compiled.reads.column_walk import Walker
from joingraph.generators.compiled.reads.starts import Starts
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.key_index import Keys
from joingraph.graph.compiled.layout import row_places
from joingraph.graph.compiled.memory.reserved import Words, lent
from joingraph.graph.compiled.op_rows import came, rows_of, went
from joingraph.graph.compiled.ops import ops_alike
from joingraph.graph.compiled.sorted_index import SortedIndex, concatenated
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.plan.model import Plan


class Indexed(Carrying):
    """A graph in flat memory that keeps its declared indexes."""

    def __init__(self, plan: Plan, lookahead: str, key_index: Sequence[str]) -> None:
        super().__init__(plan, lookahead)
        self.plan = plan
        self.interner = Interner()
        self.keys = Keys(plan, self.layout, self.interner, key_index)
        self.indexes: dict[str, SortedIndex] = {}
        self.walker = Walker(plan, self.layout, self.memory, self.interner)
        self.starts = Starts(self.walker, self.indexes)

    def index(self, column: str) -> None:
        """Keep a secondary index on an output column that is kept as it is."""
        if column not in self.indexes:
            self.indexes[column] = self._filled_index(column)

    def _filled_index(self, column: str) -> SortedIndex:
        """Make an index of what the graph holds now."""
        index = self._sorted_index(column)
        for rows in self._rows_of(index.alias):
            index.note(rows, come=True)
        return index

    def _sorted_index(self, column: str) -> SortedIndex:
        """Make an index of an output column, empty."""
        (value,) = (each.value for each in self.plan.definition.output if each.name == column)
        slot = self.plan.slots[value]
        places = row_places(self.plan, self.layout.aliases[slot.alias], slot)
        place = slice(places[0], places[-1] + 1)
        return SortedIndex(slot.alias, place, slot.stored, self.interner)

    @property
    def has_indexes(self) -> bool:
        """True if something is derived from the rows."""
        return bool(self.keys.of or self.indexes)

    def _note(self, ops: Words, matrices: tuple[Words, ...]) -> None:
        """Keep up the declared indexes."""
        if not self.has_indexes:
            return
        with lent(*matrices):
            self.keys.note(ops)
            for index in self.indexes.values():
                for pick, is_post in ((went, False), (came, True)):
                    rows = rows_of(pick(ops, index.alias), self.layout, index.alias, post=is_post)
                    index.note(rows, come=is_post)

    def release(self) -> None:
        """Give back the memory of tables that have been outgrown, of texts and keys, too."""
        super().release()
        self.interner.release()
        for table in self.keys.of.values():
            table.release()

    def _note_anew(self) -> None:
        """Make the declared indexes anew, as it is not known how far they were brought."""
        self.keys.clear()
        for alias in self.keys.of:
            for rows in self._rows_of(alias):
                ops = ops_alike(alias, np.arange(len(rows)), f.INSERT, rows)
                self.keys.make_room(len(ops))
                with lent(rows):
                    self.keys.note(ops)
        for column in self.indexes:
            self.indexes[column] = self._filled_index(column)

    def _removal(self, alias: int) -> Run:
        """Make the run that removes all rows of an alias."""
        rows = concatenated([*self._rows_of(alias)])
        return Run(ops_alike(alias, np.arange(len(rows)), f.DELETE, rows), (rows,))

    def _rows_of(self, alias: int) -> Iterator[Words]:
        """Yield all rows of an alias, as often as they are there."""
        for piece in self.starts.everyone(alias):
            rows = self.walker.row_words(piece, alias)
            yield np.ascontiguousarray(np.repeat(rows, piece.times, axis=0))

    def _finish_moves(self) -> None:
        """Bring to its end a move of memory that an exception has interrupted."""
        self.memory.finish_move()
        self.interner.finish_move()
        for table in self.keys.of.values():
            table.finish_move()
