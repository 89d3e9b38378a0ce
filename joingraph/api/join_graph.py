"""The join graph of a view as people use it: diffs in, view diffs out, the view on demand.

One writer at a time, any number of readers: a reader sees whole batches only. What a batch is
refused for is found before anything is changed, so a refused batch leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import pyarrow as pa

from joingraph.api.batches import Batches
from joingraph.api.subscription import is_whole
from joingraph.common.errors import DiffError
from joingraph.common.names import plain_items, short_repr
from joingraph.common.progress import Progress, shown_progress
from joingraph.engines.choice import one_of
from joingraph.engines.missing_rows import Quarantined
from joingraph.engines.streaming import Stream, do_nothing, never_fails, one_table
from joingraph.plan.base_keys import with_key_index
from joingraph.plan.view import View, check_view
from joingraph.reads.expire import bind_expiry
from joingraph.storage.attempt import Attempt
from joingraph.storage.disk.beside import look_again
from joingraph.storage.disk.folder import Folder
from joingraph.storage.disk.log import DURABILITIES
from joingraph.storage.disk.owner import Owner
from joingraph.storage.open_graph import ON_MISSING, Keeping, as_folder, read_stored
from joingraph.storage.record import Record
from joingraph.tables.batch import Entry, find_table, read_batch
from joingraph.tables.rows_in import to_table
from joingraph.view_diffs.formats import FORMS, made_as_rows
from joingraph.view_diffs.view_diff import HAPPENED, DiffRows, Forms, ViewDiff, check_names, made_of

LOADS = "load takes rows by base table, {name: rows}"

Diffs = Iterable[Sequence[object]]  # ("insert", table, rows), ("update", table, pre, post), ...


class JoinGraph(Batches):
    """Keeps a join view up to date without storing it.

    >>> from joingraph import JoinGraph, View
    >>> view = View(
    ...     "SELECT F.fan, T.text FROM follower F JOIN tweet T ON F.author = T.author",
    ...     tables={
    ...         "follower": "CREATE TABLE follower (author STRING, fan STRING)",
    ...         "tweet": "CREATE TABLE tweet (author STRING, text STRING)",
    ...     },
    ... )
    >>> graph = JoinGraph(view)
    >>> graph.load({"follower": [("ann", "bob"), ("ann", "eve")]})
    >>> graph.insert("tweet", [("ann", "hello")]).rows()
    [('insert', ('bob', 'hello'), 1), ('insert', ('eve', 'hello'), 1)]
    >>> graph.count()
    2
    """

    def __init__(
        self,
        view: View,
        path: object = None,
        *,
        engine: str = "auto",
        lookahead: str = "auto",
        on_missing: str = "error",
        memory_limit: int | None = None,
        durability: str = "fsync",
        key_index: Sequence[str] = (),
        readonly: bool = False,
    ) -> None:
        check_view("JoinGraph(view)", view)
        if memory_limit is not None and not (is_whole(memory_limit) and memory_limit > 0):
            raise ValueError(f"memory_limit is a number of bytes, found {short_repr(memory_limit)}")
        one_of("on_missing", on_missing, ON_MISSING)
        one_of("durability", durability, DURABILITIES)
        view, indexed = with_key_index(view, key_index)
        options = {"engine": engine, "lookahead": lookahead, "on_missing": on_missing}
        keeping = Keeping(
            None if path is None else as_folder(path),
            Owner(view, indexed, options),
            None if readonly else durability,
            memory_limit,
        )
        super().__init__(keeping, on_missing)

    def load(
        self, tables: Mapping[str, object], *, source: str | None = None, position: object = None
    ) -> None:
        """Insert rows of base tables in bulk, without making view diffs.

        A load whose position was applied already does nothing.
        """
        with self._lock:
            self._begin_writing()
            if self._journal.known(source, position) is not None:
                return
            entries: list[Entry] = []
            for name, rows in plain_items(tables, LOADS):
                table = find_table(name, self.view.tables)
                if any(entry.table == table.name for entry in entries):
                    raise DiffError(f"load names table {table.name} twice: put its rows together")
                read = to_table(rows, table, f"load into {table.name}")
                entries.append(Entry("insert", table.name, None, read))
            said = {"source": source, "position": position}

            def load(attempt: Attempt) -> int:
                self._engine.load(entries)
                attempt.is_done = True
                return self._commit(attempt, Record("load", self._journal.state.seq, said, entries))

            number = self._change(load)
        self._settle(number)

    def insert(self, table: str, rows: object, *, form: str = "rows") -> ViewDiff:
        """Insert rows into a base table; give what that does to the view."""
        return self.apply([("insert", table, rows)], form=form)

    def delete(self, table: str, rows: object, *, form: str = "rows") -> ViewDiff:
        """Delete rows from a base table; give what that does to the view."""
        return self.apply([("delete", table, rows)], form=form)

    def update(
        self, table: str, pre_rows: object, post_rows: object, *, form: str = "rows"
    ) -> ViewDiff:
        """Update rows of a base table, paired by position; give what that does to the view."""
        return self.apply([("update", table, pre_rows, post_rows)], form=form)

    def apply(
        self,
        batch: Diffs,
        *,
        source: str | None = None,
        position: object = None,
        form: str = "rows",
    ) -> ViewDiff:
        """Apply a batch over one or several base tables, in order: whole or not at all.

        `form` is how its view diffs are made: "rows", "idiffs" or "factorised" (docs/outputs.md).
        A batch whose position was applied already is answered as it was then.
        """
        one_of("form", form, FORMS)
        with self._lock:
            self._begin_writing()
            again = self._journal.admit(source, position)
            if again is not None:
                rows = self._journal.answer(again, self.view.schema)
                idiffs = self._from_rows((), ())
                self._settle(again.number)
                return ViewDiff(Forms(made_of(rows), lambda: idiffs(rows())), again.seq)
            entries = read_batch(batch, self.view.tables, self._key_index)
            kept = self._journal.keeps(source)
            remade = kept and not self.maintain_only and self._journal.remakes(source, self.prompt)
            form = "rows" if kept else form
            record = self._batch_of(entries, source, position, remade=remade)
            is_logged = kept and not remade
            number, diff = self._change(
                lambda attempt: self._applied(attempt, record, form, is_logged=is_logged)
            )
        self._settle(number)
        return diff

    def what_if(self, batch: Diffs, *, form: str = "rows") -> ViewDiff:
        """Give the view diffs that a batch would make; nothing is applied, nothing is logged.

        Readers that are open must be opened again.
        """
        one_of("form", form, FORMS)
        with self._lock:
            self._recover()
            entries = read_batch(batch, self.view.tables, self._key_index)

            def try_out(attempt: Attempt) -> ViewDiff:
                attempt.is_trial = True
                return self._carried_out(entries, form, is_trial=True)[1]

            return self._change(try_out)

    def fanout(self, batch: Diffs) -> tuple[int, bool]:
        """Count the rows of a batch's view diffs before making them: (rows, exact).

        Rows count as often as their `_count` says, both images of an update. If not exact, there
        are at most so many: residual predicates may drop some, and rows of one update may cancel.
        """
        with self._lock:
            entries = read_batch(batch, self.view.tables, self._key_index)
            skip = self._on_missing != "error"
            rows, exact, refused = self._change(lambda _: self._engine.fanout(entries, skip=skip))
            self._refuse(entries, refused)
            return rows, exact

    def expire(self, table: str, where: str, *, diffs: bool = True) -> ViewDiff:
        """Delete all rows of a base table that meet a condition over its columns, as one batch.

        The columns must be kept by the graph; without `diffs` no view diffs are made.
        """
        with self._lock:
            self._begin_writing()
            self._journal.make_room()
            conditions = bind_expiry(self.view.plan, find_table(table, self.view.tables), where)
            generate = diffs and not self.maintain_only
            said, seq = {"table": table, "where": where}, self._journal.state.seq + 1

            def expire(attempt: Attempt) -> tuple[int, DiffRows]:
                changes = self._engine.expire(conditions, generate=generate)
                attempt.is_done = True
                kept = changes.table if self._journal.keeps(None) else None
                return self._commit(attempt, Record("expire", seq, said, (), kept)), changes

            number, changes = self._change(expire)
        self._settle(number)
        return ViewDiff(made_as_rows(changes, self._from_rows((), ())), seq)

    def quarantined(self) -> list[Quarantined]:
        """List the diffs set aside so far (`on_missing="quarantine"`)."""
        with self._lock:
            self._recover(beside_stream=True)
            return list(self._quarantined)

    def stream(self, batch: Diffs) -> Stream:
        """Apply a batch and give its view diffs in bounded blocks, made as they are taken.

        Until the last block, or close(), the graph answers nothing else.
        """
        with self._lock:
            self._begin_writing()
            check_names("stream()", pa.schema([*self.view.schema, *HAPPENED]))
            if self._journal.keeps(None) or not never_fails(self.view.plan):
                return Stream(one_table(self.apply(batch).to_arrow()), do_nothing)
            self._journal.make_room()
            entries = read_batch(batch, self.view.tables, self._key_index)
            record, generate = self._batch_of(entries, None, None), not self.maintain_only
            skip = self._on_missing != "error"

            def begin(attempt: Attempt) -> tuple[int, Stream]:
                tables, refused = self._engine.stream(entries, skip=skip, generate=generate)
                self._refuse(entries, refused)
                self._set_aside(attempt, record, refused)
                number = self._commit(attempt, record)
                attempt.tables = tables
                return number, Stream(tables, partial(self._streamed, attempt))

            number, stream = self._change(begin)
        self._settle(number)
        return stream

    def _streamed(self, attempt: Attempt) -> None:
        """Answer again after a stream's end, unless the graph was closed meanwhile."""
        with self._lock:
            if self._attempt is attempt:
                attempt.is_done = self._engine.is_whole
                self._recover()

    def compile(self, progress: Progress | None = None) -> None:
        """Compile the view's own kernels now, not in the background; progress(done, in all)."""
        with self._lock:
            if progress is not None and not callable(progress):
                raise TypeError(f"progress is a function, found {type(progress).__name__}")
            self.engine.compile(progress or shown_progress("kernels compiled"))


def open(path: object, readonly: bool = False) -> JoinGraph:
    """Open the graph that a folder holds; `readonly` beside the process that writes it."""
    return look_again(Folder(as_folder(path)), lambda: open_once(path, readonly=readonly))


def open_once(path: object, *, readonly: bool) -> JoinGraph:
    """Open the graph that a folder holds; Stale if the folder changes meanwhile."""
    stored = read_stored(as_folder(path))
    return JoinGraph(
        stored.view,
        path,
        engine=stored.engine,
        lookahead=stored.lookahead,
        on_missing=stored.on_missing,
        key_index=stored.key_index,
        readonly=readonly,
    )
