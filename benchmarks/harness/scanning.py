"""How fast a whole view is read, beside numpy copying as many bytes of columns on all cores.

    consumed  scan, every value added to a checksum        read    scan, batches dropped unread
    copied    numpy, into arrays that were written before  fresh   numpy, into new arrays

In turns, the best of several: a page of memory that is touched for the first time costs far more
than one that was written before, whichever thread touches it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.harness.checksum import Tally, tally
from benchmarks.harness.timing import seconds
from joingraph import JoinGraph

TURNS = 3
COMPARED = (
    "best of 3, all cores: seconds = scan_s with every value read into the checksum, read_s with "
    "batches dropped unread, copy_s numpy copying as many bytes of int64 columns between arrays "
    "written before, copy_fresh_s into new arrays"
)
Column: TypeAlias = npt.NDArray[np.int64]


def consume(graph: JoinGraph) -> Tally:
    """Read a whole view, every value of it."""
    total = Tally()
    for block in graph.scan():
        total += tally(block)
    return total


def measure(graph: JoinGraph) -> tuple[Tally, list[float]]:
    """Scan and copy in turns; return what was read, and the seconds of each way."""
    total, size, columns = consume(graph), 0, 1
    for block in graph.scan():
        size, columns = size + block.nbytes, block.num_columns
    cores = os.cpu_count() or 1
    source = [np.ones(max(size // 8 // columns, 1), np.int64) for _ in range(columns)]
    sources = [part for column in source for part in np.array_split(column, cores)]
    targets = [np.zeros_like(part) for part in sources]
    with ThreadPoolExecutor(cores) as pool:

        def on_all(task: Callable[..., object], *parts: list[Column]) -> None:
            deque(pool.map(task, *parts), maxlen=0)

        ways: list[Callable[[], object]] = [
            lambda: consume(graph),
            lambda: deque(graph.scan(), maxlen=0),
            lambda: on_all(np.copyto, targets, sources),
            lambda: on_all(np.copy, sources),
        ]
        turns = [[seconds(way) for way in ways] for _ in range(TURNS)]
    return total, [round(min(of_way), 6) for of_way in zip(*turns, strict=True)]
