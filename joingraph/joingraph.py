"""The join graph of a view as people use it: diffs in, view diffs out, the view on demand.

One writer at a time, any number of readers: a reader sees whole batches only. What a batch is
refused for is found before anything is changed, so a refused batch leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from threading import RLock
from types import TracebackType
from typing import Any, NoReturn, Self, cast

import pyarrow as pa

from joingraph.answers import Why, paths_text
from joingraph.asked import ask
from joingraph.batch import Entry, find_table, read_batch, without
from joingraph.breaks import WhyNot, breaks_text
from joingraph.engine import Engine, Refused
from joingraph.errors import DiffError, StoreError
from joingraph.expiry import bind_expiry
from joingraph.filters.keyed import split
from joingraph.forms import FORMS, FromRows, made_as_idiffs, made_as_rows, made_factorised
from joingraph.idiffs import IDiffs, KeyedDiffs, make_idiffs
from joingraph.key_index import with_key_index
from joingraph.missing import Quarantined, missing_text, set_aside
from joingraph.plan.keyed import Keyed, keyed_aliases
from joingraph.readers import Explanation, Open, Partition
from joingraph.reading import Reading, Touched, indexable, make_reading
from joingraph.reference import ReferenceEngine
from joingraph.rows import to_table
from joingraph.sql.reading import bind_where
from joingraph.view import View
from joingraph.viewdiff import Forms, ViewDiff

ENGINES = ("auto", "compiled", "reference")
LOOKAHEADS = ("auto", "none", "local", "global", "exact")
ON_MISSING = ("error", "skip", "quarantine")
BLOCK = 65_536  # rows a block of `stream` holds at the most

Diffs = Iterable[Sequence[object]]  # ("insert", table, rows), ("update", table, pre, post), ...


class JoinGraph:
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
    ) -> None:
        if path is not None or durability != "fsync":
            later("a durable graph (path=…, durability=…)")
        if memory_limit is not None:
            later("memory_limit=…")
        one_of("on_missing", on_missing, ON_MISSING)
        self.view, self._key_index = with_key_index(view, key_index)
        self.engine: Engine = make_engine(self.view, engine, lookahead, self._key_index)
        self.maintain_only = False
        self._on_missing = on_missing
        self._quarantined: list[Quarantined] = []
        self._lock = RLock()
        self._seq = 0
        self._version = 0  # raised by whatever makes open readers stale

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def load(
        self, tables: Mapping[str, object], *, source: str | None = None, position: object = None
    ) -> None:
        """Insert rows of base tables in bulk, without making view diffs."""
        no_position(source, position)
        with self._lock:
            entries = []
            for name, rows in tables.items():
                table = find_table(name, self.view.tables)
                read = to_table(rows, table, f"load into {table.name}")
                entries.append(Entry("insert", table.name, None, read))
            self._version += 1
            self.engine.load(entries)

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
        """
        no_position(source, position)
        with self._lock:
            entries = read_batch(batch, self.view.tables, self._key_index)
            refused, diff = self._carried_out(entries, form, keep=True)
            if self._on_missing == "quarantine":
                self._quarantined += [set_aside(entries, each) for each in refused]
            self._version += 1
            self._seq += 1
            return diff

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
            conditions = bind_expiry(self.view.plan, find_table(table, self.view.tables), where)
            generate = diffs and not self.maintain_only
            changes = self.engine.expire(conditions, generate=generate)
            self._version += 1
            self._seq += 1
            return ViewDiff(made_as_rows(changes, partial(self._idiffs, {})), self._seq)

    def _carried_out(
        self, entries: Sequence[Entry], form: str, *, keep: bool
    ) -> tuple[list[Refused], ViewDiff]:
        """Carry a batch out, to be kept or not, and give its view diffs in one form."""
        one_of("form", form, FORMS)
        skip, generate = self._on_missing != "error", not (keep and self.maintain_only)
        if generate and form == "idiffs":
            refused, forms = self._as_idiffs(entries, keep=keep)
        elif generate and form == "factorised":
            found, refused = self.engine.factorise(entries, skip=skip, keep=keep)
            forms = made_factorised(found, self._from_rows(entries, refused))
        else:
            applied = self.engine.apply(entries, skip=skip, generate=generate, keep=keep)
            refused = applied.refused
            told = self._from_rows(entries if generate else [], refused if generate else [])
            forms = made_as_rows(applied.changes, told)
        self._refuse(entries, refused)
        return refused, ViewDiff(forms, self._seq + 1)

    def _as_idiffs(self, entries: Sequence[Entry], *, keep: bool) -> tuple[list[Refused], Forms]:
        """Carry a batch out with its base rows folded, making only the rows that i-diffs lack."""
        refused = self.engine.missing(entries)
        self._refuse(entries, refused)
        parts = split(self.view.plan, self._keyed, without(entries, refused))
        applied = self.engine.apply(
            parts.entries, skip=False, generate=True, silent=parts.silent, keep=keep
        )
        assert not applied.refused, "what a batch removes, its folded diffs remove"
        return refused, made_as_idiffs(self._idiffs(parts.diffs, applied.changes))

    def _from_rows(self, entries: Sequence[Entry], refused: Sequence[Refused]) -> FromRows:
        """Say how a batch's i-diffs are made of its rows, if somebody asks for them."""
        left = without(entries, refused)
        return lambda changes: self._idiffs(split(self.view.plan, self._keyed, left).diffs, changes)

    def _idiffs(self, diffs: Mapping[int, KeyedDiffs], changes: pa.Table) -> IDiffs:
        return make_idiffs(self.view.plan, self._keyed, diffs, changes)

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

    def stream(self, batch: Diffs) -> Iterator[pa.RecordBatch]:
        """Apply a batch and give its view diffs in bounded blocks, by column."""
        rows = self.apply(batch).to_arrow()
        return iter(rows.to_batches(max_chunksize=BLOCK))

    def scan(
        self, where: str | None = None, order_by: object = None, limit: int | None = None
    ) -> pa.RecordBatchReader:
        """Read the view as a stream of record batches, rows repeated by their multiplicity.

        `where` is SQL over the view's columns, `order_by` "c DESC NULLS LAST" or a list of such.
        A reader is good until the next change: reading on after it raises StoreError.
        """
        with self._lock:
            if where is None and order_by is None and limit is None:
                return self._reader(self._version, self.engine.scan())
            reading = make_reading(self.view.definition, where, order_by, limit)
            return self._opener()(reading, Touched())

    def explain(
        self, where: str | None = None, order_by: object = None, limit: int | None = None
    ) -> Explanation:
        """Tell which way a scan goes; print it, `read()` it, print it again for its counts."""
        with self._lock:
            reading = make_reading(self.view.definition, where, order_by, limit)
            return Explanation(self.view.plan, reading, self.engine.way(reading), self._opener())

    def partitions(self, n: int) -> list[Partition]:
        """Split the view into `n` disjoint readers, by where their paths start."""
        if n < 1:
            raise ValueError(f"partitions(n) takes a number of at least 1, found {n!r}")
        parts = (Reading(part=(i, n)) for i in range(n))
        return [Partition(part, self._opener()) for part in parts]

    def index(self, column: str) -> None:
        """Keep an index on an output column, for conditions on it and for its order.

        It is kept up under all changes. A column computed of several aliases cannot have one.
        """
        with self._lock:
            self.engine.index(indexable(self.view.plan, column))

    def _opener(self) -> Open:
        """Open readers of the graph as it is now."""
        version = self._version

        def open(reading: Reading, touched: Touched) -> pa.RecordBatchReader:
            return self._reader(version, self.engine.read(reading, touched))

        return open

    def _reader(self, version: int, blocks: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
        reader = self._blocks(version, blocks)
        return pa.RecordBatchReader.from_batches(self.view.schema, reader)

    def _blocks(self, version: int, blocks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read block by block, as long as nothing changes."""
        while True:
            with self._lock:
                if version != self._version:
                    raise StoreError("the graph has changed since this reader was made: scan again")
                block = next(blocks, None)
            if block is None:
                return
            yield block

    def to_arrow(self) -> pa.Table:
        """Read the whole view into memory."""
        with self._lock:
            return self.scan().read_all()

    def count(self, where: str | None = None) -> int:
        """Count the view's rows, or those that meet a condition, without making them."""
        with self._lock:
            if where is None:
                return self.engine.count()
            return self.engine.count(bind_where(where, self.view.definition))

    def stats(self) -> dict[str, Any]:
        """Tell the graph's size: bytes, and nodes by kind, alias and vertex."""
        with self._lock:
            return {"view": self.view.name, "seq": self._seq, **self.engine.stats()}

    def check(self) -> None:
        """Recompute every invariant of the graph; raise CorruptGraph if one does not hold."""
        with self._lock:
            self.engine.check()

    def why(self, row: object) -> Why:
        """Find the complete paths behind a view row, given as a tuple or a dict; print draws them.

        Each is {alias: {column: value}}, over the columns the graph keeps.
        """
        with self._lock:
            asked = ask(self.view.definition, row, "why(row)")
            return paths_text(self.view.plan, self.engine.why(asked))

    def why_not(self, row: object) -> WhyNot:
        """Tell where the paths of a row break that is not in the view: [(aliases, reason), ...]."""
        with self._lock:
            asked = ask(self.view.definition, row, "why_not(row)")
            return breaks_text(self.view.plan, asked, self.engine.why_not(asked))

    def snapshot(self) -> NoReturn:
        """Not there yet: writing a durable graph's state."""
        later("snapshot()")

    def close(self) -> None:
        """Give the graph's memory back; only its ViewDiffs stay valid."""
        with self._lock:
            self._version += 1
            self.engine = cast(Engine, ClosedEngine())


class ClosedEngine:
    """Stands where the engine was: whatever is asked of it is an error."""

    def __getattr__(self, asked: str) -> Any:
        raise StoreError(f"the graph is closed, {asked}() is not possible any more: make a new one")


def make_engine(view: View, engine: str, lookahead: str, key_index: Sequence[str] = ()) -> Engine:
    """Choose the form of the graph."""
    one_of("engine", engine, ENGINES)
    one_of("lookahead", lookahead, LOOKAHEADS)
    if engine == "compiled":
        later('engine="compiled"')
    return ReferenceEngine(view.plan, lookahead, key_index)


def one_of(option: str, asked: str, known: Sequence[str]) -> None:
    """Refuse an option that is not known."""
    if asked not in known:
        raise ValueError(f"{option}={asked!r} is not known; choose one of {', '.join(known)}")


def later(asked: str) -> NoReturn:
    """Say that something is not there yet."""
    raise NotImplementedError(f"{asked} comes in a later version")


def no_position(source: str | None, position: object) -> None:
    """Refuse what only a durable graph could keep its promise about."""
    if source is not None or position is not None:
        later("source=… and position=…")


def open(path: object, readonly: bool = False) -> NoReturn:
    """Not there yet: opening a durable graph."""
    later("open(path)")
