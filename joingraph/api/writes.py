"""What changes a live graph: rows in, view diffs out, each call whole or not at all.

What a call is refused for is found before anything is changed. Every change ends alike: it is
logged, its record is waited for outside the lock, then its view diffs are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from weakref import ref

import pyarrow as pa

from joingraph.api.batches import Batches, Kept, said_of
from joingraph.api.durability import Durability
from joingraph.common.errors import DiffError
from joingraph.common.names import plain, plain_items
from joingraph.engines.choice import one_of
from joingraph.engines.streaming import Stream, do_nothing, never_fails, one_table
from joingraph.plan.keys.totals import delta_columns
from joingraph.reads.expire import bind_expiry
from joingraph.reads.requests import indexable
from joingraph.storage.attempt import Attempt
from joingraph.storage.journal import Prompt
from joingraph.storage.live_graph import LiveGraph
from joingraph.storage.positions import Applied, Origin, read_origin
from joingraph.storage.record import Record
from joingraph.tables.batch import Entry, find_table, read_batch
from joingraph.tables.row_batch import RowBatch
from joingraph.tables.rows_in import to_table
from joingraph.view_diffs.deltas import Deltas, is_deltas
from joingraph.view_diffs.formats import ALL_FORMS, FromRows, made_as_deltas, made_as_rows
from joingraph.view_diffs.view_diff import (
    HAPPENED,
    DiffRows,
    Forms,
    ViewDiff,
    change_table,
    check_names,
)

AS_ROWS = ("rows", "net")  # forms that few rows, which are no groups, are made in
LOADS = "load takes rows by base table, {name: rows}"

Diffs = Iterable[Sequence[object]]  # ("insert", table, rows), ("update", table, pre, post), ...


class Again(ViewDiff):
    """The view diff of a batch that was applied before, read or refused when it is asked for."""

    def __init__(self, kept: Callable[[], pa.Table], idiffs: FromRows, seq: int) -> None:
        self.seq, self._kept, self._idiffs_of = seq, kept, idiffs

    @cached_property
    def _forms(self) -> Forms:
        changes = self._kept()
        if is_deltas(changes):
            return made_as_deltas(Deltas(changes))
        return Forms(lambda: DiffRows.of(changes), lambda: self._idiffs_of(changes))


class Writes:
    """Changes a graph, and waits for what it logs."""

    def __init__(self, live: LiveGraph, durability: Durability) -> None:
        self.prompt: Prompt | None = None  # for whom view diffs are not logged but remade
        self.batches = Batches(live)
        self._live, self._durability = live, durability

    def _read(self, batch: Diffs) -> list[Entry]:
        """Check a batch against the declared tables."""
        owner = self._live.keeping.owner
        return read_batch(batch, owner.view.tables, owner.key_index)

    def load(self, tables: Mapping[str, object], source: object, position: object) -> None:
        """Insert rows in bulk, without making view diffs."""
        live = self._live
        with live.lock:
            live.begin_writing()
            origin = read_origin(source, position)
            if live.journal.known(origin) is not None:
                return
            entries: list[Entry] = []
            for name, rows in plain_items(tables, LOADS):
                table = find_table(name, live.view.tables)
                if any(entry.table == table.name for entry in entries):
                    raise DiffError(f"load names table {table.name} twice: put its rows together")
                read = to_table(rows, table, f"load into {table.name}")
                entries.append(Entry("insert", table.name, None, read))
            record = Record("load", live.journal.state.seq, said_of(origin), entries)

            def load(attempt: Attempt) -> int:
                live.engine.load(entries)
                attempt.is_done = True
                return live.commit(attempt, record)

            number = live.change(load)
        self._durability.wait(number)

    def apply(self, batch: Diffs, source: object, position: object, form: str) -> ViewDiff:
        """Apply a batch, or answer as it was answered when its position was applied."""
        live = self._live
        with live.lock:
            made = None
            is_plain = source is None and position is None and type(form) is str
            if is_plain and form in AS_ROWS and live.is_calm:
                calls = self.batches.calls
                if calls is not None:
                    made = live.call(calls.read, batch, self.batches.called)
            if made is None:
                made = self._admitted(batch, one_of("form", form, ALL_FORMS), source, position)
        number, diff = made
        self._durability.wait(number)
        return diff

    def _admitted(
        self, batch: Diffs, form: str, source: object, position: object
    ) -> tuple[int, ViewDiff]:
        """Apply a batch, or answer as it was answered when its position was applied."""
        live = self._live
        live.begin_writing()
        origin = read_origin(source, position)
        again = live.journal.admit(origin)
        if again is not None:
            return again.number, self._answered(again, form)
        called = None
        if form in AS_ROWS:
            called = self._called(batch, origin)
        return called or self._applied(batch, origin, form)

    def _answered(self, again: Applied, form: str) -> ViewDiff:
        """Return the view diffs of a batch that was applied before, as they are kept."""
        live, definition = self._live, self._live.view.definition
        if self.batches.makes_deltas(form):
            none = delta_columns(definition).schema.empty_table()
        else:
            none = change_table(live.view.schema.empty_table(), [], [], [])
        kept = live.journal.answer(again, none)
        return Again(kept, self.batches.from_rows((), ()), again.seq)

    def _called(self, batch: Diffs, origin: Origin | None) -> tuple[int, ViewDiff] | None:
        """Apply a batch of few Python rows by one compiled call; None: it is none."""
        live, calls, noted = self._live, self.batches.calls, list[Kept]()
        if calls is None:
            return None

        def read(batch: Diffs) -> RowBatch | None:
            rows, keeps = calls.read(batch), live.journal.keeps(origin)
            if rows is not None:
                makes = not self.batches.maintain_only
                remade = keeps and makes and live.journal.remakes(origin, self.prompt)
                said = self.batches.said(origin, remade=remade)
                noted.append(Kept(said, keeps and not remade, remade))
            return rows

        live.turn()
        return live.call(
            read, batch, lambda attempt, rows: self.batches.called(attempt, rows, noted[0])
        )

    def _applied(self, batch: Diffs, origin: Origin | None, form: str) -> tuple[int, ViewDiff]:
        """Apply a batch by column."""
        live = self._live
        entries, keeps = self._read(batch), live.journal.keeps(origin)
        makes = not (self.batches.maintain_only or self.batches.makes_deltas(form))
        remade = keeps and makes and live.journal.remakes(origin, self.prompt)
        record = self.batches.batch_of(entries, origin, remade=remade)
        is_logged = keeps and not remade
        return live.change(
            lambda attempt: self.batches.applied(attempt, record, form, is_logged=is_logged)
        )

    def what_if(self, batch: Diffs, form: str) -> ViewDiff:
        """Return the view diffs that a batch would make: it is applied and taken back."""
        live = self._live
        form = one_of("form", form, ALL_FORMS)
        with live.lock:
            live.recover()
            calls = self.batches.calls if form == "rows" and live.is_calm else None
            diff = None if calls is None else live.call(calls.read, batch, self.batches.tried)
            if diff is not None:
                return diff
            entries = self._read(batch)

            def try_out(attempt: Attempt) -> ViewDiff:
                attempt.is_trial = True
                return self.batches.carried_out(attempt, entries, form)[1]

            return live.change(try_out)

    def fanout(self, batch: Diffs) -> tuple[int, bool]:
        """Return the number of rows of a batch's view diffs, and true if it is exact."""
        live = self._live
        with live.lock:
            entries = self._read(batch)
            skip = self.batches.skips
            rows, exact, refused = live.change(lambda _: live.engine.fanout(entries, skip=skip))
            self.batches.refuse(entries, refused)
            return rows, exact

    def expire(self, table: str, where: str, *, diffs: bool) -> ViewDiff:
        """Delete all rows of a base table that meet a condition over its columns."""
        live = self._live
        with live.lock:
            live.begin_writing()
            live.journal.make_room()
            table, where = plain(table), plain(where)
            conditions = bind_expiry(live.view, find_table(table, live.view.tables), where)
            generate = diffs and not self.batches.maintain_only
            said, seq = {"table": table, "where": where}, live.journal.state.seq + 1

            def expire(attempt: Attempt) -> tuple[int, DiffRows | Deltas]:
                changes = live.engine.expire(conditions, generate=generate)
                attempt.is_done = True
                kept = changes.table if live.journal.keeps(None) else None
                return live.commit(attempt, Record("expire", seq, said, (), kept)), changes

            number, changes = live.change(expire)
        self._durability.wait(number)
        if isinstance(changes, Deltas):
            return ViewDiff(made_as_deltas(changes), seq)
        return ViewDiff(made_as_rows(changes, self.batches.from_rows((), ())), seq)

    def stream(self, batch: Diffs) -> Stream:
        """Apply a batch whose view diffs are made as they are taken, where none can fail."""
        live = self._live
        with live.lock:
            live.begin_writing()
            check_names("stream()", pa.schema([*live.view.schema, *HAPPENED]))
            if live.journal.keeps(None) or not never_fails(live.view):
                table = self.apply(batch, None, None, "rows").to_arrow()
                return Stream(one_table(table), do_nothing)
            live.journal.make_room()
            entries = self._read(batch)
            record, skip = self.batches.batch_of(entries, None), self.batches.skips
            generate = not self.batches.maintain_only

            def begin(attempt: Attempt) -> tuple[int, Stream]:
                tables, refused = live.engine.stream(entries, skip=skip, generate=generate)
                self.batches.refuse(entries, refused)
                self.batches.set_aside(attempt, record, refused)
                number = live.commit(attempt, record)
                attempt.tables = tables
                stream = Stream(tables, partial(self._streamed, attempt))
                attempt.stream = ref(stream)
                return number, stream

            number, stream = live.change(begin)
        try:
            self._durability.wait(number)
        except BaseException:
            del stream  # which the caller will never have: the error refers to this call
            raise
        return stream

    def _streamed(self, attempt: Attempt) -> None:
        """Answer again after a stream's end, unless the graph was closed meanwhile."""
        with self._live.lock:
            if self._live.attempt is attempt:
                self._live.recover()

    def index(self, column: str) -> None:
        """Keep an index on an output column."""
        live = self._live
        with live.lock:
            live.begin_writing()
            found = indexable(live.view, column)
            if found in live.journal.state.indexes:
                return

            def index(attempt: Attempt) -> int:
                number = live.commit(
                    attempt, Record("index", live.journal.state.seq, {"column": found})
                )
                live.engine.index(found)
                attempt.is_done = True
                return number

            number = live.change(index)
        self._durability.wait(number)
