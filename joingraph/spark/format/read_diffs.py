"""`spark.readStream.format("joingraph").option("subscriber", …)`: view diffs as a stream.

    graph's log      batch 4   batch 5   batch 6          kept for the subscriber
    offsets          {"seq": 4}          {"seq": 6}       a micro-batch is what lies between two
    commit(6)   ->   a note beside the graph              its writer acknowledges 6   (acks)

An offset is a sequence number, so a micro-batch that is read again is the same. The writer of the
graph keeps what the subscriber has not acknowledged; the log alone is read, no graph is made.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Condition
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from joingraph.api.subscription import as_kept
from joingraph.common.errors import StoreError
from joingraph.pipeline.acks import write_note
from joingraph.spark.types import widened
from joingraph.storage.disk.beside import look_again
from joingraph.storage.disk.folder import Folder
from joingraph.storage.journal import Journal
from joingraph.storage.open_graph import open_stored
from joingraph.storage.state import State
from joingraph.view_diffs.view_diff import ViewDiff

BATCHES_MAX: Final = 1_000  # of the graph, in one micro-batch of Spark


class DiffsReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the view diffs that wait for a subscriber."""

    def __init__(self, path: Path, options: Mapping[str, str], columns: Sequence[str]) -> None:
        self.path, self.subscriber, self.columns = path, options["subscriber"], list(columns)
        self.most = int(options.get("maxbatchespertrigger", BATCHES_MAX))
        self.target: int | None = None

    def initialOffset(self) -> dict[str, int]:
        """Begin with what was not acknowledged."""
        with open_journal(self.path) as journal:
            return {"seq": journal.subscriber(self.subscriber).acked}

    def prepareForTriggerAvailableNow(self) -> None:
        """Note where the graph is, which is as far as this run goes."""
        with open_journal(self.path) as journal:
            self.target = journal.state.seq

    def latestOffset(self, start: dict[str, int], limit: object) -> dict[str, int]:
        """Return the last batch of the next micro-batch."""
        with open_journal(self.path) as journal:
            found = batches_after(journal, self.subscriber, start["seq"])
            seqs = [seq for seq, _ in found if self.target is None or seq <= self.target]
        return {"seq": seqs[: self.most][-1]} if seqs else start

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """Read all in one place: batches have one order."""
        return [InputPartition((start["seq"], end["seq"]))] if start != end else []

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read the view diffs of a micro-batch."""
        last, stop = partition.value
        with open_journal(self.path) as journal:
            for seq, number in batches_after(journal, self.subscriber, last):
                if seq <= stop:
                    last = seq
                    yield from self._rows(ViewDiff(as_kept(journal.store.changes(number)), seq))
        if last != stop:
            raise StoreError(
                f"{self.path} holds the view diffs up to batch {last} only, and Spark asks for "
                f"batch {stop}: the graph is older than the stream's checkpoint"
            )

    def _rows(self, diff: ViewDiff) -> Iterator[pa.RecordBatch]:
        """Yield view diffs as Spark takes them."""
        rows = widened(diff.to_arrow(positions=True))
        yield from rows.select(self.columns).to_batches()

    def commit(self, end: dict[str, int]) -> None:
        """Note how far Spark is done."""
        write_note(self.path, self.subscriber, end["seq"])


@contextmanager
def open_journal(path: Path) -> Generator[Journal]:
    """Read a graph's history beside the process that writes it."""
    journal = look_again(Folder(path), lambda: read_journal(path))
    try:
        yield journal
    finally:
        journal.close()


def read_journal(path: Path) -> Journal:
    """Read a graph's history; Stale if its folder changes meanwhile."""
    _, disk = open_stored(path)
    try:
        state = State.from_json(disk.found.footer.get("state"))
        journal = Journal(disk, state, Condition(), readonly=True)
        for step in disk.steps():
            if step.number <= disk.found.number:
                journal.tell(step.record, step.number)
            else:
                with journal.changed:
                    journal.note(step.record, step.number)
    except BaseException:
        disk.close(complete=False)
        raise
    return journal


def batches_after(journal: Journal, subscriber: str, after: int) -> list[tuple[int, int]]:
    """Number the batches that wait behind one, each with its record's number."""
    acked, seq = journal.subscriber(subscriber).acked, journal.state.seq
    if not acked <= after <= seq:
        raise StoreError(
            f"the stream's checkpoint is at batch {after}; {subscriber!r} has acknowledged {acked} "
            f"and the graph is at {seq}: one of them was restored or is another; delete the "
            "stream's checkpoint to go on from what is acknowledged"
        )
    found: list[tuple[int, int]] = []
    while (batch := journal.next_after(after)) is not None:
        found.append((batch.seq, batch.number))
        after = batch.seq
    return found
