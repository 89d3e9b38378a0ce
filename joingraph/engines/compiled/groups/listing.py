"""Keeps no groups, but what vertices are told: a batch makes deltas without any group.

    ops -> run: link or unlink a row, tell of it (maintainers/compiled/groups/change_lists.py)
        -> changes, and the keys of the groups they go to -> deltas, or factorised ones

Where sums may be too wide, deltas are those of joined rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import numpy as np

from joingraph.common.errors import CorruptGraph
from joingraph.engines.codegen.groups.listing import write_listing, write_listing_inserts
from joingraph.engines.codegen.install import Write
from joingraph.engines.codegen.kernels import write_ahead
from joingraph.engines.compiled.batches import Run
from joingraph.engines.compiled.groups.absorbing import AbsorbingEngine
from joingraph.engines.compiled.groups.telling import TellingEngine, TooWideError
from joingraph.engines.compiled.sizes.list_limit import ListRoom
from joingraph.engines.contract import Applied, Ready
from joingraph.generators.compiled.groups.listed_deltas import Blocks, deltas_of, factorised_of
from joingraph.generators.groups import Groups
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.groups.group_layout import GroupLayout
from joingraph.graph.compiled.groups.list_memory import KEYS, Listed, ListMemory
from joingraph.graph.compiled.layout import Layout, lay_out
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.maintainers.compiled.groups.messages import make_groups
from joingraph.plan.groups.joined_rows import JoinedPlan
from joingraph.plan.groups.messages import Messages, Read
from joingraph.plan.keys.distinct import is_listed_once
from joingraph.plan.model import Plan
from joingraph.reads.expire import Conditions
from joingraph.sql.definition import Definition
from joingraph.tables.batch import Entry, Refused
from joingraph.view_diffs.deltas import Deltas, FactorisedDeltas
from joingraph.view_diffs.factorised import Factorised
from joingraph.view_diffs.view_diff import DiffRows, Fold


class ListingEngine(TellingEngine):
    """Keeps joined rows as every engine does, and lists which groups a change goes to."""

    def __init__(
        self,
        definition: Definition,
        plan: Plan,
        messages: Messages,
        lookahead: str,
        key_index: Sequence[str] = (),
    ) -> None:
        super().__init__(definition, plan, messages, lookahead, key_index)
        self.limit_of_notes = KEYS
        self.listed: list[Listed] = []
        self.are_once = True  # as keys are declared, no list of the last batch has a group twice

    def _lay_out(self, plan: Plan, *, exact: bool) -> Layout:
        """Settle the layout: rows of a root have no numbers, but the words of their keys."""
        return lay_out(plan, exact=exact)

    def _writers(self) -> dict[int, Write]:
        """Return who writes the kernels that list changes."""
        at = GroupLayout(self.plan, self.layout, self.messages)
        return {
            f.A_INSERT: partial(write_listing_inserts, at),
            f.A_PLUG: partial(write_listing, at),
            f.A_AHEAD: partial(write_ahead, self.layout),
        }

    def limit(self, memory_limit: int) -> None:
        """Refuse from here on what may take more memory than this, messages included."""
        self.room = ListRoom(self.starts, memory_limit, lambda: self.groups, self._layout_after)

    def make_anew(self, at: GroupLayout) -> None:
        """Tell vertices of all rows; none were told."""
        if at.wide:
            self.plugs.forgo()
        self.groups = made = ListMemory(at, self.memory, self.interner.descriptor.address)
        made.make_filled()
        make_groups(self.memory.st, made.gd, np.array(made.tells_in_order(), np.int64), 0, 0)

    def _windows_hold(self, ops: int) -> bool:
        """Deltas have no sums of floats."""
        return True

    def stop_telling(self) -> None:
        """Make deltas of the joined rows from here on; a limit of memory holds for these, too."""
        room, self.room = self.room, None
        try:
            super().stop_telling()
        finally:
            self.room = room

    def _begin(self) -> Any:
        """Begin a batch, which has listed nothing."""
        self.listed = []
        return super()._begin()

    def _start(self, run: Run, *, generate: bool, sink: int = 0) -> None:
        """Let the graph's words tell of a run, and where its keys are listed."""
        super()._start(run, generate=generate, sink=sink)
        if isinstance(self.groups, ListMemory):
            self.groups.begin_block()

    def _block(self) -> Paths:
        """Take the changes of a block, and the keys of their groups."""
        if not isinstance(self.groups, ListMemory):
            return super()._block()
        words = self.memory.words
        listed = self.groups.listed(int(words[f.ROWS]), int(words[f.SEGMENT_COUNT]))
        self.listed.append(listed)
        self.groups.begin_block()
        return listed

    def _changes(self, ops: Words, parts: list[Paths]) -> tuple[DiffRows, Fold | None]:
        """Make no rows of what was listed, but note whether keys say that groups are so once."""
        if not self.tells:
            return super()._changes(ops, parts)
        others = np.flatnonzero(np.logical_not(self._once))
        self.are_once = not len(others) or not np.isin(ops[:, f.O_ALIAS], others).any()
        return self._nothing, None

    @cached_property
    def _once(self) -> list[bool]:
        """Whether a list to which a row of each alias leads has a group once, as keys say."""
        aliases = range(len(self.plan.aliases))
        return [is_listed_once(self.plan, self.messages, each) for each in aliases]

    @cached_property
    def _nothing(self) -> DiffRows:
        """The rows of a batch of which none are made."""
        return Groups(self.definition).diff_rows([])

    def blocks(self, reads: Mapping[int, tuple[Read, ...]]) -> Blocks:
        """Return what the last batch has listed."""
        assert self.groups is not None, "vertices are told"
        at, how = self.groups.at, (self.interner, self.nulls, reads)
        return Blocks(self.listed, self.are_once, at, *how)


class ListedGroups(AbsorbingEngine):
    """The groups of one view, none of which is kept: deltas of what is told, all else of rows."""

    def __init__(
        self,
        definition: Definition,
        rows: ListingEngine,
        joined: JoinedPlan | None,
        reads: Mapping[int, tuple[Read, ...]],
    ) -> None:
        super().__init__(definition, rows, joined, keep_groups=False)
        self.telling, self.reads = rows, reads

    @property
    def memory(self) -> GraphMemory:
        """The memory of the joined rows."""
        return self.telling.memory

    def add_up(self, entries: Sequence[Entry], *, skip: bool) -> tuple[Deltas, list[Refused]]:
        """Apply a batch; give its deltas."""
        maker, refused = self.deltas, self._listed(entries, skip=skip)
        if refused is None:
            return super().add_up(entries, skip=skip)
        return deltas_of(self.telling.blocks(self.reads), maker), refused

    def factorise(
        self, entries: Sequence[Entry], *, skip: bool
    ) -> tuple[Factorised, list[Refused]]:
        """Apply a batch; give its deltas, each with the list of its groups."""
        maker, refused = self.deltas, self._listed(entries, skip=skip)
        if refused is None:
            return super().factorise(entries, skip=skip)
        return factorised_of(self.telling.blocks(self.reads), maker, self._no_lists), refused

    @cached_property
    def _no_lists(self) -> FactorisedDeltas:
        """The factorised deltas of nothing."""
        return FactorisedDeltas.of(self.deltas.none)

    def _listed(self, entries: Sequence[Entry], *, skip: bool) -> list[Refused] | None:
        """Apply a batch, listing its changes; None: sums may be too wide, nothing was done."""
        if not self.is_told():
            return None
        with suppress(TooWideError):
            return self.rows.apply(entries, skip=skip, generate=True).refused
        self.telling.stop_telling()
        return None

    def is_told(self) -> bool:
        """True if vertices are told; where sums are too wide, they no longer are."""
        if self.telling.tells:
            try:
                self.telling.know_groups()
            except TooWideError:
                self.telling.stop_telling()
        return self.telling.tells

    def apply(
        self,
        entries: Sequence[Entry],
        *,
        skip: bool,
        generate: bool,
        silent: int = 0,
        ready: Ready | None = None,
    ) -> Applied:
        """Apply a batch without view diffs: none keeps up what vertices are told."""
        self.telling.forget_groups()
        return super().apply(entries, skip=skip, generate=generate, silent=silent, ready=ready)

    def missing(self, entries: Sequence[Entry]) -> list[Refused]:
        """Name the diffs of a batch that remove a row which is not there; change nothing."""
        with suppress(TooWideError):
            return super().missing(entries)
        self.telling.stop_telling()
        return super().missing(entries)

    def fanout(self, entries: Sequence[Entry], *, skip: bool) -> tuple[int, bool, list[Refused]]:
        """Bound the rows of a batch's view diffs."""
        with suppress(TooWideError):
            return super().fanout(entries, skip=skip)
        self.telling.stop_telling()
        return super().fanout(entries, skip=skip)

    def expire(self, conditions: Conditions, *, generate: bool) -> DiffRows | Deltas:
        """Delete all base rows that meet the conditions, in every alias named; give view diffs."""
        maker = self.deltas if generate else None
        if maker is None or not self.is_told():
            self.telling.forget_groups()
            return super().expire(conditions, generate=generate)
        self.rows.expire(conditions, generate=True)
        return deltas_of(self.telling.blocks(self.reads), maker)

    def drain(self, entries: Sequence[Entry], consumer: int) -> None:
        """Apply a batch, calling compiled code with the changes of each op, and their groups."""
        self.telling.know_groups()
        self.telling.drain(entries, consumer)

    def stats(self) -> dict[str, Any]:
        """Return the size of the joined rows' graph, and of what vertices are told."""
        made = self.telling.groups
        return {**super().stats(), "message_bytes": 0 if made is None else made.bytes()}

    def check(self) -> None:
        """Recompute every invariant, and every message, or raise CorruptGraph."""
        super().check()
        made = self.telling.groups
        if made is None or not self.telling.memory.words[f.GROUPS]:
            return
        told = made.told()
        self.telling.forget_groups()
        self.telling.make_anew(made.at)
        assert self.telling.groups is not None, "it was made"
        if self.telling.groups.told() != told:
            raise CorruptGraph("what a vertex is told is not what the rows make it")
