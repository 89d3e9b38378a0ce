"""Where a graph is kept, as JoinGraph is told: nowhere, or in a folder, to be written or to be read.

open_graph(Keeping(path, ...))  ->  Opened(engine, journal, quarantined)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Condition, RLock
from typing import Any, NamedTuple

from joingraph.engine import Engine
from joingraph.errors import StoreError
from joingraph.journal import Journal
from joingraph.missing import Quarantined
from joingraph.recovery import replay_all, restore
from joingraph.stores.description import read_view
from joingraph.stores.disk import Disk, Owner, newest, open_disk
from joingraph.stores.folder import Folder
from joingraph.stores.memory import Memory
from joingraph.stores.snapshot import Snapshot
from joingraph.stores.state import State
from joingraph.stores.unreadable import UNREADABLE
from joingraph.view import View

OPTIONS = ("engine", "lookahead", "on_missing")


class Keeping(NamedTuple):
    """Where a graph is kept and how it is made; no durability: it is only read."""

    path: Path | None
    owner: Owner
    make: Callable[[], Engine]
    durability: str | None


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


class FailedEngine:
    """Stands where the engine was once the disk has failed: whatever is asked of it is an error."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __getattr__(self, asked: str) -> Any:
        raise StoreError(
            f"{asked}() is not possible: memory and disk may differ since this happened: {self.why};"
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
        journal = Journal(disk, State.from_json(disk.found.footer.get("state")), Condition(lock))
        with lock:
            restore(disk, engine, journal)
            quarantined = replay_all(disk, engine, journal, keeping.owner.view)
            if keeping.durability is not None:
                disk.begin_writing(keeping.durability)
                journal.forget()
    except BaseException:
        disk.close(complete=False)
        raise
    return Opened(engine, journal, quarantined)


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
