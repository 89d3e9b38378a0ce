"""Makes snapshots of a graph that is in use, without making its writer wait.

    small     written here and now
    else      the log begins a new segment, and a process of its own opens the last snapshot,
              replays the log up to there, and writes the next one; the writer goes on meanwhile

One is begun in the background whenever the log behind the last has grown long. The process is this
module, run with the folder and the number of the last record to be in it. It ends without a trace
if the writer is gone.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from threading import Lock, RLock, Thread

from joingraph.common.errors import JoinGraphError, StoreError
from joingraph.common.forks import FORKS
from joingraph.storage.contract import Checkpoints
from joingraph.storage.live_graph import LiveGraph
from joingraph.storage.open_graph import write_beside

SNAPSHOT_AFTER = 64 << 20  # bytes of log
SHARE = 4  # of the last snapshot's file, that the log has to reach as well
NICE = 5  # a snapshot is in the way of no other process
log = logging.getLogger("joingraph")
# A child forked amid the start would keep the ends of pipes that the parent waits to see closed.
STARTING = RLock()


class Snapshots:
    """Takes the snapshots of one graph, one at a time: when asked to, and by itself."""

    def __init__(self, live: LiveGraph) -> None:
        self._live = live
        self.failure: str | None = None  # of the last one that was begun by itself
        self._failed_at = 0  # how long the log was then
        self._beginning = Lock()
        self._thread: Thread | None = None
        self._process: subprocess.Popen[str] | None = None
        self._is_stopped = False
        FORKS.watch(self._forked, STARTING)

    def _forked(self, whole: bool) -> None:
        """Leave the snapshot under way to the parent of this forked process."""
        self._beginning, self._thread = Lock(), None

    def take(self) -> None:
        """Write the graph down as it is now."""
        journal = self._live.journal
        journal.check_process()
        with journal.snapping:
            checkpoints = journal.store.checkpoints
            if checkpoints is None:
                raise StoreError(
                    "this graph is kept in memory; make it with path=... to write it down"
                )
            with journal.changed, self._live.turn(beside_stream=True):
                number, is_small = checkpoints.begin(), checkpoints.is_small
                if is_small:
                    checkpoints.write(journal.state, number, self._live.blocks())
            if not is_small:
                self._run_beside(checkpoints.path, number)
            with journal.changed, self._live.turn(beside_stream=True):
                checkpoints.use(number)
                journal.forget()
        checkpoints.clear()  # which takes a while for a large file

    def begin(self, after: int | None) -> None:
        """Begin one in the background, if the log has so many bytes and none is under way."""
        journal = self._live.journal
        checkpoints = journal.store.checkpoints
        if after is None or checkpoints is None or journal.readonly:
            return
        grown = checkpoints.behind - self._failed_at
        if grown < after or grown < checkpoints.size // SHARE or journal.snapping.locked():
            return
        with self._beginning:
            if not self._is_stopped and (self._thread is None or not self._thread.is_alive()):
                self._thread = Thread(
                    target=self._try, args=(checkpoints,), name="snapshot", daemon=True
                )
                self._thread.start()

    def _try(self, checkpoints: Checkpoints) -> None:
        """Take one in the background: log what fails, and try again later."""
        try:
            self.take()
            self.failure, self._failed_at = None, 0
        except (JoinGraphError, OSError, MemoryError) as error:
            if not self._is_stopped:
                log.warning("%s: no snapshot was made: %s", checkpoints.path, error)
                self.failure, self._failed_at = str(error), checkpoints.behind

    def wait(self) -> None:
        """Wait until the one under way in the background is done."""
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def stop(self) -> None:
        """Give up the one under way in the background, before the graph is closed."""
        with self._beginning:
            self._is_stopped = True
        if self._thread is not None and self._thread.is_alive():
            if self._process is not None:
                self._process.terminate()
            self._thread.join()

    def _run_beside(self, path: Path, number: int) -> None:
        """Run a process that writes a snapshot, and wait for it."""
        roots = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
        program = "-m", "joingraph.storage.checkpoints", str(path), str(number), str(os.getpid())
        with STARTING:
            process = self._process = subprocess.Popen(
                [sys.executable, *program],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, roots))},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        try:
            if self._is_stopped:
                process.terminate()
            _, text = process.communicate()
        finally:
            process.kill()  # which does nothing to one that has ended
            self._process = None
        if code := process.wait():
            lines = text.strip().splitlines() or [f"it ended with code {code}"]
            raise StoreError(f"no snapshot of {path} was made: {lines[-1]}")


def main(path: str, number: str, parent: str) -> int:
    """Write a snapshot for the process that started this one."""
    os.nice(NICE)
    try:
        write_beside(Path(path), int(number), lambda: os.getppid() == int(parent))
    except JoinGraphError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
