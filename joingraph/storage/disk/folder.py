"""A graph's folder: which files it may hold, and who they belong to.

    lock                            who writes (lock.py)
    snapshot-00000000000000000042   the graph after record 42 (snapshot.py)
    log-00000000000000000043        records 43 and on (segment.py)
    *.new                           not finished; the writer removes it

Every file begins with the graph's identity, so that files of two graphs are not mixed up. Names
are made of numbers alone: nothing that is read from a file leads anywhere.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from joingraph.common.errors import StoreError
from joingraph.storage.disk.files import doing

FORMAT = 2  # raised whenever older code could not read what newer code writes
NAME = re.compile(r"(snapshot|log)-([0-9]{20})")


class Identity(NamedTuple):
    """Whose files these are: a random name given at birth, and a digest of the view."""

    graph: bytes
    view: bytes


@lru_cache(maxsize=16)  # every record asks for it
def log_in(folder: Path, first: int) -> Path:
    """Name the segment of a folder's log that begins with a record."""
    return folder / f"log-{first:020d}"


class Folder(NamedTuple):
    """A folder, and the names in it."""

    path: Path

    def snapshots(self) -> list[int]:
        """List the numbers of the snapshots, oldest first."""
        return self.numbers("snapshot")

    def segments(self) -> list[int]:
        """List the first numbers of the log's segments, oldest first."""
        return self.numbers("log")

    def numbers(self, kind: str) -> list[int]:
        """List the numbers of one kind of file."""
        with doing("list", self.path):
            found = [NAME.fullmatch(each) for each in os.listdir(self.path)]
        return sorted(int(each[2]) for each in found if each and each[1] == kind)

    def look(self) -> list[tuple[str, int]]:
        """List the names of files and their inodes: equal in two looks if nothing was renamed."""
        with doing("list", self.path), os.scandir(self.path) as entries:
            return sorted((each.name, each.inode()) for each in entries if NAME.match(each.name))

    def size(self, first: int) -> int:
        """Return how long a segment is; 0 if the writer has removed it."""
        try:
            return self.segment(first).stat().st_size
        except FileNotFoundError:
            return 0

    def snapshot(self, number: int) -> Path:
        """Name the snapshot after a record."""
        return self.path / f"snapshot-{number:020d}"

    def segment(self, first: int) -> Path:
        """Name the segment that begins with a record."""
        return log_in(self.path, first)

    def unfinished(self) -> list[Path]:
        """List what a writer began and did not finish."""
        return [each for each in self.path.glob("*.new") if NAME.match(each.name)]


def check_format(version: int, path: Path) -> None:
    """Refuse what another version wrote, if this one cannot read it.

    2   a record may hold few rows as words (storage/record.py)
    """
    if not 1 <= version <= FORMAT:
        raise StoreError(
            f"{path} is written in format {version}; this version of joingraph reads formats up to"
            f" {FORMAT}: open it with the version that wrote it, and dump it there"
        )
