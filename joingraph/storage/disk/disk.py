"""A graph's folder in use: the log that grows, and the snapshot it goes on from.

    open_disk(path, view, ...)  ->  Disk       locked, read, with the records still to be replayed
    Disk.append, settle, sync, changes, ...      a store, and its checkpoints (storage/contract.py)

What is in the folder is the snapshot of record n, and the log from n + 1 on. A new folder begins
with the snapshot of record 0, which holds nothing but the view.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Self

import pyarrow as pa

from joingraph.common.closing import on_error
from joingraph.common.errors import StoreError
from joingraph.common.forks import FORKS
from joingraph.common.unreadable import UNREADABLE
from joingraph.graph.blocks import Block
from joingraph.storage.contract import Moment
from joingraph.storage.description import digest
from joingraph.storage.disk import files
from joingraph.storage.disk.files import File, Stale, doing
from joingraph.storage.disk.folder import Folder, Identity
from joingraph.storage.disk.lock import take_lock
from joingraph.storage.disk.log import Log
from joingraph.storage.disk.log_reader import LogReader, Step
from joingraph.storage.disk.new_folder import begin, is_new
from joingraph.storage.disk.owner import Owner, footer_of, identity_of
from joingraph.storage.disk.segment import read_found
from joingraph.storage.disk.snapshot import Snapshot, write_snapshot
from joingraph.storage.record import Record, changes_stream, decode, to_stream
from joingraph.storage.state import State

logger = logging.getLogger("joingraph")
SMALL_BYTES = 4 << 20
ANSWER = "answer-"  # the blocks of view diffs that a source may ask for again


class Disk:
    """One graph's folder, open for reading, or for writing too."""

    is_durable = True
    remedy = "memory and disk may differ: close the graph and open it again"

    def __init__(self, folder: Folder, owner: Owner, lock: File | None) -> None:
        self.folder, self.owner, self.lock = folder, owner, lock
        self.found = Snapshot(folder, newest(folder))
        with on_error(self.found.close):
            self.identity = identity_of(self.found, owner)
            state = State.from_json(self.found.footer.get("state"))
            self.reader = LogReader(folder, self.identity, first_wanted(folder, self.found, state))
        self._same_view = self.found.number + 1  # the last segment known to be of this view
        self.log: Log | None = None
        self._answers: dict[int, tuple[int, int]] = {}  # of records that hold view diffs
        self._remade: dict[int, pa.Table] = {}  # of the last record that does not hold its own
        self._oldest = 0  # segment that is still there
        self._replayed = 0  # bytes of the log behind the snapshot, when the folder was opened
        self._replaced: list[Snapshot] = []  # by `found`
        self._covered = 0  # bytes of these, and of those logged since, that a snapshot has by now
        self._rotated_at = 0  # as many there were at the last rotation
        FORKS.watch(self._forked)

    @property
    def checkpoints(self) -> Self:
        """The folder itself."""
        return self

    @property
    def path(self) -> Path:
        """The folder's name."""
        return self.folder.path

    def steps(self) -> Iterator[Step]:
        """Yield the records that the graph has not seen yet, remembering where view diffs are."""
        for step in self.reader.records():
            if step.first > self._same_view:
                self._check_view(step.first)
            if step.number > self.found.number:
                self._replayed += step.end.offset - step.offset
            if step.record.changes_bytes is not None:
                self._answers[step.number] = step.first, step.offset
            yield step
        if self.reader.number < self.found.number:
            raise StoreError(
                f"{self.folder.path}: the log ends with record {self.reader.number}, and the"
                f" snapshot is of record {self.found.number}; bring the log back from a backup"
            )

    def _check_view(self, first: int) -> None:
        """Refuse the records of a segment that begins behind the snapshot of another view.

        That snapshot is in its place before the segment's first record is written, and is removed
        by a later one of the same view only (hand_over).
        """
        number = newest(self.folder)
        if number >= first - 1 and number != self.found.number:
            with closing(Snapshot(self.folder, number)) as snapshot:
                identity_of(snapshot, self.owner)
        self._same_view = first

    @property
    def _logged(self) -> int:
        return self._replayed + (self.log.end.total if self.log else 0)

    @property
    def behind(self) -> int:
        """How many bytes of the log the snapshot does not have."""
        return self._logged - self._covered

    def log_bytes(self) -> int:
        """Return how long the log is that a reader has before it."""
        firsts = [each for each in self.folder.segments() if each >= self.reader.place.first]
        return sum(map(self.folder.size, firsts))

    def begin_writing(self, durability: str) -> None:
        """Take the log over behind the last record, once all were replayed."""
        for path in self.folder.unfinished():
            files.unlink(path)
        for first in self.reader.unentered():
            files.unlink(self.folder.segment(first))
        for number in self.folder.snapshots()[:-1]:
            files.unlink(self.folder.snapshot(number))
        log, place = Log(self.folder, self.identity, durability), self.reader.place
        log.places = self._answers
        log.resume(place.first, place.number, place.offset)
        self.log = log
        self.reader.close()

    @property
    def writing(self) -> Log:
        """The log, of a folder that was opened for writing."""
        if self.log is None:
            raise StoreError(
                f"{self.folder.path} was opened with readonly=True: nothing is written"
            )
        return self.log

    @property
    def failed(self) -> str | None:
        """Why the log takes nothing more, if it does not."""
        return None if self.log is None else self.log.failed

    def append(self, record: Record) -> int:
        """Log a record; gives its number. After an exception, `settle` says whether it stands."""
        return self.writing.append(record)

    def settle(self) -> tuple[int, str]:
        """Finish or undo what was begun; gives the number and the kind of the last record."""
        if self.log is None:
            return self.reader.number, self.reader.place.kind
        self.log.settle()
        return self.log.end.number, self.log.end.kind

    def sync(self, number: int, *, wait: bool = True) -> None:
        """Wait until a record is as durable as was promised, or only begin to make it so."""
        if wait:
            self.writing.sync(number)
        else:
            self.writing.begin_sync()

    def keep(self, number: int, changes: pa.Table) -> None:
        """Have the view diffs of the last record that does not hold its own at hand."""
        self._remade = {number: changes}

    def has_changes(self, number: int) -> bool:
        """True if the view diffs of a record are still there."""
        return (
            number in self._remade or number in self._answers or f"{ANSWER}{number}" in self.found
        )

    def changes(self, number: int) -> pa.Table:
        """Return the view diffs that a record kept."""
        name = f"{ANSWER}{number}"
        if number in self._remade:
            return self._remade[number]
        if name in self.found:  # which is there still when a segment is gone, but not yet noted so
            return self._answer(name)
        if number not in self._answers:
            raise StoreError(
                f"the view diffs of record {number} are no longer kept in {self.folder.path}:"
                " a snapshot was made since, and no subscriber was waiting for them"
            )
        if self.log is not None:
            self.log.flush()
        first, offset = self._answers[number]
        try:
            return read_changes(self.folder, first, offset, number)
        except Stale as error:
            if self.log is not None:
                raise
            raise Stale(
                f"the view diffs of record {number} are not in the log of {self.folder.path} any"
                " more: its subscribers have them, or are gone; refresh the graph, or open it again"
            ) from error

    def _answer(self, name: str) -> pa.Table:
        """Read the view diffs that the snapshot has for a source."""
        try:
            return changes_stream(self.found[name])
        except UNREADABLE as error:
            raise self.found.damaged(f"its block {name}: {error!s:.200}") from error

    def begin(self) -> int:
        """Begin a new segment; gives the number of the last record before it."""
        self.writing.rotate()
        self._rotated_at = self._logged
        return self.writing.end.number

    @property
    def size(self) -> int:
        """How many bytes the snapshot has."""
        return self.found.size

    @property
    def is_small(self) -> bool:
        """True if a snapshot is so quickly made that others may wait for it."""
        return self.size + self.log_bytes() < SMALL_BYTES

    def write(self, state: State, number: int, blocks: Iterable[Block]) -> None:
        """Write the snapshot after a record, with what sources may ask for again."""
        self._write(self.owner, state, number, blocks)

    def _write(self, owner: Owner, state: State, number: int, blocks: Iterable[Block]) -> None:
        wanted = [each.last for each in state.positions.sources.values() if each.last]
        answers = [
            Block(f"{ANSWER}{each.number}", [to_stream(self.changes(each.number))])
            for each in wanted
            if self.has_changes(each.number)
        ]
        footer = footer_of(owner, self._identity_for(owner), state)
        write_snapshot(self.folder, number, footer, [*answers, *blocks])

    def hand_over(self, owner: Owner, state: State, blocks: Iterable[Block]) -> None:
        """Let the folder be of another view from here on: its snapshot is the first one.

        Once that is in its place, `take_over` is all that is left. Where that fails, the snapshot
        must not stay: what is logged next is of the view before.
        """
        number = self.begin()
        try:
            self._write(owner, state, number, blocks)
        except StoreError:
            with suppress(StoreError):  # the log has failed then
                self._unwrite(number)
            raise

    def _unwrite(self, number: int) -> None:
        """Remove a snapshot, perhaps renamed already; until it is gone, nothing is logged."""
        path = self.folder.snapshot(number)
        with self.writing.failing(f"{path} could not be removed"):
            files.unlink(path)
            files.sync_folder(self.folder.path)

    def take_over(self, owner: Owner) -> bool:
        """Go on with the view the folder has been handed over to; False if it was not."""
        number, identity = newest(self.folder), self._identity_for(owner)
        with closing(Snapshot(self.folder, number)) as found:
            if found.footer.get("digest") != identity.view.hex():
                return False
        files.sync_folder(self.folder.path)  # after an interrupt its name may not be on the disk
        self.owner, self.identity = owner, identity
        try:
            self.use(number)
            self.clear()
        except StoreError as error:
            logger.warning("%s; the next snapshot removes it", error)
        return True

    def _identity_for(self, owner: Owner) -> Identity:
        return Identity(self.identity.graph, digest(owner.view, owner.key_index))

    def use(self, number: int) -> None:
        """Go on from a snapshot that was just written."""
        found = Snapshot(self.folder, number)
        self._replaced.append(self.found)
        self.found, self._covered = found, self._rotated_at

    def clear(self) -> None:
        """Remove the snapshots before the one in use."""
        with suppress(IndexError):  # until there is none: two threads may clear at once
            while True:
                self._replaced.pop().close()
        for number in [each for each in self.folder.snapshots() if each < self.found.number]:
            files.unlink(self.folder.snapshot(number))

    def moment(self, change: int) -> Moment:
        """Name what the graph is at after a record, for other processes to bring it there."""
        if self.log is not None:
            self.log.flush()
        since = change if change > self.found.number else 0
        return Moment(self.path, self.found.number, since, self.identity.graph)

    def forget(self, before: int) -> StoreError | None:
        """Remove the log's segments that neither the snapshot nor a subscriber needs."""
        log = self.writing
        if log.oldest == log.end.first:
            return None  # it is the only segment
        failure, oldest = log.forget(min(before, self.found.number + 1)), log.oldest
        if oldest > self._oldest:
            for number in [n for n, at in self._answers.items() if at[0] < oldest]:
                del self._answers[number]
            self._oldest = oldest
        return failure

    def close(self, *, complete: bool) -> None:
        """Let go of the folder; once more, if acknowledged records could not be written."""
        try:
            if self.log is not None and complete:
                self.log.close()
            elif self.log is not None:
                self.log.leave()
        finally:
            if self.log is None or self.log.is_left:
                self.found.close()
                self.reader.close()
                if self.lock is not None:
                    self.lock.close()

    def _forked(self, whole: bool) -> None:
        """Leave log and lock to the parent, in a process that was forked from it."""
        self.lock = None  # which is closed for all folders at once
        if self.log is not None:
            self.log.abandon()


def open_disk(path: Path, owner: Owner, *, readonly: bool) -> Disk:
    """Open a graph's folder, made if it is not there; for writing, as its only writer."""
    folder = Folder(path)
    if readonly:
        return Disk(folder, owner, None)
    with doing("create", path):
        path.mkdir(mode=0o700, exist_ok=True)
    lock = take_lock(path)
    with on_error(lock.close):
        if is_new(folder):
            begin(folder, owner)
        return Disk(folder, owner, lock)


def newest(folder: Folder) -> int:
    """Return the number of the newest snapshot; there is one once a folder's graph is made.

    A list of a folder may lack both of two files, of which one comes and the other goes: Stale.
    """
    found = folder.snapshots() if folder.path.is_dir() else []
    if not found:
        raise Stale(
            f"{folder.path} holds no graph; make one with joingraph.JoinGraph(view, path=...)"
        )
    return found[-1]


def first_wanted(folder: Folder, found: Snapshot, state: State) -> int:
    """Return the first record to read: the snapshot's next, or the oldest if subscribers wait."""
    firsts, following = folder.segments(), found.number + 1
    if following not in firsts:
        raise Stale(
            f"{folder.segment(following)}, the segment behind {found.path.name}, is missing; bring"
            " it back from a backup, or remove the snapshot if it is a copy that was put there"
        )
    return following if state.wanted_after() is None else firsts[0]


def read_changes(folder: Folder, first: int, offset: int, number: int) -> pa.Table:
    """Read the view diffs of the record at a place of the log."""
    path = folder.segment(first)
    with closing(files.read_from(path)) as file:
        found = read_found(file.fileno(), offset, path)
    if found is None or found.head.number != number:
        raise Stale(f"{path} is damaged at byte {offset:,}; bring it back from a backup")
    changes = decode(found.payload, changes=True).changes
    assert changes is not None, "only records that keep view diffs are remembered"
    return changes
