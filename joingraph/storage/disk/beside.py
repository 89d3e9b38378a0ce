"""Reads a folder beside the process that writes it: what a reader missed is looked for again.

A reader holds no lock. The writer goes on meanwhile, in steps that are each seen whole or not:

    the writer                              a reader that comes at this moment
    appends a record, in several writes     ends at the last whole record; the rest comes later
    cuts off a record it could not write    ends before it; one read whole and then taken back is
                                            noticed by its head, and the reader opens anew
    makes the next segment, then says so    passes over an empty segment that no record leads to
    renames a snapshot, removes the old     has the old one open, or finds it gone: Stale
    removes segments that are not needed    has them open, or finds one gone: Stale
    hands the folder to another view        stops before the first record of that view

A damaged folder looks like some of these. Two things tell them apart. What was written stays
written, so a record that a later one proves to be complete reads at a second look (log_reader.py).
And a file that is gone from a sound folder leaves the folder's list changed: an error is believed
when it comes twice while the list stays the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from joingraph.common.errors import StoreError
from joingraph.storage.disk.files import Stale
from joingraph.storage.disk.folder import Folder

LOOKS_MAX = 1_000  # after each of them the writer had removed or renamed a file
PATIENCE_S = 60.0  # after which it gives up as well, once it has looked LOOKS_MIN times
LOOKS_MIN = 3
PAUSE_S = 0.001
Read = TypeVar("Read")


def look_again(folder: Folder, read: Callable[[], Read]) -> Read:
    """Return what `read` returns, tried again as long as the folder changes under it."""
    names: list[tuple[str, int]] | None = None
    looks, end = 0, time.monotonic() + PATIENCE_S
    while True:
        looks += 1
        try:
            return read()
        except Stale as error:
            before, names = names, folder.look() if folder.path.is_dir() else []
            if names == before:
                raise
            if looks >= LOOKS_MAX or (looks >= LOOKS_MIN and time.monotonic() > end):
                raise StoreError(
                    f"{folder.path} changed under each of {looks:,} attempts to read it; the last"
                    f" one found this: {error}; let its writer make fewer snapshots"
                ) from error
        time.sleep(PAUSE_S)
