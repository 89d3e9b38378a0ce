"""What is killed: a process that applies batches, snapshots, and follows its own subscription.

It tells through a pipe, a line each: opening, opened, applied k, told s, acked s, saving, saved.
"""

from __future__ import annotations

import os
import random
import sys
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import joingraph as jg
from joingraph.storage.disk import disk, log
from tests.bags import fold
from tests.crash.feed import batches

SEGMENT_BYTES = 3_000  # so that the log goes on in a new file every few batches
GROWN_BYTES = 9_000  # so that snapshots are taken by themselves now and then
SAVING, SAVING_BESIDE = 0.05, 0.5  # of the batches that a snapshot is taken after


class Life(NamedTuple):
    """One life of the process; `beside`: its snapshots are written by another one.

    With an odd seed there are a subscriber and positions. Else nobody asks for view diffs again,
    and batches are logged before they are carried out.
    """

    folder: Path
    seed: int
    number: int
    beside: Path | None


def live(life: Life, pipe: int) -> None:
    """Go on where the life before was ended, until this one is."""
    chance = random.Random(life.seed * 1_000_003 + life.number)
    log.SEGMENT_BYTES = SEGMENT_BYTES
    if life.beside is not None:
        disk.SMALL_BYTES, sys.executable = 0, str(life.beside)

    def tell(text: str) -> None:
        os.write(pipe, f"{text}\n".encode())

    tell("opening")
    graph = jg.open(life.folder)
    graph.snapshot_after = GROWN_BYTES
    subscription = graph.subscribe("watch") if life.seed % 2 else None
    done = graph.seq
    tell(f"opened {done}")
    feed = islice(batches(life.seed), done, None)
    for number, batch in zip(count(done + 1), feed, strict=False):
        if subscription is None:
            graph.apply(batch)
        else:
            graph.apply(batch, source="feed", position=number)
        tell(f"applied {number}")
        if subscription is not None and chance.random() < 0.3:
            for diff in subscription:
                tell(f"told {diff.seq} {sorted(fold(diff.rows()).items())!r}")
                subscription.ack(diff.seq)
                tell(f"acked {diff.seq}")
        if chance.random() < (SAVING if life.beside is None else SAVING_BESIDE):
            tell("saving")
            graph.snapshot()
            tell("saved")
