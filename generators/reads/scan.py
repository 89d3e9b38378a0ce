"""Turns complete paths into rows of the view: Algorithm 6 of the thesis, its last part.

Out: record batches of at most `BLOCK` rows, rows repeated by their multiplicity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.generators.paths import Path, shown
from joingraph.graph.join_graph import Graph

BLOCK = 65_536  # rows a record batch holds at the most


def in_batches(graph: Graph, paths: Iterable[Path]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of paths, in their order."""
    rest = iter(paths)
    while some := list(islice(rest, BLOCK)):
        yield from blocks(graph, some)


def blocks(graph: Graph, paths: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    """Compute the rows of paths and repeat each by its multiplicity, in bounded batches."""
    for part, rows in shown(graph.plan, paths):
        for numbers in repeated([path.times for path in part]):
            yield from texts.picked(rows, numbers)


def repeated(counts: list[int]) -> Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Yield each index as often as its count says, at most `BLOCK` of them at a time."""
    pending: list[tuple[int, int]] = []
    room = BLOCK
    for index, count in enumerate(counts):
        while count:
            part = min(count, room)
            pending.append((index, part))
            count, room = count - part, room - part
            if not room:
                yield np.repeat(*map(np.array, zip(*pending, strict=True)))
                pending, room = [], BLOCK
    if pending:
        yield np.repeat(*map(np.array, zip(*pending, strict=True)))
