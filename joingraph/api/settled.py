"""A graph of which nothing is ever left half done: its changes are attempts (storage/attempt.py).

_change(work)    notes an attempt, does the work, ends it; after an exception, resolves it
_recover()       what every call begins with: resolves an attempt that is still noted
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from joingraph.api.readable import Readable
from joingraph.common.errors import StoreError
from joingraph.engines.contract import Engine
from joingraph.engines.missing_rows import Quarantined
from joingraph.engines.stand_in import has_failed, stand_in
from joingraph.plan.view import View
from joingraph.storage.attempt import Attempt
from joingraph.storage.journal import Journal
from joingraph.storage.record import Record
from joingraph.storage.recovery import replay

FAILURES_MAX = 20  # of settling one change, before the graph answers nothing more
Made = TypeVar("Made")


class Settled(Readable):
    """A graph with an engine and a history that always agree."""

    _engine: Engine
    _journal: Journal
    _quarantined: list[Quarantined]

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._attempt: Attempt | None = None

    @property
    def seq(self) -> int:
        """The number of the last batch."""
        if self._attempt is not None:
            with self._lock:
                self._recover(beside_stream=True)
        return self._journal.state.seq

    @property
    def engine(self) -> Engine:
        """The engine as it is between two changes."""
        if self._attempt is not None:
            self._recover()
        return self._engine

    def _change(self, work: Callable[[Attempt], Made]) -> Made:
        """Do what changes the graph, whole or not at all; the caller holds the graph's lock."""
        with self._turn():
            attempt = self._attempt = Attempt(self._journal.store.settle()[0])
            try:
                self._engine.keep()
                self._version += 1
                made = work(attempt)
                if not attempt.is_streaming:
                    self._finish(attempt)
            except BaseException:
                self._resolve(attempt)
                raise
        return made

    def _begin_writing(self) -> None:
        """Refuse a change that this graph cannot take, and settle what is left of the last one."""
        self._journal.check_writing()
        self._recover()

    def _turn(self, *, beside_stream: bool = False) -> Lock:
        """Return the lock to hold while something is changed, once nothing is left in doubt."""
        self._recover(beside_stream=beside_stream)
        return self._journal.turn()

    def _recover(self, *, beside_stream: bool = False) -> None:
        """Settle a change that an exception has left in the middle."""
        attempt = self._attempt
        if attempt is None or (attempt.is_streaming and beside_stream):
            return
        if attempt.is_streaming:
            raise StoreError(
                "a stream of view diffs is open on this graph, so it answers nothing else: read it"
                " to its end, or close() it"
            )
        with self._journal.turn():
            self._resolve(attempt)
            if self._attempt is attempt:
                raise StoreError(
                    f"the last change was interrupted, and so was settling it: {attempt.failure!r};"
                    " ask once more"
                )

    def _resolve(self, attempt: Attempt) -> None:
        """Bring a change to its end if its record stands, or take it back."""
        try:
            self._version += 1
            self._journal.settle()
            number = attempt.number = attempt.standing(self._journal.store.settle())
            if attempt.then is None and (number is None or not attempt.is_done):
                self._engine.undo()
            if number is not None and attempt.record is not None and not attempt.is_done:
                record = attempt.record
                replayed = replay(record, self._engine, self.view, generate=record.is_remade)
                attempt.is_done = True
                if record.is_remade and replayed.changes is not None:
                    table = replayed.changes.table
                    attempt.changes = lambda: table
            self._finish(attempt)
        except StoreError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - perhaps one of a signal handler: try again
            attempt.failure = error
            attempt.failures += 1
            if attempt.failures > FAILURES_MAX:
                self._fail(error)

    def _finish(self, attempt: Attempt) -> None:
        """Do what is left of a change once it stands, or will never."""
        if attempt.is_trial:
            self._engine.undo()
        if attempt.then is not None:
            attempt.then()
        if attempt.number is not None:
            if attempt.quarantined is not None:
                self._quarantined = attempt.quarantined
            if attempt.changes is not None:
                self._journal.store.keep(attempt.number, attempt.changes())
        self._engine.keep()
        self._attempt = None

    def _commit(self, attempt: Attempt, record: Record) -> int:
        """Log a change; from here on it stands."""
        attempt.record = record
        number = attempt.number = self._journal.commit(record)
        return number

    def _now(self) -> int:
        """Return what readers are good for: the graph's version, once nothing is in doubt."""
        self._recover()
        return self._version

    def _fail(self, error: BaseException) -> None:
        """Answer nothing more: what is in memory may not be what is on the disk."""
        with self._lock:
            self._version += 1
            if not has_failed(self._engine):
                why = f"{str(error) or type(error).__name__}; {self._journal.store.remedy}"
                self._engine = stand_in(
                    lambda call: f"{call} is not possible since this: {why}", has_failed=True
                )
            self._attempt = None
