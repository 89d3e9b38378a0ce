"""Makes snapshots of a graph that is in use, without making its writer wait.

    small     written here and now
    else      the log begins a new segment, and a process of its own opens the last snapshot,
              replays the log up to there, and writes the next one; the writer goes on meanwhile

The process is this module, run with the folder and the number of the last record to be in it. It
ends without a trace if the writer is gone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from joingraph.errors import JoinGraphError, StoreError
from joingraph.journal import Journal
from joingraph.keeping import write_beside
from joingraph.stores.disk import Disk
from joingraph.stores.snapshot import Block


def take_snapshot(journal: Journal, blocks: Callable[[], Iterable[Block]]) -> None:
    """Write the graph down as it is now; one at a time."""
    with journal.snapping:
        with journal.changed:
            disk = journal.store
            if not isinstance(disk, Disk):
                raise StoreError(
                    "this graph is kept in memory; make it with path=... to write it down"
                )
            number, is_small = disk.rotate(), disk.is_small()
            if is_small:
                disk.write(journal.state, number, blocks())
        if not is_small:
            run_beside(disk.folder.path, number)
        with journal.changed:
            disk.use_newest()
            journal.forget()


def run_beside(path: Path, number: int) -> None:
    """Run a process that writes a snapshot, and wait for it."""
    roots = [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "joingraph.snapshots", str(path), str(number), str(os.getpid())],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, roots))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"it ended with code {done.returncode}"]
        raise StoreError(f"no snapshot of {path} was made: {said[-1]}")


def main(path: str, number: str, parent: str) -> int:
    """Write a snapshot for the process that started this one."""
    try:
        write_beside(Path(path), int(number), lambda: os.getppid() == int(parent))
    except JoinGraphError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
