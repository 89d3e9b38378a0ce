"""The log: every change of a graph, appended before its caller is told that it was made.

    append(record)  ->  number       the caller holds the graph's lock; the bytes go to the system
    begin_sync()                     flush them while the caller goes on
    sync(number)                     wait until they are on the disk; callers who wait share a flush
    settle()                         after an exception in any of these: what stands of it

    durability   a record that was acknowledged outlives
    fsync        the machine's crash, and a failing power supply
    os           the process's crash; not the machine's
    none         nothing until close() or snapshot(); it is written in large pieces

Where the log ends is one value, `end`, that is replaced whole. A write announces the end that it
will make (`_writing`). If an exception interrupts it, the file decides: a record that is in it
whole stands, one that is not is cut off. A flush that fails leaves unknown what is on the disk:
from then on the log takes nothing, until the folder is opened again.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple

from joingraph.common.atomic_file import replacing
from joingraph.common.closing import on_error
from joingraph.common.errors import StoreError
from joingraph.storage.disk import files
from joingraph.storage.disk.files import File
from joingraph.storage.disk.folder import Folder, Identity
from joingraph.storage.disk.segment import HEADER, write_header
from joingraph.storage.record import Record, encode

DURABILITIES = ("fsync", "os", "none")
SEGMENT_BYTES = 64 << 20  # the log goes on in a new segment beyond this size
REMOVED_AT_ONCE = 2  # segments, since the graph's writer waits meanwhile
HELD_BYTES = 1 << 20  # with durability "none", written when there are so many


class End(NamedTuple):
    """Where a log ends."""

    first: int  # of the segment
    file: File
    size: int  # of the segment, as the system has it
    held: int  # buffers that are not written yet
    held_bytes: int
    number: int  # of the last record
    kind: str  # of the last record
    total: int  # bytes of records since the log was opened


class Log:
    """The end of a graph's log, to which one process appends."""

    def __init__(self, folder: Folder, identity: Identity, durability: str) -> None:
        self.folder, self.identity, self.durability = folder, identity, durability
        self.end = End(0, File(), 0, 0, 0, 0, "", 0)
        self.places: dict[int, tuple[int, int]] = {}  # segment and offset of kept view diffs
        self._failed: str | None = None
        self._writing: End | None = None
        self._is_rotating = False
        self._held: list[Any] = []
        self._firsts: list[int] = []  # of the segments that follow each other; strays are not here
        self._durable = 0
        self._flush = Lock()  # held by the one who flushes, for all who wait
        self._flusher: Thread | None = None
        self._is_asked: SimpleQueue[bool] = SimpleQueue()  # to flush, or else to end

    @property
    def failed(self) -> str | None:
        """Why it takes nothing more, if it does not; its file knows that a flush has failed."""
        failure = self.end.file.failure
        return self._failed or (None if failure is None else str(failure))

    def resume(self, first: int, number: int, size: int) -> None:
        """Go on behind the last whole record of a segment, cutting off what is torn."""
        path = self.folder.segment(first)
        file = files.append_to(path)
        with on_error(file.close):
            if files.size(file, path) > size:
                files.cut(file, size, path)
            files.sync(file, path)
        self._durable = number
        self._enter(End(first, file, size, 0, 0, number, "", 0))
        self._firsts = self.folder.segments()

    def _enter(self, end: End) -> None:
        """Go on in a segment, once the one before is not being flushed."""
        with self._flush:
            old, self.end = self.end.file, end
            old.close()

    def append(self, record: Record) -> int:
        """Write a record behind the others; gives its number.

        After an exception, `settle` says whether it stands: it does if it was written whole.
        """
        self._get_ready()
        if self.end.size > SEGMENT_BYTES:
            self.rotate()
        return self._append(record)

    def _append(self, record: Record) -> int:
        if self.end.held_bytes > HELD_BYTES:
            self.flush()  # before the record is taken: what cannot be written refuses it
        first, file, size, held, held_bytes, number, _, total = self.end
        number += 1
        parts = encode(record, number, self._durable)
        length = sum(map(len, parts))
        total += length
        self.places.pop(number, None)
        if record.changes is not None:
            self.places[number] = first, size + held_bytes
        if self.durability == "none":
            self._held += parts
            held, held_bytes = len(self._held), held_bytes + length
            self.end = End(first, file, size, held, held_bytes, number, record.kind, total)
        else:
            size += length
            self._write(parts, End(first, file, size, held, held_bytes, number, record.kind, total))
        return number

    def _write(self, parts: list[Any], whole: End) -> None:
        """Write buffers, which brings the log to another end; or cut off what came of them."""
        self._writing = whole
        try:
            files.write(self.end.file, parts, self.folder.segment(self.end.first))
        except StoreError:
            self.settle(stands=False)
            raise
        except BaseException:
            self.settle()
            raise
        self.end = whole
        self._writing = None

    def settle(self, *, stands: bool = True) -> None:
        """Find out what came of a write: all of it may stand, or nothing does."""
        whole = self._writing
        if whole is not None:
            path = self.folder.segment(self.end.first)
            if stands and files.size(self.end.file, path) >= whole.size:
                self.end = whole
            else:
                files.cut(self.end.file, self.end.size, path)
            self._writing = None
        del self._held[self.end.held :]

    def _get_ready(self) -> None:
        """Bring what was interrupted to its end: a write, or the entry into the next segment."""
        self.check()
        self.settle()
        if self._is_rotating:
            if self.end.kind == "rotate":
                self._enter_next()
            for first in self.folder.segments():
                if first > self.end.first:  # of a rotation that did not come to its record
                    files.unlink(self.folder.segment(first))
            self._is_rotating = False

    def flush(self) -> None:
        """Hand what is held to the system, once it is known what came of an interrupted write."""
        self.settle()
        end = self.end
        if end.held:
            size = end.size + end.held_bytes
            self._write(self._held, end._replace(size=size, held=0, held_bytes=0))
            self._held.clear()

    def sync(self, number: int, *, anyway: bool = False) -> None:
        """Wait until a record is on the disk, if that was promised or must be anyway."""
        if self.durability != "fsync" and not anyway:
            return
        while self._durable < number:
            with self._flush:  # who waited for another's flush mostly finds it done
                if self._durable < number:
                    self.check()
                    self._sync_once()

    def begin_sync(self) -> None:
        """Flush in the background what was appended, unless a flush is under way; `sync` tells."""
        if self.durability != "fsync" or self._flush.locked():
            return
        if self._flusher is None:
            self._flusher = Thread(target=self._sync_beside, name="flush", daemon=True)
            self._flusher.start()
        self._is_asked.put(True)

    def _sync_beside(self) -> None:
        """Flush when asked to; `sync` raises what went wrong.

        Starts once the caller releases the GIL, in its first kernel or in `sync`, which may have
        been quicker to flush.
        """
        while self._is_asked.get():
            with self._flush, suppress(StoreError):
                if self._durable < self.end.number and self.failed is None:
                    self._sync_once()

    def _sync_once(self) -> None:
        """Flush for all who wait, as far as the log goes now; others may append meanwhile."""
        end = self.end
        files.sync(end.file, self.folder.segment(end.first))
        self._durable = max(self._durable, end.number)

    def rotate(self) -> None:
        """Go on in a new segment; the old one says that there is one."""
        self._get_ready()
        self._is_rotating = True
        new_segment(self.folder, self.end.number + 2, self.identity)
        self._append(Record("rotate", 0, {}))
        self._enter_next()
        self._is_rotating = False

    def _enter_next(self) -> None:
        """Enter the segment that the last record promises."""
        self.flush()
        self.sync(self.end.number, anyway=True)
        first = self.end.number + 1
        file = files.append_to(self.folder.segment(first))
        self._enter(self.end._replace(first=first, file=file, size=HEADER.size, kind=""))
        if self._firsts[-1] != first:
            self._firsts.append(first)

    @property
    def oldest(self) -> int:
        """The first segment that is still there."""
        return self._firsts[0]

    def forget(self, before: int) -> StoreError | None:
        """Remove segments all of whose records have smaller numbers; return why one stays.

        It is called after every batch, so what is left goes then.
        """
        for _ in range(REMOVED_AT_ONCE):
            if len(self._firsts) > 1 and self._firsts[1] <= before:
                failure = files.try_unlink(self.folder.segment(self.oldest))
                if failure is not None:
                    return failure
                del self._firsts[0]
        return None

    def check(self) -> None:
        """Refuse to go on after a failure."""
        if self.failed is not None:
            raise StoreError(
                f"{self.folder.path} takes nothing more since this happened: {self.failed};"
                " mend it, and open the graph again"
            )

    def fail(self, why: str) -> None:
        """Take nothing more: memory and disk may differ."""
        self._failed = self._failed or why

    @contextmanager
    def failing(self, why: str) -> Generator[None]:
        """Take nothing more, unless what is done within comes to its end."""
        before, self._failed = self._failed, self._failed or why
        yield
        self._failed = before

    def close(self) -> None:
        """Say that nothing came after, and let go of the file.

        With records that cannot be written it raises and keeps them: it can be called again.
        """
        try:
            if self.failed is None and not self.end.file.is_closed:
                self._get_ready()
                self.flush()
                number = self._append(Record("close", 0, {}))
                self.flush()
                self.sync(number, anyway=True)
        except StoreError:
            if not self.end.held or self.end.kind == "close" or self.failed is not None:
                self.leave()
            raise
        self.leave()

    @property
    def is_left(self) -> bool:
        """True if the log let go of its file."""
        return self.end.file.is_closed

    def leave(self) -> None:
        """Let go of the file as it is."""
        if self._flusher is not None and self._flusher.is_alive():
            self._is_asked.put(False)
            self._flusher.join()
        self._flusher = None
        self.end.file.close()

    def abandon(self) -> None:
        """Leave the file, and what is held back, to the parent of this forked process."""
        self.fail("the process that writes it has forked this one")
        self._writing, self._held, self._flusher, self._flush = None, [], None, Lock()
        self.end.file.close()


def new_segment(folder: Folder, first: int, identity: Identity) -> None:
    """Write a segment's header under another name, then give it its own."""
    path = folder.segment(first)
    new = path.with_name(path.name + ".new")
    files.unlink(new)
    with files.doing("rename", new), replacing(path, new=new), closing(files.create(new)) as file:
        files.write(file, [write_header(first, identity)], new)
        files.sync(file, new)
