"""Carries ops out on a graph's memory, a batch whole or not at all.

    ops -> run, block by block -> paths          undo: the inverse of what was carried out

    Work   Run(ops, carried)  Run(ops, carried)  ...     of one batch, in order
                        0     not begun
                        None  under way: the graph's own words say how far
                        n     so many ops were carried out, and no more will be

In: what was admitted of a batch. Out: the paths it emits. An exception may come between any two
instructions of Python, but none comes while a kernel runs. So the words that a kernel leaves are
always right, and a Run is noted before its first op: `undo` brings the one under way to its end,
in silence, and carries out the inverse of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.common.progress import Progress
from joingraph.engines.codegen.install import Plugs
from joingraph.engines.compiled.cores import PIECE_BLOCKS, PIECES, Cores
from joingraph.engines.compiled.maintain import run as carry_out
from joingraph.filters.compiled.rows_to_ops import Feed
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.layout import Layout, lay_out
from joingraph.graph.compiled.machine.kernel import check_fences
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.graph.compiled.op_rows import inverse
from joingraph.plan.model import Plan
from joingraph.tables.batch import Refused

MODES = {"none": f.NONE, "local": f.LOCAL, "global": f.GLOBAL, "exact": f.EXACT}

MANY_OPS = 1000  # after which it is looked whether tables were outgrown


class Admitted(NamedTuple):
    """A batch's ops that are to be carried out, what they point into, and what was left out."""

    ops: Words
    feed: Feed
    refused: list[Refused]


class MissedError(Exception):
    """An op removes a row that is not there."""


class Run:
    """Ops that are carried out together, the rows they point to, and how many were."""

    __slots__ = ("carried", "matrices", "ops")

    def __init__(self, ops: Words, matrices: tuple[Words, ...]) -> None:
        self.ops, self.matrices = np.ascontiguousarray(ops), matrices
        self.carried: int | None = 0


class Work:
    """What a batch has done so far, and what was undone of it."""

    __slots__ = ("fresh", "is_whole", "noted", "runs", "undoing")

    def __init__(self, *, is_whole: bool) -> None:
        self.is_whole = is_whole
        self.fresh: tuple[int, ...] = ()  # aliases that a load found empty: all rows are its own
        self.runs: list[Run] = []
        self.undoing: list[Run] | None = None
        self.noted = NOTHING


NOTHING, IN_PART, ALL = range(3)  # what the declared indexes know of a batch


class Carrying:
    """A graph in flat memory that takes whole batches of ops."""

    def __init__(self, plan: Plan, lookahead: str) -> None:
        mode = MODES[lookahead]
        self.layout = self._lay_out(plan, exact=mode >= f.GLOBAL)
        self.memory = GraphMemory(self.layout, mode)
        self.plugs = Plugs(self.layout, mode, self.memory)
        self.cores = Cores(self.memory)
        self.work = Work(is_whole=True)
        self._under_way: Run | None = None
        self._unlooked = 0  # ops since it was looked whether tables were outgrown

    def _lay_out(self, plan: Plan, *, exact: bool) -> Layout:
        """Settle the layout of the plan."""
        return lay_out(plan, exact=exact)

    def compile(self, progress: Progress) -> None:
        """Compile all of the view's own kernels now, and use them from here on."""
        self.plugs.compile(progress)

    @property
    def is_whole(self) -> bool:
        """True if the last call that changes the graph was carried out to its end."""
        return self.work.is_whole

    def keep(self) -> None:
        """Keep what was done so far: `undo` does not reach behind it."""
        self.work = Work(is_whole=True)

    def _begin(self) -> Work:
        """Begin a batch; what was done before is kept."""
        self.work = Work(is_whole=False)
        return self.work

    def _end(self, work: Work, ops: Words, matrices: tuple[Words, ...]) -> None:
        """End a batch: bring up to date what is derived from its rows."""
        self._note_once(work, ops, matrices)
        self._unlooked += len(ops)
        if self._unlooked >= MANY_OPS:
            self._unlooked = 0
            self.release()
        work.is_whole = True

    def release(self) -> None:
        """Give back the memory of tables that have been outgrown."""
        self.memory.release()

    def _note_once(self, work: Work, ops: Words, matrices: tuple[Words, ...]) -> None:
        """Keep up what is derived from the rows; an interrupt leaves it made in part."""
        work.noted = IN_PART
        self._note(ops, matrices)
        work.noted = ALL

    def _note(self, ops: Words, matrices: tuple[Words, ...]) -> None:
        """Keep up what is derived from the rows; here that is nothing."""

    def _finish_moves(self) -> None:
        """Bring to its end a move of memory that an exception has interrupted."""
        self.memory.finish_move()

    def _note_anew(self) -> None:
        """Make what is derived from the rows anew; here that is nothing."""

    def _removal(self, alias: int) -> Run:
        """Make the run that removes all rows of an alias."""
        raise NotImplementedError

    def undo(self) -> None:
        """Take back what was done of the last batch; called again, do what is left."""
        work = self.work
        self._finish_moves()
        self._finish()
        if work.undoing is None:
            widths = np.array([alias.width for alias in self.layout.aliases], np.int64)
            work.undoing = [
                Run(inverse(run.ops[: run.carried], widths), run.matrices)
                for run in reversed(work.runs)
            ]
        for run in work.undoing:
            if run.carried == 0:
                self._start(run, generate=False)
                self._finish()
        for alias in work.fresh:
            self._start(self._removal(alias), generate=False)
            self._finish()
        noted, work.noted = work.noted, min(work.noted, IN_PART)
        if noted == ALL and not work.fresh:
            for run in work.undoing:
                self._note(run.ops, run.matrices)
        elif noted != NOTHING:
            self._note_anew()
        self.work = Work(is_whole=True)

    def _carry_out(self, ops: Words, matrices: tuple[Words, ...], *, generate: bool) -> list[Paths]:
        """Run ops to their end; give the paths they emit."""
        run = Run(ops, matrices)
        self.work.runs.append(run)
        with lent(*matrices, run.ops):
            self._start(run, generate=generate)
            return list(self._parts(run, cores=pa.cpu_count()))

    def _start(self, run: Run, *, generate: bool, sink: int = 0) -> None:
        """Let the graph's words tell of a run, of which nothing is carried out yet."""
        self.plugs.put_in_place()
        self.plugs.notice(run.ops)
        if generate:
            self.memory.filling.begin()
        words = self.memory.words
        words[f.OP_COUNT] = words[f.CURSOR] = 0
        words[f.OPS], words[f.PHASE] = address_of(run.ops), f.P_START
        words[f.SILENT], words[f.SINK] = not generate, sink
        words[f.ROWS] = words[f.SEGMENT_COUNT] = 0
        self._under_way = run
        run.carried = None
        words[f.OP_COUNT] = len(run.ops)

    def begin_call(self, run: Run, ops: Words, state: memoryview) -> None:
        """Begin a batch whose ops a compiled call will write there, as `_start` begins others.

        The work is new since the batch was read, which is where the last one's ops lay.
        """
        if self.plugs.finished:
            self.plugs.put_in_place()
        self.memory.filling.begin()
        state[f.OP_COUNT] = state[f.CURSOR] = run.carried = 0
        run.ops = ops
        work = self.work
        work.is_whole = False
        work.runs.append(run)
        self._under_way = run
        run.carried = None

    def end_call(self, run: Run, state: memoryview, *, is_noted: bool) -> None:
        """End a batch that a compiled call has carried out, and whose tables may have indexes."""
        if is_noted:
            self._note_once(self.work, run.ops[: state[f.CURSOR]], run.matrices)
        run.carried, self._under_way = state[f.CURSOR], None
        self.memory.filling.end()
        self.work.is_whole = True

    def rest_of_call(self, run: Run) -> list[Paths]:
        """Return the paths that a call has left in the block, and those of the ops after it."""
        words, filling = self.memory.words, self.memory.filling
        rest = self._parts(run, cores=pa.cpu_count())
        return [*([filling.paths()] if words[f.ROWS] else []), *rest]

    def _parts(self, run: Run, *, cores: int = 1) -> Iterator[Paths]:
        """Run ops until none is left; yield the paths of each block.

        One core has one block at a time; several have as many as their wave fills.
        """
        memory, words = self.memory, self.memory.words
        rows = int(words[f.ROWS])  # of the ops before
        while words[f.CURSOR] < words[f.OP_COUNT]:
            words[f.ROWS] = words[f.SEGMENT_COUNT] = 0
            ended = carry_out(memory.st)
            check_fences()
            if ended == f.MISSED:
                words[f.OP_COUNT] = words[f.CURSOR]
                raise MissedError
            if words[f.ROWS]:
                rows += int(words[f.ROWS])
                yield self._block()
            while ended == f.FULL and (pieces := self._linked(run, rows, cores)):
                found = self.cores.paths(pieces, cores)
                rows += sum(map(len, found))
                yield from found
        run.carried = int(words[f.CURSOR])
        self._under_way = None
        memory.filling.end()

    def _block(self) -> Paths:
        """Take what the block holds."""
        return self.memory.filling.paths()

    def _linked(self, run: Run, rows: int, cores: int) -> list[range]:
        """Link the next inserts, as far as they are of one alias, to be walked at once in pieces.

        Return no piece where one walker is as good, where walks change the graph, or where an op
        is half done. `rows` are the paths of the ops before, which tell how many to expect. An
        interrupt may leave the ops behind these uncounted: what has several cores is undone then.
        """
        words = self.memory.words
        if cores < 2 or words[f.LOOKAHEAD] == f.GLOBAL or words[f.PHASE] != f.P_START:
            return []
        first = int(words[f.CURSOR])
        piece = max(1, first * PIECE_BLOCKS * int(words[f.LIMIT]) // max(1, rows))
        end = int(words[f.OP_COUNT])
        ahead = run.ops[first : min(end, first + piece * PIECES * cores)]
        others = (ahead[:, f.O_KIND] != f.INSERT) | (ahead[:, f.O_ALIAS] != ahead[:1, f.O_ALIAS])
        count = int(others.argmax()) if others.any() else len(ahead)
        if count <= piece:
            return []
        words[f.ROWS] = words[f.SEGMENT_COUNT] = 0
        words[f.SILENT], words[f.OP_COUNT] = 1, first + count
        ended = carry_out(self.memory.st)
        check_fences()
        assert ended == f.DONE, "an insert in silence misses no row and fills no block"
        words[f.SILENT], words[f.OP_COUNT] = 0, end
        return [
            range(at, min(at + piece, first + count)) for at in range(first, first + count, piece)
        ]

    def _finish(self) -> None:
        """Bring the run under way to its end, in silence."""
        run = self._under_way
        self.cores.close()
        if run is not None:
            self.memory.filling.resume()
            self.memory.words[f.SILENT], self.memory.words[f.SINK] = 1, 0
            with lent(*run.matrices, run.ops), suppress(MissedError):
                for _ in self._parts(run):
                    pass
            run.carried = int(self.memory.words[f.CURSOR])
            self._under_way = None
            self.memory.filling.end()
