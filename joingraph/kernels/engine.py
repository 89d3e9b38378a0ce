"""Drives the three stages over the compiled join graph: the same contract as the reference form.

entries -> feed (filter, words, ops) -> presence -> run (maintain and emit, block by block)
        -> outputs (residual predicates, columns, folding) -> table of view diffs
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.answers import Kept
from joingraph.asked import Asked
from joingraph.batch import Entry
from joingraph.breaks import Break
from joingraph.engine import Applied, Blocks, Refused
from joingraph.expiry import Conditions
from joingraph.expression import Expression
from joingraph.factorised import Factorised
from joingraph.generators.why_not import why_not
from joingraph.kept_rows import block_name, read_rows
from joingraph.kernels import fields as f
from joingraph.kernels.check import check
from joingraph.kernels.count import count
from joingraph.kernels.cutting import Cutter
from joingraph.kernels.expiry import expired
from joingraph.kernels.fanout import Fanouts
from joingraph.kernels.feed import Feed, Feeder
from joingraph.kernels.intrinsics import check_fences
from joingraph.kernels.kept import dump_rows, inserts
from joingraph.kernels.keys import Keys, row_places
from joingraph.kernels.layout import lay_out
from joingraph.kernels.load import load
from joingraph.kernels.memory import Words, lent
from joingraph.kernels.mirror import Mirror
from joingraph.kernels.nested import Nester
from joingraph.kernels.outputs import Outputs
from joingraph.kernels.paths import Paths, read_block
from joingraph.kernels.pieces import Walker
from joingraph.kernels.plugs import Plugs
from joingraph.kernels.presence import admit
from joingraph.kernels.reading import read, why
from joingraph.kernels.room import Room
from joingraph.kernels.rows import NOTHING, came, inverse, paired, rows_of, runs, tied, went
from joingraph.kernels.run import run
from joingraph.kernels.scan import scan
from joingraph.kernels.sorted_index import SortedIndex
from joingraph.kernels.starts import Starts
from joingraph.kernels.state import GraphMemory
from joingraph.kernels.stats import stats
from joingraph.kernels.strings import Interner
from joingraph.kernels.sums import count_where
from joingraph.kernels.view_diffs import ViewDiffs
from joingraph.maintainers.lookahead import NoLook
from joingraph.plan.model import Plan
from joingraph.progress import Progress
from joingraph.reading import Reading, Touched
from joingraph.stores.snapshot import Block
from joingraph.ways import Way

MODES = {"none": f.NONE, "local": f.LOCAL, "global": f.GLOBAL, "exact": f.EXACT, "auto": f.EXACT}

MANY_OPS = 1000  # after which it is looked whether tables were outgrown


class Admitted(NamedTuple):
    """A batch's ops that are to be carried out, what they point into, and what was left out."""

    ops: Words
    feed: Feed
    refused: list[Refused]


class CompiledEngine:
    """Keeps a view's join graph in flat memory."""

    def __init__(self, plan: Plan, lookahead: str, key_index: Sequence[str] = ()) -> None:
        self.plan = plan
        mode = MODES[lookahead]
        self.layout = lay_out(plan, exact=mode >= f.GLOBAL)
        self.memory = GraphMemory(self.layout, mode)
        self.interner = Interner()
        self.keys = Keys(plan, self.layout, self.interner, key_index)
        self.plugs = Plugs(self.layout, mode, self.memory)
        self.feeder = Feeder(plan, self.layout, self.interner, self.keys)
        self.outputs = Outputs(plan, self.layout, self.interner)
        self.indexes: dict[str, SortedIndex] = {}
        self.walker = Walker(plan, self.layout, self.memory, self.interner)
        self.starts = Starts(self.walker, self.indexes)
        folding = Walker(plan, self.layout, self.memory, self.interner, folds=True)
        self.folding_starts = Starts(folding, self.indexes)
        self._done: list[Words] = []  # the ops carried out since a batch began, in order
        self._kept: Admitted | None = None  # the last batch, to be undone
        self.room: Room | None = None

    def limit(self, memory_limit: int) -> None:
        """Refuse from here on what may take more memory than this, before anything is changed."""
        self.room = Room(self.walker, memory_limit)

    def load(self, entries: Sequence[Entry]) -> None:
        """Insert rows without making view diffs."""
        feed = self._fed(entries)
        if self.room is not None:
            self.room.check_rows(feed.ops, feed.matrices)
        ops = load(self.memory, feed.ops, feed.matrices)
        self._carry_out(ops, feed.matrices, generate=False)
        self.memory.release()
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
    ) -> Applied:
        """Apply a batch whole, or raise and leave the graph as it was; so too unless `keep`."""
        batch = self._admit(entries, skip=skip)
        ops, matrices = batch.ops, batch.feed.matrices
        quiet = int(np.searchsorted(ops[:, f.O_DIFF], sum(batch.feed.lengths[:silent])))
        with self._atomic(batch, keep=keep):
            self._carry_out(ops[:quiet], matrices, generate=False)
            parts = self._carry_out(ops[quiet:], matrices, generate=generate)
            changes = ViewDiffs(self.outputs, ops[quiet:]).table(parts)
        return Applied(changes, batch.refused)

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
            yield cutter.view_diffs.table([])
            for paths in parts:
                yield from cutter.cut(paths, int(self.memory.words[f.CURSOR]))
            yield from cutter.rest()

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
            changes = ViewDiffs(self.outputs, ops).table(parts)
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

    def expire(self, conditions: Conditions, *, generate: bool) -> pa.Table:
        """Delete all base rows that meet the conditions, in every alias named; give view diffs."""
        ops, matrices = expired(self.starts, conditions)
        batch = Admitted(ops, Feed(ops, matrices, (len(ops),), ()), [])
        with self._atomic(batch, keep=True):
            parts = self._carry_out(ops, matrices, generate=generate)
            return ViewDiffs(self.outputs, ops).table(parts)

    def missing(self, entries: Sequence[Entry]) -> list[Refused]:
        """Name the diffs of a batch that remove a row which is not there; change nothing."""
        return self._admit(entries, skip=True).refused

    def _fed(self, entries: Sequence[Entry]) -> Feed:
        """Filter a batch, whose texts have room."""
        if self.room is not None:
            self.room.check_strings(entries)
        return self.feeder.feed(entries)

    def _admit(self, entries: Sequence[Entry], *, skip: bool) -> Admitted:
        """Filter a batch, leaving out base diffs that miss their row; all, unless `skip`."""
        feed = self._fed(entries)
        if self.room is not None:
            self.room.check_rows(feed.ops, feed.matrices)
        if not feed.lost and (feed.ops[:, f.O_KIND] == f.INSERT).all():
            return Admitted(feed.ops, feed, [])
        admitted = admit(self.memory.st, feed.ops, feed.matrices)
        refused = refusals(feed, admitted)
        ops = feed.ops[admitted & (feed.ops[:, f.O_KIND] != NOTHING)]
        return Admitted(ops if skip or not refused else ops[:0], feed, refused)

    @contextmanager
    def _atomic(self, batch: Admitted, *, keep: bool) -> Generator[None]:
        """Note a batch that is carried out within; undo it after an error, or unless `keep`."""
        self._done.clear()
        complete = False
        try:
            yield
            complete = True
        finally:
            if complete and keep:
                self._note(batch.ops, batch.feed.matrices)
                if len(batch.ops) >= MANY_OPS:
                    self.memory.release()
                self._kept = batch
            else:
                self._take_back(batch)

    def _take_back(self, batch: Admitted) -> Words:
        """Undo what was carried out of a batch; gives the ops that did it."""
        done, self._done = self._done, []
        self._kept = None
        widths = np.array([alias.width for alias in self.layout.aliases], np.int64)
        back = [inverse(ops, widths) for ops in done[::-1]]
        for ops in back:
            self._carry_out(ops, batch.feed.matrices, generate=False)
        return np.concatenate(back) if back else batch.ops[:0]

    def undo(self) -> None:
        """Take the last batch back, declared indexes included."""
        if self._kept is not None:
            batch = self._kept
            self._note(self._take_back(batch), batch.feed.matrices)

    def dump(self) -> Iterator[Block]:
        """Write what is kept of the base rows; everything else follows from that."""
        return dump_rows(self.starts)

    def restore(self, blocks: Blocks) -> None:
        """Insert the rows that were written."""
        for alias in self.plan.aliases:
            if block_name(alias) in blocks:
                batches = read_rows(self.plan, alias, blocks[block_name(alias)])
                ops, matrices = inserts(alias, batches, self.interner)
                left = load(self.memory, ops, matrices)
                self._carry_out(left, matrices, generate=False)
                self._note(ops, matrices)
                self.memory.release()
                self._done.clear()

    def _note(self, ops: Words, matrices: tuple[Words, ...]) -> None:
        """Keep up the declared indexes."""
        if not self.keys.of and not self.indexes:
            return
        with lent(*matrices):
            self.keys.note(ops)
            for index in self.indexes.values():
                for pick, is_post in ((went, False), (came, True)):
                    rows = rows_of(pick(ops, index.alias), self.layout, index.alias, post=is_post)
                    index.note(rows, come=is_post)

    def compile(self, progress: Progress) -> None:
        """Compile all of the view's own kernels now, and use them from here on."""
        self.plugs.compile(progress)

    def _carry_out(self, ops: Words, matrices: tuple[Words, ...], *, generate: bool) -> list[Paths]:
        """Run ops to their end; give the paths they emit."""
        with lent(*matrices), self._begun(ops, generate=generate) as parts:
            return list(parts)

    @contextmanager
    def _begun(self, ops: Words, *, generate: bool) -> Generator[Iterator[Paths]]:
        """Let ops be run block by block; they are run to their end even if nobody asks for it."""
        ops = np.ascontiguousarray(ops)
        self.plugs.put_in_place()
        self.plugs.notice(ops)
        words = self.memory.words
        words[f.OPS], words[f.OP_COUNT] = ops.ctypes.data, len(ops)
        words[f.CURSOR], words[f.PHASE], words[f.SILENT] = 0, f.P_START, not generate
        words[f.ROWS] = words[f.SEGMENT_COUNT] = 0
        self._done.append(ops)
        with lent(ops):
            try:
                yield self._parts()
            finally:
                words[f.SILENT] = 1
                for _ in self._parts():
                    pass

    def _parts(self) -> Iterator[Paths]:
        """Run ops until none is left; give the paths of each block."""
        memory, words = self.memory, self.memory.words
        while words[f.CURSOR] < words[f.OP_COUNT]:
            words[f.ROWS] = words[f.SEGMENT_COUNT] = 0
            run(memory.st)
            check_fences()
            if words[f.ROWS]:
                yield read_block(words, memory.block.words, memory.segments.words)

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
        (value,) = (each.value for each in self.plan.definition.output if each.name == column)
        slot = self.plan.slots[value]
        places = row_places(self.plan, self.layout, slot)
        place = slice(places[0], places[-1] + 1)
        index = SortedIndex(slot.alias, place, slot.stored, self.interner)
        for piece in self.starts.everyone(slot.alias):
            rows = self.walker.row_words(piece, slot.alias)
            index.note(np.repeat(rows, piece.times, axis=0), come=True)
        self.indexes[column] = index

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
