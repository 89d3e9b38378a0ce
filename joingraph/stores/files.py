"""All that a store does to a disk, one step a function: tests make each of the steps fail.

In: paths and descriptors. Out: nothing, or a StoreError that says what could not be done. Files
are made for their owner alone (0600) and links are not followed.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joingraph.errors import StoreError

FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW
PARTS_MAX = 512  # buffers handed to one write


@contextmanager
def doing(what: str, path: Path | str) -> Generator[None]:
    """Turn a failure of the system into an error that tells what failed."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot {what} {path}: {error.strerror or error}") from error


def create(path: Path) -> int:
    """Make a new file and open it for writing."""
    with doing("create", path):
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | FLAGS, 0o600)


def append_to(path: Path) -> int:
    """Open a file for writing at its end."""
    with doing("open", path):
        return os.open(path, os.O_WRONLY | os.O_APPEND | FLAGS)


def read_from(path: Path) -> int:
    """Open a file for reading."""
    with doing("open", path):
        return os.open(path, os.O_RDONLY | FLAGS)


def write(descriptor: int, parts: Sequence[Any], path: Path) -> None:
    """Write buffers one after the other, however many calls it takes."""
    left = [memoryview(part).cast("B") for part in parts if len(memoryview(part))]
    with doing("write", path):
        while left:
            written = write_some(descriptor, left[:PARTS_MAX])
            while left and written >= len(left[0]):
                written -= len(left.pop(0))
            if written:
                left[0] = left[0][written:]


def write_some(descriptor: int, parts: Sequence[memoryview]) -> int:
    """Write as much as the system takes at once."""
    return os.writev(descriptor, parts)


def sync(descriptor: int, path: Path) -> None:
    """Wait until what was written is on the disk."""
    with doing("flush to disk", path):
        if sys.platform == "darwin":
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(descriptor)


def cut(descriptor: int, length: int, path: Path) -> None:
    """Take away a file's end."""
    with doing("shorten", path):
        os.ftruncate(descriptor, length)


def rename(old: Path, new: Path) -> None:
    """Put a finished file in its place, and wait until the folder says so."""
    with doing("rename", old):
        os.rename(old, new)
    sync_folder(new.parent)


def unlink(path: Path) -> None:
    """Remove a file, if it is there."""
    with doing("remove", path):
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Wait until a folder's list of files is on the disk."""
    with doing("flush to disk", folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
