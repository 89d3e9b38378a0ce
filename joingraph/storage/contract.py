"""What a graph asks of the store that keeps its history, and what must hold around failures.

An exception, an interrupt too, may come at any instruction of a call. So the contract has one rule
for all stores: a record stands whole or not at all, and `settle` finds out which, however often it
is interrupted itself. One caller at a time appends and settles; others read or wait meanwhile.
In a process forked from the one that writes, a store takes nothing and leaves all to its parent.

tests/test_stores.py holds every store to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

from joingraph.common.errors import StoreError
from joingraph.graph.blocks import Block
from joingraph.storage.disk.owner import Owner
from joingraph.storage.record import Record
from joingraph.storage.state import State


class Moment(NamedTuple):
    """A folder's graph at a time: the snapshot it began with, and the last record to change it."""

    path: Path
    snapshot: int
    change: int
    graph: bytes  # its identity, so that no other graph's folder is taken for it


class Store(Protocol):
    """Where a graph's records go."""

    @property
    def is_durable(self) -> bool:
        """True if records outlive the process: then it pays to log before a batch is done."""
        ...

    @property
    def remedy(self) -> str:
        """What a caller can do once graph and store may differ."""
        ...

    @property
    def checkpoints(self) -> Checkpoints | None:
        """What it can do besides: write the whole graph down. None if it cannot."""
        ...

    @property
    def failed(self) -> str | None:
        """Why the store refuses all that follows: it has failed, and was not just interrupted."""
        ...

    def append(self, record: Record) -> int:
        """Return the number of a record that now stands, greater than all before.

        Readers find it from here on; it is as durable as `sync` makes it. After an exception it may
        stand or not, until `settle` has returned. After a StoreError it does not stand, or the
        store refuses all that follows.
        """
        ...

    def settle(self) -> tuple[int, str]:
        """Return the number and the kind of the last record that stands: (0, "") before the first.

        After an exception in any call, finish or undo first what that had begun; until this has
        returned, nothing else is appended. Without one it changes nothing and costs nothing. A
        StoreError says that this is not known: the graph then answers nothing.
        """
        ...

    def sync(self, number: int, *, wait: bool = True) -> None:
        """Wait until a record, and all before it, is as durable as was promised; or only begin to.

        A StoreError says that this is not known of it and will not be: from then on `append`
        refuses every record. After any other exception a caller may wait again.
        """
        ...

    def changes(self, number: int) -> pa.Table:
        """Return the view diffs that a record holds, or that were kept beside it.

        A StoreError says that they are gone. They are there from `append` on until `forget` allows
        them to go; those of each source's last batch stay until its next one.
        """
        ...

    def keep(self, number: int, changes: pa.Table) -> None:
        """Keep the view diffs of the last record that does not hold its own; earlier ones may go.

        They need not outlive the process, as replay of the record remakes them. It is idempotent:
        after an interrupt the caller repeats it.
        """
        ...

    def forget(self, before: int) -> StoreError | None:
        """Let go of the view diffs of earlier records, now or later; return why some stay.

        A failure loses nothing. Called again, with the same number or a higher one, it goes on
        where it was interrupted.
        """
        ...

    def close(self, *, complete: bool) -> None:
        """Let go of everything; `complete` if what was appended is to be made durable first.

        A StoreError says what could not be: called again, it tries once more. On a store that is
        closed it does nothing.
        """
        ...


class Checkpoints(Protocol):
    """The checkpoints of a store: the whole graph after one record, from which replay begins.

    begin -> write -> use; until it is in use, replay begins at the one before. What a failure has
    left is removed by the next one, or when the store is opened again.
    """

    @property
    def path(self) -> Path:
        """Where they are."""
        ...

    @property
    def behind(self) -> int:
        """How many bytes of records the one in use does not have."""
        ...

    @property
    def size(self) -> int:
        """How many bytes the one in use has."""
        ...

    @property
    def is_small(self) -> bool:
        """True if one is so quickly made that others may wait for it."""
        ...

    def begin(self) -> int:
        """Return the number of the last record that the next one is to have."""
        ...

    def write(self, state: State, number: int, blocks: Iterable[Block]) -> None:
        """Write one, with what sources may ask for again: it is there whole or not at all."""
        ...

    def use(self, number: int) -> None:
        """Go on from one that is written, here or by another process."""
        ...

    def clear(self) -> None:
        """Remove those before the one in use; after an exception the next call does."""
        ...

    def hand_over(self, owner: Owner, state: State, blocks: Iterable[Block]) -> None:
        """Write the one from which another view goes on; an error leaves the view of before."""
        ...

    def take_over(self, owner: Owner) -> bool:
        """Go on with the view that was handed over to; False if it was not. Twice is as once."""
        ...

    def moment(self, change: int) -> Moment:
        """Name what the graph is at after a record, for other processes to bring it there."""
        ...
