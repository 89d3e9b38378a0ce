"""Reads a graph's folder for people: what is in it, and whether all of it is right.

Neither needs the folder for itself: a process that writes is not disturbed.
"""

from __future__ import annotations

import time
from pathlib import Path

from joingraph.api.join_graph import open as open_graph
from joingraph.common.progress import shown_progress
from joingraph.storage.checkpoints import SHARE, SNAPSHOT_AFTER
from joingraph.storage.disk.beside import look_again
from joingraph.storage.disk.disk import Disk
from joingraph.storage.disk.folder import Folder
from joingraph.storage.open_graph import as_folder, open_stored
from joingraph.storage.state import State

OPEN_BYTES_S = 20e6  # of log, and of a snapshot's rows, that a restart takes in, at the least
ARRAYS_BYTES_S = 2e9  # of arrays, which are only checked
MIB = 1 << 20


def inspect(path: Path) -> str:
    """Return what a folder holds, without building the graph."""
    folder = as_folder(path)
    return look_again(Folder(folder), lambda: inspect_once(folder))


def inspect_once(path: Path) -> str:
    """Return what a folder holds; Stale if it changes meanwhile."""
    stored, disk = open_stored(path)
    try:
        state, records = State.from_json(disk.found.footer.get("state")), 0
        for step in disk.steps():
            if step.number > disk.found.number:
                state.note(step.record, step.number)
                records += 1
        return "\n".join(
            [*findings(disk, state, records), f"view        {' '.join(stored.view.sql.split())}"]
        )
    finally:
        disk.close(complete=False)


def findings(disk: Disk, state: State, records: int) -> list[str]:
    """Return what the folder holds, a line each."""
    log_bytes = sum(map(disk.folder.size, disk.folder.segments()))
    mapped = sum(each.length for each in disk.found.array_places.values())
    seconds = disk.behind / OPEN_BYTES_S
    seconds += mapped / ARRAYS_BYTES_S if mapped else disk.found.size / OPEN_BYTES_S
    taken = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(disk.found.taken))
    size = f"{disk.found.size / MIB:,.1f} MiB ({mapped / MIB:,.1f} of them mapped)"
    lines = [
        f"graph       {disk.identity.graph.hex()}",
        f"batches     {state.seq:,}",
        f"snapshot    after record {disk.found.number:,}, {size}, {taken}",
        f"log         {log_bytes / MIB:,.1f} MiB; records after the snapshot: {records:,}",
        f"restart     about {seconds:,.1f} s once its files are in memory",
    ]
    if disk.behind > 2 * max(SNAPSHOT_AFTER, disk.found.size // SHARE):
        lines.append("overdue     a snapshot; if one fails, the log of who writes says why")
    if disk.reader.torn:
        lines.append(f"torn        {disk.reader.torn:,} bytes at the end do not read")
    for name, position in state.positions.last().items():
        lines.append(f"position    {name}: {position!r}")
    for name, each in state.subscribers.items():
        dropped = f"; dropped: {each.dropped}" if each.dropped else ""
        lines.append(f"subscriber  {name}: acknowledged up to batch {each.acked:,}{dropped}")
    return lines


def verify(path: Path) -> str:
    """Read everything a folder holds, rebuild its graph, and check both."""
    with open_graph(path, readonly=True) as graph:
        graph.check()
        rows, seq = graph.count(), graph.seq
    _, disk = look_again(Folder(as_folder(path)), lambda: open_stored(as_folder(path)))
    try:
        found, names = disk.found, list(disk.found)
        show = shown_progress("blocks of the snapshot checked")
        for done, name in enumerate(names, 1):
            found[name].release()
            show(done, len(names))
        if not found.are_arrays_right():
            raise found.damaged("its arrays; the graph opens by its rows, and slowly")
    finally:
        disk.close(complete=False)
    blocks = len(names) + len(found.array_places)
    return f"{path} is right: {blocks} blocks, {seq:,} batches, {rows:,} rows in the view"
