"""A graph that is kept somewhere: opened, logged to, followed, written down, and closed.

JoinGraph (joingraph.py) puts the batches on top of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, cast

from joingraph.engine import Engine
from joingraph.engines import ClosedEngine
from joingraph.errors import StoreError
from joingraph.journal import Prompt
from joingraph.keeping import FailedEngine, Keeping, follow, for_view, open_graph
from joingraph.partitions import Moment, moment_of
from joingraph.positions import Position
from joingraph.readable import Readable
from joingraph.reading import indexable
from joingraph.rebuild import load_from, still_there
from joingraph.recovery import blocks_of
from joingraph.snapshots import SNAPSHOT_AFTER, Snapshots
from joingraph.stores.disk import Disk
from joingraph.stores.record import Record
from joingraph.streaming import do_nothing, never_fails
from joingraph.subscriptions import WAITING_BYTES, Subscription, subscribe, unsubscribe
from joingraph.view import View


class Journaled(Readable):
    """A graph with a history, in memory or in a folder."""

    def __init__(self, keeping: Keeping) -> None:
        super().__init__(keeping.owner.view)
        self.snapshot_after: int | None = SNAPSHOT_AFTER
        self.prompt: Prompt | None = None  # for whom view diffs are not logged but remade
        self._keeping = keeping
        self._open()

    @property
    def seq(self) -> int:
        """The number of the last batch."""
        return self._journal.state.seq

    @property
    def _key_index(self) -> tuple[str, ...]:
        """The base tables whose keys are indexed."""
        return self._keeping.owner.key_index

    def _open(self) -> None:
        """Bring the graph to what is kept of it."""
        opened = open_graph(self._keeping, self._lock)
        self.engine: Engine = opened.engine
        self._journal, self._quarantined = opened.journal, opened.quarantined
        self._snapshots = Snapshots(
            self._journal, lambda: blocks_of(self.engine, self._quarantined, self.view)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _commit(self, record: Record, finish: Callable[[], None] = do_nothing) -> int:
        """Log what the engine has just done, or will when it finishes, or take it back."""
        self._version += 1
        try:
            return self._journal.commit(record)
        except BaseException as error:
            finish()
            if record.kind == "load":
                self._fail(error)
            else:
                self.engine.undo()
            raise

    def _logs_ahead(self) -> bool:
        """Say whether a batch that is not refused cannot fail any more, and it pays to know."""
        return isinstance(self._journal.store, Disk) and never_fails(self.view.plan)

    def _commit_ahead(self, record: Record) -> int:
        """Log what the engine is about to do and cannot fail at; it is flushed meanwhile."""
        self._version += 1
        number = self._journal.commit(record)
        self._journal.store.begin_sync()
        return number

    def _settle(self, number: int) -> None:
        """Wait until what was done is as durable as was promised."""
        try:
            self._journal.store.sync(number)
        except StoreError as error:
            self._fail(error)
            raise
        self._snapshots.begin(self.snapshot_after)

    def _fail(self, error: BaseException) -> None:
        """Answer nothing more: what is in memory may not be what is on the disk."""
        with self._lock:
            self._version += 1
            self.engine = cast(Engine, FailedEngine(str(error)))

    def _moment(self) -> Moment | None:
        """Name what the graph is at now, for other processes to read."""
        return moment_of(self._journal)

    def index(self, column: str) -> None:
        """Keep an index on an output column, for conditions on it and for its order.

        It is kept up under all changes. A column computed of several aliases cannot have one.
        """
        with self._lock:
            found = indexable(self.view.plan, column)
            if found in self._journal.state.indexes:
                return
            number = self._journal.commit(Record("index", self.seq, {"column": found}))
            self.engine.index(found)
        self._settle(number)

    def positions(self) -> dict[str, Position]:
        """Tell how far each source has been applied."""
        with self._lock:
            return self._journal.state.positions.last()

    def subscribe(
        self, name: str, *, max_bytes: int = WAITING_BYTES, when_full: str = "block"
    ) -> Subscription:
        """Get the view diffs of the batches from now on, or from the last acknowledged one on.

        `when_full` says what happens when more than `max_bytes` of them wait: batches "block" until
        some are acknowledged (LimitError after 30 s), or the subscriber is dropped ("drop").
        """
        return subscribe(self._journal, name, max_bytes=max_bytes, when_full=when_full)

    def subscribers(self) -> list[str]:
        """Name those who are told of every batch."""
        with self._lock:
            found = self._journal.state.subscribers
            return [name for name, each in found.items() if each.dropped is None]

    def unsubscribe(self, name: str) -> None:
        """Forget a subscriber, and the view diffs that only it waits for."""
        unsubscribe(self._journal, name)

    def snapshot(self) -> None:
        """Write the whole graph down, so that opening it again need not replay the log so far.

        One is taken in the background when the log has grown by `snapshot_after` bytes, and by a
        quarter of the last snapshot; None: never by itself.
        """
        self._snapshots.take()

    def await_snapshot(self) -> None:
        """Wait for the snapshot that is being taken in the background, if one is.

        After a large load, as it would keep the processor from the first batches.
        """
        self._snapshots.wait()

    def stats(self) -> dict[str, Any]:
        """Tell the graph's size: bytes, and nodes by kind, alias and vertex; and its log's."""
        with self._lock:
            found, disk = super().stats(), self._journal.store
            if isinstance(disk, Disk):
                found["log"] = {
                    "bytes_after_snapshot": disk.behind,
                    "snapshot_bytes": disk.found.size,
                    "snapshot_failed": self._snapshots.failure,
                }
            return found

    def rebuild(self, view: View) -> None:
        """Go on with another view over the same rows, where the graph keeps all that it needs.

        What is not kept is refused by column. Positions, numbers and subscribers stay; batches wait
        meanwhile, and memory for both graphs is needed. Indexes on columns that are gone are gone.
        """
        with self._journal.snapping, self._lock:
            self._journal.check_writing()
            keeping = for_view(self._keeping, view)
            new, journal = keeping.owner.view, self._journal
            engine = keeping.make()
            load_from(self.engine, self.view, new, engine)
            aside = [each for each in self._quarantined if each.table in new.tables]
            state = replace(journal.state, indexes=still_there(journal.state.indexes, new))
            for column in state.indexes:
                engine.index(column)
            if isinstance(journal.store, Disk):
                journal.store.hand_over(keeping.owner, state, blocks_of(engine, aside, new))
            journal.state, self._quarantined = state, aside
            self.view, self.engine, self._keeping = new, engine, keeping
            vars(self).pop("_keyed", None)  # which was of the old view
            self._version += 1

    def refresh(self) -> None:
        """Follow the process that writes, on a graph that was opened with `readonly`."""
        with self._lock:
            self._version += 1
            if not follow(self._journal, self.engine, self.view):
                self._journal.store.close(complete=False)
                self._open()

    def close(self) -> None:
        """Give the graph's memory and folder back; only its ViewDiffs stay valid."""
        self._snapshots.stop()
        with self._lock:
            self._version += 1
            self.engine = cast(Engine, ClosedEngine())
            self._journal.close()
