"""What a graph's history is for: numbers, positions, and view diffs for subscribers that come back.

    a batch  ->  is its position known? then its view diffs of then
             ->  else, once applied, its record: logged, noted in the state, told to subscribers

The journal puts a store (where records go) and a state (what they add up to) together. Its
condition is built on the graph's lock: the caller that changes something holds it.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Mapping
from threading import Condition, Lock
from typing import NamedTuple, NoReturn

import pyarrow as pa

from joingraph.common.errors import LimitError, StoreError
from joingraph.common.forks import FORKS
from joingraph.storage.contract import Store
from joingraph.storage.positions import Applied, Origin
from joingraph.storage.record import Record
from joingraph.storage.state import State, Subscriber

CHANGING = ("batch", "load", "expire", "index")  # the kinds of records that change a graph
EVERY_NUMBER = 1 << 62  # is behind all records
BLOCK_S = 30.0  # how long a batch waits for a subscriber that is full, before it is refused

log = logging.getLogger("joingraph")


class Pending(NamedTuple):
    """A batch whose view diffs wait: its number, its record's, and all bytes before it."""

    seq: int
    number: int
    start: int


class Prompt(NamedTuple):
    """A source, and the subscribers who take each batch of it before the next one comes."""

    source: str
    subscribers: frozenset[str]


class Journal:
    """The history of one graph."""

    def __init__(
        self, store: Store, state: State, changed: Condition, *, readonly: bool = False
    ) -> None:
        self.store, self.state, self.changed, self.readonly = store, state, changed, readonly
        self._pending: list[Pending] = []
        self._pending_bytes = 0
        self._last_remade = 0  # the last batch whose view diffs are not in the log
        self._is_open = True
        self.process = FORKS.process
        self.changed_at = 0  # the last record since the snapshot that changed the graph
        self.snapping = Lock()  # held while a snapshot is made
        self.recover: Callable[[], None] = lambda: None  # settles what is in doubt of a graph
        self.busy = Lock()  # held by the call that changes the graph, inside the graph's lock
        self.is_carrying = False  # True from a record's replay to the note of it
        # A record on its way into the store, and the number of the last one before it.
        self._commit: tuple[Record, int] | None = None

    def check_writing(self) -> None:
        """Refuse to change a graph that was opened to be read, or by another process."""
        self.check_open()
        self.check_process()
        if self.readonly:
            raise StoreError("the graph was opened with readonly=True: nothing can be changed")

    def check_process(self) -> None:
        """Refuse what only the process that writes the graph can do, in one forked from it."""
        if self.process != FORKS.process and not self.readonly:
            raise StoreError(
                f"this graph belongs to process {self.process}, and this is process"
                f" {FORKS.process}, forked from it: what the graph held then can be read here, but"
                " nothing can be changed; apply there, or open the folder here with readonly=True"
            )

    def check_open(self) -> None:
        """Refuse to go on once the graph is closed."""
        if not self._is_open:
            raise StoreError("the graph is closed; open it again")
        self.settle_idle()

    @property
    def is_calm(self) -> bool:
        """True if a batch can begin at once: nothing is in doubt, and no subscriber is served."""
        return (
            self._is_open
            and self._commit is None
            and not self.readonly
            and self.process == FORKS.process
            and not self.state.subscribers
            and not self.busy.locked()
        )

    def turn(self) -> Lock:
        """Return the lock to hold while something is changed; the caller holds the graph's lock.

        Only a call in the same thread can hold it by then: one that is under way, and from whose
        midst this one was made.
        """
        self.check_turn()
        self.check_open()
        self.settle()
        return self.busy

    def idle_turn(self) -> Lock:
        """Return `turn()` for what is not the graph's own call, once nothing of it is in doubt."""
        self.check_process()
        self.check_turn()
        self.recover()
        return self.turn()

    def check_turn(self) -> None:
        """Refuse a call from the midst of another one in the same thread."""
        if self.busy.locked():
            raise StoreError(
                "this was called in the middle of another call that changes the graph, from a"
                " signal handler or a callback; call it once that has returned"
            )

    def known(self, origin: Origin | None) -> Applied | None:
        """Find the batch that had this position; None if it is new, or has none."""
        self.check_writing()
        return None if origin is None else self.state.positions.find(*origin)

    def admit(self, origin: Origin | None) -> Applied | None:
        """Find the batch that had this position, or make room for a new one."""
        if self.known(origin) is None:
            self.make_room()
        # Room may have been waited for, and others may have been let in meanwhile.
        return self.known(origin)

    def answer(self, known: Applied, none: pa.Table) -> Callable[[], pa.Table]:
        """Return the view diffs of a batch that was applied before, or what to raise instead.

        A load has none.
        """
        if known.is_load:
            return lambda: none
        with self.turn():  # as what is held is written before it is read
            try:
                changes = self.store.changes(known.number)
            except StoreError as error:
                gone = error

                def refuse() -> NoReturn:
                    raise gone

                return refuse
        return lambda: changes

    def close(self) -> None:
        """Let go of the store; once more, if that was interrupted."""
        self._is_open = False
        with self.changed:
            self.changed.notify_all()
            try:
                if self.store.failed is None:
                    self.settle()
            finally:
                self.store.close(complete=True)

    def keeps(self, origin: Origin | None) -> bool:
        """True if a batch's view diffs may be asked for after it."""
        return origin is not None or self.state.wanted_after() is not None

    def remakes(self, origin: Origin | None, prompt: Prompt | None) -> bool:
        """True if a batch's view diffs need not be logged, as they could be remade.

        Replay remakes those of the last such batch only: the one before must have been taken.
        """
        if prompt is None or origin is None or origin.source != prompt.source:
            return False
        served = {n: each for n, each in self.state.subscribers.items() if each.dropped is None}
        for name, each in served.items():
            if each.acked < self._last_remade:
                raise StoreError(
                    f"subscriber {name!r} has not acknowledged batch {self._last_remade} of "
                    f"{prompt.source}, which it has to before the next one; nothing was applied: "
                    f"let it, or graph.unsubscribe({name!r})"
                )
        return served.keys() <= prompt.subscribers

    def commit(self, record: Record) -> int:
        """Log what was done and take note of it; gives the record's number.

        The caller holds `turn()`. After an exception, `settle` does what is left of it.
        """
        self.check_process()
        self.settle()
        self._commit = record, self.store.settle()[0]
        number = self.store.append(record)
        self._stand(record, number)
        return number

    def settle(self) -> None:
        """Finish a commit that was interrupted, if its record stands in the store."""
        if self._commit is not None:
            record, before = self._commit
            number, kind = self.store.settle()
            if number > before and kind == record.kind:
                self._stand(record, number)
            self._commit = None

    def settle_idle(self) -> None:
        """Finish a commit that was interrupted; one that is under way is left alone."""
        if self._commit is not None and self._is_open and not self.busy.locked():
            self.settle()

    def _stand(self, record: Record, number: int) -> None:
        """Take note of a record that stands; once more changes nothing."""
        is_plain = record.rows is not None and record.said["source"] is None
        if is_plain and not self.state.subscribers:  # nothing of it can be asked for again
            self.state.seq, self.changed_at, self._commit = record.seq, number, None
            # A store that is not durable keeps nothing but what can be.
            failure = self.store.forget(EVERY_NUMBER) if self.store.is_durable else None
        else:
            failure = self._noted(record, number)
        if failure is not None:  # the record is logged all the same
            log.warning("%s; it will be tried again", failure)

    def _noted(self, record: Record, number: int) -> StoreError | None:
        """Take note of a record of any kind; return why view diffs stay that could be forgotten."""
        self.note(record, number)
        self._commit = None
        if record.kind in ("ack", "drop") or not self.state.subscribers:
            return self._forget()
        return None

    def note(self, record: Record, number: int) -> None:
        """Take note of a record that is in the store; once more changes nothing."""
        self.state.note(record, number)
        if record.kind in CHANGING:
            self.changed_at = number
        self.tell(record, number)
        self.changed.notify_all()

    def tell(self, record: Record, number: int) -> None:
        """Take note of view diffs that are kept for subscribers."""
        size = record.kept_bytes
        if size is not None:
            if not self._pending or self._pending[-1].number < number:
                self._pending.append(Pending(record.seq, number, self._pending_bytes))
            self._pending_bytes = self._pending[-1].start + size
        if record.is_remade:
            self._last_remade = record.seq

    def forget(self) -> None:
        """Let go of view diffs that all subscribers have; raise if some stay."""
        failure = self._forget()
        if failure is not None:
            raise failure

    def _forget(self) -> StoreError | None:
        """Let go of view diffs that all subscribers have; return why some stay."""
        wanted = self.state.wanted_after()
        self._pending = [] if wanted is None else self._pending[self._after(wanted) :]
        return self.store.forget(self._pending[0].number if self._pending else EVERY_NUMBER)

    def _after(self, seq: int) -> int:
        """Find the first batch behind a number among those pending."""
        return bisect_right(self._pending, seq, key=lambda each: each.seq)

    def next_after(self, seq: int) -> Pending | None:
        """Return the next batch whose view diffs are kept."""
        place = self._after(seq)
        return self._pending[place] if place < len(self._pending) else None

    def waiting_bytes(self, subscriber: Subscriber) -> int:
        """Return how much a subscriber has not acknowledged."""
        waiting = self.next_after(subscriber.acked)
        return 0 if waiting is None else self._pending_bytes - waiting.start

    def full(self) -> Mapping[str, Subscriber]:
        """Name the subscribers who let too much wait."""
        return {
            name: each
            for name, each in self.state.subscribers.items()
            if each.dropped is None and self.waiting_bytes(each) > each.bytes
        }

    def make_room(self) -> None:
        """Drop or wait for subscribers who let too much wait; the caller holds the lock."""
        self.check_writing()
        for name, each in self.full().items():
            if each.full == "drop":
                waiting = self.waiting_bytes(each)
                why = f"{waiting:,} bytes of view diffs waited, at most {each.bytes:,}"
                with self.idle_turn():
                    self.commit(Record("drop", self.state.seq, {"name": name, "why": why}))
        if not self.changed.wait_for(lambda: not self.full(), BLOCK_S):
            names = ", ".join(self.full())
            raise LimitError(
                f"subscriber {names} has not acknowledged enough for {BLOCK_S:g} s, and more would"
                " pass its limit; nothing of the batch was applied: acknowledge, or unsubscribe it"
            )

    def subscribers(self) -> list[str]:
        """List the names of the subscribers who are still served."""
        self.settle_idle()
        return [name for name, each in self.state.subscribers.items() if each.dropped is None]

    def subscriber(self, name: str) -> Subscriber:
        """Find a subscriber who is still served."""
        self.settle_idle()
        found = self.state.subscribers.get(name)
        if found is None:
            raise StoreError(f"there is no subscriber {name!r}; graph.subscribe({name!r}) makes it")
        if found.dropped is not None:
            raise StoreError(
                f"subscriber {name!r} was dropped after batch {found.acked}: {found.dropped};"
                f" read the view anew, and begin again with graph.unsubscribe({name!r})"
            )
        return found
