"""The log: every change of a graph, appended before anybody is told that it was made.

    append(record)  ->  number       the caller holds the graph's lock; the bytes go to the system
    begin_sync()                     flush them while the caller goes on
    sync(number)                     wait until they are on the disk; callers who wait share a flush

    durability   a record that was acknowledged outlives
    fsync        the machine's crash, and a failing power supply
    os           the process's crash; not the machine's
    none         nothing until close() or snapshot(); it is written in large pieces

A write that fails is taken back, and its batch with it. A flush that fails leaves unknown what is
on the disk: from then on the log takes nothing, until the folder is opened again.
"""

from __future__ import annotations

import os
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Thread
from typing import Any

from joingraph.errors import StoreError
from joingraph.stores import files
from joingraph.stores.folder import Folder, Identity
from joingraph.stores.record import Record, encode
from joingraph.stores.segment import HEADER, write_header

DURABILITIES = ("fsync", "os", "none")
SEGMENT_BYTES = 64 << 20  # a segment this long is the last one's predecessor
REMOVED_AT_ONCE = 2  # segments, since the graph's writer waits meanwhile
HELD_BYTES = 1 << 20  # with durability "none", written when there are so many


class Log:
    """The end of a graph's log, to which one process appends."""

    def __init__(self, folder: Folder, identity: Identity, durability: str) -> None:
        self.folder, self.identity, self.durability = folder, identity, durability
        self.number = 0  # of the last record
        self.last_place = (0, 0)  # where it lies: its segment and the offset there
        self.last_bytes = 0  # how long it is
        self.failed: str | None = None
        self._first, self._descriptor, self._size = 0, -1, 0
        self._firsts: list[int] = []  # of all segments
        self._durable = 0
        self._held: list[Any] = []
        self._held_bytes = 0
        self._flushing = Condition()
        self._is_flushing = False
        self._flusher: Thread | None = None
        self._is_asked: SimpleQueue[bool] = SimpleQueue()  # to flush, or else to end

    def begin(self, first: int) -> None:
        """Make a segment and go on in it."""
        path = self.folder.segment(first)
        self._move_to(first, self._new_segment(path, first), HEADER.size)
        self.number = first - 1

    def resume(self, first: int, number: int, size: int) -> None:
        """Go on behind the last whole record of a segment, cutting off what is torn."""
        path = self.folder.segment(first)
        descriptor = files.append_to(path)
        if os.fstat(descriptor).st_size > size:
            files.cut(descriptor, size, path)
        files.sync(descriptor, path)
        self._move_to(first, descriptor, size)
        self.number = self._durable = number

    def _move_to(self, first: int, descriptor: int, size: int) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._first, self._descriptor, self._size = first, descriptor, size
        self._firsts = self.folder.segments()

    def _new_segment(self, path: Path, first: int) -> int:
        """Write a segment's header under another name, then give it its own."""
        new = path.with_name(path.name + ".new")
        files.unlink(new)
        descriptor = files.create(new)
        try:
            files.write(descriptor, [write_header(first, self.identity)], new)
            files.sync(descriptor, new)
            files.rename(new, path)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def append(self, record: Record) -> int:
        """Write a record behind the others, or raise with the log as it was; gives its number."""
        if self._size > SEGMENT_BYTES:
            self.rotate()
        return self._append(record)

    def _append(self, record: Record) -> int:
        self.check()
        parts = encode(record, self.number + 1, self._durable)
        place = self._first, self._size + self._held_bytes
        length = sum(memoryview(part).nbytes for part in parts)
        if self.durability == "none":
            self._held += parts
            self._held_bytes += length
            if self._held_bytes > HELD_BYTES:
                self.flush()
        else:
            self._write(parts, length)
        self.last_place, self.last_bytes = place, length
        self.number += 1
        return self.number

    def _write(self, parts: list[Any], length: int) -> None:
        """Write whole records, or cut off what came of them."""
        path = self.folder.segment(self._first)
        try:
            files.write(self._descriptor, parts, path)
        except BaseException as error:
            try:
                files.cut(self._descriptor, self._size, path)
            except StoreError:
                self.fail(str(error))
            raise
        self._size += length

    def flush(self) -> None:
        """Hand what is held to the system."""
        held, length = self._held, self._held_bytes
        self._held, self._held_bytes = [], 0
        if held:
            try:
                self._write(held, length)
            except BaseException as error:
                self.fail(str(error))
                raise

    def sync(self, number: int, *, anyway: bool = False) -> None:
        """Wait until a record is on the disk, if that was promised or must be anyway."""
        if self.durability != "fsync" and not anyway:
            return
        with self._flushing:
            while self._durable < number:
                self.check()
                if self._is_flushing:
                    self._flushing.wait()
                else:
                    self._sync_once()

    def begin_sync(self) -> None:
        """Flush in the background what was appended, unless a flush is under way; `sync` tells."""
        if self.durability != "fsync" or self._is_flushing:
            return
        if self._flusher is None:
            self._flusher = Thread(target=self._sync_beside, name="flush", daemon=True)
            self._flusher.start()
        self._is_asked.put(True)

    def _sync_beside(self) -> None:
        """Flush whenever asked to; who waits for a record looks whether it went well.

        It begins when the caller lets go of Python, in its first kernel or in `sync`, which may
        have been quicker to flush.
        """
        while self._is_asked.get():
            with self._flushing:
                is_wanted = self._durable < self.number and self.failed is None
                if is_wanted and not self._is_flushing:
                    self._sync_once()

    def _sync_once(self) -> None:
        """Flush for all who wait; others may append meanwhile, and wait for the next one."""
        self._is_flushing = True
        target, descriptor = self.number, self._descriptor
        self._flushing.release()
        failure: str | None = None
        try:
            files.sync(descriptor, self.folder.segment(self._first))
        except StoreError as error:
            failure = str(error)
        finally:
            self._flushing.acquire()
            self._is_flushing = False
            self._flushing.notify_all()
        if failure is not None:
            self.fail(failure)
        else:
            self._durable = max(self._durable, target)

    def rotate(self) -> None:
        """Go on in a new segment; the old one says that there is one."""
        first = self.number + 2
        path = self.folder.segment(first)
        descriptor = self._new_segment(path, first)
        try:
            number = self._append(Record("rotate", 0, {}))
        except BaseException:
            os.close(descriptor)
            files.unlink(path)
            raise
        self.flush()
        self.sync(number, anyway=True)
        with self._flushing:
            self._flushing.wait_for(lambda: not self._is_flushing)
            self._move_to(first, descriptor, HEADER.size)

    def forget(self, before: int) -> int:
        """Remove segments all of whose records have smaller numbers; gives the oldest left.

        It is called after every batch, so what is left goes then.
        """
        for _ in range(REMOVED_AT_ONCE):
            if len(self._firsts) > 1 and self._firsts[1] <= before:
                files.unlink(self.folder.segment(self._firsts[0]))
                del self._firsts[0]
        return self._firsts[0]

    def check(self) -> None:
        """Refuse to go on after a failure."""
        if self.failed is not None:
            raise StoreError(
                f"{self.folder.path} takes nothing more since this happened: {self.failed};"
                " mend it, and open the graph again"
            )

    def fail(self, why: str) -> None:
        """Take nothing more: memory and disk may differ."""
        self.failed = self.failed or why

    def close(self) -> None:
        """Say that nothing came after, and let go of the file."""
        try:
            if self.failed is None and self._descriptor >= 0:
                number = self._append(Record("close", 0, {}))
                self.flush()
                self.sync(number, anyway=True)
        finally:
            self.leave()

    def leave(self) -> None:
        """Let go of the file as it is."""
        if self._flusher is not None:
            self._is_asked.put(False)
            self._flusher.join()
            self._flusher = None
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
