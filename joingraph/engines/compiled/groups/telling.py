"""Groups kept by messages: the engine of joined rows tells of every row that changes.

    ops -> run: link or unlink a row, tell of it (maintainers/compiled/groups/messages.py)
        -> notes of the groups that a base diff touched -> rows of the view diff

No joined row is made. Groups follow from the rows: what cannot be kept up is made anew of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from joingraph.common.errors import LimitError
from joingraph.engines.codegen.groups.telling import write_telling, write_telling_inserts
from joingraph.engines.codegen.install import Plugs, Write
from joingraph.engines.codegen.kernels import write_ahead
from joingraph.engines.compiled.batches import MODES, Run, Work
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.engines.compiled.sizes.group_limit import GroupRoom
from joingraph.engines.contract import Blocks
from joingraph.engines.grouping import nothing_applied
from joingraph.filters.compiled.rows_to_ops import Feed
from joingraph.generators.compiled.groups.bag_lists import BagLists
from joingraph.generators.compiled.groups.folded_groups import folded
from joingraph.generators.compiled.groups.group_diffs import GroupDiffs
from joingraph.generators.compiled.groups.group_table import GroupTable
from joingraph.generators.groups import Groups
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.group_layout import GroupLayout
from joingraph.graph.compiled.groups.group_memory import NOTES, GroupMemory
from joingraph.graph.compiled.groups.sum_bits import SumBits
from joingraph.graph.compiled.groups.windows import Windows
from joingraph.graph.compiled.layout import Layout, lay_out
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.graph.compiled.memory.reserved import Words, lent
from joingraph.graph.compiled.op_rows import came, rows_of
from joingraph.maintainers.compiled.groups.group_table import end_batch, note_now
from joingraph.maintainers.compiled.groups.messages import make_groups
from joingraph.plan.groups.bags import share_bits
from joingraph.plan.groups.messages import Messages
from joingraph.plan.model import Plan
from joingraph.sql.definition import Definition
from joingraph.tables.batch import Entry
from joingraph.view_diffs.view_diff import DiffRows, Fold

NARROW_BITS, WIDE_BITS = 62, 126  # of sums that surely do not wrap
FEW_PATHS_BITS = 34
NO_LIMIT = 1 << 62  # of notes: there is room for one of each group


class TooWideError(Exception):
    """Sums may need more bits than are kept; nothing was changed."""


class TellingEngine(CompiledEngine):
    """Keeps joined rows as every engine does, and groups of them that it is told to know."""

    def __init__(
        self,
        definition: Definition,
        plan: Plan,
        messages: Messages,
        lookahead: str,
        key_index: Sequence[str] = (),
    ) -> None:
        self.definition, self.messages = definition, messages
        super().__init__(plan, lookahead, key_index)
        self.plugs = Plugs(self.layout, MODES[lookahead], self.memory, self._writers())
        self.bits, self.windows = SumBits(plan, messages, self.memory), Windows()
        if not GroupLayout(plan, self.layout, messages).is_written:
            self.plugs.forgo()
        # Lists are told of before the next base diff changes them.
        has_lists = any(bag.kind == "list" for bag in messages.bags)
        self.limit_of_notes = self.memory.words[f.LIMIT] = 1 if has_lists else NOTES
        self.groups: GroupMemory | None = None
        self._table: GroupTable | None = None
        self.tells = True
        self.folds = False  # a group has one note a batch, not one a base diff
        self.to_fold: Sequence[Entry] | None = None  # a batch of which only what is left is asked
        self.noted: GroupDiffs | None = None  # what the last batch did to groups

    def _lay_out(self, plan: Plan, *, exact: bool) -> Layout:
        """Settle the layout: rows of a root have the numbers of their groups, if there are keys."""
        return lay_out(plan, exact=exact, numbered=self.messages.numbered)

    def _writers(self) -> dict[int, Write]:
        """Return who writes the kernels that tell of rows."""
        at = GroupLayout(self.plan, self.layout, self.messages)
        return {
            f.A_INSERT: partial(write_telling_inserts, at),
            f.A_PLUG: partial(write_telling, at),
            f.A_AHEAD: partial(write_ahead, self.layout),
        }

    def limit(self, memory_limit: int) -> None:
        """Refuse from here on what may take more memory than this, groups and messages included."""
        self.room = GroupRoom(self.starts, memory_limit, lambda: self.groups, self._layout_after)

    def _layout_after(self, ops: int) -> GroupLayout:
        """Settle how groups lie after so many ops: sums take two words once they may need them."""
        is_wide, holds = self.groups is not None and self.groups.at.wide, self._windows_hold(ops)
        if self.groups is not None and is_wide and holds:
            return self.groups.at
        wide = is_wide or not self._fits(NARROW_BITS, 0, ops)
        windows = self.windows if holds else self.bits.of_floats(ops).spared()
        return GroupLayout(self.plan, self.layout, self.messages, wide, windows)

    @property
    def table(self) -> GroupTable:
        """The groups, made of the rows where they are not known."""
        self.know_groups()
        assert self.groups is not None, "they were made"
        if self._table is None:
            self._table = GroupTable(self.definition, self.groups, self.interner)
        return self._table

    def load(self, entries: Sequence[Entry], *, check: bool = True) -> None:
        """Insert rows without making view diffs, which are not told of."""
        self.forget_groups()
        super().load(entries, check=check)

    def restore(self, blocks: Blocks) -> None:
        """Bring an empty graph to what was written, which is not told of."""
        self.forget_groups()
        super().restore(blocks)

    def forget_groups(self) -> None:
        """Know no groups: they will be made anew when they are asked for."""
        self.memory.words[f.GROUPS] = 0
        self.groups = self._table = None

    def count_paths(self) -> None:
        """Let sides tell how many paths there are from here on, not only that there are some."""
        self.forget_groups()
        self.messages = replace(self.messages, is_set=False)

    def know_groups(self, ops: int = 0) -> None:
        """Make the groups of all rows, where they are not known, to keep them over so many ops."""
        if self.memory.words[f.GROUPS]:
            return
        self.bits.look()
        for alias in self.bits.aliases():
            for piece in self.starts.everyone(alias):
                self.bits.note(alias, self.walker.row_words(piece, alias))
        self._check_bits(ops)
        at = self._layout_after(ops)
        if isinstance(self.room, GroupRoom):
            self.room.check_groups(at)
        self.windows = at.windows
        self.make_anew(at)

    def make_anew(self, at: GroupLayout) -> None:
        """Make the groups of all rows, which lie so; none are known."""
        if at.wide or at.is_long:
            self.plugs.forgo()
        self.groups = made = GroupMemory(at, self.memory, self.interner.descriptor.address)
        made.make_filled()
        made.make_room(made.most_groups(0))  # moves nothing yet; later they would be copied
        self.lists = BagLists(made, self.interner)
        tells = np.array(made.tells_in_order(), np.int64)
        make_groups(self.memory.st, made.gd, tells, *made.root_meet())

    def _fed(self, entries: Sequence[Entry]) -> Feed:
        """Filter a batch, and look whether sums can be kept over it; nothing is changed yet."""
        is_known = bool(self.memory.words[f.GROUPS])
        feed = super()._fed(entries)
        if is_known and not self.memory.words[f.GROUPS]:  # texts were forgotten
            self.know_groups(feed.rows)
            self.make_room(feed.rows)
        if self.memory.words[f.GROUPS]:
            with self.bits.tried():
                for alias in self.bits.aliases():
                    with lent(*feed.matrices):
                        rows = rows_of(came(feed.ops, alias), self.layout, alias, post=True)
                    self.bits.note(alias, rows)
                self._check_bits(feed.rows)
            self.make_wide(feed.rows)
            self.bits.await_rows(feed.rows)
            self.folds = entries is self.to_fold and self._surely_answers(feed.rows)
            self.to_fold = None
        return feed

    def _surely_answers(self, ops: int) -> bool:
        """True if no result can fail after any of so many ops: the last ones are enough then."""
        assert self.groups is not None, "they tell"
        are_words = all(size == 1 for size in self.groups.at.sizes)
        fits = are_words or self._fits(NARROW_BITS, self.bits.of_values(), ops)
        return fits and self.table.always_answers

    def _sweep_now(self) -> None:
        """Forget texts that no row has, and groups whose bags' nodes may name some."""
        super()._sweep_now()
        if self.groups is not None and self.groups.at.orders_texts:
            self.forget_groups()

    def _check_bits(self, ops: int) -> None:
        """Raise TooWideError if sums might wrap after so many ops."""
        if not self._fits(WIDE_BITS, self.bits.of_values(), ops):
            raise TooWideError
        if self.messages.bags and not self._fits(NARROW_BITS, share_bits(self.messages.bags), ops):
            raise TooWideError  # a row of a bag has a count of one word

    def _fits(self, most: int, values: int, ops: int) -> bool:
        """True if sums of products of so many bits surely fit, after so many ops."""
        if values + self.bits.of_paths(ops) > most:
            self.bits.look()
        return values + self.bits.of_paths(ops) <= most

    def _windows_hold(self, ops: int) -> bool:
        """True if sums of floats surely lie in their words, after so many ops."""
        if not self.bits.floats:
            return True
        if self.windows.hold(self.bits.of_floats(ops), self.bits.floats):
            return True
        self.bits.look()
        return self.windows.hold(self.bits.of_floats(ops), self.bits.floats)

    def make_wide(self, ops: int) -> None:
        """Make groups anew if what comes with so many ops may ask for more words."""
        if self.groups is None:
            return
        is_narrow = not self.groups.at.wide and not self._fits(NARROW_BITS, 0, ops)
        if is_narrow or not self._windows_hold(ops):
            self.forget_groups()
            self.know_groups(ops)
        self.groups.make_room(ops)

    def stop_telling(self) -> None:
        """Make view diffs of the joined rows from here on: sums may be too wide.

        Where these are too many for that, or take memory that has a limit, refuse instead.
        """
        if isinstance(self.room, GroupRoom):
            raise self.room.no_groups_of_rows()
        if self.bits.of_paths() > FEW_PATHS_BITS and not self.messages.bags:
            raise LimitError(
                f"the sums of {self.definition.name} may need more than {WIDE_BITS} bits, and its"
                " joined rows are too many to be added one by one; nothing was applied: CAST what"
                " is added to a narrower type"
            )
        self.forget_groups()
        self.plugs.forgo()
        self.memory.words[f.LIMIT] = f.BLOCK_LIMIT
        self.tells = False

    def make_room(self, ops: int) -> None:
        """Make room in the regions for so many ops, or refuse them."""
        super().make_room(ops)
        self.make_wide(ops)

    def release(self) -> None:
        """Give back the memory of tables that have been outgrown."""
        super().release()
        if self.groups is not None:
            self.groups.release()

    def _finish_moves(self) -> None:
        """Bring to its end a move of memory that an exception has interrupted."""
        super()._finish_moves()
        if self.groups is not None:
            self.groups.finish_move()

    def _start(self, run: Run, *, generate: bool, sink: int = 0) -> None:
        """Let the graph's words tell of a run, and how its notes are made."""
        super()._start(run, generate=generate, sink=sink)
        if self.groups is not None:
            self.groups.words[f.G_FOLDS] = self.folds
            self.memory.words[f.LIMIT] = NO_LIMIT if self.folds else self.limit_of_notes

    def _block(self) -> Paths:
        """Take the notes of a block: a column each."""
        if not self.tells:
            return super()._block()
        assert self.groups is not None, "only groups make notes"
        rows, one = int(self.memory.words[f.ROWS]), np.zeros(1, np.int64)
        if self.folds:
            note_now(self.groups.gd, rows)
        notes = self.groups.notes(rows)
        self.lists.take(notes)
        return Paths(notes, one, one - 1, one + 1, rows)

    def _linked(self, run: Run, rows: int, cores: int) -> list[range]:
        """Link nothing to be walked at once: what is told changes the graph."""
        return []

    def _changes(self, ops: Words, parts: list[Paths]) -> tuple[DiffRows, Fold | None]:
        """Make view diffs of the notes."""
        if not self.tells:
            return super()._changes(ops, parts)
        self.noted = None
        if not parts:
            return Groups(self.definition).diff_rows([]), None
        table = self.table
        if self.folds:
            assert len(parts) == 1, "there is room for all notes of a folded batch"
            return folded(table, parts[0].words)
        if table.memory.at.lists:
            table = GroupTable(self.definition, table.memory, self.interner, self.lists)
        self.noted = noted = GroupDiffs(table, parts)
        if not noted.always_answer:
            with nothing_applied():
                assert noted.each, "rows are made now, as they may fail"
        changes = noted.changes()
        if table.memory.at.orders_texts:  # which may be forgotten later
            net = noted.net(changes)
            return changes, lambda _: net
        return changes, noted.net

    def _begin(self) -> Work:
        """Begin a batch; what an interrupt has left in logs is forgotten."""
        if self.groups is not None:
            self.groups.forget_logs()
            self.lists = BagLists(self.groups, self.interner)
        return super()._begin()

    def _end(self, work: Any, ops: Words, matrices: tuple[Words, ...]) -> None:
        """End a batch, and free the groups that it has emptied."""
        super()._end(work, ops, matrices)
        self.bits.waiting = 0
        self._settle_groups()

    def undo(self) -> None:
        """Take back what was done of the last batch, and free the groups that only it had."""
        super().undo()
        self._settle_groups()

    def _settle_groups(self) -> None:
        """Free groups that are empty."""
        if self.memory.words[f.GROUPS]:
            end_batch(int(self.memory.words[f.GROUPS]))
