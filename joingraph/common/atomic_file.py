"""Files that are replaced whole: a crash leaves the old content or the new one, never a part.

    path.new   written, flushed to the disk   ->   path   renamed, the folder flushed

The two flushes outlive the machine's crash. Without them (`is_durable=False`) a file is replaced
whole for all other processes, which is enough for what can be made again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import threading
from collections.abc import Generator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path, *, new: Path | None = None, is_durable: bool = True) -> Generator[Path]:
    """Yield the name to write a file under, then put the file in its place.

    The writer flushes what it writes. After an exception the file under the new name is removed.
    """
    written = new or path.with_name(f".{path.name}.new")
    try:
        yield written
        os.rename(written, path)
    except BaseException:
        with contextlib.suppress(OSError):
            written.unlink(missing_ok=True)
        raise
    if is_durable:
        flush_folder(path.parent)


def write(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Replace a file's content, and wait until it is on the disk."""
    with replacing(path) as new, os.fdopen(open_new(new, mode), "wb") as file:
        file.write(data)
        file.flush()
        flush(file.fileno())


def write_shared(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Replace a file that several processes and threads may write at once; the last one stays."""
    own = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    with (
        replacing(path, new=own, is_durable=False) as new,
        os.fdopen(open_new(new, mode), "wb") as file,
    ):
        file.write(data)


def open_new(path: Path, mode: int) -> int:
    """Open a file for writing, empty."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)


def flush(descriptor: int) -> None:
    """Wait until an open file's content is on the disk."""
    if sys.platform == "darwin":
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)


def flush_folder(folder: Path) -> None:
    """Wait until a folder's list of files is on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
