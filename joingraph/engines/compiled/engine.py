"""Drives the three stages over the compiled join graph: the same contract as the reference form.

entries -> feed (filter, words, ops) -> presence -> run (maintain and emit, block by block)
        -> outputs (residual predicates, columns, folding) -> table of view diffs
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from joingraph.common.errors import DiffError, LimitError
from joingraph.engines.calls.calls import Calls
from joingraph.engines.compiled.batches import ALL, IN_PART, NOTHING, Admitted, MissedError, Run
from joingraph.engines.compiled.expire import expired
from joingraph.engines.compiled.indexes import Indexed
from joingraph.engines.compiled.mirror import Mirror
from joingraph.engines.compiled.row_blocks import dump_rows, repeated
from joingraph.engines.compiled.sizes.limit import Room
from joingraph.engines.compiled.sizes.size import stats
from joingraph.engines.compiled.string_garbage import Sweeper
from joingraph.engines.contract import Applied, Blocks, Ready
from joingraph.expressions.tree import Expression
from joingraph.filters.compiled.rows_to_ops import Feed, Feeder, refusals
from joingraph.filters.loads import refused_load
from joingraph.generators.compiled.count import count
from joingraph.generators.compiled.cutting import Cutter
from joingraph.generators.compiled.factorised import Nester
from joingraph.generators.compiled.fanout import Fanouts
from joingraph.generators.compiled.net import folding
from joingraph.generators.compiled.outputs import Outputs
from joingraph.generators.compiled.reads.column_walk import Walker
from joingraph.generators.compiled.reads.reading import count_where, read, why
from joingraph.generators.compiled.reads.starts import Starts
from joingraph.generators.compiled.reads.unanswered import new_unanswered, read_unanswered
from joingraph.generators.compiled.scan import scan
from joingraph.generators.compiled.view_diffs import ViewDiffs
from joingraph.generators.reads.why_not import why_not
from joingraph.graph.blocks import Block
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.image import Arrays
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.graph.compiled.memory.reserved import Words, lent
from joingraph.graph.compiled.op_rows import paired, runs, tied
from joingraph.graph.compiled.ops import ops_alike
from joingraph.graph.compiled.values.null_columns import Nulls
from joingraph.graph.row_blocks import block_name, read_rows
from joingraph.maintainers.compiled.check import check
from joingraph.maintainers.compiled.load import empty_aliases, load
from joingraph.maintainers.compiled.presence import admit
from joingraph.maintainers.lookahead import NoLook
from joingraph.plan.model import Plan
from joingraph.reads.access_paths import Way
from joingraph.reads.expire import Conditions
from joingraph.reads.requests import Reading, Touched
from joingraph.reads.row_lookup import Asked
from joingraph.reads.unanswered import Unanswered
from joingraph.reads.why import Kept
from joingraph.reads.why_not import Break
from joingraph.tables.batch import Entry, Refused
from joingraph.tables.table import Table
from joingraph.view_diffs.factorised import Factorised
from joingraph.view_diffs.view_diff import DiffRows, Fold


class CompiledEngine(Indexed):
    """Keeps a view's join graph in flat memory."""

    def __init__(self, plan: Plan, lookahead: str, key_index: Sequence[str] = ()) -> None:
        super().__init__(plan, lookahead, key_index)
        self.nulls = Nulls(plan)
        self.feeder = Feeder(plan, self.layout, self.interner, self.keys, self.nulls)
        self.outputs = Outputs(plan, self.layout, self.interner, self.nulls)
        folding = Walker(plan, self.layout, self.memory, self.interner, folds=True)
        self.folding_starts = Starts(folding, self.indexes)
        self.sweeper = Sweeper(self.starts)
        self.room: Room | None = None
        self.memory_arrays = Arrays(self.memory, self.interner, self.keys, self.nulls)

    def limit(self, memory_limit: int) -> None:
        """Refuse from here on what may take more memory than this, before anything is changed."""
        self.room = Room(self.walker, memory_limit)

    def load(self, entries: Sequence[Entry], *, check: bool = True) -> None:
        """Insert rows without making view diffs: all are read before the first is inserted."""
        # A limit is judged for all of them at once; else one after the other takes less memory.
        parts = [entries] if self.room is not None else [[entry] for entry in entries]
        self._sweep()
        feeds, work = [self._read(part) for part in parts], self._begin()
        self.make_room(sum(feed.rows for feed in feeds))
        work.fresh, new = empty_aliases(self.memory), dict[int, list[Words]]()
        while feeds:
            feed = feeds.pop(0)
            for part in feed.parts:
                if part.alias not in work.fresh:  # all rows of a fresh one are new
                    new.setdefault(part.alias, []).append(part.matrix)
            left = load(self.memory, [(part.alias, part.matrix) for part in feed.parts])
            if left:
                others = feed.only([feed.parts[number] for number in left])
                self._carry_out(others.ops, feed.matrices, generate=False)
            if self.has_indexes:
                work.noted = IN_PART
                self._note(feed.ops, feed.matrices)
            self.release()
        work.noted = ALL if self.has_indexes else NOTHING
        if check and (found := new_unanswered(self.naming_starts, new, work.fresh)):
            raise refused_load(self.plan, entries, found)
        work.is_whole = True

    def apply(
        self,
        entries: Sequence[Entry],
        *,
        skip: bool,
        generate: bool,
        silent: int = 0,
        ready: Ready | None = None,
    ) -> Applied:
        """Apply a batch; after an exception, `undo` takes back what was done of it.

        Most batches miss no row. Whether one does is seen on the way, and then it is taken back;
        but if a caller must be `ready` for what is left out, it is looked for beforehand.
        """
        feed = self._fed(entries)
        if ready is None and not skip and not feed.lost:
            with suppress(MissedError):
                batch = Admitted(feed.ops, feed, [])
                return self._applied(batch, generate=generate, silent=silent)
            self.undo()
            self.make_room(feed.rows)
        batch = self._admitted(feed, skip=skip)
        if ready is not None:
            ready(batch.refused)
        return self._applied(batch, generate=generate, silent=silent)

    def _applied(self, batch: Admitted, *, generate: bool, silent: int) -> Applied:
        """Apply what was admitted, the first entries in silence."""
        ops, matrices = batch.ops, batch.feed.matrices
        work, quiet = self._begin(), 0
        if silent:
            quiet = int(np.searchsorted(ops[:, f.O_DIFF], sum(batch.feed.lengths[:silent])))
            self._carry_out(ops[:quiet], matrices, generate=False)
        parts = self._carry_out(ops[quiet:], matrices, generate=generate)
        changes, net = self._changes(ops[quiet:], parts)
        self._end(work, ops, matrices)
        return Applied(changes, batch.refused, net)

    def _changes(self, ops: Words, parts: list[Paths]) -> tuple[DiffRows, Fold | None]:
        """Make view diffs of what ops emitted, and what folds them."""
        view_diffs = ViewDiffs(self.outputs, ops)
        return view_diffs.rows(parts), folding(self.outputs, view_diffs.kinds)

    def stream(
        self, entries: Sequence[Entry], *, skip: bool, generate: bool
    ) -> tuple[Generator[pa.Table], list[Refused]]:
        """Find what a batch is refused for, then apply it while its view diffs are taken."""
        batch = self._admit(entries, skip=skip)
        tables = self._streamed(batch, generate=generate)
        next(tables)
        return tables, batch.refused

    def _streamed(self, batch: Admitted, *, generate: bool) -> Generator[pa.Table]:
        """Yield nothing first, so that closing finds it begun; then the view diffs in parts."""
        ops, matrices = batch.ops, batch.feed.matrices
        cutter, run, work = Cutter(self.outputs, ops), Run(ops, matrices), self._begin()
        work.runs.append(run)
        with lent(*matrices, run.ops):
            try:
                self._start(run, generate=generate)
                yield cutter.view_diffs.rows([]).rows
                for paths in self._parts(run):
                    yield from cutter.cut(paths, int(self.memory.words[f.CURSOR]))
                yield from cutter.rest()
            except GeneratorExit:
                if self.work is not work:  # it was undone
                    return
                self._finish()
            self._end(work, ops, matrices)

    def drain(self, entries: Sequence[Entry], consumer: int) -> None:
        """Apply a batch, calling compiled code with the paths in the block after every op.

        An op of more paths than a block holds calls it once for each block that it fills.
        Residual predicates and expressions are left to that code; a batch that misses a row is
        refused whole.
        """
        feed = self._fed(entries)
        work, run = self._begin(), Run(feed.ops, feed.matrices)
        work.runs.append(run)
        with lent(*run.matrices, run.ops):
            try:
                self._start(run, generate=True, sink=consumer)
                for _ in self._parts(run):
                    pass
            except MissedError:
                self.undo()
                raise DiffError("a diff of the batch removes a row that is not there") from None
            self._end(work, feed.ops, feed.matrices)

    def factorise(
        self, entries: Sequence[Entry], *, skip: bool
    ) -> tuple[Factorised, list[Refused]]:
        """Apply a batch as `apply` does, and give its view diffs as nested lists."""
        batch = self._admit(entries, skip=skip)
        ops, matrices = batch.ops, batch.feed.matrices
        nester, work = Nester(self.walker), self._begin()
        with lent(*matrices):
            by_rows = paired(ops) | tied(self.plan, self.layout, ops)
            parts: list[Paths] = []
            for part in runs(ops, by_rows):
                generate = bool(by_rows[part.start])
                found = self._carry_out(ops[part], matrices, generate=generate)
                parts += [each.moved(part.start) for each in found]
                if not generate:
                    nester.add_ops(ops[part])
            changes = ViewDiffs(self.outputs, ops).rows(parts).table
            self._end(work, ops, matrices)
        return Factorised(nester.tables(), changes), batch.refused

    def fanout(self, entries: Sequence[Entry], *, skip: bool) -> tuple[int, bool, list[Refused]]:
        """Count the rows of a batch's view diffs, and say if that is exact; change nothing."""
        batch = self._admit(entries, skip=skip)
        ops, matrices = batch.ops, batch.feed.matrices
        fanouts = Fanouts(self.walker)
        self._begin()
        with lent(*matrices):
            mark = tied(self.plan, self.layout, ops)
            for part in runs(ops, np.zeros(len(ops), bool)):
                self._carry_out(ops[part], matrices, generate=False)
                fanouts.add(ops[part], mark[part])
        self.undo()
        return fanouts.rows, fanouts.exact, batch.refused

    def expire(self, conditions: Conditions, *, generate: bool) -> DiffRows:
        """Delete all base rows that meet the conditions, in every alias named; give view diffs."""
        feed = expired(self.starts, conditions)
        self.make_room(feed.rows)
        work = self._begin()
        parts = self._carry_out(feed.ops, feed.matrices, generate=generate)
        found, _ = self._changes(feed.ops, parts)
        self._end(work, feed.ops, feed.matrices)
        return found

    def missing(self, entries: Sequence[Entry]) -> list[Refused]:
        """Name the diffs of a batch that remove a row which is not there; change nothing."""
        return self._admit(entries, skip=True).refused

    def calls(self, tables: Mapping[str, Table]) -> Calls | None:
        """Return what carries few rows of these base tables out at once."""
        return Calls(self, tables)

    def make_text_room(self, size: int, count: int) -> None:
        """Make room for so many texts of so many bytes, as a batch begins."""
        self._sweep()
        self.interner.make_room(size, count)

    def _fed(self, entries: Sequence[Entry]) -> Feed:
        """Filter a batch, which begins here: only the graph's rows hold texts."""
        self._sweep()
        feed = self._read(entries)
        self.make_room(feed.rows)
        return feed

    def _sweep(self) -> None:
        """Forget texts that no row has, if it is time to."""
        if self.sweeper.is_due():
            self._sweep_now()

    def _sweep_now(self) -> None:
        """Forget texts that no row has; the last batch can be undone no more."""
        self.keep()
        self.sweeper.sweep(self.indexes.values())

    def _read(self, entries: Sequence[Entry]) -> Feed:
        """Filter entries that have room, perhaps after texts were forgotten."""
        if self.room is None:
            return self.feeder.feed(entries)
        try:
            return self.room.feed(self.feeder, entries)
        except LimitError:
            if not self.sweeper.places:
                raise
        self._sweep_now()
        return self.room.feed(self.feeder, entries)

    def make_room(self, ops: int) -> None:
        """Make room in the regions for so many ops, or refuse them."""
        self.memory.make_room(ops)
        self.keys.make_room(ops)

    def _admit(self, entries: Sequence[Entry], *, skip: bool) -> Admitted:
        """Filter a batch and admit it."""
        return self._admitted(self._fed(entries), skip=skip)

    def _admitted(self, feed: Feed, *, skip: bool) -> Admitted:
        """Leave out base diffs that miss their row; all, unless `skip`."""
        if not feed.lost and (feed.ops[:, f.O_KIND] == f.INSERT).all():
            return Admitted(feed.ops, feed, [])
        admitted = admit(self.memory.st, feed.ops, feed.matrices)
        refused = refusals(feed, admitted)
        ops = feed.ops[admitted & (feed.ops[:, f.O_KIND] != f.NOTHING)]
        return Admitted(ops if skip or not refused else ops[:0], feed, refused)

    def dump(self) -> Iterator[Block]:
        """Write what is kept of the base rows; everything else follows from that."""
        return dump_rows(self.starts)

    def arrays(self) -> Iterator[Block]:
        """Write the graph's memory as it is."""
        return self.memory_arrays.dump(self.indexes)

    def restore(self, blocks: Blocks) -> None:
        """Map the memory that was written, if it fits, or insert the rows."""
        parts = blocks.arrays(self.memory_arrays.stamp)
        if parts:
            self.memory_arrays.restore(parts)
            for column, rows, nulls in self.memory_arrays.indexes(parts):
                index = self.indexes[column] = self._sorted_index(column)
                width = self.layout.aliases[index.alias].width
                index.begin(rows.reshape(-1, width), nulls.reshape(-1, width))
            return
        for alias in self.plan.aliases:
            if block_name(alias) in blocks:
                batches = read_rows(self.plan, alias, blocks[block_name(alias)])
                rows = repeated(alias, batches, self.feeder)
                self.make_room(len(rows))
                left = load(self.memory, [(alias.index, rows)])
                if left or self.has_indexes:
                    ops = ops_alike(alias.index, np.arange(len(rows)), f.INSERT, rows)
                    if left:
                        self._carry_out(ops, (rows,), generate=False)
                    self._note(ops, (rows,))
                self.release()

    def scan(self) -> Iterator[pa.RecordBatch]:
        """Read the whole view, starting from the vertex with the fewest values."""
        vertices = range(len(self.layout.vertices))
        start = min(vertices, key=lambda each: int(self.memory.vertex(each)[f.V_LIVE]))
        return scan(self.memory, start, self.outputs)

    def read(self, reading: Reading, touched: Touched) -> Iterator[pa.RecordBatch]:
        """Read what is asked of the view, counting what is touched of the graph."""
        return read(self.starts, reading, touched)

    def way(self, reading: Reading) -> Way:
        """Choose where a read starts."""
        return self.starts.best_way(reading)

    @property
    def naming_starts(self) -> Starts:
        """The starts of walks that name rows: beside outer joins, those that tell missing ones."""
        return self.starts if self.plan.is_inner else self.folding_starts

    def unanswered(self, conditions: Sequence[Expression]) -> Unanswered | None:
        """Return a complete path that meets conditions and on which the view has no answer."""
        return read_unanswered(self.naming_starts, conditions)

    def why(self, asked: Asked) -> list[tuple[Kept | None, ...]]:
        """Find the complete paths behind a row of the view: what each alias keeps on it."""
        return why(self.folding_starts, asked)

    def joined_rows(self, asked: Asked) -> int:
        """Count the rows that are equal to one of the view."""
        return self.count(asked.conditions)

    def why_not(self, asked: Asked) -> list[Break]:
        """Find where the paths of a row break that the view does not have."""
        mirror = Mirror(self.folding_starts)
        return why_not(mirror, NoLook(mirror), asked)

    def count(self, conditions: tuple[Expression, ...] = ()) -> int:
        """Count the view's rows that meet conditions, without making them."""
        if conditions or self.plan.residuals:
            return count_where(self.starts, conditions)
        return count(self.memory)

    def stats(self) -> dict[str, Any]:
        """Return the graph's size by alias, vertex and kind."""
        return stats(self.walker, self.indexes)

    def check(self) -> None:
        """Recompute every invariant, or raise CorruptGraph."""
        check(self.memory)
