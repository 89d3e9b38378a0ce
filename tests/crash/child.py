"""What is killed: a process that applies batches, snapshots, and follows its own subscription.

It tells through a pipe, a line each: opening, opened, applied k, told s, acked s, saved.
"""

from __future__ import annotations

import os
import random
from itertools import count, islice
from pathlib import Path

import joingraph as jg
from joingraph.stores import log
from tests.bags import fold
from tests.crash.feed import batches

SEGMENT_BYTES = 3_000  # so that the log goes on in a new file every few batches


def live(folder: Path, seed: int, life: int, pipe: int) -> None:
    """Go on where the life before was ended, until this one is."""
    chance = random.Random(seed * 1_000_003 + life)
    log.SEGMENT_BYTES = SEGMENT_BYTES

    def tell(text: str) -> None:
        os.write(pipe, f"{text}\n".encode())

    tell("opening")
    graph = jg.open(folder)
    subscription = graph.subscribe("watch")
    done = int(str(graph.positions().get("feed", 0)))
    tell(f"opened {done}")
    for number, batch in zip(count(done + 1), islice(batches(seed), done, None), strict=False):
        graph.apply(batch, source="feed", position=number)
        tell(f"applied {number}")
        if chance.random() < 0.3:
            for diff in subscription:
                tell(f"told {diff.seq} {sorted(fold(diff.rows()).items())!r}")
                subscription.ack(diff.seq)
                tell(f"acked {diff.seq}")
        if chance.random() < 0.05:
            graph.snapshot()
            tell("saved")
