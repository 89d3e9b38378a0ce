"""A graph of which nothing is ever left half done: its changes are attempts (attempt.py).

    change(work)    notes an attempt, does the work, ends it; after an exception, resolves it
    recover()       what every call begins with: resolves an attempt that is still noted

An engine, what the graph holds now, and a journal, what has been done to it, always agree between
two calls. A caller holds the graph's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock, RLock
from typing import TypeVar

from joingraph.common.closing import on_error
from joingraph.common.errors import JoinGraphError, StoreError
from joingraph.common.forks import FORKS, refused_in_child
from joingraph.common.names import short_repr
from joingraph.engines.contract import Engine
from joingraph.engines.stand_in import has_failed, stand_in
from joingraph.graph.blocks import Block
from joingraph.plan.view import View
from joingraph.storage.attempt import Attempt
from joingraph.storage.disk.disk import Disk
from joingraph.storage.disk.files import Stale
from joingraph.storage.open_graph import Keeping, Opened, check_followed, open_graph, reopen
from joingraph.storage.record import Record
from joingraph.storage.recovery import blocks_of, replay, replay_all

FAILURES_MAX = 20  # of settling one change, before the graph answers nothing more
Made = TypeVar("Made")
Given = TypeVar("Given")
Read = TypeVar("Read")


class LiveGraph:
    """An engine and a history that always agree, and the lock under which they change."""

    def __init__(self, keeping: Keeping) -> None:
        self.lock = RLock()
        self.keeping = keeping
        self.version = 0  # raised by whatever makes open readers stale
        self.attempt: Attempt | None = None
        opened = open_graph(keeping, self.lock)
        with on_error(partial(opened.journal.store.close, complete=False)):
            self._take(opened)
        FORKS.watch(self._forked, self.lock)

    def _take(self, opened: Opened) -> None:
        """Be the graph that was opened."""
        # Amid a change the engine is this one; all others call settled().
        self.engine, self._followed = opened.engine, opened.followed
        self.journal, self.quarantined = opened.journal, opened.quarantined
        self.journal.recover = lambda: self.recover(beside_stream=True)

    @property
    def view(self) -> View:
        """The view whose graph this is, with the keys of the indexed tables kept."""
        return self.keeping.owner.view

    @property
    def seq(self) -> int:
        """The number of the last batch."""
        if self.attempt is not None:
            with self.lock:
                self.recover(beside_stream=True)
        return self.journal.state.seq

    def settled(self) -> Engine:
        """Return the engine as it is between two changes."""
        if self.attempt is not None:
            self.recover()
        return self.engine

    def current(self) -> int:
        """Return what readers are good for: the graph's version, once nothing is in doubt."""
        self.recover()
        return self.version

    def blocks(self) -> Iterator[Block]:
        """Write the graph as a snapshot's blocks, in a turn beside which a stream may be open."""
        if self.attempt is not None:
            raise StoreError("a stream of view diffs is open: read it to its end, or close() it")
        return blocks_of(self.engine, self.quarantined, self.view)

    def change(self, work: Callable[[Attempt], Made]) -> Made:
        """Do what changes the graph, whole or not at all; the caller holds the graph's lock."""
        with self.turn():
            return self._changed(work)

    def call(
        self,
        read: Callable[[Given], Read | None],
        given: Given,
        work: Callable[[Attempt, Read], Made | None],
    ) -> Made | None:
        """Do so with what is read first, of a graph of which nothing is in doubt; None: neither.

        What is read into belongs to the graph, so no other call may read in between.
        """
        with self.journal.busy:
            found = read(given)
            if found is None:
                return None
            attempt = self.attempt = Attempt(self.journal.store.settle()[0])
            try:
                self.version += 1
                made = work(attempt, found)
                if made is None or attempt.changes is not None:
                    self._finish(attempt)
                self.attempt = None
            except BaseException:
                self._resolve(attempt)
                raise
        return made

    def _changed(self, work: Callable[[Attempt], Made]) -> Made:
        """Do what changes the graph; the caller holds the turn."""
        self.engine.keep()  # or it refuses, as nothing is possible any more
        attempt = self.attempt = Attempt(self.journal.store.settle()[0])
        try:
            self.version += 1
            made = work(attempt)
            if not attempt.is_streaming:
                self._finish(attempt)
        except BaseException:
            attempt.stream = None  # a caller will never have it, though the error refers to it
            self._resolve(attempt)
            raise
        return made

    @property
    def is_calm(self) -> bool:
        """True if a batch can begin at once: nothing is in doubt, and no subscriber is served."""
        return self.attempt is None and self.journal.is_calm

    def begin_writing(self) -> None:
        """Refuse a change that this graph cannot take, and settle what is left of the last one."""
        self.journal.check_writing()
        self.recover()

    def turn(self, *, beside_stream: bool = False) -> Lock:
        """Return the lock to hold while something is changed, once nothing is left in doubt."""
        self.recover(beside_stream=beside_stream)
        return self.journal.turn()

    def recover(self, *, beside_stream: bool = False) -> None:
        """Settle a change that an exception has left in the middle."""
        attempt = self.attempt
        if attempt is None or (beside_stream and attempt.is_streaming):
            return
        with self.journal.turn():
            if not attempt.end_stream():
                raise StoreError(
                    "a stream of view diffs is open on this graph, so it answers nothing else:"
                    " read it to its end, or close() it"
                )
            self._resolve(attempt)
            if self.attempt is attempt:
                raise StoreError(
                    f"the last change was interrupted, and so was settling it: {attempt.failure};"
                    " ask once more"
                )

    def _resolve(self, attempt: Attempt) -> None:
        """Bring a change to its end if its record stands, or take it back."""
        try:
            self.version += 1
            if attempt.stream is not None:
                # Only before it is undone for the first time: then nothing of it is done.
                attempt.is_done, attempt.stream = self.engine.is_whole, None
            self.journal.settle()
            number = attempt.number = attempt.standing(self.journal.store.settle())
            if attempt.then is None and (number is None or not attempt.is_done):
                self.engine.undo()
            if number is not None and attempt.record is not None and not attempt.is_done:
                record = attempt.record
                replayed = replay(record, self.engine, self.view, generate=record.is_remade)
                attempt.is_done = True
                if record.is_remade and replayed.changes is not None:
                    table = replayed.changes.table
                    attempt.changes = lambda: table
            self._finish(attempt)
        except Exception as error:  # noqa: BLE001 - perhaps one of a signal handler: try again
            attempt.failure = short_repr(error)
            attempt.failures += 1
            if self.journal.store.failed is not None or attempt.failures > FAILURES_MAX:
                self.fail(error)

    def _finish(self, attempt: Attempt) -> None:
        """Do what is left of a change once it stands, or will never."""
        if attempt.is_trial:
            self.engine.undo()
        if attempt.then is not None:
            attempt.then()
        if attempt.number is not None:
            if attempt.quarantined is not None:
                self.quarantined = attempt.quarantined
            if attempt.changes is not None:
                self.journal.store.keep(attempt.number, attempt.changes())
        self.engine.keep()
        self.attempt = None

    def commit(self, attempt: Attempt, record: Record) -> int:
        """Log a change; from here on it stands."""
        attempt.record = record
        number = attempt.number = self.journal.commit(record)
        return number

    def fail(self, error: BaseException) -> None:
        """Answer nothing more: what is in memory may not be what is on the disk."""
        with self.lock:
            self.version += 1
            if not has_failed(self.engine):
                why = f"{str(error) or type(error).__name__}; {self.journal.store.remedy}"
                self.engine = stand_in(
                    lambda call: f"{call} is not possible since this: {why}", has_failed=True
                )
            self.attempt = None

    def _forked(self, whole: bool) -> None:
        """Be the copy of a forked child: for reading, or for nothing if a call was under way."""
        self.journal.snapping, self.journal.busy = Lock(), Lock()
        attempt = self.attempt
        if attempt is not None and not attempt.is_streaming:
            # What is in doubt is settled by the log, which is the parent's.
            whole &= attempt.tables is not None and self.engine.is_whole
            self.attempt = None
        if not whole:
            self.engine = stand_in(partial(refused_in_child, parent=self.journal.process))
            self.attempt = None

    def follow(self) -> None:
        """Carry out what another process has logged; begin anew where its folder went on."""
        self.journal.check_open()
        disk = check_followed(self._followed)
        if has_failed(self.engine):
            self._reopen(disk)
            return
        self.recover()
        try:
            if not disk.reader.is_at_end():
                self.version += 1
                self.attempt = Attempt(0, then=self._cut_short)
                replay_all(disk, self.engine, self.journal, self.quarantined)
        except Stale:
            self.attempt = None
            self._reopen(disk)
        except BaseException as error:
            if isinstance(error, JoinGraphError) and not self.journal.is_carrying:
                self.attempt = None  # what is refused changes nothing
            else:
                self._cut_short()
            raise
        self.attempt = None

    def _cut_short(self) -> None:
        """Answer nothing till the next refresh: the last one was interrupted."""
        self.fail(StoreError("refresh() was interrupted; refresh once more"))

    def _reopen(self, before: Disk) -> None:
        """Begin anew with what the folder has now, and let go of what it had."""
        opened = reopen(self.keeping, self.lock, before.identity.graph)
        self.version += 1
        self._take(opened)
        before.close(complete=False)

    def close(self) -> None:
        """Give memory and folder back."""
        with self.lock:
            self.journal.check_turn()
            self.version += 1
            self.engine = stand_in(
                "the graph is closed, {} is not possible any more: make a new one".format
            )
            self.attempt = None
            self.journal.close()
