"""Reads a log from a record on, through its segments, and knows where it stopped.

    LogReader(folder, identity, after=42).records()  ->  Step(number 43, record), Step(44, ...), ...

Asked again, it goes on from there: so a read-only graph follows the one that writes.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from joingraph.errors import StoreError
from joingraph.stores import files
from joingraph.stores.folder import Folder, Identity
from joingraph.stores.record import Record, decode
from joingraph.stores.segment import HEADER, Found, check_header, records_from, was_durable


class Step(NamedTuple):
    """A record, its number, and where it lies: the segment's first number and the offset."""

    number: int
    record: Record
    first: int
    offset: int


class LogReader:
    """A place in a log; `torn` bytes behind it are what a crash left of a record."""

    def __init__(self, folder: Folder, identity: Identity, after: int) -> None:
        self.folder, self.identity = folder, identity
        self.first = self._first_of(after + 1)
        self.number, self.offset, self.torn = self.first - 1, HEADER.size, 0
        self.last_kind = ""
        self.bytes_read = 0
        self._after = after

    def _first_of(self, number: int) -> int:
        """Find the segment that a record is in, or will be."""
        firsts = self.folder.segments()
        place = bisect_right(firsts, number)
        if not place:
            raise StoreError(
                f"{self.folder.path}: the segment of the log with record {number} is missing;"
                " bring it back from a backup"
            )
        return firsts[place - 1]

    def records(self) -> Iterator[Step]:
        """Yield the records from here to the end; raise StoreError where the log is damaged."""
        more = True
        while more:
            path = self.folder.segment(self.first)
            descriptor = files.read_from(path)
            try:
                check_header(descriptor, path, self.first, self.identity)
                yield from self._steps(descriptor, path)
                more = self.last_kind == "rotate"
                if more:
                    self._enter_next()
                else:
                    self._check_end(descriptor, path)
            finally:
                os.close(descriptor)

    def _steps(self, descriptor: int, path: Path) -> Iterator[Step]:
        for found in records_from(descriptor, self.offset, path):
            if found.head.number != self.number + 1:
                raise StoreError(
                    f"{path}: record {found.head.number} follows record {self.number}; records"
                    " are missing: bring the file back from a backup"
                )
            record = self._decoded(found, path)
            self.number, self.offset, offset = self.number + 1, found.end, self.offset
            self.last_kind = record.kind
            self.bytes_read += found.end - offset
            if self.number > self._after:
                yield Step(self.number, record, self.first, offset)

    def _decoded(self, found: Found, path: Path) -> Record:
        try:
            return decode(found.payload)
        except StoreError as error:
            raise StoreError(f"{path}, record {found.head.number}: {error}") from error

    def _enter_next(self) -> None:
        """Go on in the segment that a record promises."""
        if self.number + 1 not in self.folder.segments():
            raise StoreError(
                f"{self.folder.segment(self.number + 1)} is missing; bring it back from a backup"
            )
        self.first, self.offset, self.last_kind = self.number + 1, HEADER.size, ""

    def _check_end(self, descriptor: int, path: Path) -> None:
        """Make sure that nothing acknowledged lies behind the last whole record."""
        self.torn = os.fstat(descriptor).st_size - self.offset
        is_lost = self.torn > 0 and was_durable(descriptor, self.offset, self.number + 1)
        if is_lost or any(not self._is_empty(first) for first in self.orphans()):
            raise StoreError(
                f"{path} is damaged at byte {self.offset:,}: record {self.number + 1} does not"
                " read, and had been acknowledged; bring the file back from a backup"
            )

    def orphans(self) -> list[int]:
        """List the segments behind this one."""
        return [first for first in self.folder.segments() if first > self.first]

    def _is_empty(self, first: int) -> bool:
        """Hold of a segment that was made, but into which the log did not go on."""
        return self.folder.segment(first).stat().st_size <= HEADER.size
