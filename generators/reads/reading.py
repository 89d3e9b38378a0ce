"""Reads some of the view off the graph: rows that meet conditions, in order, as many as wanted.

    starts -> (walk: enter, test, weigh, ...) -> complete paths -> sorted -> the first k -> batches

Where the order is that of sorted starts, the walk ends with the last row wanted; otherwise all
paths are sorted. A count enters only the aliases that predicates tie together, and weighs all
around them; its numbers are Python's, which never wrap. The paths behind one row of the view are a
read whose conditions are the row's values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count as count_from

import pyarrow as pa

from joingraph.expressions.tree import Expression
from joingraph.generators.paths import LIVES, Path, Step, at_value, pieces
from joingraph.generators.reads.scan import in_batches
from joingraph.generators.reads.starts import best_way, sort, starts
from joingraph.generators.rows import view_rows
from joingraph.generators.walk import Walker
from joingraph.graph.join_graph import Graph, LookAhead
from joingraph.plan.arrange import (
    aliases_tied,
    count_program,
    paths_program,
    rows_program,
)
from joingraph.plan.program import Program
from joingraph.reads.access_paths import Way, sorting_alias, starting_in, starting_without
from joingraph.reads.requests import Reading, Touched
from joingraph.reads.row_lookup import Asked
from joingraph.reads.why import Kept


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
    has_all: bool = False,
) -> Iterator[Path]:
    """Yield the paths of a program from where a way leads."""
    begun = starts(graph, reading, way, program.tests, touched=touched)
    opened = (path for path in begun if is_open(look, path, way.alias))
    walker = Walker(graph, look, touched)
    yield from walker.walk(opened, program.steps)
    yield from without_start(walker, reading, way.alias, has_all=has_all)


def without_start(
    walker: Walker,
    reading: Reading,
    start: int,
    *,
    unasked: Sequence[Expression] = (),
    has_all: bool = False,
) -> Iterator[Path]:
    """Yield the paths on which the alias is missing where reads start (reads/access_paths.py)."""
    plan, number = walker.plan, count_from(0)
    first, every = reading.part
    ways = starting_without(plan, reading, start, unasked=unasked, has_all=has_all)
    for vertex, leading, program in ways:
        seat = plan.vertices[vertex].seat(leading)
        for value in walker.graph.values[vertex].values():
            if not walker.look.lives(value, seat) and next(number) % every == first:
                yield from walker.walk([at_value(plan, value)], program.steps)


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


def count(graph: Graph, look: LookAhead, conditions: tuple[Expression, ...] = ()) -> int:
    """Count the view's rows that meet conditions, with their multiplicities."""
    reading = Reading(conditions)
    plan = graph.plan
    way = best_way(graph, reading)
    way = starting_in(plan, aliases_tied(plan, conditions), way, conditions)
    program = plan.program(count_program, way.alias, conditions)
    paths = matching(graph, look, reading, way=way, program=program, touched=Touched())
    return sum(path.times for path in paths)


def why(graph: Graph, look: LookAhead, asked: Asked) -> list[tuple[Kept | None, ...]]:
    """Find the row's paths: what each alias keeps on them."""
    reading = Reading(asked.conditions)
    way = best_way(graph, reading)
    program = graph.plan.program(paths_program, way.alias, asked.conditions)
    paths = matching(
        graph, look, reading, way=way, program=program, touched=Touched(), has_all=True
    )
    found = list[tuple[Kept | None, ...]]()
    for piece in pieces(paths):
        if asked.is_full(len(found)):
            break
        rows = zip(piece, view_rows(graph.plan, piece), strict=True)
        found += [tuple(map(kept, path.steps)) for path, row in rows if row == asked.words]
    return found[: asked.limit]


def kept(step: Step | None) -> Kept | None:
    """Return what an alias keeps where a path passes it; None where it is missing, or not shown."""
    if step is None or step.tuple.is_null:
        return None
    if step.tuple is LIVES:
        return Kept((), step.row, 1)
    return Kept(step.tuple.key, step.row, step.tuple.rows[step.row])
