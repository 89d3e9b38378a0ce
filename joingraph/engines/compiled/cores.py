"""Emits the paths of many inserts on all cores, in the order in which one core would.

    ops      | carried out one by one | linked in silence | ...
    pieces                            |  0 |  1 |  2 |  3 |    walked at once, each by one walker
    paths    | block | block          | of 0 | of 1 | of 2 | of 3 |

No program enters its start alias: which rows of an alias are linked changes no path of its other
rows. So a run of one alias' inserts is linked first and walked in any order, by kernels that
release the GIL. The graph stands still until the last walker is done, whatever is raised: `close`
waits for them, and the next change of the graph begins with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Condition, Thread

from joingraph.engines.compiled.maintain import walk_linked
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.machine.kernel import check_fences
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.graph.compiled.memory.walk_state import WalkState

PIECE_BLOCKS = 4  # of paths in a piece, as far as the ops before it tell
PIECES = 4  # of a wave, for each walker


class Cores:
    """The walkers of one graph."""

    def __init__(self, memory: GraphMemory) -> None:
        self._memory = memory
        self._states: list[WalkState] = []
        self._wave: Wave | None = None

    def paths(self, ops: Sequence[range], cores: int) -> list[Paths]:
        """Return the paths of inserts that were linked, given in pieces."""
        count = min(cores, len(ops))
        while len(self._states) < count:
            self._states.append(WalkState(self._memory))
        self._wave = Wave(ops)
        try:
            return self._wave.walk(self._states[:count])
        finally:
            self.close()

    def close(self) -> None:
        """Wait until no walker reads the graph."""
        if self._wave is not None:
            self._wave.close()
            self._wave = None


class Wave:
    """Pieces of ops that are walked at once."""

    def __init__(self, pieces: Sequence[range]) -> None:
        self._pieces = iter(enumerate(pieces))
        self.found: list[list[Paths]] = [[] for _ in pieces]
        self._changed = Condition()
        self._helping, self._is_closed = 0, False
        self._error: BaseException | None = None

    def walk(self, states: Sequence[WalkState]) -> list[Paths]:
        """Walk all pieces in this thread and one more for each other state; return the paths."""
        for state in states[1:]:
            Thread(target=self._help, args=(state,), name="joingraph-walk", daemon=True).start()
        self._walk(states[0])
        self.close()
        if self._error is not None:
            raise self._error
        return [paths for piece in self.found for paths in piece]

    def close(self) -> None:
        """Let no walker begin another piece, and wait for those that are amid one."""
        with self._changed:
            self._is_closed = True
            self._changed.wait_for(lambda: not self._helping)

    def _help(self, state: WalkState) -> None:
        """Walk in another thread: exceptions of signals are raised in the main one alone."""
        with self._changed:
            if self._is_closed:
                return
            self._helping += 1
        try:
            self._walk(state)
        except BaseException as error:  # noqa: BLE001 - `walk` raises it
            self._error = error
        finally:
            with self._changed:
                self._helping -= 1
                self._changed.notify_all()

    def _walk(self, state: WalkState) -> None:
        """Walk piece after piece."""
        try:
            with self._changed:  # blocks are handed out to one thread at a time
                state.begin()
            while (taken := self._take()) is not None:
                self.walk_piece(state, *taken)
        finally:
            state.filling.end()

    def _take(self) -> tuple[int, range] | None:
        with self._changed:
            is_over = self._is_closed or self._error is not None
            return None if is_over else next(self._pieces, None)

    def walk_piece(self, state: WalkState, number: int, ops: range) -> None:
        """Walk from each row of a piece, and keep the blocks of paths in their order."""
        state.walk_from(ops.start)
        ended = f.FULL
        while ended == f.FULL:
            ended = walk_linked(state.st, ops.stop)
            check_fences()
            if state.words[f.ROWS]:
                with self._changed:
                    self.found[number].append(state.filling.paths())
            state.words[f.ROWS] = state.words[f.SEGMENT_COUNT] = 0
