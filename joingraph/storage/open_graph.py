"""Where a graph is kept, as JoinGraph is told: nowhere, or in a folder, written or only read.

open_graph(Keeping(path, ...))  ->  Opened(engine, journal, quarantined)

What only reads does so beside a writer, and looks again where the folder changed
(storage/disk/beside.py).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from threading import Condition, RLock
from typing import Any, NamedTuple

from joingraph.common.closing import on_error
from joingraph.common.errors import StoreError
from joingraph.common.names import short_repr
from joingraph.common.unreadable import UNREADABLE
from joingraph.engines.choice import ENGINES, LOOKAHEADS, make_engine, one_of
from joingraph.engines.contract import Engine
from joingraph.engines.missing_rows import Quarantined
from joingraph.graph.blocks import Block
from joingraph.plan.keys.base_keys import with_key_index
from joingraph.plan.view import View
from joingraph.storage.description import read_view
from joingraph.storage.disk.beside import look_again
from joingraph.storage.disk.disk import Disk, newest, open_disk
from joingraph.storage.disk.folder import Folder
from joingraph.storage.disk.owner import Owner
from joingraph.storage.disk.snapshot import Snapshot
from joingraph.storage.journal import EVERY_NUMBER, Journal
from joingraph.storage.memory import Memory
from joingraph.storage.recovery import blocks_of, replay_all, restore
from joingraph.storage.state import State

ON_MISSING = ("error", "skip", "quarantine")
OPTIONS = {"engine": ENGINES, "lookahead": LOOKAHEADS, "on_missing": ON_MISSING}


class Keeping(NamedTuple):
    """Where a graph is kept and how it is made; no durability: it is only read."""

    path: Path | None
    owner: Owner
    durability: str | None
    memory_limit: int | None = None

    @property
    def keep_groups(self) -> bool:
        """True if the groups of a view are kept; so they are in a folder that does not say it."""
        return bool(self.owner.options.get("keep_groups", True))

    def make(self) -> Engine:
        """Make the graph's engine, empty."""
        options = self.owner.options
        engine = make_engine(
            *(self.owner.view, options["engine"], options["lookahead"], self.owner.key_index),
            keep_groups=self.keep_groups,
        )
        if self.memory_limit is not None:
            engine.limit(self.memory_limit)
        return engine


def for_view(keeping: Keeping, view: View) -> Keeping:
    """Return how a graph is kept that goes on with another view."""
    names = [name for name in keeping.owner.key_index if name in view.tables]
    indexed, key_index = with_key_index(view, names)
    kept = keeping.keep_groups or view.definition.grouping is None
    options = {**keeping.owner.options, "keep_groups": kept}
    return keeping._replace(owner=Owner(indexed, key_index, options))


class Opened(NamedTuple):
    """A graph as it was found: its engine, its history, and the diffs it has set aside."""

    engine: Engine
    journal: Journal
    quarantined: list[Quarantined]
    followed: Disk | None = None  # the folder, if it is only read


def as_folder(path: object) -> Path:
    """Read the path of a graph's folder."""
    named: object = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(named, str) or not named or "\0" in named:
        raise StoreError(f"path is the name of a folder, found {short_repr(named)}")
    try:
        os.lstat(named)  # which refuses what no file can be called
    except (OSError, UnicodeError) as error:
        if not isinstance(error, OSError) or error.errno == errno.ENAMETOOLONG:
            raise StoreError(f"path names no folder: {short_repr(named)}: {error!s:.200}") from None
    return Path(named).absolute()


def open_graph(keeping: Keeping, lock: RLock) -> Opened:
    """Make a graph's engine and bring it to what is kept of it."""
    path = keeping.path
    if path is None:
        if keeping.durability is None:
            raise StoreError("readonly=True reads a folder that another process writes: name it")
        return Opened(keeping.make(), Journal(Memory(), State(), Condition(lock)), [])
    if keeping.durability is None:
        return look_again(Folder(path), lambda: open_once(keeping, path, lock))
    return open_once(keeping, path, lock)


def open_once(keeping: Keeping, path: Path, lock: RLock) -> Opened:
    """Make a graph's engine and bring it to what its folder says; Stale if that changes."""
    return bring(open_disk(path, keeping.owner, readonly=not keeping.durability), keeping, lock)


def bring(disk: Disk, keeping: Keeping, lock: RLock, *, upto: int = EVERY_NUMBER) -> Opened:
    """Make a graph's engine and bring it to what its folder says up to a record."""
    with on_error(partial(disk.close, complete=False)):
        engine, state = keeping.make(), State.from_json(disk.found.footer.get("state"))
        journal = Journal(disk, state, Condition(lock), readonly=not keeping.durability)
        with lock:
            quarantined = restore(disk, engine, journal)
            replay_all(disk, engine, journal, quarantined, upto=upto)
            if keeping.durability is not None:
                disk.begin_writing(keeping.durability)
                journal.forget()
    return Opened(engine, journal, quarantined, None if keeping.durability else disk)


def open_stored(path: Path) -> tuple[Owner, Disk]:
    """Open a graph's folder to read it, whichever view it is of."""
    stored = read_stored(path)
    return stored, open_disk(path, stored._replace(view=stored.keyed_view), readonly=True)


def open_upto(path: Path, number: int, *, by_rows: bool) -> tuple[Owner, Opened]:
    """Bring a graph to what its folder says up to a record, beside the process that writes it.

    `by_rows`: in the same order in all processes, whether they can map its arrays or not.
    """
    return look_again(Folder(path), lambda: open_upto_once(path, number, by_rows=by_rows))


def open_upto_once(path: Path, number: int, *, by_rows: bool) -> tuple[Owner, Opened]:
    """Bring a graph to what its folder says up to a record; Stale if the folder changes."""
    stored, disk = open_stored(path)
    if by_rows:
        disk.found.array_places = {}
    return stored, bring(disk, Keeping(path, disk.owner, None), RLock(), upto=number)


def write_beside(path: Path, number: int, is_wanted: Callable[[], bool]) -> None:
    """Write the snapshot after a record beside the process that writes the log."""
    _, opened = open_upto(path, number, by_rows=False)
    disk = opened.followed
    assert disk is not None, "what is read from a folder is in it"
    blocks = blocks_of(opened.engine, opened.quarantined, disk.owner.view)
    disk.write(opened.journal.state, number, wanted(blocks, is_wanted))
    opened.journal.close()


def wanted(blocks: Iterable[Block], is_wanted: Callable[[], bool]) -> Iterator[Block]:
    """Yield blocks as long as they are wanted; the last look is just before the end."""
    yield from blocks
    if not is_wanted():
        raise StoreError("the process that wanted this snapshot is gone")


def check_followed(disk: Disk | None) -> Disk:
    """Return the folder of a graph that follows another process; refuse one that does not."""
    if disk is None:
        raise StoreError("refresh() follows another process: open the folder with readonly=True")
    return disk


def reopen(keeping: Keeping, lock: RLock, graph: bytes) -> Opened:
    """Open a folder anew under a reader; refuse it if it was replaced by another graph's."""
    opened = open_graph(keeping, lock)
    disk = check_followed(opened.followed)
    if disk.identity.graph != graph:
        opened.journal.close()
        raise StoreError(
            f"{disk.folder.path} was replaced by the folder of another graph of this view; this"
            " one stays as it was: close it, and open the folder with joingraph.open(path)"
        )
    return opened


def read_options(written: Mapping[str, Any]) -> dict[str, Any]:
    """Read how a graph is made, as it was written down, or raise one of UNREADABLE."""
    options: dict[str, Any] = {
        name: one_of(name, written[name], known) for name, known in OPTIONS.items()
    }
    kept = written.get("keep_groups", True)
    if not isinstance(kept, bool):
        raise TypeError(f"keep_groups is {short_repr(kept)}")
    return {**options, "keep_groups": kept}


def read_stored(path: Path) -> Owner:
    """Read whose graph a folder holds; its view is the one that was given, without the keys."""
    folder = Folder(path)
    found = Snapshot(folder, newest(folder))
    try:
        written = found.footer
        options = read_options(written["options"])
        key_index = tuple(map(str, written["key_index"]))
        return Owner(read_view(written["view"]), key_index, options)
    except UNREADABLE as error:
        raise found.damaged("its footer") from error
    finally:
        found.close()
