"""Reads some of the view off the graph: rows that meet conditions, in order, as many as wanted.

    starts -> (walk: hop, test, hop, test, ...) -> complete paths -> the first k -> record batches

Where the order is that of sorted starts, the walk ends with the last row wanted; otherwise all
paths are sorted, and the first of them taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from joingraph.generators.paths import Path, walk
from joingraph.generators.reads.scan import in_batches
from joingraph.generators.reads.starts import best_way, sort, starts
from joingraph.graph.join_graph import Graph, JoinTuple, LookAhead
from joingraph.reads.access_paths import Way, sorting_alias
from joingraph.reads.requests import Reading, Touched, legs


def read(
    graph: Graph, look: LookAhead, reading: Reading, touched: Touched
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are asked for."""
    if reading.limit == 0:
        return
    way = best_way(graph, reading)
    paths = matching(graph, look, reading, way=way, touched=touched)
    if reading.order and sorting_alias(graph.plan, reading) != way.alias:
        paths = iter(sort(graph.plan, list(paths), reading.order))
    if reading.limit is not None:
        paths = limited(paths, reading.limit)
    yield from in_batches(graph, paths)


def matching(
    graph: Graph, look: LookAhead, reading: Reading, *, way: Way, touched: Touched
) -> Iterator[Path]:
    """Yield every complete path that meets the conditions, with its full multiplicity."""
    tests, route = legs(graph.plan, way.alias, reading.conditions)
    begun = starts(graph, reading, way, tests, touched=touched)
    return walk(graph, look, opened(look, begun, way.alias), route, touched=touched)


def opened(look: LookAhead, begun: Iterable[Path], start: int) -> Iterator[Path]:
    """Drop the starts from which no path can be completed."""
    last: JoinTuple | None = None
    is_open = False
    for path in begun:
        step = path.steps[start]
        assert step is not None, "a path that begins has the step it begins with"
        if step.tuple is not last:
            last, is_open = step.tuple, look.is_open(step.tuple, None)
        if is_open:
            yield path


def limited(paths: Iterable[Path], limit: int) -> Iterator[Path]:
    """Let through as many rows as are wanted; the last path may stand for more than that."""
    left = limit
    for path in paths:
        yield Path(path.steps, min(path.times, left))
        left -= path.times
        if left <= 0:
            return
