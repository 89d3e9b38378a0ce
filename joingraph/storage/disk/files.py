"""All that a store does to a disk, one step a function: tests make each of the steps fail.

In: paths and descriptors. Out: nothing, or a StoreError that says what could not be done. Files
are made for their owner alone (0600) and links are not followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any

from joingraph.common import atomic_file
from joingraph.common.errors import StoreError

OWN = (  # how the files of code begin by which a store calls the system
    str(Path(__file__).parents[2] / "_")[:-1],
    *(str(Path(os.__file__).with_name(name)) for name in ("contextlib.py", "os.py", "pathlib")),
    "<frozen ",  # modules that Python starts with
)
FLUSH = atomic_file.flush.__code__
FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW
PARTS_MAX = 512  # buffers handed to one write


class Stale(StoreError):
    """A file is gone or replaced: the folder went on, or is damaged; a second look tells."""


class File:
    """An open file, closed at the latest when it is forgotten.

    Its descriptor is never a number of Python's alone: an interrupt between two instructions would
    lose it, and with it, of a lock, the folder until the process ends. So one call of C opens the
    file and keeps it, and no code of Python is needed to close it.
    """

    __slots__ = ("__weakref__", "_opened", "failure")

    def __init__(self) -> None:
        self._opened: list[FileIO] = []
        self.failure: Exception | None = None  # of the system, that leaves unknown what is in it

    @classmethod
    def open(cls, path: Path, flags: int) -> File:
        """Open a path; a file that is made is its owner's alone."""
        made = cls()
        opened = map(os.open, (path,), (flags | FLAGS,), (0o600,))
        made._opened.extend(map(FileIO, opened, ("r+",)))
        return made

    @property
    def is_closed(self) -> bool:
        """True if it was closed, or never opened."""
        return not self._opened or self._opened[0].closed

    def fileno(self) -> int:
        """Return the descriptor, for as long as the file is open."""
        return self._opened[0].fileno()

    def close(self) -> None:
        """Close it, if it is open."""
        for each in self._opened:
            each.close()


class doing:  # reads as what it is used for
    """Turn a failure of the system into an error that tells what failed; note it in a file."""

    __slots__ = ("file", "path", "what")

    def __init__(self, what: str, path: Path | str, file: File | None = None) -> None:
        self.what, self.path, self.file = what, path, file

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError) and not is_foreign(error):
            failure = StoreError(f"cannot {self.what} {self.path}: {error.strerror or error}")
            if self.file is not None:
                self.file.failure = failure
            raise failure from error


def is_foreign(error: BaseException) -> bool:
    """True if an exception was not raised by the code that it passed, but by a signal handler.

    A handler in Python leaves a frame of its own in the traceback. The exception of a handler that
    is a function of C, or one of this package, cannot be told from the system's.
    """
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(OWN):
            return True
        trace = trace.tb_next
    return False


def create(path: Path) -> File:
    """Make a new file and open it for writing."""
    with doing("create", path):
        return File.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)


def append_to(path: Path) -> File:
    """Open a file for writing at its end."""
    with doing("open", path):
        return File.open(path, os.O_WRONLY | os.O_APPEND)


def read_from(path: Path) -> File:
    """Open a file for reading; Stale if it is not there, StoreError if it is no regular file.

    A fifo would block the caller; O_NONBLOCK opens it, so that it is refused.
    """
    with doing("open", path):
        try:
            is_folder = stat.S_ISDIR(os.lstat(path).st_mode)  # which no File can be
            file = File() if is_folder else File.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError as error:
            raise Stale(f"{path} is missing; bring it back from a backup") from error
    if file.is_closed or not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise StoreError(f"{path} is not a regular file; remove it from the graph's folder")
    return file


def is_same(descriptor: int, path: Path) -> bool:
    """True if a path still names the file that is open."""
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def size(file: File, path: Path) -> int:
    """Return a file's length."""
    with doing("read", path, file):
        return os.fstat(file.fileno()).st_size


def write(file: File, parts: Sequence[Any], path: Path) -> None:
    """Write buffers one after the other, however many calls it takes."""
    left = parts
    try:
        while left:
            left = behind(left, os.writev(file.fileno(), left[:PARTS_MAX]))
    except OSError:
        with doing("write", path):  # which would take a fifth of the time of a short write
            raise


def behind(parts: Sequence[Any], written: int) -> Sequence[Any]:
    """Return what is left of buffers behind so many bytes."""
    for at, part in enumerate(parts):
        size = memoryview(part).nbytes
        if size > written:
            return [memoryview(part).cast("B")[written:], *parts[at + 1 :]]
        written -= size
    return ()


def sync(file: File, path: Path) -> None:
    """Wait until what was written is on the disk.

    The system tells a failure once. It is noted before Python looks for signals again, which it
    does at calls: an exception of a handler cannot hide it, nor be taken for it.
    """
    with doing("flush to disk", path, file):
        descriptor = file.fileno()
        try:
            atomic_file.flush(descriptor)
        except OSError as error:
            trace = error.__traceback__
            inner = None if trace is None else trace.tb_next
            if inner is not None and inner.tb_next is None and inner.tb_frame.f_code is FLUSH:
                file.failure = error  # the system call's own: no handler was called
            raise


def cut(file: File, length: int, path: Path) -> None:
    """Take away a file's end."""
    with doing("shorten", path, file):
        os.ftruncate(file.fileno(), length)


def try_unlink(path: Path) -> StoreError | None:
    """Remove a file, if it is there; return the system's failure, and raise what is not its own."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        if is_foreign(error):
            raise
        return StoreError(f"cannot remove {path}: {error.strerror or error}")
    return None


def unlink(path: Path) -> None:
    """Remove a file, if it is there."""
    with doing("remove", path):
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Wait until a folder's list of files is on the disk."""
    with doing("flush to disk", folder):
        atomic_file.flush_folder(folder)
