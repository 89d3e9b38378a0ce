"""View diffs for a subscriber that comes back: in order, each until it is acknowledged.

    graph.subscribe("search")  ->  Subscription       made at its first use, with the next batch
        .next(timeout)         ->  ViewDiff           the next one, or None
        .ack(diff.seq)                                all up to this one are done with

What was not acknowledged comes again after a restart, from the first of them on; what was, never.
A batch is handed over only once it is as durable as was promised.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from joingraph.common.errors import StoreError
from joingraph.common.names import OWN_CHARS_MAX, is_name, plain, short_repr
from joingraph.storage.journal import Journal
from joingraph.storage.record import Record
from joingraph.view_diffs.deltas import Deltas, is_deltas
from joingraph.view_diffs.factorised import Factorised
from joingraph.view_diffs.formats import made_as_deltas
from joingraph.view_diffs.view_diff import DiffRows, Forms, ViewDiff

WAITING_BYTES = 256 << 20  # of view diffs that wait for a subscriber, unless it says otherwise
SUBSCRIBERS_MAX = 1_000
TIMEOUT_MAX = 1_000_000  # seconds; more than a lock can wait on some systems
WHEN_FULL = ("block", "drop")


class Subscription:
    """One subscriber's place in the view diffs of a graph."""

    def __init__(self, name: str, journal: Journal) -> None:
        self.name, self._journal = name, journal
        self._seen = journal.subscriber(name).acked

    def __repr__(self) -> str:
        return f"Subscription({self.name!r}, seen up to {self._seen})"

    def __iter__(self) -> Iterator[ViewDiff]:
        """Yield what is there by now, and stop."""
        while (found := self.next(0)) is not None:
            yield found

    def next(self, timeout: float | None = None) -> ViewDiff | None:
        """Return the next batch's view diffs, waiting for it if it must; None when time is up."""
        if timeout is not None and not can_wait(timeout):
            raise ValueError(
                f"next(timeout) takes seconds, {TIMEOUT_MAX:,} at the most, or None; found"
                f" {short_repr(timeout)}"
            )
        journal = self._journal
        with journal.changed:
            journal.changed.wait_for(self._has_more, timeout)
            found = journal.next_after(self._seen)
            if found is None:
                return None
            with journal.turn():
                changes = journal.store.changes(found.number)
        journal.store.sync(found.number)
        self._seen = found.seq
        return ViewDiff(as_kept(changes), found.seq)

    def told(self, diff: ViewDiff) -> bool:
        """Pass over the next batch, if this is it: who applied it has its view diffs already."""
        journal = self._journal
        journal.check_process()
        with journal.changed:
            journal.check_open()
            found = journal.next_after(self._seen)
        if found is None or found.seq != diff.seq:
            return False
        journal.store.sync(found.number)
        self._seen = found.seq
        return True

    def _has_more(self) -> bool:
        """True if a batch waits; raise if this subscriber gets nothing more."""
        self._journal.check_open()
        self._journal.check_process()
        self._journal.subscriber(self.name)
        return self._journal.next_after(self._seen) is not None

    def ack(self, seq: int) -> None:
        """Acknowledge all view diffs up to a batch; they never come again."""
        journal, seq = self._journal, plain(seq)
        with journal.changed, journal.idle_turn():
            acked = journal.subscriber(self.name).acked
            if not is_whole(seq) or not acked <= seq <= self._seen:
                raise StoreError(
                    f"subscriber {self.name!r} can acknowledge batches {acked} to {self._seen},"
                    f" which it has been told; found {short_repr(seq)}"
                )
            said = {"name": self.name, "seq": seq}
            number = journal.commit(Record("ack", journal.state.seq, said))
        journal.store.sync(number)

    def waiting_bytes(self) -> int:
        """Return how much of view diffs is not acknowledged."""
        with self._journal.changed:
            return self._journal.waiting_bytes(self._journal.subscriber(self.name))


def is_whole(value: object) -> bool:
    """True for a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def can_wait(value: object) -> bool:
    """True for a number of seconds that can be waited; NaN is none."""
    return isinstance(value, (int, float)) and value < TIMEOUT_MAX


def as_kept(changes: pa.Table) -> Forms:
    """Return view diffs as they are kept: by rows, or as the deltas of groups that are not."""
    if is_deltas(changes):
        return made_as_deltas(Deltas(changes))
    return Forms(lambda: DiffRows.of(changes), None, partial(Factorised, {}, changes))


def subscribe(journal: Journal, name: str, *, max_bytes: int, when_full: object) -> Subscription:
    """Find a subscriber, or make it, for the batches from now on."""
    name, max_bytes, when_full = plain(name), plain(max_bytes), plain(when_full)
    if not is_name(name):
        raise StoreError(
            f"a subscriber is named by 1 to {OWN_CHARS_MAX} characters, found {short_repr(name)}"
        )
    if (
        not isinstance(when_full, str)
        or when_full not in WHEN_FULL
        or not is_whole(max_bytes)
        or not 0 < max_bytes < 1 << 62
    ):
        raise StoreError(
            f"subscribe({short_repr(name)}): max_bytes is a positive number and when_full is one of"
            f" {', '.join(WHEN_FULL)}; found {short_repr(max_bytes)} and {short_repr(when_full)}"
        )
    with journal.changed:
        with journal.idle_turn():
            if name in journal.state.subscribers:
                return Subscription(name, journal)
            if len(journal.state.subscribers) >= SUBSCRIBERS_MAX:
                raise StoreError(
                    f"there are {SUBSCRIBERS_MAX:,} subscribers, the most there can be"
                )
            said = {"name": name, "bytes": max_bytes, "full": when_full}
            number = journal.commit(Record("subscribe", journal.state.seq, said))
        journal.store.sync(number)
        return Subscription(name, journal)


def unsubscribe(journal: Journal, name: str) -> None:
    """Forget a subscriber."""
    name = plain(name)
    with journal.changed, journal.idle_turn():
        if not is_name(name) or name not in journal.state.subscribers:
            raise StoreError(f"there is no subscriber {short_repr(name)}")
        number = journal.commit(Record("drop", journal.state.seq, {"name": name}))
    journal.store.sync(number)
