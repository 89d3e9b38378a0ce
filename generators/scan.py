"""Reads the whole view off the join graph: Algorithm 6 of the thesis.

From every join tuple of one starting alias, all complete paths; which alias starts does not change
the rows. Out: record batches of at most `BLOCK` rows, rows repeated by their multiplicity.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from joingraph.generators.paths import Path, Step, complete_paths, output
from joingraph.graph import Graph, LookAhead

BLOCK = 65_536  # rows a record batch holds at the most


def scan(graph: Graph, look: LookAhead, start: int) -> Iterator[pa.RecordBatch]:
    """Yield the view's rows, starting from one alias."""
    waiting: list[Path] = []
    for path in all_paths(graph, look, start):
        waiting.append(path)
        if len(waiting) == BLOCK:
            yield from blocks(graph, waiting)
            waiting = []
    if waiting:
        yield from blocks(graph, waiting)


def all_paths(graph: Graph, look: LookAhead, start: int) -> Iterator[Path]:
    """Yield every complete path with its full multiplicity."""
    for each in graph.tuples[start].values():
        for row, count in each.rows.items():
            for path in complete_paths(graph, look, Step(each, row)):
                yield Path(path.steps, path.times * count)


def blocks(graph: Graph, paths: list[Path]) -> Iterator[pa.RecordBatch]:
    """Compute the rows of paths and repeat each by its multiplicity, in bounded batches."""
    schema = graph.plan.definition.schema
    rows = pa.record_batch(output(graph.plan, paths), schema=schema)
    for numbers in repeated([path.times for path in paths]):
        yield rows.take(pa.array(numbers))


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
