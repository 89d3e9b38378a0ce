"""What can be asked of a join graph: the view as a whole or in part, why a row is there, its size.

Readers see whole batches only: what is asked holds the graph's lock, and a reader that is given
out is good until the next change.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from types import NoneType
from typing import Any

import pyarrow as pa

from joingraph.api.partitions import Parting, Partition
from joingraph.common.errors import StoreError
from joingraph.common.forks import FORKS
from joingraph.common.names import short_repr
from joingraph.engines.contract import Engine
from joingraph.expressions.evaluate import NoAnswer
from joingraph.expressions.tree import Expression
from joingraph.plan.view import View
from joingraph.reads.explanation import Explanation, Open
from joingraph.reads.requests import Reading, Touched, make_reading
from joingraph.reads.row_lookup import ask
from joingraph.reads.unanswered import explained
from joingraph.reads.why import Why, paths_text
from joingraph.reads.why_not import WhyNot, breaks_text
from joingraph.storage.contract import Moment

PARTITIONS_MAX = 100_000
READINGS_MAX = 256  # remembered at once: a page asks the same question again and again


def is_plain(asked: object) -> bool:
    """Hold of what can be remembered by its value: the texts and numbers that pages ask with."""
    return type(asked) in (NoneType, str, int)


class Readable:
    """A graph that is not changed from here; JoinGraph (join_graph.py) changes it."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._lock = RLock()
        self._version = 0  # raised by whatever makes open readers stale
        self._readings: dict[tuple[object, ...], Reading] = {}  # by what was asked

    @property
    def seq(self) -> int:
        """The number of the last batch."""
        raise NotImplementedError

    @property
    def engine(self) -> Engine:
        """The engine as it is between two changes."""
        raise NotImplementedError

    def scan(
        self, where: str | None = None, order_by: object = None, limit: int | None = None
    ) -> pa.RecordBatchReader:
        """Read the view as a stream of record batches, rows repeated by their multiplicity.

        `where` is SQL over the view's columns, `order_by` "c DESC NULLS LAST" or a list of such.
        A reader is good until the next change: reading on after it raises StoreError.
        """
        with self._lock:
            if where is None and order_by is None and limit is None:
                return self._reader(self._now(), self.engine.scan(), ())
            reading = self._bound(where, order_by, limit)
            return self._opener()(reading, Touched())

    def explain(
        self, where: str | None = None, order_by: object = None, limit: int | None = None
    ) -> Explanation:
        """Tell which way a scan goes; print it, `read()` it, print it again for its counts."""
        with self._lock:
            reading = self._bound(where, order_by, limit)
            return Explanation(self.view.plan, reading, self.engine.way(reading), self._opener())

    def _bound(self, where: object, order_by: object, limit: object) -> Reading:
        """Bind what a caller asks to read; what was asked lately is remembered."""
        if not is_plain(where) or not is_plain(limit) or not is_plain(order_by):
            return make_reading(self.view.definition, where, order_by, limit)
        asked = (where, order_by, limit)
        if asked not in self._readings:
            if len(self._readings) >= READINGS_MAX:
                self._readings.clear()
            self._readings[asked] = make_reading(self.view.definition, where, order_by, limit)
        return self._readings[asked]

    def partitions(self, n: int, *, where: str | None = None) -> list[Partition]:
        """Split the view, or the rows that meet a condition, into `n` disjoint readers.

        Those of a graph with a folder can be pickled, and read in other processes.
        """
        if type(n) is not int or not 1 <= n <= PARTITIONS_MAX:
            raise ValueError(
                f"partitions(n) takes a number from 1 to {PARTITIONS_MAX:,}, found {short_repr(n)}"
            )
        with self._lock:
            whole, parting = self._bound(where, None, None), Parting(where, self._moment())
            parts = (replace(whole, part=(i, n)) for i in range(n))
            return [Partition(part, self._opener(), parting) for part in parts]

    def _now(self) -> int:
        """Return what readers are good for: the graph's version, once nothing is in doubt."""
        raise NotImplementedError

    def _moment(self) -> Moment | None:
        """Name what the graph is at now, for other processes to read; None if they cannot."""
        raise NotImplementedError

    def _opener(self) -> Open:
        """Open readers of the graph as it is now."""
        version = self._now()

        def open(reading: Reading, touched: Touched) -> pa.RecordBatchReader:
            blocks = self.engine.read(reading, touched)
            return self._reader(version, blocks, reading.conditions)

        return open

    def _reader(
        self, version: int, blocks: Iterator[pa.RecordBatch], conditions: Sequence[Expression]
    ) -> pa.RecordBatchReader:
        reader = self._blocks(version, blocks, conditions)
        return pa.RecordBatchReader.from_batches(self.view.schema, reader)

    def _blocks(
        self, version: int, blocks: Iterator[pa.RecordBatch], conditions: Sequence[Expression]
    ) -> Iterator[pa.RecordBatch]:
        """Read block by block, as long as nothing changes; its threads are of one process."""
        process = FORKS.process
        while True:
            with self._lock, self._naming(conditions):
                if version != self._version:
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
        version = self._version
        try:
            yield
        except RuntimeError as error:  # "dictionary changed size", of the plain form
            if version == self._version:
                raise
            raise StoreError("a signal handler changed the graph in the midst of this") from error
        except NoAnswer as error:
            found = self.engine.unanswered(conditions)
            raise explained(self.view.plan, error, found) from error

    def to_arrow(self) -> pa.Table:
        """Read the whole view into memory."""
        with self._lock:
            return self.scan().read_all()

    def count(self, where: str | None = None) -> int:
        """Count the view's rows, or those that meet a condition, without making them."""
        with self._lock:
            conditions = () if where is None else self._bound(where, None, None).conditions
            with self._naming(conditions):
                return self.engine.count(conditions)

    def stats(self) -> dict[str, Any]:
        """Tell the graph's size: bytes, and nodes by kind, alias and vertex."""
        with self._lock:
            return {"view": self.view.name, "seq": self.seq, **self.engine.stats()}

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
            with self._naming(asked.conditions):
                return paths_text(self.view.plan, self.engine.why(asked))

    def why_not(self, row: object) -> WhyNot:
        """Tell where the paths of a row break that is not in the view: [(aliases, reason), ...]."""
        with self._lock:
            asked = ask(self.view.definition, row, "why_not(row)")
            with self._naming(asked.conditions):
                return breaks_text(self.view.plan, asked, self.engine.why_not(asked))
