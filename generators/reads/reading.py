"""Reads some of the view off the graph: rows that meet conditions, in order, as many as wanted.

    starts -> (walk: enter, test, weigh, ...) -> complete paths -> sorted -> the first k -> batches

Where the order is that of sorted starts, the walk ends with the last row wanted; otherwise all
paths are sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from joingraph.generators.paths import Path
from joingraph.generators.reads.scan import in_batches
from joingraph.generators.reads.starts import best_way, sort, starts
from joingraph.generators.walk import Walker
from joingraph.graph.join_graph import Graph, LookAhead
from joingraph.plan.arrange import rows_program
from joingraph.plan.program import Program
from joingraph.reads.access_paths import Way, sorting_alias
from joingraph.reads.requests import Reading, Touched


def read(
    graph: Graph, look: LookAhead, reading: Reading, touched: Touched
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are asked for."""
    if reading.limit == 0:
        return
    way = best_way(graph, reading)
    order = tuple(each.value for each in reading.order)
    program = graph.plan.program(rows_program, way.alias, reading.conditions, order)
    paths = matching(graph, look, reading, way=way, program=program, touched=touched)
    if reading.order and sorting_alias(graph.plan, reading) != way.alias:
        paths = iter(sort(graph.plan, list(paths), reading.order))
    if reading.limit is not None:
        paths = limited(paths, reading.limit)
    yield from in_batches(graph, paths)


def matching(
    graph: Graph,
    look: LookAhead,
    reading: Reading,
    *,
    way: Way,
    program: Program,
    touched: Touched,
) -> Iterator[Path]:
    """Yield the paths of a program from where a way leads."""
    begun = starts(graph, reading, way, program.tests, touched=touched)
    opened = (path for path in begun if is_open(look, path, way.alias))
    return Walker(graph, look, touched).walk(opened, program.steps)


def is_open(look: LookAhead, path: Path, start: int) -> bool:
    """True if a path that begins may be completed."""
    step = path.steps[start]
    assert step is not None, "a path that begins has the step it begins with"
    return look.is_open(step.tuple, None)


def limited(paths: Iterable[Path], limit: int) -> Iterator[Path]:
    """Let through as many rows as are wanted; the last path may stand for more than that."""
    left = limit
    for path in paths:
        yield path._replace(times=min(path.times, left))
        left -= path.times
        if left <= 0:
            return
