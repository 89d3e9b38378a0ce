"""The view in parts, for several readers: in this process, or each in one of its own.

    parts = graph.partitions(4, where="day > '2026-01-01'")
    parts[0].read()              here: from the graph in memory
    pool.map(count, parts)       elsewhere: a part pickles to (moment, where, place); the process
                                 that unpickles it brings the folder's graph to that moment

Parts are cut by the order in which a graph keeps its tuples. All that open one snapshot and replay
the same records have the same order; the graph that wrote them may have another, and so has one
that begins with a later snapshot. So the parts of one call are read all here or all elsewhere, and
where the snapshot is gone they are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from joingraph.common.closing import on_error
from joingraph.common.errors import StoreError
from joingraph.reads.explanation import Open
from joingraph.reads.requests import Reading, Touched, make_reading
from joingraph.storage.contract import Moment
from joingraph.storage.disk.beside import look_again
from joingraph.storage.disk.folder import Folder
from joingraph.storage.journal import CHANGING, Journal
from joingraph.storage.open_graph import open_stored, open_upto


@dataclass(slots=True)
class Parting:
    """What the parts of one call have in common: where they can be found, and are read."""

    where: str | None
    moment: Moment | None  # None: in memory only
    read: str = ""

    def goes(self, place: str) -> None:
        """Take note that a part is read here or elsewhere, as all others must be."""
        if self.read not in ("", place):
            raise StoreError(
                f"a part of this view was read {self.read}, so no other can be read {place}: they"
                " may overlap; read all where one is read, or call partitions() again"
            )
        self.read = place


class Partition:
    """One of several disjoint readers that together give the view exactly once.

    In this process it is good until the next change. Of a graph with a folder it can be pickled,
    and read in another process, as it was, until the next snapshot.
    """

    def __init__(self, reading: Reading, open: Open, parting: Parting) -> None:
        self._reading, self._open, self._parting = reading, open, parting

    def read(self) -> pa.RecordBatchReader:
        """Read this part of the view."""
        self._parting.goes("here")
        return self._open(self._reading, Touched())

    def __reduce__(self) -> tuple[object, ...]:
        if self._parting.moment is None:
            raise StoreError(
                "a part of a view is read in another process from the graph's folder, and this"
                " graph is in memory only: make it with JoinGraph(view, path=...), or read here"
            )
        self._parting.goes("in another process")
        place = self._parting.moment, self._parting.where, self._reading.part
        return ElsewherePartition, place


@dataclass(frozen=True, slots=True)
class ElsewherePartition:
    """A part of a view whose graph another process has: read from its folder."""

    moment: Moment
    where: str | None
    part: tuple[int, int]

    def read(self) -> pa.RecordBatchReader:
        """Bring the folder's graph to what it was at the moment, and read this part of the view."""
        stored, opened = open_upto(self.moment.path, self.moment.change, by_rows=True)
        journal = opened.journal
        with on_error(journal.close):
            check_same(moment_of(journal), self.moment)
            definition = stored.view.definition
            whole = make_reading(definition, self.where, None, None)
            reading = replace(whole, part=self.part, order=())
            blocks = opened.engine.read(reading, Touched())
        return pa.RecordBatchReader.from_batches(definition.schema, until_end(blocks, journal))


def until_end(blocks: Iterator[pa.RecordBatch], journal: Journal) -> Iterator[pa.RecordBatch]:
    """Let go of the folder when all is read."""
    try:
        yield from blocks
    finally:
        journal.close()


def moment_of(journal: Journal) -> Moment | None:
    """Name what a graph is at now, for others to find it in its folder; None if it has none."""
    with journal.turn():
        checkpoints = journal.store.checkpoints
        return None if checkpoints is None else checkpoints.moment(journal.changed_at)


def parts_in(path: Path, n: int, where: str | None) -> list[ElsewherePartition]:
    """Split the view of a folder's graph as it is now, without making the graph."""
    moment = look_again(Folder(path), lambda: last_moment(path.absolute()))
    return [ElsewherePartition(moment, where, (i, n)) for i in range(n)]


def last_moment(path: Path) -> Moment:
    """Name what a folder's graph is at now, reading its log; Stale if the folder changes."""
    _, disk = open_stored(path)
    try:
        begun = disk.found.number
        changes = (s.number for s in disk.steps() if s.record.kind in CHANGING)
        change = max((number for number in changes if number > begun), default=0)
        return Moment(path, begun, change, disk.identity.graph)
    finally:
        disk.close(complete=False)


def check_same(found: Moment | None, wanted: Moment) -> None:
    """Refuse a folder whose graph cannot be brought to what was divided."""
    assert found is not None, "what is read from a folder is in it"
    if found != wanted:
        now, then = (
            f"record {each.change} behind snapshot {each.snapshot} of graph {each.graph.hex():.8}"
            for each in (found, wanted)
        )
        raise StoreError(
            f"{wanted.path} cannot be read as it was when its view was divided, at {then}; what it"
            f" has is {now}: call partitions() again, and make no snapshot until all parts are read"
        )
