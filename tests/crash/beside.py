"""A writer that does all it can to its folder, for readers beside it (readers.py).

It applies batches, with small segments, so that its log is rotated every few of them; takes
snapshots, by itself and asked for, here and in another process; has subscribers come, acknowledge
and go; lets writes and flushes fail, some after all bytes were written; closes and opens again,
also behind a torn record; goes on with another view; and divides its view for others to read.
"""

from __future__ import annotations

import errno
import logging
import mmap
import os
import pickle
import random
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import joingraph as jg
from joingraph.pipeline.acks import Acks
from joingraph.storage.disk import disk, log
from tests.crash.feed import SQL, TABLES, Batch, batches
from tests.crash.run import get_ready
from tests.faults import of_the_system

SEGMENT_BYTES = 3_000
GROWN_BYTES = 30_000  # of log, after which a snapshot is taken by itself
OTHER_SQL = "SELECT T.text, T.id, F.fan FROM follower F JOIN tweet T ON F.author = T.author"
SUBSCRIBER = "spark"
DURABILITIES = ("fsync", "os", "os", "none")


class Round(NamedTuple):
    """One life of a folder; `feed` and `chance` are seeds."""

    scratch: Path
    feed: int
    chance: int
    batches: int
    engine: str

    @property
    def folder(self) -> Path:
        """The graph's folder."""
        return self.scratch / "graph"

    @property
    def parts(self) -> Path:
        """Parts of the view, pickled by the writer, and the number of the batch they are of."""
        return self.scratch / "parts"

    @property
    def readers(self) -> Path:
        """Holds a file for each reader that has begun."""
        return self.scratch / "readers"

    @property
    def stop(self) -> Path:
        """Is there once the writer is done."""
        return self.scratch / "stop"


class Acknowledged:
    """The last batch that was acknowledged and that readers must see, told through a file."""

    def __init__(self, round: Round) -> None:
        path = round.scratch / "acknowledged"
        if not path.exists():
            path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self.shared = mmap.mmap(file.fileno(), 8)

    @property
    def number(self) -> int:
        """The batch."""
        return int(struct.unpack_from("<Q", self.shared)[0])

    @number.setter
    def number(self, number: int) -> None:
        struct.pack_into("<Q", self.shared, 0, number)


@contextmanager
def failing(chance: random.Random) -> Iterator[None]:
    """Let one step on the disk fail: half written, written and then failed, or not flushed."""
    name, real = "writev", os.writev
    kind = chance.choice(["short", "short", "late", "flush"])

    @of_the_system
    def writev(descriptor: int, parts: Any) -> int:
        os.writev = real
        data = b"".join(parts)
        os.write(descriptor, data[: len(data) // 2] if kind == "short" else data)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @of_the_system
    def fdatasync(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    if kind == "flush":
        name, real = "fdatasync", os.fdatasync
    try:
        setattr(os, name, fdatasync if kind == "flush" else writev)
        yield
    finally:
        setattr(os, name, real)


class Writer:
    """The folder's writer; batch k makes the graph's sequence number k."""

    def __init__(self, round: Round) -> None:
        self.round, self.chance = round, random.Random(round.chance)
        self.feed: list[Batch] = list(islice(batches(round.feed), round.batches))
        self.acknowledged = Acknowledged(round)
        self.did = Counter[str]()
        self.durability, self.sql = "os", SQL
        self.graph = self.opened()

    def opened(self) -> jg.JoinGraph:
        """Open the graph, in some durability."""
        self.durability = self.chance.choice(DURABILITIES)
        graph = jg.JoinGraph(
            jg.View(self.sql, TABLES),
            self.round.folder,
            engine=self.round.engine,
            durability=self.durability,
        )
        graph.snapshot_after = GROWN_BYTES if self.chance.random() < 0.5 else None
        return graph

    def run(self) -> Counter[str]:
        """Apply all batches, and do everything else in between."""
        others: list[tuple[float, Callable[[], None]]] = [
            (0.03, self.snapshot),
            (0.001, self.snapshot_beside),
            (0.03, self.subscribe),
            (0.05, self.acknowledge),
            (0.005, self.unsubscribe),
            (0.02, self.fail),
            (0.01, self.reopen),
            (0.004, self.rebuild),
            (0.03, self.divide),
        ]
        while self.graph.seq < len(self.feed) and not self.round.stop.exists():
            self.apply()
            for share, do in others:
                if self.chance.random() < share:
                    self.did[do.__name__] += 1
                    do()
        self.graph.close()
        self.did["batches"] += len(self.feed)
        return self.did

    def apply(self) -> None:
        """Apply the next batch."""
        number = self.graph.seq + 1
        if number > len(self.feed):
            return
        if self.chance.random() < 0.3:
            self.graph.apply(self.feed[number - 1], source="feed", position=number)
        else:
            self.graph.apply(self.feed[number - 1])
        if self.durability != "none":
            self.acknowledged.number = number
        failure = self.graph.stats()["log"]["snapshot_failed"]
        assert failure is None or os.strerror(errno.ENOSPC) in failure, failure

    def snapshot(self) -> None:
        """Take a snapshot."""
        self.graph.snapshot()

    def snapshot_beside(self) -> None:
        """Let another process take a snapshot."""
        small, disk.SMALL_BYTES = disk.SMALL_BYTES, 0
        try:
            self.graph.snapshot()
        finally:
            disk.SMALL_BYTES = small

    def subscribe(self) -> None:
        """Have a subscriber who wants every batch from now on."""
        self.graph.subscribe(SUBSCRIBER)

    def acknowledge(self) -> None:
        """Take note of what the subscriber is done with."""
        Acks(self.graph, self.round.folder).take()

    def unsubscribe(self) -> None:
        """Let the subscriber go."""
        if SUBSCRIBER in self.graph.subscribers():
            self.graph.unsubscribe(SUBSCRIBER)

    def fail(self) -> None:
        """Let a batch fail at the disk; go on, or open again where that is asked for."""
        try:
            with failing(self.chance):
                self.apply()
        except jg.StoreError:
            self.did["failed"] += 1
        try:
            self.apply()
        except jg.StoreError:
            self.did["broken"] += 1
            self.graph.close()
            self.graph = self.opened()

    def reopen(self) -> None:
        """Close and open again, perhaps behind what a crash may leave."""
        self.graph.close()
        if self.chance.random() < 0.5:
            last = max(self.round.folder.glob("log-*"))
            with last.open("ab") as file:
                file.write(b"JGRC" + self.chance.randbytes(self.chance.randrange(200)))
        self.graph = self.opened()

    def rebuild(self) -> None:
        """Go on with the other view: the same rows, their columns in another order."""
        self.sql = OTHER_SQL if self.sql == SQL else SQL
        self.graph.rebuild(jg.View(self.sql, TABLES))

    def divide(self) -> None:
        """Leave parts of the view for others to read."""
        new = self.round.parts.with_suffix(".new")
        new.write_bytes(pickle.dumps((self.graph.partitions(2), self.graph.seq)))
        new.rename(self.round.parts)


def write(round: Round, readers: int) -> Counter[str]:
    """Be a folder's writer, once so many readers have begun; give how often it did what."""
    log.SEGMENT_BYTES = SEGMENT_BYTES
    logging.disable()
    get_ready(round.engine)
    try:
        writer = Writer(round)
        while len(list(round.readers.iterdir())) < readers and not round.stop.exists():
            time.sleep(0.001)
        return writer.run()
    finally:
        round.stop.touch()
