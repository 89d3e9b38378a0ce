"""Groups that absorb joined rows by column: generators/groups.py in flat memory.

    rows      fan | score   +/- times, base diff        Arrow columns
    words     | ann | 5 |   +1                          rows of words, told of and forgotten
    groups    ann -> 3 paths, 12                        as messages keep them

The joined rows are those of an alias of a graph that keeps none (plan/groups/joined_rows.py): so
what is kept, noted and shown of groups is what messages keep, note and show.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from joingraph.common.errors import LimitError
from joingraph.expressions import texts
from joingraph.generators.compiled.groups.bag_lists import BagLists
from joingraph.generators.compiled.groups.group_diffs import GroupDiffs
from joingraph.generators.compiled.groups.group_table import GroupTable
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.bag_nodes import B_ENTRIES
from joingraph.graph.compiled.groups.group_layout import GroupLayout
from joingraph.graph.compiled.groups.group_memory import NOTES, GroupMemory
from joingraph.graph.compiled.groups.sum_bits import SumBits
from joingraph.graph.compiled.groups.windows import Windows
from joingraph.graph.compiled.layout import lay_out
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.graph.compiled.ops import ops_alike
from joingraph.graph.compiled.values import string_pool
from joingraph.graph.compiled.values.columns import rows_of_words
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.maintainers.compiled.groups.absorb import absorb
from joingraph.maintainers.compiled.groups.group_table import end_batch
from joingraph.maintainers.compiled.groups.messages import make_groups
from joingraph.plan.groups.joined_rows import JoinedPlan
from joingraph.sql.definition import Definition
from joingraph.view_diffs.view_diff import META, DiffRows, Fold, signed_counts

SUM_BITS = 126  # of sums that surely do not wrap
FEWEST_BYTES = 4 << 20  # of texts that came, before it is looked which are left


class OutgrownError(Exception):
    """Sums may need more bits than are kept, or a value has no word.

    With some windows of floats these groups can be made anew; with None they cannot.
    """

    def __init__(self, windows: Windows | None) -> None:
        super().__init__()
        self.windows = windows


class JoinedMemory(GroupMemory):
    """Groups of rows that no graph keeps."""

    def most_groups(self, ops: int) -> int:
        """Bound how many groups there are while the next ops are carried out."""
        return int(self.state[f.V_NEXT]) + ops + 1

    def most_entries(self, place: int, alias: int, ops: int) -> int:
        """Bound the entries of a tree, after so many ops."""
        return int(self.tree(place)[B_ENTRIES]) + ops


class AbsorbedGroups(GroupTable):
    """The groups of one view, and what brings its joined rows to them."""

    def __init__(self, definition: Definition, joined: JoinedPlan, windows: Windows) -> None:
        plan, messages = joined
        layout, interner = lay_out(plan, exact=False), Interner()
        at = GroupLayout(plan, layout, messages, wide=True, windows=windows)
        self.graph = GraphMemory(layout, f.NONE)
        memory = JoinedMemory(at, self.graph, interner.descriptor.address)
        super().__init__(definition, memory, interner)
        self.bits = SumBits(plan, messages, self.graph)
        self.rows = self.kept_bytes = 0
        memory.make_filled()
        make_groups(self.graph.st, memory.gd, np.empty(0, np.int64), 0, 0)
        self.graph.words[f.LIMIT] = 1 if at.lists else NOTES

    def add_rows(self, rows: pa.Table) -> None:
        """Add joined rows, each once."""
        times, diffs = np.ones(len(rows), np.int64), np.zeros(len(rows), np.int64)
        matrix = self.rows_of_words(rows)
        self.check_bits(matrix, times)
        self.tell(matrix, diffs, times, None)

    def absorbed(self, changes: pa.Table) -> tuple[DiffRows, Fold]:
        """Add the rows of the join's view diff; give the groups' view diff, and what folds it."""
        lists = BagLists(self.memory, self.interner)
        parts = self.told(changes, lists)
        table = GroupTable(self.definition, self.memory, self.interner, lists)
        noted = GroupDiffs(table, parts)
        if not noted.always_answer:
            assert noted.each, "rows are made now, as they may fail"
        end_batch(self.memory.gd)
        return noted.changes(), noted.net

    def told(self, changes: pa.Table, lists: BagLists) -> list[Paths]:
        """Tell of the rows of a join's view diff; gives the notes of groups, block by block."""
        width = changes.num_columns - len(META)
        times, diffs = signed_counts(changes, width), changes.column(width + 2).to_numpy()
        matrix = self.rows_of_words(changes.select(range(width)))
        self.check_bits(matrix, times)
        return self.tell(matrix, diffs, times, lists)

    def take_back(self, changes: pa.Table) -> None:
        """Take back the rows of the join's view diff that were absorbed, the last one first."""
        width = changes.num_columns - len(META)
        times, diffs = signed_counts(changes, width), changes.column(width + 2).to_numpy()
        rows = texts.take_rows(changes.select(range(width)), np.arange(len(changes))[::-1])
        self.rows = max(0, self.rows - bound_of(times))
        self.tell(self.rows_of_words(rows), diffs[::-1], -times[::-1], None)

    def tell(
        self, matrix: Words, diffs: Words, times: Words, lists: BagLists | None
    ) -> list[Paths]:
        """Tell of rows of words, each so many times; gives the notes of groups, block by block.

        Without what takes lists down, groups are told in silence.
        """
        words = self.graph.words
        self.memory.make_room(len(matrix))
        ops, parts = ops_alike(0, diffs, f.INSERT, matrix), list[Paths]()
        times = np.ascontiguousarray(times)
        one = np.zeros(1, np.int64)
        with lent(matrix, ops, times):
            words[f.OPS], words[f.SILENT], words[f.CURSOR] = address_of(ops), lists is None, 0
            ended = f.FULL
            while ended == f.FULL:
                words[f.ROWS] = 0
                ended = absorb(self.graph.st, address_of(times), len(ops))
                rows_noted = int(words[f.ROWS])
                notes = self.memory.notes(rows_noted)
                if lists is not None:
                    lists.take(notes)
                parts.append(Paths(notes, one, one - 1, one + 1, rows_noted))
        if lists is None:
            self.memory.forget_logs()
            end_batch(self.memory.gd)
        return parts

    def rows_of_words(self, rows: pa.Table) -> Words:
        """Turn joined rows into words."""
        try:
            found = [
                rows_of_words(
                    [texts.whole(each) for each in piece.columns], len(piece), self.interner, keys=0
                )
                for piece in texts.pieces(rows)
            ]
        except LimitError:
            raise OutgrownError(None) from None
        return found[0] if len(found) == 1 else np.concatenate(found)

    def check_bits(self, matrix: Words, times: Words) -> None:
        """Count joined rows, and raise OutgrownError if sums over them might wrap."""
        self.bits.note(0, matrix)
        self.rows += bound_of(times)
        if self.bits.of_values() + self.rows.bit_length() > SUM_BITS:
            raise OutgrownError(None)
        seen = Windows(self.bits.windows, self.bits.of, self.rows.bit_length())
        if not self.memory.at.windows.hold(seen, self.bits.floats):
            raise OutgrownError(seen.spared())

    def made(self) -> None:
        """Note that all rows there are were added."""
        self.kept_bytes = self.text_bytes

    @property
    def text_bytes(self) -> int:
        """How many bytes of text have come."""
        return int(self.interner.state[string_pool.TOP])

    @property
    def is_outgrown(self) -> bool:
        """True if so many texts have come that groups may be made anew, to know only those left."""
        return self.text_bytes - self.kept_bytes > max(FEWEST_BYTES, self.kept_bytes)

    @property
    def bytes(self) -> int:
        """How many bytes groups take, and their texts."""
        return self.memory.bytes() + self.interner.bytes


def bound_of(times: Words) -> int:
    """Bound how many rows come and go."""
    return int(np.abs(times).max(initial=0)) * len(times)
