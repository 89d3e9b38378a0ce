"""Drives the three stages over the compiled join graph: the same contract as the reference form.

entries -> feed (filter, words, ops) -> presence -> run (maintain and emit, block by block)
        -> outputs (residual predicates, columns, folding) -> table of view diffs
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.batch import Entry
from joingraph.engine import Applied, Refused
from joingraph.kernels import fields as f
from joingraph.kernels.check import check
from joingraph.kernels.count import count
from joingraph.kernels.feed import NOTHING, Feed, Feeder
from joingraph.kernels.intrinsics import check_fences
from joingraph.kernels.layout import lay_out
from joingraph.kernels.memory import Words, lent
from joingraph.kernels.outputs import Outputs, Paths, read_block
from joingraph.kernels.plugs import Plugs, Progress
from joingraph.kernels.presence import admit
from joingraph.kernels.run import run
from joingraph.kernels.scan import Reader
from joingraph.kernels.state import GraphMemory
from joingraph.kernels.stats import stats
from joingraph.kernels.strings import Interner
from joingraph.plan.model import Plan

MODES = {"none": f.NONE, "local": f.LOCAL, "global": f.EXACT, "exact": f.EXACT, "auto": f.EXACT}
KERNEL_NAMES = {f.A_INSERT: "insert", f.A_PLUG: "paths"}
INVERSE = {f.INSERT: f.DELETE, f.DELETE: f.INSERT}


class CompiledEngine:
    """Keeps a view's join graph in flat memory."""

    def __init__(self, plan: Plan, lookahead: str) -> None:
        self.plan = plan
        mode = MODES[lookahead]
        self.layout = lay_out(plan, exact=mode == f.EXACT)
        self.memory = GraphMemory(self.layout, mode)
        self.interner = Interner()
        self.plugs = Plugs(self.layout, mode, self.memory)
        self.feeder = Feeder(plan, self.layout, self.interner)
        self.outputs = Outputs(plan, self.layout, self.interner)

    def load(self, entries: Sequence[Entry]) -> None:
        """Insert rows without making view diffs."""
        for entry in entries:
            feed = self.feeder.feed([entry])
            self._carry_out(feed.ops, feed.matrices, generate=False)

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
        feed = self.feeder.feed(entries)
        admitted = admit(self.memory.st, feed.ops, feed.matrices)
        refused = refusals(feed, admitted)
        ops = feed.ops[admitted & (feed.ops[:, f.O_KIND] != NOTHING)]
        if refused and not skip:
            ops = ops[:0]
        quiet = int(np.searchsorted(ops[:, f.O_DIFF], sum(feed.lengths[:silent])))
        self._carry_out(ops[:quiet], feed.matrices, generate=False)
        parts = self._carry_out(ops[quiet:], feed.matrices, generate=generate)
        try:
            changes = self.outputs.changes(parts, ops[quiet:])
        except BaseException:
            self._undo(ops, feed)
            raise
        if not keep:
            self._undo(ops, feed)
        return Applied(changes, refused)

    def missing(self, entries: Sequence[Entry]) -> list[Refused]:
        """Name the diffs of a batch that remove a row which is not there; change nothing."""
        feed = self.feeder.feed(entries)
        return refusals(feed, admit(self.memory.st, feed.ops, feed.matrices))

    def _undo(self, ops: Words, feed: Feed) -> None:
        """Take a batch back."""
        widths = np.array([alias.width for alias in self.layout.aliases], np.int64)
        self._carry_out(inverse(ops, widths), feed.matrices, generate=False)

    def compile(self, progress: Progress | None = None) -> None:
        """Compile all of the view's own kernels now, and use them from here on."""
        self.plugs.compile(progress)

    def kernels(self) -> dict[str, str]:
        """Show the text of the view's own kernels by alias."""
        return {
            f"{self.plan.aliases[plug.alias].name}: {KERNEL_NAMES[plug.field]}": self.plugs.text(
                plug
            )
            for plug in self.plugs.all
        }

    def _carry_out(self, ops: Words, matrices: tuple[Words, ...], *, generate: bool) -> list[Paths]:
        """Run ops to their end; give the paths they emit."""
        ops = np.ascontiguousarray(ops)
        self.plugs.put_in_place()
        self.plugs.notice(ops)
        memory, words = self.memory, self.memory.words
        words[f.OPS], words[f.OP_COUNT] = ops.ctypes.data, len(ops)
        words[f.CURSOR], words[f.PHASE], words[f.SILENT] = 0, f.P_START, not generate
        words[f.ROWS] = words[f.SEGMENT_COUNT] = 0
        parts: list[Paths] = []
        with lent(ops, *matrices):
            more = True
            while more:
                more = run(memory.st) == f.FULL
                check_fences()
                if words[f.ROWS]:
                    parts.append(read_block(words, memory.block.words, memory.segments.words))
                    words[f.ROWS] = words[f.SEGMENT_COUNT] = 0
        return parts

    def scan(self) -> Iterator[pa.RecordBatch]:
        """Read the whole view, starting from the vertex with the fewest values."""
        vertices = range(len(self.layout.vertices))
        start = min(vertices, key=lambda each: int(self.memory.vertex(each)[f.V_LIVE]))
        reader = Reader(self.memory, start)
        more = True
        while more:
            more = reader.next()
            check_fences()
            paths = read_block(reader.words, reader.block.words, reader.segments.words)
            yield from self.outputs.batches(paths)

    def count(self) -> int:
        """Count the view's rows; only residual predicates ask for walking its paths."""
        if self.plan.residuals:
            return sum(len(batch) for batch in self.scan())
        return count(self.memory)

    def stats(self) -> dict[str, Any]:
        """Tell the graph's size by alias, vertex and kind."""
        return stats(self.plan, self.memory, self.interner)

    def check(self) -> None:
        """Recompute every invariant, or raise CorruptGraph."""
        check(self.memory)


def refusals(feed: Feed, admitted: npt.NDArray[np.bool_]) -> list[Refused]:
    """Name the base diffs that were not admitted by their entry and row."""
    missing = np.unique(feed.ops[~admitted, f.O_DIFF])
    ends = np.cumsum(feed.lengths)
    entries = np.searchsorted(ends, missing, side="right")
    starts = np.concatenate([[0], ends])[entries]
    pairs = zip(entries.tolist(), (missing - starts).tolist(), strict=True)
    return [Refused(entry, row) for entry, row in pairs]


def inverse(ops: Words, widths: Words) -> Words:
    """Make the ops that undo a batch: backwards, each turned round.

    What was updated or moved comes back by a delete and an insert: only the graph's rows matter.
    """
    back: list[Words] = []
    for kind, address in ((f.DELETE, 1), (f.INSERT, 0)):
        part = ops.copy()
        two = part[:, f.O_KIND] >= f.UPDATE
        undone = two | (part[:, f.O_KIND] == INVERSE[kind])
        part[two, f.O_ROW] += address * 8 * widths[part[two, f.O_ALIAS]]
        part[:, f.O_KIND] = np.where(undone, kind, NOTHING)
        back.append(part)
    both = np.stack(back, axis=1)[::-1].reshape(-1, f.OP_WORDS)
    return np.ascontiguousarray(both[both[:, f.O_KIND] != NOTHING])
