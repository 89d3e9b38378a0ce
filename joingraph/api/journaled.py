"""A graph that is kept somewhere: opened, logged to, followed, written down, and closed.

JoinGraph (join_graph.py) puts the batches on top of it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Any, Self

from joingraph.api.partitions import moment_of
from joingraph.api.settled import Settled
from joingraph.api.subscription import WAITING_BYTES, Subscription, is_whole, subscribe, unsubscribe
from joingraph.common.errors import JoinGraphError, StoreError
from joingraph.common.forks import FORKS, refused_in_child
from joingraph.common.names import short_repr
from joingraph.engines.change_of_view import load_from, still_there
from joingraph.engines.contract import Engine
from joingraph.engines.stand_in import has_failed, stand_in
from joingraph.engines.streaming import never_fails
from joingraph.plan.view import View, check_view
from joingraph.reads.requests import indexable
from joingraph.storage.attempt import Attempt
from joingraph.storage.checkpoints import SNAPSHOT_AFTER, Snapshots
from joingraph.storage.contract import Moment
from joingraph.storage.disk.disk import Disk
from joingraph.storage.disk.files import Stale
from joingraph.storage.journal import Prompt
from joingraph.storage.open_graph import (
    Keeping,
    Opened,
    check_followed,
    for_view,
    open_graph,
    reopen,
)
from joingraph.storage.positions import Position
from joingraph.storage.record import Record
from joingraph.storage.recovery import blocks_of, replay_all


class Journaled(Settled):
    """A graph with a history, in memory or in a folder."""

    def __init__(self, keeping: Keeping) -> None:
        super().__init__(keeping.owner.view)
        self._snapshot_after: int | None = SNAPSHOT_AFTER
        self.prompt: Prompt | None = None  # for whom view diffs are not logged but remade
        self._keeping = keeping
        self._open()
        FORKS.watch(self._forked, self._lock)

    @property
    def snapshot_after(self) -> int | None:
        """By how many bytes the log grows before a snapshot is taken; None: never by itself."""
        return self._snapshot_after

    @snapshot_after.setter
    def snapshot_after(self, after: int | None) -> None:
        if after is not None and not is_whole(after):
            raise ValueError(
                f"snapshot_after is a number of bytes, or None; found {short_repr(after)}"
            )
        self._snapshot_after = after

    @property
    def _key_index(self) -> tuple[str, ...]:
        """The base tables whose keys are indexed."""
        return self._keeping.owner.key_index

    def _open(self) -> None:
        """Bring the graph to what is kept of it."""
        opened = open_graph(self._keeping, self._lock)
        try:
            self._take(opened)
        except BaseException:
            opened.journal.store.close(complete=False)
            raise

    def _take(self, opened: Opened) -> None:
        """Be the graph that was opened."""
        self._engine, self._followed = opened.engine, opened.followed
        self._journal, self._quarantined = opened.journal, opened.quarantined
        self._journal.recover = lambda: self._recover(beside_stream=True)
        self._snapshots = Snapshots(
            self._journal,
            lambda: self._turn(beside_stream=True),
            lambda: blocks_of(self._idle_engine(), self._quarantined, self.view),
        )

    def _idle_engine(self) -> Engine:
        """Return the engine for a snapshot, which has the turn: a stream may have come before."""
        if self._attempt is not None:
            raise StoreError("a stream of view diffs is open: read it to its end, or close() it")
        return self._engine

    def _forked(self, whole: bool) -> None:
        """Be the copy of a forked child: for reading, or for nothing if a call was under way."""
        self._journal.snapping, self._journal.busy = Lock(), Lock()
        attempt = self._attempt
        if attempt is not None and not attempt.is_streaming:
            # What is in doubt is settled by the log, which is the parent's.
            whole &= attempt.tables is not None and self._engine.is_whole
            self._attempt = None
        if not whole:
            self._engine = stand_in(partial(refused_in_child, parent=self._journal.process))
            self._attempt = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _logs_ahead(self) -> bool:
        """Say whether a batch that is not refused cannot fail any more, and it pays to know."""
        return self._journal.store.is_durable and never_fails(self.view.plan)

    def _settle(self, number: int) -> None:
        """Wait until what was done is as durable as was promised."""
        try:
            self._journal.store.sync(number)
        except StoreError as error:
            self._fail(error)
            raise
        self._snapshots.begin(self.snapshot_after)

    def _moment(self) -> Moment | None:
        """Name what the graph is at now, for other processes to read."""
        self._recover()
        return moment_of(self._journal)

    def index(self, column: str) -> None:
        """Keep an index on an output column, for conditions on it and for its order.

        It is kept up under all changes. A column computed of several aliases cannot have one.
        """
        with self._lock:
            self._begin_writing()
            found = indexable(self.view.plan, column)
            if found in self._journal.state.indexes:
                return

            def index(attempt: Attempt) -> int:
                number = self._commit(
                    attempt, Record("index", self._journal.state.seq, {"column": found})
                )
                self._engine.index(found)
                attempt.is_done = True
                return number

            number = self._change(index)
        self._settle(number)

    def positions(self) -> dict[str, Position]:
        """Tell how far each source has been applied."""
        with self._lock:
            self._recover(beside_stream=True)
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
            found, checkpoints = super().stats(), self._journal.store.checkpoints
            if checkpoints is not None:
                found["log"] = {
                    "bytes_after_snapshot": checkpoints.behind,
                    "snapshot_bytes": checkpoints.size,
                    "snapshot_failed": self._snapshots.failure,
                }
            return found

    def rebuild(self, view: View) -> None:
        """Go on with another view over the same rows, where the graph keeps all that it needs.

        What is not kept is refused by column. Positions, numbers and subscribers stay; batches wait
        meanwhile, and memory for both graphs is needed. Indexes on columns that are gone are gone.
        """
        check_view("rebuild(view)", view)
        with self._journal.snapping, self._lock:
            self._begin_writing()
            keeping = for_view(self._keeping, view)
            new, journal = keeping.owner.view, self._journal
            engine = keeping.make()
            load_from(self.engine, self.view, new, engine)
            aside = [each for each in self._quarantined if each.table in new.tables]
            state = replace(journal.state, indexes=still_there(journal.state.indexes, new))
            for column in state.indexes:
                engine.index(column)

            checkpoints = journal.store.checkpoints

            def go_on() -> None:
                if checkpoints is not None and not checkpoints.take_over(keeping.owner):
                    return  # the folder is of the view of before
                journal.state, self._quarantined = state, aside
                self.view, self._engine, self._keeping = new, engine, keeping
                vars(self).pop("_keyed", None)  # which was of the old view
                self._readings.clear()

            def rebuild(attempt: Attempt) -> None:
                attempt.then = go_on
                if checkpoints is not None:
                    checkpoints.hand_over(keeping.owner, state, blocks_of(engine, aside, new))

            self._change(rebuild)

    def refresh(self) -> None:
        """Follow the process that writes, on a graph that was opened with `readonly`.

        Where it raises, the graph stays as it was after the last batch that was carried out; if
        that is unknown, as after KeyboardInterrupt, it answers nothing until the next refresh.
        """
        with self._lock:
            self._journal.check_open()
            disk = check_followed(self._followed)
            if has_failed(self._engine):
                self._reopen(disk)
                return
            self._recover()
            try:
                if not disk.is_at_end():
                    self._version += 1
                    self._attempt = Attempt(0, then=self._cut_short)
                    replay_all(disk, self._engine, self._journal, self._quarantined)
            except Stale:
                self._attempt = None
                self._reopen(disk)
            except JoinGraphError:
                self._attempt = None  # what is refused changes nothing
                raise
            except BaseException:
                self._cut_short()
                raise
            self._attempt = None

    def _cut_short(self) -> None:
        """Answer nothing till the next refresh: the last one was interrupted."""
        self._fail(StoreError("refresh() was interrupted; refresh once more"))

    def _reopen(self, before: Disk) -> None:
        """Begin anew with what the folder has now, and let go of what it had."""
        opened = reopen(self._keeping, self._lock, before.identity.graph)
        self._version += 1
        self._take(opened)
        before.close(complete=False)

    def close(self) -> None:
        """Give the graph's memory and folder back; only its ViewDiffs stay valid."""
        self._snapshots.stop()
        with self._lock:
            self._journal.check_turn()
            self._version += 1
            self._engine = stand_in(
                "the graph is closed, {} is not possible any more: make a new one".format
            )
            self._attempt = None
            self._journal.close()
