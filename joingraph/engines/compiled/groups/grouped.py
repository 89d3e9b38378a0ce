"""A view that groups, kept by messages; where sums may be too wide, of its joined rows.

What comes back of a batch is the same either way: the engine that tells is asked first.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from joingraph.common.errors import CorruptGraph
from joingraph.engines.compiled.groups.telling import TellingEngine, TooWideError
from joingraph.engines.contract import Applied, Ready
from joingraph.engines.grouping import GroupingEngine
from joingraph.generators.compiled.groups.group_deltas import deltas_of
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.reads.expire import Conditions
from joingraph.sql.definition import Definition
from joingraph.tables.batch import Entry, Refused
from joingraph.view_diffs.deltas import Deltas
from joingraph.view_diffs.view_diff import DiffRows


class CompiledGroups(GroupingEngine):
    """A view that groups, by messages."""

    def __init__(self, definition: Definition, rows: TellingEngine) -> None:
        super().__init__(definition, rows, keep_groups=True)
        self.telling = rows

    @property
    def memory(self) -> GraphMemory:
        """The memory of the joined rows."""
        return self.telling.memory

    def drain(self, entries: Sequence[Entry], consumer: int) -> None:
        """Apply a batch, calling compiled code with the notes of each base diff."""
        self.telling.know_groups()
        self.telling.drain(entries, consumer)

    @property
    def groups(self) -> Any:  # what reads groups, by messages or of the joined rows
        """The groups, made of the joined rows where they are not known."""
        if self.is_told():
            return self.telling.table
        return super().groups

    def limit(self, memory_limit: int) -> None:
        """Refuse from here on what may take more memory than this, before anything is changed."""
        self.rows.limit(memory_limit)

    def is_told(self) -> bool:
        """True if groups are kept by messages; where sums are too wide, they no longer are."""
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
        """Apply a batch; after an exception, `undo` takes back what was done of it."""
        if self._is_told(wanted=generate):
            with suppress(TooWideError):
                return self.rows.apply(entries, skip=skip, generate=generate, ready=ready)
            self.telling.stop_telling()
        return super().apply(entries, skip=skip, generate=generate, silent=silent, ready=ready)

    def fold(self, entries: Sequence[Entry], *, skip: bool) -> tuple[pa.Table, list[Refused]]:
        """Apply a batch, and give what is left of it: a group is noted once where none can fail."""
        self.telling.to_fold = entries
        return super().fold(entries, skip=skip)

    def add_up(self, entries: Sequence[Entry], *, skip: bool) -> tuple[Deltas, list[Refused]]:
        """Apply a batch; give its deltas."""
        deltas = self.deltas
        if self.telling.messages.is_set:
            self.telling.count_paths()
        if not self.is_told():
            return super().add_up(entries, skip=skip)
        applied = self.apply(entries, skip=skip, generate=True)
        if not self.telling.tells:
            self.undo()
            return super().add_up(entries, skip=skip)
        noted = self.telling.noted
        parts = [] if noted is None else noted.parts
        return deltas_of(self.telling.table, parts, deltas), applied.refused

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

    def known_groups(self) -> int | None:
        """Return how many groups there are, if that is known."""
        if not self.telling.tells:
            return super().known_groups()
        known = self.telling.groups
        return None if known is None else len(self.groups)

    def expire(self, conditions: Conditions, *, generate: bool) -> DiffRows | Deltas:
        """Delete all base rows that meet the conditions, in every alias named; give view diffs."""
        if self._is_told(wanted=generate):
            return self.rows.expire(conditions, generate=generate)
        return super().expire(conditions, generate=generate)

    def _is_told(self, *, wanted: bool) -> bool:
        """True if a batch tells what it does to groups; without view diffs none keeps them up."""
        self.telling.folds = False
        if not wanted:
            self.telling.forget_groups()
        return self.is_told() if wanted else self.telling.tells

    def keep(self) -> None:
        """Keep what was done so far: `undo` does not reach behind it."""
        if self.telling.tells:
            self.rows.keep()
        else:
            super().keep()

    def undo(self) -> None:
        """Take back what the last call did that changes the graph."""
        if self.telling.tells:
            self.rows.undo()
        else:
            super().undo()

    def stats(self) -> dict[str, Any]:
        """Return the size of the joined rows' graph, how many groups there are, and their size."""
        if not self.is_told():
            return super().stats()
        groups = self.groups
        told = {"groups": len(groups), "group_bytes": groups.memory.bytes()}
        return {**self.rows.stats(), **told, "touched": int(groups.memory.words[f.G_TOUCHED])}

    def check(self) -> None:
        """Recompute every invariant, and every message and group, or raise CorruptGraph."""
        if not self.is_told():
            super().check()
            return
        self.rows.check()
        self.telling.make_wide(0)
        known = self.groups.memory
        kept = known.told()
        self.telling.forget_groups()
        self.telling.make_anew(known.at)
        if self.groups.memory.told() != kept:
            raise CorruptGraph("a group, or what a vertex is told, is not what the rows make it")
