"""What keeps a live graph beyond its process: waits, snapshots, and the folder that is handed on.

wait(number)    what a change ends with: its record is as durable as was promised
rebuild(view)   the graph, and its folder, go on with another view
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from joingraph.engines.change_of_view import load_from, still_there
from joingraph.plan.view import View, check_view
from joingraph.storage.attempt import Attempt
from joingraph.storage.checkpoints import SNAPSHOT_AFTER, Snapshots
from joingraph.storage.live_graph import LiveGraph
from joingraph.storage.open_graph import for_view
from joingraph.storage.recovery import blocks_of


class Durability:
    """How a graph outlives its process."""

    def __init__(self, live: LiveGraph) -> None:
        self._live = live
        self.snapshot_after: int | None = SNAPSHOT_AFTER
        self.snapshots = Snapshots(live)

    def wait(self, number: int) -> None:
        """Wait until a record is as durable as was promised; take a snapshot if one is due."""
        store = self._live.journal.store
        if not store.is_durable:
            return
        try:
            store.sync(number)
        except BaseException as error:
            if store.failed is not None:
                self._live.fail(error)
            raise
        self.snapshots.begin(self.snapshot_after)

    def stats(self) -> dict[str, Any]:
        """Return the size of the log and of the last snapshot, where there are any."""
        checkpoints = self._live.journal.store.checkpoints
        if checkpoints is None:
            return {}
        return {
            "log": {
                "bytes_after_snapshot": checkpoints.behind,
                "snapshot_bytes": checkpoints.size,
                "snapshot_failed": self.snapshots.failure,
            }
        }

    def rebuild(self, view: View) -> None:
        """Go on with another view over the same rows: the new graph is made beside the old one."""
        check_view("rebuild(view)", view)
        live = self._live
        with live.journal.snapping, live.lock:
            live.begin_writing()
            keeping, journal = for_view(live.keeping, view), live.journal
            new, engine = keeping.owner.view, keeping.make()
            load_from(live.settled(), live.view, new, engine)
            aside = [each for each in live.quarantined if each.table in new.tables]
            state = replace(journal.state, indexes=still_there(journal.state.indexes, new))
            for column in state.indexes:
                engine.index(column)

            checkpoints = journal.store.checkpoints

            def go_on() -> None:
                if checkpoints is not None and not checkpoints.take_over(keeping.owner):
                    return  # the folder is of the view of before
                journal.state, live.quarantined = state, aside
                live.engine, live.keeping = engine, keeping

            def rebuild(attempt: Attempt) -> None:
                attempt.then = go_on
                if checkpoints is not None:
                    checkpoints.hand_over(keeping.owner, state, blocks_of(engine, aside, new))

            live.change(rebuild)

    def close(self) -> None:
        """Give memory and folder back, once no snapshot is under way."""
        self.snapshots.stop()
        self._live.close()
