"""A graph's folder in use: the log that grows, and the snapshot it goes on from.

    open_disk(path, view, ...)  ->  Disk       locked, read, with the records still to be replayed
    Disk.append, sync, changes, forget, close                     the contract of a store

What is in the folder is the snapshot of record n, and the log from n + 1 on. A new folder begins
with the snapshot of record 0, which holds nothing but the view.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from joingraph.errors import StoreError
from joingraph.stores import files
from joingraph.stores.description import describe, digest
from joingraph.stores.files import doing
from joingraph.stores.folder import Folder, Identity
from joingraph.stores.lock import take_lock
from joingraph.stores.log import Log
from joingraph.stores.log_reader import LogReader, Step
from joingraph.stores.record import Record, decode, read_stream, to_stream
from joingraph.stores.segment import HEADER, read_found
from joingraph.stores.snapshot import Block, Snapshot, write_snapshot
from joingraph.stores.state import State
from joingraph.stores.unreadable import UNREADABLE
from joingraph.view import View

SMALL_BYTES = 4 << 20
ANSWER = "answer-"  # the blocks of view diffs that a source may ask for again


class Owner(NamedTuple):
    """The view that a folder is opened for, and how its graph is made unless told otherwise."""

    view: View
    key_index: tuple[str, ...]
    options: dict[str, Any]


class Disk:
    """One graph's folder, open for reading, or for writing too."""

    def __init__(self, folder: Folder, owner: Owner, lock: int | None) -> None:
        self.folder, self.owner, self.lock = folder, owner, lock
        self.found = Snapshot(folder, newest(folder))
        self.identity = identity_of(self.found, owner)
        state = State.from_json(self.found.footer.get("state"))
        self.reader = LogReader(folder, self.identity, first_wanted(folder, self.found, state) - 1)
        self.log: Log | None = None
        self._answers: dict[int, tuple[int, int]] = {}
        self._remade: dict[int, pa.Table] = {}  # of the last record that does not hold its own
        self._oldest = 0  # segment that is still there
        self.behind = 0  # bytes of the log that a snapshot does not have
        self._behind_before = 0  # of them, those before the last rotation

    def steps(self) -> Iterator[Step]:
        """Yield the records that the graph has not seen yet, remembering where view diffs are."""
        for step in self.reader.records():
            if step.number > self.found.number:
                self.behind += self.reader.offset - step.offset
            if step.record.changes_bytes is not None:
                self._answers[step.number] = step.first, step.offset
            yield step

    def log_bytes(self) -> int:
        """Tell how long the log is that a reader has before it."""
        firsts = [each for each in self.folder.segments() if each >= self.reader.first]
        return sum(self.folder.segment(each).stat().st_size for each in firsts)

    def begin_writing(self, durability: str) -> None:
        """Take the log over behind the last record, once all were replayed."""
        for path in self.folder.unfinished():
            files.unlink(path)
        for first in self.reader.orphans():
            files.unlink(self.folder.segment(first))
        for number in self.folder.snapshots()[:-1]:
            files.unlink(self.folder.snapshot(number))
        self.log = Log(self.folder, self.identity, durability)
        self.log.resume(self.reader.first, self.reader.number, self.reader.offset)

    @property
    def writing(self) -> Log:
        """The log, of a folder that was opened for writing."""
        if self.log is None:
            raise StoreError(
                f"{self.folder.path} was opened with readonly=True: nothing is written"
            )
        return self.log

    def append(self, record: Record) -> int:
        """Log a record; gives its number."""
        log = self.writing
        number = log.append(record)
        self.behind += log.last_bytes
        if record.changes is not None:
            self._answers[number] = log.last_place
        return number

    def begin_sync(self) -> None:
        """Begin to make what was logged as durable as was promised."""
        self.writing.begin_sync()

    def sync(self, number: int) -> None:
        """Wait until a record is as durable as was promised."""
        self.writing.sync(number)

    def keep(self, number: int, changes: pa.Table) -> None:
        """Have the view diffs of the last record that does not hold its own at hand."""
        self._remade = {number: changes}

    def has_changes(self, number: int) -> bool:
        """Say whether the view diffs of a record are still there."""
        return (
            number in self._remade or number in self._answers or f"{ANSWER}{number}" in self.found
        )

    def changes(self, number: int) -> pa.Table:
        """Give the view diffs that a record kept."""
        name = f"{ANSWER}{number}"
        if number in self._remade:
            return self._remade[number]
        if number not in self._answers:
            if name in self.found:
                return read_stream(self.found[name])
            raise StoreError(
                f"the view diffs of record {number} are no longer kept in {self.folder.path}:"
                " a snapshot was made since, and no subscriber was waiting for them"
            )
        if self.log is not None:
            self.log.flush()
        first, offset = self._answers[number]
        return read_changes(self.folder, first, offset, number)

    def rotate(self) -> int:
        """Begin a new segment; gives the number of the last record before it."""
        self.writing.rotate()
        self._behind_before = self.behind
        return self.writing.number

    def is_small(self) -> bool:
        """Say whether a snapshot is so quickly made that others may wait for it."""
        return self.found.size + self.log_bytes() < SMALL_BYTES

    def write(self, state: State, number: int, blocks: Iterable[Block]) -> None:
        """Write the snapshot after a record, with what sources may ask for again."""
        wanted = [each.last for each in state.positions.sources.values() if each.last]
        answers = [
            Block(f"{ANSWER}{each.number}", [to_stream(self.changes(each.number))])
            for each in wanted
            if self.has_changes(each.number)
        ]
        footer = footer_of(self.owner, self.identity, state)
        write_snapshot(self.folder, number, footer, [*answers, *blocks])

    def hand_over(self, owner: Owner, state: State, blocks: Iterable[Block]) -> None:
        """Let the folder be of another view from here on: its snapshot is the first one."""
        number, before = self.rotate(), (self.owner, self.identity)
        self.owner = owner
        self.identity = Identity(self.identity.graph, digest(owner.view, owner.key_index))
        try:
            self.write(state, number, blocks)
        except BaseException:
            self.owner, self.identity = before
            raise
        self.remove(self.use_newest())

    def use_newest(self) -> Snapshot:
        """Go on from the newest snapshot; gives the one before, to be removed."""
        old, self.found = self.found, Snapshot(self.folder, newest(self.folder))
        self.behind -= self._behind_before
        return old

    def remove(self, old: Snapshot) -> None:
        """Remove the snapshots before the one in use."""
        old.close()
        for number in self.folder.snapshots():
            if number < self.found.number:
                files.unlink(self.folder.snapshot(number))

    def forget(self, before: int) -> None:
        """Remove the log's segments that neither the snapshot nor anybody else needs."""
        oldest = self.writing.forget(min(before, self.found.number + 1))
        if oldest > self._oldest:
            self._answers = {n: at for n, at in self._answers.items() if at[0] >= oldest}
            self._oldest = oldest

    def close(self, *, complete: bool) -> None:
        """Let go of the folder; say in the log if all is there."""
        try:
            if self.log is not None and complete:
                self.log.close()
            elif self.log is not None:
                self.log.leave()
        finally:
            self.found.close()
            if self.lock is not None:
                os.close(self.lock)
                self.lock = None


def open_disk(path: Path, owner: Owner, *, readonly: bool) -> Disk:
    """Open a graph's folder, made if it is not there; for writing, as its only writer."""
    folder = Folder(path)
    if readonly:
        return Disk(check_there(folder), owner, None)
    with doing("create", path):
        path.mkdir(mode=0o700, exist_ok=True)
    lock = take_lock(path)
    try:
        if is_new(folder):
            begin(folder, owner)
        return Disk(folder, owner, lock)
    except BaseException:
        os.close(lock)
        raise


def check_there(folder: Folder) -> Folder:
    """Refuse a folder that holds no graph."""
    if not folder.path.is_dir() or not folder.snapshots():
        raise StoreError(
            f"{folder.path} holds no graph; make one with joingraph.JoinGraph(view, path=...)"
        )
    return folder


def is_new(folder: Folder) -> bool:
    """Hold of a folder with nothing in it, or with a graph whose making was cut short."""
    if folder.snapshots():
        return False
    begun = folder.segments()
    if begun and (begun != [1] or folder.segment(1).stat().st_size > HEADER.size):
        raise StoreError(
            f"{folder.path} has a log but no snapshot; bring the snapshot back from a backup"
        )
    ours = {"lock", *(each.name for each in folder.unfinished()), "log-" + f"{1:020d}"}
    others = sorted(each.name for each in folder.path.iterdir() if each.name not in ours)
    if others:
        raise StoreError(
            f"{folder.path} holds other files ({', '.join(others[:3])}); name a new folder"
        )
    return True


def begin(
    folder: Folder, owner: Owner, state: State | None = None, blocks: Iterable[Block] = ()
) -> None:
    """Make a graph's first files; the state and the blocks of one that was elsewhere, if any."""
    for path in [*folder.unfinished(), folder.segment(1)]:
        files.unlink(path)
    identity = Identity(secrets.token_bytes(16), digest(owner.view, owner.key_index))
    log = Log(folder, identity, "fsync")
    log.begin(1)
    write_snapshot(folder, 0, footer_of(owner, identity, state or State()), blocks)
    log.leave()


def newest(folder: Folder) -> int:
    """Give the number of the newest snapshot."""
    return check_there(folder).snapshots()[-1]


def first_wanted(folder: Folder, found: Snapshot, state: State) -> int:
    """Give the first record to read: the snapshot's next, or the oldest if subscribers wait."""
    firsts = folder.segments()
    if state.wanted_after() is None or not firsts:
        return found.number + 1
    return min(firsts[0], found.number + 1)


def footer_of(owner: Owner, identity: Identity, state: State) -> dict[str, Any]:
    """Say whose graph a snapshot is, and what is kept besides the graph."""
    return {
        "graph": identity.graph.hex(),
        "digest": identity.view.hex(),
        "view": describe(owner.view),
        "key_index": list(owner.key_index),
        "options": owner.options,
        "state": state.to_json(),
    }


def identity_of(found: Snapshot, owner: Owner) -> Identity:
    """Read whose graph a snapshot is; refuse that of another view."""
    try:
        graph = bytes.fromhex(found.footer["graph"])
        stored = bytes.fromhex(found.footer["digest"])
        sql = str(found.footer["view"]["sql"])
    except UNREADABLE:
        raise found.damaged("its footer") from None
    if stored != digest(owner.view, owner.key_index):
        raise StoreError(
            f"{found.path.parent} holds the graph of another view ({' '.join(sql.split()):.100}),"
            " or of other tables or key_index; open it with joingraph.open(path), or name a new"
            " folder"
        )
    return Identity(graph, stored)


def read_changes(folder: Folder, first: int, offset: int, number: int) -> pa.Table:
    """Read the view diffs of the record at a place of the log."""
    path = folder.segment(first)
    descriptor = files.read_from(path)
    try:
        found = read_found(descriptor, offset, path)
    finally:
        os.close(descriptor)
    if found is None or found.head.number != number:
        raise StoreError(f"{path} is damaged at byte {offset:,}; bring it back from a backup")
    changes = decode(found.payload, changes=True).changes
    assert changes is not None, "only records that keep view diffs are remembered"
    return changes
