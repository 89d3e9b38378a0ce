"""The join graph of a view as people use it: diffs in, view diffs out, the view on demand.

One writer at a time, any number of readers: a reader sees whole batches only. What a batch is
refused for is found before anything is changed, so a refused batch leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import cast

from joingraph.batch import Entry, find_table, read_batch, without
from joingraph.engine import Engine, Ready, Refused
from joingraph.engines import one_of
from joingraph.errors import DiffError, LimitError
from joingraph.expiry import bind_expiry
from joingraph.filters.keyed import split
from joingraph.forms import FORMS, FromRows, made_as_idiffs, made_as_rows, made_factorised
from joingraph.idiffs import make_idiffs
from joingraph.journaled import Journaled
from joingraph.keeping import Keeping, as_folder, read_stored
from joingraph.key_index import with_key_index
from joingraph.missing import Quarantined, missing_text, set_aside
from joingraph.plan.keyed import Keyed, keyed_aliases
from joingraph.progress import Progress, shown_progress
from joingraph.rows import to_table
from joingraph.stores.disk import Owner
from joingraph.stores.log import DURABILITIES
from joingraph.stores.record import Record
from joingraph.streaming import Stream, StreamingEngine, do_nothing, never_fails, one_table
from joingraph.view import View
from joingraph.viewdiff import Forms, ViewDiff, made_of

ON_MISSING = ("error", "skip", "quarantine")

Diffs = Iterable[Sequence[object]]  # ("insert", table, rows), ("update", table, pre, post), ...


class JoinGraph(Journaled):
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
        if memory_limit is not None and memory_limit < 1:
            raise ValueError(f"memory_limit is a number of bytes, found {memory_limit!r}")
        one_of("on_missing", on_missing, ON_MISSING)
        one_of("durability", durability, DURABILITIES)
        view, indexed = with_key_index(view, key_index)
        self.maintain_only = False
        self.max_view_diffs: int | None = None
        self._on_missing = on_missing
        options = {"engine": engine, "lookahead": lookahead, "on_missing": on_missing}
        keeping = Keeping(
            None if path is None else as_folder(path),
            Owner(view, indexed, options),
            None if readonly else durability,
            memory_limit,
        )
        super().__init__(keeping)

    def load(
        self, tables: Mapping[str, object], *, source: str | None = None, position: object = None
    ) -> None:
        """Insert rows of base tables in bulk, without making view diffs.

        A load whose position was applied already does nothing.
        """
        with self._lock:
            if self._journal.known(source, position) is not None:
                return
            entries: list[Entry] = []
            for name, rows in tables.items():
                table = find_table(name, self.view.tables)
                read = to_table(rows, table, f"load into {table.name}")
                entries.append(Entry("insert", table.name, None, read))
            self._version += 1
            said = {"source": source, "position": position}
            self.engine.load(entries)
            number = self._commit(Record("load", self.seq, said, entries))
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
            self._check_size(entries, form)
            skip, aside = self._on_missing != "error", self._on_missing == "quarantine"
            said = {"skip": skip, "quarantine": aside, "source": source, "position": position}
            said |= {"remade": True} if remade else {}
            record, logged = Record("batch", self.seq + 1, said, entries), kept and not remade
            if form == "rows" and not logged and self._logs_ahead():
                number, refused, diff = self._carried_out_logged(record)
            else:
                refused, diff = self._carried_out(entries, form, keep=True)
                number = self._commit(record._replace(changes=diff.changes() if logged else None))
            if remade:
                self._journal.store.keep(number, diff.changes())
            self._quarantined += [set_aside(entries, each) for each in refused if aside]
        self._settle(number)
        return diff

    def _check_size(self, entries: Sequence[Entry], form: str) -> None:
        """Refuse a batch that may make more rows of view diffs than `max_view_diffs`."""
        most = self.max_view_diffs
        if most is not None and form == "rows" and not self.maintain_only:
            rows, exact, _ = self.engine.fanout(entries, skip=True)
            if rows > most:
                raise LimitError(
                    f"max_view_diffs={most:,}: this batch makes {'' if exact else 'up to '}{rows:,}"
                    " rows of view diffs; nothing was applied: use stream(), or apply less at once"
                )

    def what_if(self, batch: Diffs, *, form: str = "rows") -> ViewDiff:
        """Give the view diffs that a batch would make; nothing is applied, nothing is logged.

        Readers that are open must be opened again.
        """
        with self._lock:
            entries = read_batch(batch, self.view.tables, self._key_index)
            self._version += 1
            return self._carried_out(entries, form, keep=False)[1]

    def fanout(self, batch: Diffs) -> tuple[int, bool]:
        """Count the rows of a batch's view diffs before making them: (rows, exact).

        Rows count as often as their `_count` says, both images of an update. If not exact, there
        are at most so many: residual predicates may drop some, and rows of one update may cancel.
        """
        with self._lock:
            entries = read_batch(batch, self.view.tables, self._key_index)
            self._version += 1
            skip = self._on_missing != "error"
            rows, exact, refused = self.engine.fanout(entries, skip=skip)
            self._refuse(entries, refused)
            return rows, exact

    def expire(self, table: str, where: str, *, diffs: bool = True) -> ViewDiff:
        """Delete all rows of a base table that meet a condition over its columns, as one batch.

        The columns must be kept by the graph; without `diffs` no view diffs are made.
        """
        with self._lock:
            self._journal.make_room()
            conditions = bind_expiry(self.view.plan, find_table(table, self.view.tables), where)
            generate = diffs and not self.maintain_only
            changes = self.engine.expire(conditions, generate=generate)
            said, seq = {"table": table, "where": where}, self.seq + 1
            kept = changes.table if self._journal.keeps(None) else None
            number = self._commit(Record("expire", seq, said, (), kept))
        self._settle(number)
        return ViewDiff(made_as_rows(changes, self._from_rows((), ())), seq)

    def _carried_out_logged(self, record: Record) -> tuple[int, list[Refused], ViewDiff]:
        """Log a batch once it cannot be refused, and carry it out while the disk is at work.

        This is not the only way to the log: a record that holds its view diffs waits for them, a
        view whose outputs may raise an error can fail till the end, and i-diffs are made of a
        batch that is folded first. Those batches are logged afterwards, or else taken back.
        """
        numbers: list[int] = []

        def ready(refused: list[Refused]) -> None:
            self._refuse(record.entries, refused)
            numbers.append(self._commit_ahead(record))

        try:
            refused, diff = self._carried_out(record.entries, "rows", keep=True, ready=ready)
        except BaseException as error:
            if numbers:
                self._fail(error)
            raise
        return numbers[0], refused, diff

    def _carried_out(
        self, entries: Sequence[Entry], form: str, *, keep: bool, ready: Ready | None = None
    ) -> tuple[list[Refused], ViewDiff]:
        """Carry a batch out, to be kept or not, and give its view diffs in one form."""
        seq = self.seq + 1
        skip, generate = self._on_missing != "error", not (keep and self.maintain_only)
        if generate and form == "idiffs":
            refused, forms = self._as_idiffs(entries, keep=keep)
        elif generate and form == "factorised":
            found, refused = self.engine.factorise(entries, skip=skip, keep=keep)
            forms = made_factorised(found, self._from_rows(entries, refused))
        else:
            applied = self.engine.apply(
                entries, skip=skip, generate=generate, keep=keep, ready=ready
            )
            refused = applied.refused
            told = self._from_rows(entries if generate else [], refused if generate else [])
            forms = made_as_rows(applied.changes, told, applied.net)
        self._refuse(entries, refused)
        return refused, ViewDiff(forms, seq)

    def _as_idiffs(self, entries: Sequence[Entry], *, keep: bool) -> tuple[list[Refused], Forms]:
        """Carry a batch out with its base rows folded, making only the rows that i-diffs lack."""
        refused = self.engine.missing(entries)
        self._refuse(entries, refused)
        parts = split(self.view.plan, self._keyed, without(entries, refused))
        applied = self.engine.apply(
            parts.entries, skip=False, generate=True, silent=parts.silent, keep=keep
        )
        assert not applied.refused, "what a batch removes, its folded diffs remove"
        idiffs = make_idiffs(self.view.plan, self._keyed, parts.diffs, applied.changes.table)
        return refused, made_as_idiffs(idiffs)

    def _from_rows(self, entries: Sequence[Entry], refused: Sequence[Refused]) -> FromRows:
        """Say how a batch's i-diffs are made of its rows, if somebody asks for them."""
        left = without(entries, refused)
        plan, keyed = self.view.plan, self._keyed
        return lambda changes: make_idiffs(plan, keyed, split(plan, keyed, left).diffs, changes)

    @cached_property
    def _keyed(self) -> dict[int, Keyed]:
        return keyed_aliases(self.view.plan)

    def _refuse(self, entries: Sequence[Entry], refused: Sequence[Refused]) -> None:
        """Raise an error for diffs that miss the row they remove, if they are not left out."""
        if refused and self._on_missing == "error":
            raise DiffError(missing_text(entries, refused))

    def quarantined(self) -> list[Quarantined]:
        """List the diffs set aside so far (`on_missing="quarantine"`)."""
        return list(self._quarantined)

    def stream(self, batch: Diffs) -> Stream:
        """Apply a batch and give its view diffs in bounded blocks, made as they are taken.

        Until the last block, or close(), the graph answers nothing else.
        """
        with self._lock:
            if self._journal.keeps(None) or not never_fails(self.view.plan):
                return Stream(one_table(self.apply(batch).to_arrow()), do_nothing)
            self._journal.make_room()
            entries = read_batch(batch, self.view.tables, self._key_index)
            skip, aside = self._on_missing != "error", self._on_missing == "quarantine"
            generate = not self.maintain_only
            tables, refused = self.engine.stream(entries, skip=skip, generate=generate)
            self._refuse(entries, refused)
            said = {"skip": skip, "quarantine": aside, "source": None, "position": None}
            number = self._commit(Record("batch", self.seq + 1, said, entries), tables.close)
            if aside:
                self._quarantined += [set_aside(entries, each) for each in refused]
            engine, self.engine = self.engine, cast(Engine, StreamingEngine())
        self._settle(number)
        return Stream(tables, partial(self._streamed, engine))

    def _streamed(self, engine: Engine) -> None:
        """Answer again after a stream's end, unless the graph was closed meanwhile."""
        with self._lock:
            if isinstance(self.engine, StreamingEngine):
                self.engine = engine

    def compile(self, progress: Progress | None = None) -> None:
        """Compile the view's own kernels now, not in the background; progress(done, in all)."""
        with self._lock:
            self.engine.compile(progress or shown_progress("kernels compiled"))


def open(path: object, readonly: bool = False) -> JoinGraph:
    """Open the graph that a folder holds; `readonly` beside the process that writes it."""
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
