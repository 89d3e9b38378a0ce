"""The join graph of a view as people use it: diffs in, view diffs out, the view on demand.

One writer at a time, any number of readers: a reader sees whole batches only. What a batch is
refused for is found before anything is changed, so a refused batch leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import RLock
from types import TracebackType
from typing import Any, NoReturn, Self

import pyarrow as pa

from joingraph.batch import Entry, find_table, read_batch
from joingraph.engine import Engine
from joingraph.errors import DiffError, StoreError
from joingraph.missing import Quarantined, missing_text, set_aside
from joingraph.reference import ReferenceEngine
from joingraph.rows import to_table
from joingraph.view import View
from joingraph.viewdiff import ViewDiff

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
    ) -> None:
        if path is not None or durability != "fsync":
            later("a durable graph (path=…, durability=…)")
        if memory_limit is not None:
            later("memory_limit=…")
        one_of("on_missing", on_missing, ON_MISSING)
        self.view = view
        self.engine: Engine = make_engine(view, engine, lookahead)
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

    def insert(self, table: str, rows: object) -> ViewDiff:
        """Insert rows into a base table; give what that does to the view."""
        return self.apply([("insert", table, rows)])

    def delete(self, table: str, rows: object) -> ViewDiff:
        """Delete rows from a base table; give what that does to the view."""
        return self.apply([("delete", table, rows)])

    def update(self, table: str, pre_rows: object, post_rows: object) -> ViewDiff:
        """Update rows of a base table, paired by position; give what that does to the view."""
        return self.apply([("update", table, pre_rows, post_rows)])

    def apply(
        self, batch: Diffs, *, source: str | None = None, position: object = None
    ) -> ViewDiff:
        """Apply a batch over one or several base tables, in order: whole or not at all."""
        no_position(source, position)
        with self._lock:
            entries = read_batch(batch, self.view.tables)
            skip = self._on_missing != "error"
            applied = self.engine.apply(entries, skip=skip, generate=not self.maintain_only)
            if applied.refused and not skip:
                raise DiffError(missing_text(entries, applied.refused))
            if self._on_missing == "quarantine":
                self._quarantined += [set_aside(entries, each) for each in applied.refused]
            self._version += 1
            self._seq += 1
            return ViewDiff(applied.changes, self._seq)

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

        A reader is good until the next change: reading on after it raises StoreError.
        """
        if where is not None or order_by is not None or limit is not None:
            later("scan(where, order_by, limit)")
        return pa.RecordBatchReader.from_batches(self.view.schema, self._blocks(self._version))

    def _blocks(self, version: int) -> Iterator[pa.RecordBatch]:
        """Read the view block by block, as long as nothing changes."""
        blocks = self.engine.scan()
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

    def count(self) -> int:
        """Count the view's rows, without making them."""
        with self._lock:
            return self.engine.count()

    def stats(self) -> dict[str, Any]:
        """Tell the graph's size: bytes, and nodes by kind, alias and vertex."""
        with self._lock:
            return {"view": self.view.name, "seq": self._seq, **self.engine.stats()}

    def check(self) -> None:
        """Recompute every invariant of the graph; raise CorruptGraph if one does not hold."""
        with self._lock:
            self.engine.check()

    def why(self, row: object) -> NoReturn:
        """Not there yet: the complete paths behind a view row."""
        later("why(row)")

    def why_not(self, row: object) -> NoReturn:
        """Not there yet: where the paths of a missing row break."""
        later("why_not(row)")

    def what_if(self, batch: Diffs) -> NoReturn:
        """Not there yet: the view diffs of a batch that is not applied."""
        later("what_if(batch)")

    def fanout(self, batch: Diffs) -> NoReturn:
        """Not there yet: how many view diffs a batch would make."""
        later("fanout(batch)")

    def snapshot(self) -> NoReturn:
        """Not there yet: writing a durable graph's state."""
        later("snapshot()")

    def close(self) -> None:
        """Give the graph's memory back; only its ViewDiffs stay valid."""
        with self._lock:
            self._version += 1
            self.engine = ClosedEngine()


class ClosedEngine:
    """Stands where the engine was: whatever is asked of it is an error."""

    def __getattr__(self, asked: str) -> Any:
        raise StoreError(f"the graph is closed, {asked}() is not possible any more: make a new one")


def make_engine(view: View, engine: str, lookahead: str) -> Engine:
    """Choose the form of the graph."""
    one_of("engine", engine, ENGINES)
    one_of("lookahead", lookahead, LOOKAHEADS)
    if engine == "compiled":
        later('engine="compiled"')
    return ReferenceEngine(view.plan, lookahead)


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
