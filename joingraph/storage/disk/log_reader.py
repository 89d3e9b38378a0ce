"""Reads a log from a segment on, through its segments, and knows where it stopped.

    LogReader(folder, identity, first=43).records()  ->  Step(43, record), Step(44, ...), ...

Asked again, it goes on from its place: so a read-only graph follows the one that writes. Its
segments stay open, so that a writer that removes them takes nothing away.

Records are read beside the writer, without a lock (beside.py). Three checks make that sound:

    a record that does not read is the end, unless something behind it proves that it was complete;
        then it is read once more, and only if it still does not read, the log is damaged
    a record counts if the one before it is still there, by its head, after it was read: else the
        writer took both back, and the log is Stale
    a segment is entered only by the record that leads to it; any other one has to be empty
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from joingraph.common.closing import on_error
from joingraph.common.errors import StoreError
from joingraph.storage.disk import files
from joingraph.storage.disk.files import File, Stale, doing
from joingraph.storage.disk.folder import Folder, Identity
from joingraph.storage.disk.segment import HEADER, Found, check_header, read_found, was_durable
from joingraph.storage.record import HEAD, Head, Record, decode, read_head

HELD_MAX = 100  # segments kept open before they are read; the others may be removed meanwhile


class Place(NamedTuple):
    """A place behind a record, or at a segment's beginning, where `last` is None."""

    first: int  # the segment, by the number it begins with
    number: int  # of the last record
    offset: int  # where the next record begins
    last: Head | None = None  # of the last record, if it is in this segment
    last_offset: int = 0
    kind: str = ""


class Step(NamedTuple):
    """A record, its number, where it lies (segment and offset), and the place behind it."""

    number: int
    record: Record
    first: int
    offset: int
    end: Place


class LogReader:
    """A place in a log; `torn` bytes behind it are what a crash left of a record."""

    def __init__(self, folder: Folder, identity: Identity, first: int) -> None:
        self.folder, self.identity = folder, identity
        self.place = Place(first, first - 1, HEADER.size)
        self.torn = 0
        self._chain = {first}  # the segments that were entered
        self._open: dict[int, File] = {}  # by the segment
        with on_error(self.close):
            self._open_all(first)

    @property
    def number(self) -> int:
        """The last record's number."""
        return self.place.number

    def _open_all(self, first: int) -> None:
        """Check every segment's header, and keep open those that are still to be read."""
        self._open[first] = self._opened(first)
        for other in self.folder.segments():
            if other == first:
                continue
            try:
                file = self._opened(other)
            except Stale:
                continue  # not needed any more, or looked for again when a record leads to it
            if other > first and len(self._open) < HELD_MAX:
                self._open[other] = file
            else:
                file.close()

    def _opened(self, first: int) -> File:
        """Open a segment that is what its name says."""
        path = self.folder.segment(first)
        file = files.read_from(path)
        with on_error(file.close):
            check_header(file.fileno(), path, first, self.identity)
        return file

    def _current(self) -> tuple[int, Path]:
        """Return the descriptor and the path of the segment at this place."""
        first = self.place.first
        if first not in self._open:  # this place was gone back to
            self._open[first] = self._opened(first)
        return self._open[first].fileno(), self.folder.segment(first)

    def is_at_end(self) -> bool:
        """True if nothing was written or taken back since the log was read to its end."""
        descriptor, path = self._current()
        with doing("read", path):
            if not files.is_same(descriptor, path):
                raise Stale(f"{path} is missing, or another file; bring it back from a backup")
            self._check_last(descriptor, path)
            is_read = os.fstat(descriptor).st_size == self.place.offset
        return is_read and self.place.kind != "rotate"  # which leads on

    def records(self) -> Iterator[Step]:
        """Yield the records from here to the end; raise StoreError where the log is damaged."""
        more = True
        while more:
            descriptor, path = self._current()
            yield from self._steps(descriptor, path)
            if self.place.kind == "rotate":
                self._enter_next()
            else:
                more = self._goes_on(descriptor, path)

    def _steps(self, descriptor: int, path: Path) -> Iterator[Step]:
        while (found := self._next(descriptor, path)) is not None:
            before = self.place
            if found.head.number != before.number + 1:
                raise StoreError(
                    f"{path}: record {found.head.number} follows record {before.number}; records"
                    " are missing: bring the file back from a backup"
                )
            record = self._decoded(found, path)
            self.place = Place(
                before.first, found.head.number, found.end, found.head, found.offset, record.kind
            )
            yield Step(self.number, record, before.first, found.offset, self.place)

    def _next(self, descriptor: int, path: Path) -> Found | None:
        """Read the record here, if it is whole, and only then look for the one before it."""
        found = read_found(descriptor, self.place.offset, path)
        self._check_last(descriptor, path)
        return found

    def _check_last(self, descriptor: int, path: Path) -> None:
        """Make sure that the last record is still there."""
        last = self.place.last
        if last and read_head(os.pread(descriptor, HEAD.size, self.place.last_offset)) != last:
            raise Stale(
                f"{path}: record {self.place.number} was read, and is not there any more: its"
                " writer took it back, or the file was damaged"
            )

    def _decoded(self, found: Found, path: Path) -> Record:
        try:
            return decode(found.payload)
        except StoreError as error:
            raise StoreError(f"{path}, record {found.head.number}: {error}") from error

    def _enter_next(self) -> None:
        """Go on in the segment that the last record leads to."""
        before, first = self.place.first, self.place.number + 1
        self._refuse_strays(before, first)
        if first not in self._open:
            try:
                self._open[first] = self._opened(first)
            except Stale as error:
                raise Stale(
                    f"{self.folder.segment(first)} is missing, and {self.folder.segment(before)}"
                    " leads to it: bring it back from a backup, or remove the latter if it is a"
                    " copy that was put there"
                ) from error
        self._chain.add(first)
        self.place = Place(first, first - 1, HEADER.size)
        for passed in [each for each in self._open if each < first]:
            self._open.pop(passed).close()

    def _goes_on(self, descriptor: int, path: Path) -> bool:
        """True if the record here reads after all; raise if it was complete and does not."""
        place = self.place
        self.torn = max(0, os.fstat(descriptor).st_size - place.offset)
        strays = [first for first in self.orphans() if self.folder.size(first) > HEADER.size]
        is_lost = self.torn > 0 and was_durable(descriptor, place.offset, place.number + 1)
        if not strays and not is_lost:
            return False
        if self._next(descriptor, path) is not None:
            return True
        if not files.is_same(descriptor, path):
            raise Stale(f"{path} is missing, or another file; bring it back from a backup")
        if strays and not self.torn:
            self._refuse_strays(place.first, strays[-1] + 1)
        raise StoreError(
            f"{path} is damaged at byte {place.offset:,}: record {place.number + 1} does not"
            " read, and had been acknowledged; bring the file back from a backup"
        )

    def _refuse_strays(self, after: int, before: int) -> None:
        """Refuse segments with records between two numbers, as no record leads to them."""
        for first in self.folder.segments():
            if after < first < before and self.folder.size(first) > HEADER.size:
                raise StoreError(
                    f"{self.folder.segment(first)} does not belong to the log: its records begin"
                    f" with {first}, and {self.folder.segment(after)} leads elsewhere; remove it"
                    " if it is a copy that was put there, else bring the log back from a backup"
                )

    def orphans(self) -> list[int]:
        """List the segments behind this one."""
        return [first for first in self.folder.segments() if first > self.place.first]

    def unentered(self) -> list[int]:
        """List the empty segments to which no record led, once all was read."""
        start = min(self._chain)
        return [n for n in self.folder.segments() if n > start and n not in self._chain]

    def close(self) -> None:
        """Close all segments."""
        while self._open:
            self._open.popitem()[1].close()
