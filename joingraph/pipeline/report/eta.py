"""How much of the files that were there when a run began is done, and how long the rest will take.

    tweet/1.parquet 40 MB   done       40 of 100 MB, 8 MB/s, about 8 s left
    tweet/2.parquet 60 MB   waits

Files are counted by their bytes, which are known before they are read. Sources that are not
folders of this machine are not counted. What came with earlier runs is done, and says nothing of
how fast this one is.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlparse

from joingraph.pipeline.model import WATCHED, Source

KB, MB = 1e3, 1e6


class Estimate(NamedTuple):
    """How far a run is; `left_s` None while it is unknown."""

    done_bytes: int
    bytes: int
    bytes_per_s: float
    left_s: float | None

    def __str__(self) -> str:
        if self.done_bytes == self.bytes:
            return f"all {size_text(self.bytes)} of files that waited are done"
        share = self.done_bytes / self.bytes
        text = f"{size_text(self.done_bytes)} of {size_text(self.bytes)} of files, {share:.0%}"
        if self.left_s is None:
            return text
        return f"{text}, {size_text(self.bytes_per_s)}/s, about {self.left_s:,.0f} s left"


def size_text(bytes: float) -> str:
    """Write a number of bytes.

    >>> size_text(0), size_text(2300), size_text(41_000_000)
    ('0.0 kB', '2.3 kB', '41.0 MB')
    """
    return f"{bytes / MB:,.1f} MB" if bytes >= MB else f"{bytes / KB:,.1f} kB"


class Backlog:
    """The files that wait when a run begins."""

    def __init__(self, sources: Iterable[Source], done: Iterable[str]) -> None:
        self._waiting = {path: size for source in sources for path, size in files_of(source)}
        self._bytes = sum(self._waiting.values())
        self.take(done)
        self._before = self._bytes - sum(self._waiting.values())
        self._began_s = time.monotonic()

    def take(self, places: Iterable[str]) -> None:
        """Note that files are done."""
        for place in places:
            path = local_path(place)
            if path is not None:
                self._waiting.pop(path, None)

    def estimate(self) -> Estimate | None:
        """Return how far the run is; None if there was nothing that can be counted."""
        if not self._bytes:
            return None
        left = sum(self._waiting.values())
        done, took_s = self._bytes - left, max(time.monotonic() - self._began_s, 1e-3)
        rate = (done - self._before) / took_s
        left_s = round(left / rate, 1) if rate else None
        return Estimate(done, self._bytes, round(rate, 1), left_s)


def files_of(source: Source) -> Iterator[tuple[Path, int]]:
    """List the files of a source with their sizes, as Spark will; hidden ones are none."""
    if source.format not in WATCHED or not Path(source.path).is_dir():
        return
    for path in Path(source.path).resolve().rglob("*"):
        if path.is_file() and not path.name.startswith((".", "_")):
            yield path, path.stat().st_size


def local_path(place: str) -> Path | None:
    """Return the path of a file on this machine; None if it is elsewhere.

    >>> local_path("file:///data/a%20b.csv").name
    'a b.csv'
    """
    read = urlparse(place)
    return Path(unquote(read.path)) if read.scheme == "file" else None
