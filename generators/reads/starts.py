"""Where a read of the graph starts: the steps of one alias that a way leads to, tested, in order.

    AtVertex F {7}   ->   F <7> ('bob',)   F <7> ('eve',)        then tests, then sorting

In: a reading, and the way chosen for it. Out: paths of one step each, with its count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from joingraph.expressions.order import Order, in_order
from joingraph.expressions.tree import Expression
from joingraph.generators.paths import Path, Step, begin, keep_true, output_column
from joingraph.graph.indexes import ordered, within
from joingraph.graph.join_graph import Graph, JoinTuple
from joingraph.plan.model import Plan
from joingraph.reads.access_paths import (
    AtIndex,
    AtVertex,
    Everyone,
    InOrder,
    Way,
    choose,
    sorting_alias,
)
from joingraph.reads.requests import Reading, Touched


def best_way(graph: Graph, reading: Reading) -> Way:
    """Choose the way with the fewest starts."""
    return choose(graph.plan, reading, graph.indexes, partial(size, graph))


def size(graph: Graph, way: Way) -> int:
    """Return how many starts a way has: join tuples, or the projected tuples an index lists."""
    match way:
        case AtVertex():
            return sum(1 for _ in sitting(graph, way))
        case AtIndex(_, column, spans):
            return sum(len(within(graph, column, span)) for span in spans)
        case Everyone(alias) | InOrder(alias, _, _, _):
            return graph.size(alias)


def starts(
    graph: Graph, reading: Reading, way: Way, tests: Sequence[Expression], *, touched: Touched
) -> Iterator[Path]:
    """Yield the starts of a read that meet the conditions on their alias, sorted if that helps."""
    plan = graph.plan
    is_sorted = sorting_alias(plan, reading) == way.alias
    first, every = reading.part
    for group in groups(graph, way):
        steps = noted(islice(group, first, None, every), touched)
        paths = keep_true(plan, (counted(plan, step) for step in steps), tests)
        yield from sort(plan, list(paths), reading.order) if is_sorted else paths


def groups(graph: Graph, way: Way) -> Iterator[Iterable[Step]]:
    """Yield the steps a way leads to: value by value if it has an order, else all in one group."""
    match way:
        case InOrder(_, column, descending, nulls_first):
            for places in ordered(graph, column, descending=descending, nulls_first=nulls_first):
                yield [Step(at, row) for at, row in places]
        case AtIndex(_, column, spans):
            yield (Step(at, row) for span in spans for at, row in within(graph, column, span))
        case AtVertex():
            yield (Step(at, row) for at in sitting(graph, way) for row in at.rows)
        case Everyone(alias):
            yield (Step(at, row) for at in graph.of_alias(alias) for row in at.rows)


def sitting(graph: Graph, way: AtVertex) -> Iterator[JoinTuple]:
    """Yield the join tuples of an alias at vertex values."""
    seat = graph.plan.vertices[way.vertex].seat(way.alias)
    for words in way.words:
        value = graph.find(way.vertex, words)
        if value is not None:
            yield from value.tuples[seat]


def noted(steps: Iterable[Step], touched: Touched) -> Iterator[Step]:
    """Count the steps that go by, and their join tuples."""
    last = None
    for step in steps:
        touched.join_tuples += step.tuple is not last
        touched.projected_tuples += 1
        last = step.tuple
        yield step


def counted(plan: Plan, step: Step) -> Path:
    """Begin a path that stands for all base rows of its step."""
    return begin(plan, step, step.tuple.rows[step.row])


def sort(plan: Plan, paths: Sequence[Path], order: Sequence[Order]) -> list[Path]:
    """Put paths in order, equal ones as they came."""
    columns = [output_column(plan, paths, each.value) for each in order]
    return [paths[number] for number in in_order(order, columns)]
