"""One writer a folder: a locked file that tells who holds it.

The lock is the system's own (flock), so it ends with its process, however that ends; the text in
the file only tells people whom to ask. A forked child shares it, and would keep the folder locked
after its parent's end: it closes its copy of the descriptor, which leaves the lock to the parent.
"""

from __future__ import annotations

import fcntl
import gc
import os
import socket
import time
from pathlib import Path
from threading import RLock
from weakref import WeakSet

from joingraph.common.closing import on_error
from joingraph.common.errors import StoreError
from joingraph.common.forks import FORKS
from joingraph.storage.disk.files import File, doing

HOLDER_BYTES_MAX = 500
PATIENCE_S = 0.5  # with a lock that this process seems to hold itself


class Held:
    """The files of the locks that this process holds; they change while no fork happens."""

    def __init__(self) -> None:
        self._files: WeakSet[File] = WeakSet()
        self._changing = RLock()
        FORKS.watch(self._forked, self._changing)

    def open(self, path: Path) -> File:
        """Open a lock's file, made if it is not there."""
        with self._changing:
            file = File.open(path, os.O_RDWR | os.O_CREAT)
            self._files.add(file)
        return file

    def _forked(self, whole: bool) -> None:
        """Leave all locks to the parent; whether one was just being opened is not known if late."""
        for file in list(self._files) if whole else ():
            file.close()
        self._files = WeakSet()


HELD = Held()


def take_lock(folder: Path) -> File:
    """Become the folder's one writer until the file is closed."""
    path = folder / "lock"
    with doing("open", path):
        file = HELD.open(path)
    with on_error(file.close), doing("lock", path):
        claim(file.fileno(), folder)
    return file


def claim(descriptor: int, folder: Path) -> None:
    """Lock the file and write down who did, or tell who has it."""
    until = time.monotonic() + PATIENCE_S
    while not lock(descriptor):
        holder = os.pread(descriptor, HOLDER_BYTES_MAX, 0).decode("utf-8", "replace").strip()
        is_ours = holder.startswith(f"process {os.getpid()} on {socket.gethostname()},")
        if not is_ours or time.monotonic() > until:
            raise StoreError(
                f"{folder} is being written by {holder or 'another process'}; close the graph"
                " there, or read it from here with joingraph.open(path, readonly=True)"
            )
        # It may be a graph without any reference to it, as after an interrupt; or one that was
        # closed, and a child that was forked just now has not let go of its copy yet.
        gc.collect()
        time.sleep(PATIENCE_S / 20)
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    os.ftruncate(descriptor, 0)
    text = f"process {os.getpid()} on {socket.gethostname()}, since {since}\n"
    os.pwrite(descriptor, text.encode(), 0)


def lock(descriptor: int) -> bool:
    """Lock an open file; False if another one is locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
