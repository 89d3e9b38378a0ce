"""Carries batches of few rows out, each by one compiled call (kernel.py).

    read(batch)     rows of Python values, columns of Arrow -> words; None: it goes by blocks
    carry_out(..)   words -> the graph, and the view diff's words; None: so does it, after undo

In: a batch as a caller hands it to `apply`. Out: what the way by blocks gives, to the letter: what
is refused is refused there, so nothing is worded here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from joingraph.engines.calls import kernel as k
from joingraph.engines.calls.base_rows import BaseRows
from joingraph.engines.calls.memory import PATHS_MAX, CallMemory, batch_room, bytes_of
from joingraph.engines.calls.path_rows import BY_ROW_MAX, PathRows
from joingraph.engines.calls.view_rows import Found, ViewRows, WordsDiff
from joingraph.engines.compiled.batches import MissedError, Run, Work
from joingraph.engines.compiled.maintain import run as carry_out
from joingraph.engines.contract import ALL_ROWS, IdiffsOf, Wanted
from joingraph.expressions import texts as bounds
from joingraph.expressions.evaluate import NoAnswer
from joingraph.expressions.functions.by_row import UNANSWERED
from joingraph.generators.compiled.net import folding
from joingraph.generators.compiled.view_diffs import ViewDiffs
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.machine.kernel import address_of_kernel, check_fences
from joingraph.graph.compiled.memory.reserved import FENCED
from joingraph.graph.compiled.values.string_pool import TOP
from joingraph.tables.row_batch import Part, RowBatch
from joingraph.tables.row_words import UNFIT, Texts, UnfitError
from joingraph.tables.table import Table
from joingraph.view_diffs.formats import made_as_rows
from joingraph.view_diffs.view_diff import ViewDiff

if TYPE_CHECKING:
    from joingraph.engines.compiled.engine import CompiledEngine
    from joingraph.engines.compiled.sizes.limit import Room

WORDS_MAX = 1 << 17  # of a batch in any of its forms: blocks are as good for more
FOLDED_BY_COLUMN = 1 << 9  # paths of a batch of columns: more are told as columns at once
NOTED_OPS = 128  # after which the view's own kernels hear of them
ENTRY = Struct(f"<{k.ENTRY_WORDS}q")
ENTRY_BYTES = ENTRY.size
KINDS = {"insert": f.INSERT, "delete": f.DELETE, "update": f.UPDATE}
REFUSED = (*UNFIT, NoAnswer)
NO_ROWS: Found = b"", b"", 0, 0
NO_BATCH = RowBatch((), b"", b"")


class RoomError(Exception):
    """A batch needs memory for more words."""


class Calls:
    """The calls of one graph."""

    def __init__(self, engine: CompiledEngine, tables: Mapping[str, Table]) -> None:
        self.engine, self.tables = engine, tables
        self.view = ViewRows(engine.outputs)
        self.memory = CallMemory(self.view.told)
        self.state = bytes_of(engine.memory.words).cast("q")
        self.pool = bytes_of(engine.interner.state).cast("q")
        self.texts = Texts()
        self.base_rows: dict[str, BaseRows | None] = {}
        self.run = Run(self.memory.batch.ops, ())
        self.folds = self.view.are_slots * PATHS_MAX  # of a batch of rows
        self.ops = self.unnoted = 0  # of the batch that was read; since they were noted
        self.indexes = 0  # on output columns
        self.indexed = self.keyed = engine.keys.tables
        words = self.memory.words
        words[k.C_ST], words[k.C_STRINGS] = engine.memory.st, engine.interner.descriptor.address
        words[k.C_RUN] = address_of_kernel(carry_out)
        self.paths: PathRows | None = None
        if not self.view.are_slots:
            with suppress(UnfitError):
                self.paths = PathRows(engine.outputs)

    def read(self, batch: object) -> RowBatch | None:
        """Read a batch, if it can be carried out by a call; nothing is changed."""
        engine = self.engine
        if type(batch) is not list:
            return None
        engine.work = Work(is_whole=True)  # the last batch can be undone no more
        if len(engine.indexes) != self.indexes:
            aliases = {each.alias for each in engine.indexes.values()}
            self.indexed = self.keyed | {engine.plan.aliases[each].table for each in aliases}
            self.indexes = len(engine.indexes)
        while True:
            try:
                found = self._read(batch)
                return found if engine.room is None or self._fits(engine.room, found) else None
            except RoomError as error:
                (words,) = error.args
                if words > WORDS_MAX:
                    return None
                self.memory.is_told, self.memory.batch = False, batch_room(2 * words)
            except REFUSED:
                return None

    def _read(self, batch: list[Any]) -> RowBatch:
        """Write the words of a batch; UNFIT if it goes by blocks."""
        memory, texts, known = self.memory, self.texts, self.base_rows
        most, _, entries, area, base, _ = memory.batch
        texts.parts, texts.size, texts.more = [], 0, 0
        parts: list[Part] = []
        at = number = words = ops = 0
        is_by_column = False
        for entry in batch:
            if type(entry) is not tuple or len(entry) < 3 or type(entry[1]) is not str:
                raise UnfitError
            operation, name, rows = entry[0], entry[1], entry[-1]
            kind = KINDS.get(operation) if type(operation) is str else None
            if len(entry) != (4 if kind == f.UPDATE else 3) or kind is None:
                raise UnfitError
            table = known.get(name) or self._settled(name)
            rows = rows if type(rows) is list else table.listed(rows)
            count, is_by_column = len(rows), is_by_column or type(rows) is pa.Table
            words += count * table.words_max + k.ENTRY_WORDS
            if words > most:
                raise RoomError(words)
            pre = post = base + at  # of one side, the other is not read
            if kind == f.UPDATE:
                old = entry[2] if type(entry[2]) is list else table.listed(entry[2])
                if len(old) != count:
                    raise UnfitError
                at = table.enter(old, area, at)
                post = base + at
            at = table.enter(rows, area, at)
            ENTRY.pack_into(entries, number, table.address, kind, count, pre, post)
            number, ops = number + ENTRY_BYTES, ops + count * table.alias_count
            parts.append((operation, name, count, table.width))
        if texts.size > bounds.BLOCK_BYTES:
            raise UnfitError
        memory.words[k.C_ENTRY_COUNT], self.ops = len(parts), ops
        memory.words[k.C_FOLDS] = self.folds and (FOLDED_BY_COLUMN if is_by_column else self.folds)
        return RowBatch(parts, area[:at].tobytes(), b"".join(texts.parts))

    def _fits(self, room: Room, batch: RowBatch) -> bool:
        """True if a batch that was read surely has room in the graph's memory limit."""
        rows = Counter[int]()
        for operation, name, count, _ in batch.parts:
            table = self.base_rows[name]
            if table is not None and operation != "delete":
                rows.update({alias.index: count for alias in table.aliases})
        return room.has_room(rows, self.texts.count, len(batch.texts))

    def _settled(self, name: str) -> BaseRows:
        """Settle how rows of a table come in; once."""
        if name in self.base_rows or name not in self.tables:
            raise UnfitError
        try:
            found = self.base_rows[name] = BaseRows(self.engine, self.tables[name], self.texts)
        except UnfitError:
            self.base_rows[name] = None
            raise
        return found

    def carry_out(
        self, batch: RowBatch, idiffs: IdiffsOf, seq: int, wanted: Wanted = ALL_ROWS
    ) -> ViewDiff | None:
        """Carry out the batch that was read; None: undo it, as it goes by blocks."""
        engine, memory, state, run = self.engine, self.memory, self.state, self.run
        generate, most = wanted
        if self.texts.parts:
            self._enter_texts(batch.texts)
        if not engine.memory.area.covers(self.ops):
            engine.make_room(self.ops)
        is_noted = any(each[1] in self.indexed for each in batch.parts) if self.indexed else False
        if is_noted:
            engine.keys.make_room(2 * self.ops)  # all are noted on trial, too
        if not memory.is_told:
            memory.tell_places()
        engine.begin_call(run, memory.batch.ops, state)
        state[f.SILENT] = not generate
        ended = k.call(memory.address, memory.given)
        if ended == k.WIDE:
            ended = self._consolidated()
        if FENCED:
            check_fences()
        if (is_noted or most is not None) and not self._may_stand(batch, most):
            return None
        diff = self._told(ended, (idiffs, batch if generate else NO_BATCH), seq)
        if diff is not None:
            engine.end_call(run, state, is_noted=is_noted)
            self.unnoted += self.ops
            if self.unnoted >= NOTED_OPS:
                self._note()
        return diff

    def _told(self, ended: int, idiffs: tuple[IdiffsOf, RowBatch], seq: int) -> ViewDiff | None:
        """Return the view diff of a call that has ended so; None: undo it."""
        made = b""
        if ended == k.MANY and self.paths is not None:
            ended, made = self._by_rows(self.paths)
        if ended not in (f.DONE, k.MANY):
            return None
        found = self._found(made) if ended == f.DONE else None
        if found is not None:
            return WordsDiff(self.view, found, idiffs, seq)
        return self._by_blocks(*idiffs, seq)

    def _enter_texts(self, texts: bytes) -> None:
        """Make room for the texts of the batch that was read, and lay them where calls read."""
        engine, size, count = self.engine, len(texts), self.texts.count
        come = self.pool[TOP] - engine.sweeper.kept_bytes
        if come > engine.sweeper.fewest_bytes or not engine.interner.covers(size, count):
            engine.make_text_room(size, count)
        self.memory.enter_texts(texts)

    def _may_stand(self, batch: RowBatch, most: int | None) -> bool:
        """True unless more paths came than that, or, as far as it is known, a key twice."""
        are_done = self.state[f.CURSOR] == self.state[f.OP_COUNT]
        if most is not None and not (are_done and self.engine.memory.filling.count() <= most):
            return False
        return not (are_done and self._has_key_twice(batch))

    def _has_key_twice(self, batch: RowBatch) -> bool:
        """True if a row came while another had its key, where keys are indexed."""
        if not any(each[1] in self.keyed for each in batch.parts):
            return False
        return self.engine.keys.have_twice(self.run.ops[: self.state[f.OP_COUNT]])

    def _consolidated(self) -> int:
        """Finish a call with more room; MANY if there is none."""
        memory, ended = self.memory, k.WIDE
        while ended == k.WIDE:
            has_room = memory.widen(self.state[f.ROWS])
            ended = k.consolidate(memory.address, memory.given) if has_room else k.MANY
        return ended

    def _by_rows(self, paths: PathRows) -> tuple[int, bytes]:
        """Finish a call by rows; MANY if it takes columns. Also give the texts that were made."""
        memory, state, block = self.memory, self.state, self.engine.memory.filling.block
        rows = state[f.ROWS]
        if state[f.CURSOR] < state[f.OP_COUNT] or rows > BY_ROW_MAX or block is None:
            return k.MANY, b""
        ended, made = k.WIDE, b""
        if rows > memory.result.paths:
            memory.widen(rows)
        while ended == k.WIDE:
            try:
                made = paths.fill(memory, block.words, rows)
            except (*UNANSWERED, UnfitError):
                return k.MANY, b""
            ended = k.consolidate(memory.address, memory.given)
            if ended == k.WIDE and not memory.widen(rows):
                return k.MANY, b""
        return ended, made

    def _found(self, made: bytes) -> Found | None:
        """Copy the rows of the view diff; None if its columns may be so long that parts are made.

        Of texts, that is: those of the pool, and those that were made.
        """
        memory, words = self.memory, self.memory.words
        count, size = words[k.C_FOUND], words[k.C_TEXT_BYTES]
        if not count:
            return NO_ROWS
        if count * (self.view.texts * size + len(made)) > bounds.BLOCK_BYTES:
            return None
        texts = memory.result.texts[:size].tobytes() + made if size else made
        data = memory.result.rows[: count * self.view.size].tobytes()
        return data, texts, words[k.C_ALIKE], words[k.C_HAS_NULL]

    def _by_blocks(self, idiffs: IdiffsOf, batch: RowBatch, seq: int) -> ViewDiff | None:
        """Finish a call by columns: of many rows, or of a view with values to compute."""
        engine, outputs = self.engine, self.engine.outputs
        try:
            parts = engine.rest_of_call(self.run)
        except MissedError:
            return None
        if self.keyed and self._has_key_twice(batch):
            return None
        made = ViewDiffs(outputs, self.run.ops[: self.state[f.OP_COUNT]])
        fold = folding(outputs, made.kinds)
        return ViewDiff(made_as_rows(made.rows(parts), partial(idiffs, batch), fold), seq)

    def _note(self) -> None:
        """Tell the view's own kernels of ops, and give back what was outgrown."""
        self.unnoted = 0
        for table in self.base_rows.values():
            if table is not None:
                table.note(self.engine.plugs)
        self.engine.release()
        self.memory.shrink()
