"""One writer a folder: a locked file that tells who holds it.

The lock is the system's own (flock), so it ends with its process, however that ends; the text in
the file only tells people whom to ask.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from pathlib import Path

from joingraph.errors import StoreError
from joingraph.stores.files import FLAGS, doing

HOLDER_BYTES_MAX = 500


def take_lock(folder: Path) -> int:
    """Become the folder's one writer; gives the descriptor to close in the end."""
    path = folder / "lock"
    with doing("open", path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | FLAGS, 0o600)
    try:
        with doing("lock", path):
            claim(descriptor, folder)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def claim(descriptor: int, folder: Path) -> None:
    """Lock the file and write down who did, or tell who has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, HOLDER_BYTES_MAX, 0).decode("utf-8", "replace").strip()
        raise StoreError(
            f"{folder} is being written by {holder or 'another process'}; close the graph there,"
            " or read it from here with joingraph.open(path, readonly=True)"
        ) from None
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    os.ftruncate(descriptor, 0)
    text = f"process {os.getpid()} on {socket.gethostname()}, since {since}\n"
    os.pwrite(descriptor, text.encode(), 0)
