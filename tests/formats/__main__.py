"""Makes the folder of the format that is written now: `python -m tests.formats`."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import joingraph as jg
from joingraph.storage.disk.folder import FORMAT
from tests.formats.history import VIEW, batches, told


def main() -> None:
    """Make a graph with a snapshot, a log behind it, and something of everything in both."""
    made = Path(__file__).parent / f"v{FORMAT}"
    made.mkdir()
    with jg.JoinGraph(
        VIEW, made / "graph", on_missing="quarantine", key_index=["tweet"], engine="compiled"
    ) as graph:
        graph.load({"follower": [(1, 10), (1, 11), (2, 12)]}, source="followers", position="a")
        graph.index("id")
        feed = batches()
        for number, batch in enumerate(islice(feed, 8), 1):
            graph.apply(batch, source="feed", position=number)
        graph.subscribe("search")
        graph.snapshot()
        for number, batch in enumerate(islice(feed, 4), 9):
            graph.apply(batch, source="feed", position=number)
        graph.insert("follower", [(1, 300), (2, None)])
        graph.update("follower", [(2, None)], [(2, 301)])
        graph.expire("tweet", "id < 3")
        expected = told(graph)
    (made / "graph" / "lock").unlink()  # it names this machine
    (made / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
