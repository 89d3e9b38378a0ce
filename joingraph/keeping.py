"""Where a graph is kept, as JoinGraph is told: nowhere, or in a folder, written or only read.

open_graph(Keeping(path, ...))  ->  Opened(engine, journal, quarantined)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Condition, RLock
from typing import Any, NamedTuple

from joingraph.engine import Engine
from joingraph.engines import make_engine
from joingraph.errors import StoreError
from joingraph.journal import Journal
from joingraph.key_index import with_key_index
from joingraph.missing import Quarantined
from joingraph.recovery import blocks_of, replay_all, restore
from joingraph.stores.description import read_view
from joingraph.stores.disk import Disk, Owner, newest, open_disk
from joingraph.stores.folder import Folder
from joingraph.stores.memory import Memory
from joingraph.stores.snapshot import Block, Snapshot
from joingraph.stores.state import State
from joingraph.stores.unreadable import UNREADABLE
from joingraph.view import View

OPTIONS = ("engine", "lookahead", "on_missing")


class Keeping(NamedTuple):
    """Where a graph is kept and how it is made; no durability: it is only read."""

    path: Path | None
    owner: Owner
    durability: str | None
    memory_limit: int | None = None

    def make(self) -> Engine:
        """Make the graph's engine, empty."""
        options = self.owner.options
        engine = make_engine(
            self.owner.view, options["engine"], options["lookahead"], self.owner.key_index
        )
        if self.memory_limit is not None:
            engine.limit(self.memory_limit)
        return engine


def for_view(keeping: Keeping, view: View) -> Keeping:
    """Say how a graph is kept that goes on with another view."""
    names = [name for name in keeping.owner.key_index if name in view.tables]
    indexed, key_index = with_key_index(view, names)
    return keeping._replace(owner=Owner(indexed, key_index, keeping.owner.options))


class Opened(NamedTuple):
    """A graph as it was found: its engine, its history, and the diffs it has set aside."""

    engine: Engine
    journal: Journal
    quarantined: list[Quarantined]


class Stored(NamedTuple):
    """What a folder says of its graph: the view, and how it was made."""

    view: View
    key_index: tuple[str, ...]
    engine: str
    lookahead: str
    on_missing: str

    @property
    def options(self) -> dict[str, str]:
        """How its graph is made where nothing else is said."""
        return {each: str(getattr(self, each)) for each in OPTIONS}

    @property
    def keyed_view(self) -> View:
        """The view as its graph has it: with the keys of the indexed tables kept."""
        return with_key_index(self.view, self.key_index)[0]


class FailedEngine:
    """Stands where the engine was once the disk has failed: whatever is asked of it is an error."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __getattr__(self, asked: str) -> Any:
        raise StoreError(
            f"{asked}() is not possible, as memory and disk may differ since this: {self.why};"
            " close the graph and open it again"
        )


def as_folder(path: object) -> Path:
    """Read the path of a graph's folder."""
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise StoreError(f"path is the name of a folder, found {path!r:.100}")
    return Path(path).absolute()


def open_graph(keeping: Keeping, lock: RLock) -> Opened:
    """Make a graph's engine and bring it to what is kept of it."""
    if keeping.path is None:
        if keeping.durability is None:
            raise StoreError("readonly=True reads a folder that another process writes: name it")
        return Opened(keeping.make(), Journal(Memory(), State(), Condition(lock)), [])
    disk = open_disk(keeping.path, keeping.owner, readonly=keeping.durability is None)
    try:
        engine = keeping.make()
        state, readonly = State.from_json(disk.found.footer.get("state")), not keeping.durability
        journal = Journal(disk, state, Condition(lock), readonly=readonly)
        with lock:
            quarantined = restore(disk, engine, journal)
            quarantined += replay_all(disk, engine, journal, keeping.owner.view)
            if keeping.durability is not None:
                disk.begin_writing(keeping.durability)
                journal.forget()
    except BaseException:
        disk.close(complete=False)
        raise
    return Opened(engine, journal, quarantined)


def open_upto(path: Path, number: int, *, by_rows: bool) -> Opened:
    """Bring a graph to what its folder says up to a record, beside the process that writes it.

    `by_rows`: in the same order in all processes, whether they can map its arrays or not.
    """
    stored = read_stored(path)
    owner = Owner(stored.keyed_view, stored.key_index, stored.options)
    disk = open_disk(path, owner, readonly=True)
    try:
        engine, lock = Keeping(path, owner, None).make(), RLock()
        if by_rows:
            disk.found.array_places = {}
        with lock:
            state = State.from_json(disk.found.footer.get("state"))
            journal = Journal(disk, state, Condition(lock), readonly=True)
            quarantined = restore(disk, engine, journal)
            quarantined += replay_all(disk, engine, journal, owner.view, upto=number)
    except BaseException:
        disk.close(complete=False)
        raise
    return Opened(engine, journal, quarantined)


def write_beside(path: Path, number: int, is_wanted: Callable[[], bool]) -> None:
    """Write the snapshot after a record beside the process that writes the log."""
    opened = open_upto(path, number, by_rows=False)
    disk = opened.journal.store
    assert isinstance(disk, Disk), "what is read from a folder is in it"
    blocks = blocks_of(opened.engine, opened.quarantined, disk.owner.view)
    disk.write(opened.journal.state, number, wanted(blocks, is_wanted))
    opened.journal.close()


def wanted(blocks: Iterable[Block], is_wanted: Callable[[], bool]) -> Iterator[Block]:
    """Yield blocks as long as somebody wants them; the last look is just before the end."""
    yield from blocks
    if not is_wanted():
        raise StoreError("the process that wanted this snapshot is gone")


def follow(journal: Journal, engine: Engine, view: View) -> bool:
    """Carry out what the writer has logged since; False if only a newer snapshot tells it."""
    disk = journal.store
    if not isinstance(disk, Disk) or disk.log is not None:
        raise StoreError("refresh() follows another process: open the folder with readonly=True")
    if disk.reader.first not in disk.folder.segments():
        return False
    replay_all(disk, engine, journal, view)
    return True


def read_stored(path: Path) -> Stored:
    """Read whose graph a folder holds."""
    folder = Folder(path)
    found = Snapshot(folder, newest(folder))
    try:
        written = found.footer
        engine, lookahead, on_missing = (str(written["options"][each]) for each in OPTIONS)
        key_index = tuple(map(str, written["key_index"]))
        return Stored(read_view(written["view"]), key_index, engine, lookahead, on_missing)
    except UNREADABLE as error:
        raise found.damaged("its footer") from error
    finally:
        found.close()
