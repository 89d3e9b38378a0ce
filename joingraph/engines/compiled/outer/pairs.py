"""The compiled form of a view whose joins have conditions that are no equalities.

The ops of pairs are made when it is known which ops are carried out, so a batch that misses a row
is found out before. Pairs are written to no snapshot of rows: they follow from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from joingraph.common.errors import DiffError
from joingraph.engines.compiled.batches import Admitted
from joingraph.engines.compiled.expire import expired
from joingraph.engines.compiled.outer.engine import OuterEngine
from joingraph.engines.contract import Applied, Blocks, Ready
from joingraph.filters.compiled.rows_to_ops import Feed, Part
from joingraph.filters.loads import refused_load
from joingraph.generators.compiled.reads.unanswered import new_unanswered
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.reserved import Words, lent
from joingraph.graph.compiled.ops import ops_alike
from joingraph.maintainers.compiled.load import empty_aliases, load
from joingraph.maintainers.compiled.pairs import OpsOfPairs, PairedWords
from joingraph.plan.model import Plan
from joingraph.reads.expire import Conditions
from joingraph.tables.batch import Entry, Refused
from joingraph.tables.table import Table
from joingraph.view_diffs.view_diff import DiffRows


class PairedEngine(OuterEngine):
    """Keeps a view's join graph in flat memory, with the pairs by which some aliases meet."""

    def __init__(self, plan: Plan, key_index: Sequence[str] = ()) -> None:
        super().__init__(plan, key_index=key_index)
        self.pairs = PairedWords(plan, self.layout, self.interner)

    def calls(self, tables: Mapping[str, Table]) -> None:
        """Carry all batches out alike: a call would bring rows without their pairs."""

    def keep(self) -> None:
        """Keep what was done so far: `undo` does not reach behind it."""
        super().keep()
        self.pairs.begin()

    def undo(self) -> None:
        """Take back what was done of the last batch; called again, do what is left."""
        super().undo()
        if not self.pairs.take_back():
            self.pairs.refill(self._rows_of)

    def apply(
        self,
        entries: Sequence[Entry],
        *,
        skip: bool,
        generate: bool,
        silent: int = 0,
        ready: Ready | None = None,
    ) -> Applied:
        """Apply a batch, having looked for rows that it misses."""
        batch = self._admit(entries, skip=skip)
        if ready is not None:
            ready(batch.refused)
        return self._applied(batch, generate=generate, silent=silent)

    def _admitted(self, feed: Feed, *, skip: bool) -> Admitted:
        """Leave out base diffs that miss their row; put pairs among the others."""
        batch = super()._admitted(feed, skip=skip)
        ops, whole = self._with_pairs(batch.ops, feed)
        return Admitted(ops, whole, batch.refused)

    def _with_pairs(self, ops: Words, feed: Feed) -> tuple[Words, Feed]:
        """Put pairs among ops that will be carried out."""
        with lent(*feed.matrices):
            found, made = self.pairs.with_pairs(ops)
        if not made:
            return ops, feed
        parts = [Part(each.alias, each.matrix, partial(ops_made, each)) for each in made]
        whole = replace(feed, parts=(*feed.parts, *parts))
        if self.room is not None:
            self.room.check_rows(whole)
        self.make_room(len(found))
        return found, whole

    def missing(self, entries: Sequence[Entry]) -> list[Refused]:
        """Name the diffs of a batch that remove a row which is not there; change nothing."""
        return super()._admitted(self._fed(entries), skip=True).refused

    def load(self, entries: Sequence[Entry], *, check: bool = True) -> None:
        """Insert rows without making view diffs: all are read before the first is inserted."""
        self._sweep()
        feed = self._read(entries)
        work = self._begin()
        work.fresh = empty_aliases(self.memory)
        ops, whole = self._with_pairs(feed.ops, feed)
        self._load(whole)
        self._note_once(work, ops, whole.matrices)
        self.release()
        if check and (found := new_unanswered(self.naming_starts, {}, work.fresh)):
            raise refused_load(self.plan, entries, found)
        work.is_whole = True

    def _load(self, feed: Feed) -> None:
        """Insert rows, by counting as far as that pays; in silence any order is right."""
        left = load(self.memory, [(part.alias, part.matrix) for part in feed.parts])
        if left:
            others = feed.only([feed.parts[number] for number in left])
            self._carry_out(others.ops, feed.matrices, generate=False)

    def expire(self, conditions: Conditions, *, generate: bool) -> DiffRows:
        """Delete all base rows that meet the conditions, in every alias named; give view diffs."""
        feed = expired(self.starts, conditions)
        self.make_room(feed.rows)
        ops, whole = self._with_pairs(feed.ops, feed)
        return self._applied(Admitted(ops, whole, []), generate=generate, silent=0).changes

    def restore(self, blocks: Blocks) -> None:
        """Map the memory that was written, if it fits, or insert the rows."""
        super().restore(blocks)
        self.pairs.refill(self._rows_of)
        for alias, rows in self.pairs.all():
            if not self.memory.alias(alias)[f.A_ROWS]:
                self.make_room(len(rows))
                ops = ops_alike(alias, np.arange(len(rows)), f.INSERT, rows)
                self._carry_out(ops, (rows,), generate=False)

    def drain(self, entries: Sequence[Entry], consumer: int) -> None:
        """Refuse: paths that are handed on as they are made are of joins by equalities."""
        raise DiffError("drain is for views whose joins have no conditions besides equalities")

    def check(self) -> None:
        """Recompute every invariant, or raise CorruptGraph."""
        super().check()
        self.pairs.check(self._rows_of)


def ops_made(part: OpsOfPairs) -> Words:
    """Return the ops of pairs."""
    return part.ops
