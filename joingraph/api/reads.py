"""What can be asked of a live graph: the view as a whole or in part, and why a row is there.

Readers see whole batches only: a question holds the graph's lock, and a reader is valid until the
next change.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from types import NoneType

import pyarrow as pa

from joingraph.api.partitions import Parting, Partition, moment_of
from joingraph.common.errors import StoreError
from joingraph.common.forks import FORKS
from joingraph.common.names import short_repr
from joingraph.expressions.evaluate import NoAnswer
from joingraph.expressions.tree import Expression
from joingraph.plan.view import View
from joingraph.reads.explanation import Explanation, Open
from joingraph.reads.requests import Reading, Touched, make_reading
from joingraph.reads.row_lookup import ask, of_joined
from joingraph.reads.unanswered import explained
from joingraph.reads.why import Why, paths_text
from joingraph.reads.why_not import WhyNot, breaks_text
from joingraph.storage.contract import Moment
from joingraph.storage.live_graph import LiveGraph

PARTITIONS_MAX = 100_000
READINGS_MAX = 256  # cached at once: a page asks the same question again and again


def is_plain(argument: object) -> bool:
    """True for what can be cached by its value: the texts and numbers that pages ask with."""
    return type(argument) in (NoneType, str, int)


def bound(
    view: View, where: object = None, order_by: object = None, limit: object = None
) -> Reading:
    """Return what a caller asks to read of a view."""
    return make_reading(view.definition, where, order_by, limit)


class Reads:
    """Answers questions about a graph, and never changes it."""

    def __init__(self, live: LiveGraph) -> None:
        self._live = live
        self._cached = lru_cache(READINGS_MAX)(bound)

    def scan(
        self, where: str | None = None, order_by: object = None, limit: int | None = None
    ) -> pa.RecordBatchReader:
        """Return a reader of the view, which is valid until the next change."""
        with self._live.lock:
            is_ordered = bool(self._live.view.definition.order)
            if where is None and order_by is None and limit is None and not is_ordered:
                return self._reader(self._live.current(), self._live.settled().scan(), ())
            reading = self._bound(where, order_by, limit)
            return self._opener()(reading, Touched())

    def explain(
        self, where: str | None = None, order_by: object = None, limit: int | None = None
    ) -> Explanation:
        """Return which way a scan goes."""
        with self._live.lock:
            reading, plan = self._bound(where, order_by, limit), self._live.view.plan
            return Explanation(plan, reading, self._live.settled().way(reading), self._opener())

    def _bound(self, *question: object) -> Reading:
        """Return what a caller asks to read, bound to the view; recent questions are cached."""
        is_cached = all(map(is_plain, question))
        return (self._cached if is_cached else bound)(self._live.view, *question)

    def partitions(self, n: int, *, where: str | None = None) -> list[Partition]:
        """Return `n` disjoint readers of the view, or of the rows that meet a condition."""
        if type(n) is not int or not 1 <= n <= PARTITIONS_MAX:
            raise ValueError(
                f"partitions(n) takes a number from 1 to {PARTITIONS_MAX:,}, found {short_repr(n)}"
            )
        with self._live.lock:
            whole, parting = self._bound(where), Parting(where, self._moment())
            parts = (replace(whole, part=(i, n), order=()) for i in range(n))
            return [Partition(part, self._opener(), parting) for part in parts]

    def _moment(self) -> Moment | None:
        """Name what the graph is at now, for other processes to read; None if they cannot."""
        self._live.recover()
        return moment_of(self._live.journal)

    def _opener(self) -> Open:
        """Open readers of the graph as it is now."""
        version = self._live.current()

        def open(reading: Reading, touched: Touched) -> pa.RecordBatchReader:
            blocks = self._live.settled().read(reading, touched)
            return self._reader(version, blocks, reading.conditions)

        return open

    def _reader(
        self, version: int, blocks: Iterator[pa.RecordBatch], conditions: Sequence[Expression]
    ) -> pa.RecordBatchReader:
        reader = self._blocks(version, blocks, conditions)
        return pa.RecordBatchReader.from_batches(self._live.view.schema, reader)

    def _blocks(
        self, version: int, blocks: Iterator[pa.RecordBatch], conditions: Sequence[Expression]
    ) -> Iterator[pa.RecordBatch]:
        """Read block by block, as long as nothing changes; its threads are of one process."""
        process = FORKS.process
        while True:
            with self._live.lock, self._naming(conditions):
                if version != self._live.version:
                    raise StoreError("the graph has changed since this reader was made: scan again")
                if process != FORKS.process:
                    raise StoreError(
                        f"this reader was begun by process {process}, and this is process"
                        f" {FORKS.process}, forked from it: scan again"
                    )
                block = next(blocks, None)
            if block is None:
                return
            yield block

    @contextmanager
    def _naming(self, conditions: Sequence[Expression]) -> Generator[None]:
        """Name the base rows of a path on which the view has no answer, if one is met within."""
        version = self._live.version
        try:
            yield
        except RuntimeError as error:  # "dictionary changed size", of the plain form
            if version == self._live.version:
                raise
            raise StoreError("a signal handler changed the graph in the midst of this") from error
        except NoAnswer as error:
            found = self._live.settled().unanswered(conditions)
            raise explained(self._live.view.plan, error, found) from error

    def count(self, where: str | None = None) -> int:
        """Return the number of the view's rows, or of those that meet a condition."""
        with self._live.lock:
            conditions = () if where is None else self._bound(where).conditions
            with self._naming(conditions):
                return self._live.settled().count(conditions)

    def why(self, row: object, limit: int | None = None) -> Why:
        """Return the complete paths behind a view row, or the first of them and how many rows."""
        with self._live.lock:
            view = self._live.view
            wanted = make_reading(view.definition, None, None, limit).limit
            lookup = ask(view.definition, row, "why(row)")._replace(limit=wanted)
            with self._naming(lookup.conditions):
                engine = self._live.settled()
                found = engine.why(lookup)
                times = engine.joined_rows(lookup) if lookup.is_full(len(found)) else None
                return paths_text(view.plan, found, times)

    def why_not(self, row: object) -> WhyNot:
        """Return where the paths of a row break that is not in the view."""
        with self._live.lock:
            lookup = ask(self._live.view.definition, row, "why_not(row)")
            with self._naming(lookup.conditions):
                view, found = self._live.view, self._live.settled().why_not(lookup)
                return breaks_text(view.plan, of_joined(view.definition, lookup), found)
