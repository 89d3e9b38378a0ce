"""Drives the three stages over the compiled join graph: the same contract as the reference form.

entries -> feed (filter, words, ops) -> presence -> run (maintain and emit, block by block)
        -> outputs (residual predicates, columns, folding) -> table of view diffs
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.answers import Kept
from joingraph.asked import Asked
from joingraph.batch import Entry
from joingraph.breaks import Break
from joingraph.engine import Applied, Blocks, Ready, Refused
from joingraph.errors import DiffError
from joingraph.expiry import Conditions
from joingraph.expression import Expression
from joingraph.factorised import Factorised
from joingraph.generators.why_not import why_not
from joingraph.kept_rows import block_name, read_rows
from joingraph.kernels import fields as f
from joingraph.kernels.arrays import Arrays
from joingraph.kernels.carrying import Admitted, Carrying, MissedError
from joingraph.kernels.check import check
from joingraph.kernels.count import count
from joingraph.kernels.cutting import Cutter
from joingraph.kernels.expiry import expired
from joingraph.kernels.fanout import Fanouts
from joingraph.kernels.feed import Feed, Feeder
from joingraph.kernels.kept import dump_rows, repeated
from joingraph.kernels.keys import Keys, row_places
from joingraph.kernels.laying import ops_alike
from joingraph.kernels.load import load
from joingraph.kernels.memory import Words, lent
from joingraph.kernels.mirror import Mirror
from joingraph.kernels.nested import Nester
from joingraph.kernels.net import are_different, as_it_is, net
from joingraph.kernels.nulls import Nulls
from joingraph.kernels.outputs import Outputs
from joingraph.kernels.paths import Paths
from joingraph.kernels.pieces import Walker
from joingraph.kernels.presence import admit
from joingraph.kernels.reading import read, why
from joingraph.kernels.room import Room
from joingraph.kernels.rows import came, paired, rows_of, runs, tied, went
from joingraph.kernels.scan import scan
from joingraph.kernels.sorted_index import SortedIndex
from joingraph.kernels.starts import Starts
from joingraph.kernels.stats import stats
from joingraph.kernels.strings import Interner
from joingraph.kernels.sums import count_where
from joingraph.kernels.sweep import Sweeper
from joingraph.kernels.view_diffs import ViewDiffs
from joingraph.maintainers.lookahead import NoLook
from joingraph.plan.model import Plan
from joingraph.reading import Reading, Touched
from joingraph.stores.snapshot import Block
from joingraph.viewdiff import DiffRows
from joingraph.ways import Way


class CompiledEngine(Carrying):
    """Keeps a view's join graph in flat memory."""

    def __init__(self, plan: Plan, lookahead: str, key_index: Sequence[str] = ()) -> None:
        super().__init__(plan, lookahead)
        self.plan = plan
        self.interner = Interner()
        self.keys = Keys(plan, self.layout, self.interner, key_index)
        self.nulls = Nulls(plan)
        self.feeder = Feeder(plan, self.layout, self.interner, self.keys, self.nulls)
        self.outputs = Outputs(plan, self.layout, self.interner, self.nulls)
        self.indexes: dict[str, SortedIndex] = {}
        self.walker = Walker(plan, self.layout, self.memory, self.interner)
        self.starts = Starts(self.walker, self.indexes)
        folding = Walker(plan, self.layout, self.memory, self.interner, folds=True)
        self.folding_starts = Starts(folding, self.indexes)
        self.sweeper = Sweeper(self.starts)
        self.room: Room | None = None
        self.memory_arrays = Arrays(self.memory, self.interner, self.keys, self.nulls)

    def limit(self, memory_limit: int) -> None:
        """Refuse from here on what may take more memory than this, before anything is changed."""
        self.room = Room(self.walker, memory_limit)

    def load(self, entries: Sequence[Entry]) -> None:
        """Insert rows without making view diffs: all are read before the first is inserted."""
        # A limit is judged for all of them at once; else one after the other takes less memory.
        parts = [entries] if self.room is not None else [[entry] for entry in entries]
        self._sweep()
        feeds = [self._read(part) for part in parts]
        while feeds:
            feed = feeds.pop(0)
            left = load(self.memory, [(part.alias, part.matrix) for part in feed.parts])
            if left:
                others = replace(feed, parts=tuple(feed.parts[number] for number in left))
                self._carry_out(others.ops, feed.matrices, generate=False)
            self.memory.release()
            if self._has_indexes:
                self._note(feed.ops, feed.matrices)
            self._done, self._kept = [], None

    def apply(
        self,
        entries: Sequence[Entry],
        *,
        skip: bool,
        generate: bool,
        silent: int = 0,
        keep: bool = True,
        ready: Ready | None = None,
    ) -> Applied:
        """Apply a batch whole, or raise and leave the graph as it was; so too unless `keep`.

        Most batches miss no row. Whether one does is seen on the way, and then it is taken back;
        but if somebody must be `ready` for what is left out, it is looked for beforehand.
        """
        feed = self._fed(entries)
        if ready is None and not skip and not feed.lost:
            with suppress(MissedError):
                batch = Admitted(feed.ops, feed, [])
                return self._applied(batch, generate=generate, silent=silent, keep=keep)
        batch = self._admitted(feed, skip=skip)
        if ready is not None:
            ready(batch.refused)
        return self._applied(batch, generate=generate, silent=silent, keep=keep)

    def _applied(self, batch: Admitted, *, generate: bool, silent: int, keep: bool) -> Applied:
        """Apply what was admitted, the first entries in silence."""
        ops, matrices = batch.ops, batch.feed.matrices
        quiet = int(np.searchsorted(ops[:, f.O_DIFF], sum(batch.feed.lengths[:silent])))
        with self._atomic(batch, keep=keep):
            if quiet:
                self._carry_out(ops[:quiet], matrices, generate=False)
            parts = self._carry_out(ops[quiet:], matrices, generate=generate)
            changes = ViewDiffs(self.outputs, ops[quiet:]).rows(parts)
        fold = as_it_is if are_different(self.outputs, ops[quiet:]) else partial(net, self.outputs)
        return Applied(changes, batch.refused, fold)

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
        cutter = Cutter(self.outputs, ops)
        with (
            self._atomic(batch, keep=True),
            lent(*matrices),
            self._begun(ops, generate=generate) as parts,
            suppress(GeneratorExit),
        ):
            yield cutter.view_diffs.rows([]).rows
            for paths in parts:
                yield from cutter.cut(paths, int(self.memory.words[f.CURSOR]))
            yield from cutter.rest()

    def drain(self, entries: Sequence[Entry], consumer: int) -> None:
        """Apply a batch, calling compiled code after every op with its paths in the block.

        Residual predicates and expressions are left to that code; a batch that misses a row is
        refused whole.
        """
        feed = self._fed(entries)
        words = self.memory.words
        words[f.SINK] = consumer
        try:
            with self._atomic(Admitted(feed.ops, feed, []), keep=True):
                self._carry_out(feed.ops, feed.matrices, generate=True)
        except MissedError:
            raise DiffError("a diff of the batch removes a row that is not there") from None
        finally:
            words[f.SINK] = 0

    def factorise(
        self, entries: Sequence[Entry], *, skip: bool, keep: bool = True
    ) -> tuple[Factorised, list[Refused]]:
        """Apply a batch as `apply` does, and give its view diffs as nested lists."""
        batch = self._admit(entries, skip=skip)
        ops, matrices = batch.ops, batch.feed.matrices
        nester = Nester(self.walker)
        with self._atomic(batch, keep=keep), lent(*matrices):
            by_rows = paired(ops) | tied(self.plan, self.layout, ops)
            parts: list[Paths] = []
            for part in runs(ops, by_rows):
                generate = bool(by_rows[part.start])
                found = self._carry_out(ops[part], matrices, generate=generate)
                parts += [each.moved(part.start) for each in found]
                if not generate:
                    nester.add_ops(ops[part])
            changes = ViewDiffs(self.outputs, ops).rows(parts).table
        return Factorised(nester.tables(), changes), batch.refused

    def fanout(self, entries: Sequence[Entry], *, skip: bool) -> tuple[int, bool, list[Refused]]:
        """Count the rows of a batch's view diffs, and say if that is exact; change nothing."""
        batch = self._admit(entries, skip=skip)
        ops, matrices = batch.ops, batch.feed.matrices
        fanouts = Fanouts(self.walker)
        with self._atomic(batch, keep=False), lent(*matrices):
            mark = tied(self.plan, self.layout, ops)
            for part in runs(ops, np.zeros(len(ops), bool)):
                self._carry_out(ops[part], matrices, generate=False)
                fanouts.add(ops[part], mark[part])
        return fanouts.rows, fanouts.exact, batch.refused

    def expire(self, conditions: Conditions, *, generate: bool) -> DiffRows:
        """Delete all base rows that meet the conditions, in every alias named; give view diffs."""
        feed = expired(self.starts, conditions)
        with self._atomic(Admitted(feed.ops, feed, []), keep=True):
            parts = self._carry_out(feed.ops, feed.matrices, generate=generate)
            return ViewDiffs(self.outputs, feed.ops).rows(parts)

    def missing(self, entries: Sequence[Entry]) -> list[Refused]:
        """Name the diffs of a batch that remove a row which is not there; change nothing."""
        return self._admit(entries, skip=True).refused

    def _fed(self, entries: Sequence[Entry]) -> Feed:
        """Filter a batch, which begins here: nobody but the graph's rows holds texts."""
        self._sweep()
        return self._read(entries)

    def _sweep(self) -> None:
        """Forget texts that nobody has any more, if it is time to."""
        if self.sweeper.is_due():
            self._kept = None
            self.sweeper.sweep(self.indexes.values())

    def _read(self, entries: Sequence[Entry]) -> Feed:
        """Filter entries that have room."""
        if self.room is not None:
            self.room.check_strings(entries)
        feed = self.feeder.feed(entries)
        if self.room is not None:
            self.room.check_rows(feed.ops, feed.matrices)
        return feed

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

    def undo(self) -> None:
        """Take the last batch back, declared indexes included."""
        if self._kept is not None:
            batch = self._kept
            self._note(self._take_back(batch), batch.feed.matrices)

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
                rows = repeated(alias, batches, self.interner, self.nulls)
                left = load(self.memory, [(alias.index, rows)])
                if left or self._has_indexes:
                    ops = ops_alike(alias.index, np.arange(len(rows)), f.INSERT, rows)
                    if left:
                        self._carry_out(ops, (rows,), generate=False)
                    self._note(ops, (rows,))
                self.memory.release()
                self._done.clear()

    @property
    def _has_indexes(self) -> bool:
        return bool(self.keys.of or self.indexes)

    def _note(self, ops: Words, matrices: tuple[Words, ...]) -> None:
        """Keep up the declared indexes."""
        if not self._has_indexes:
            return
        with lent(*matrices):
            self.keys.note(ops)
            for index in self.indexes.values():
                for pick, is_post in ((went, False), (came, True)):
                    rows = rows_of(pick(ops, index.alias), self.layout, index.alias, post=is_post)
                    index.note(rows, come=is_post)

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

    def index(self, column: str) -> None:
        """Keep a secondary index on an output column that is kept as it is."""
        if column in self.indexes:
            return
        index = self._sorted_index(column)
        for piece in self.starts.everyone(index.alias):
            rows = self.walker.row_words(piece, index.alias)
            index.note(np.repeat(rows, piece.times, axis=0), come=True)
        self.indexes[column] = index

    def _sorted_index(self, column: str) -> SortedIndex:
        """Make an index of an output column, empty."""
        (value,) = (each.value for each in self.plan.definition.output if each.name == column)
        slot = self.plan.slots[value]
        places = row_places(self.plan, self.layout, slot)
        place = slice(places[0], places[-1] + 1)
        return SortedIndex(slot.alias, place, slot.stored, self.interner)

    def why(self, asked: Asked) -> list[tuple[Kept, ...]]:
        """Find the complete paths behind a row of the view: what each alias keeps on it."""
        return why(self.folding_starts, asked)

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
        """Tell the graph's size by alias, vertex and kind."""
        return stats(self.walker, self.indexes)

    def check(self) -> None:
        """Recompute every invariant, or raise CorruptGraph."""
        check(self.memory)


def refusals(feed: Feed, admitted: npt.NDArray[np.bool_]) -> list[Refused]:
    """Name the base diffs that were not admitted by their entry and row."""
    missing = np.unique(np.append(feed.ops[~admitted, f.O_DIFF], np.array(feed.lost, np.int64)))
    ends = np.cumsum(feed.lengths)
    entries = np.searchsorted(ends, missing, side="right")
    starts = np.concatenate([[0], ends])[entries]
    pairs = zip(entries.tolist(), (missing - starts).tolist(), strict=True)
    return [Refused(entry, row) for entry, row in pairs]
