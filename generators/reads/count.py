"""Counts the view's rows, or those that meet conditions, without making them.

A side of a join vertex sends one number across it for each vertex value: how many ways there are
to go on beyond. A condition on one alias filters the rows that its numbers sum up. Conditions over
several aliases need values, not numbers, and so do residual predicates: the smallest part of the
join tree that holds their aliases is walked path by path, and all around it is sent as numbers.

    R --- S --- T --- U      residual over S and T: paths of S --- T; R and U send numbers

Only what can be reached from the starts sends anything. Numbers are Python's: they never wrap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from joingraph.expressions.tree import Expression, aliases_of
from joingraph.generators.paths import Path, Step, keep_true, walk
from joingraph.generators.reads.starts import best_way, counted, groups
from joingraph.graph.join_graph import Graph, JoinTuple, LookAhead, VertexValue
from joingraph.plan.kept_columns import is_total
from joingraph.plan.model import Hop, Leg, Plan
from joingraph.reads.access_paths import Everyone
from joingraph.reads.requests import Reading, legs

Messages = Mapping[int, Mapping[VertexValue, int]]  # alias -> what it sends to each vertex value
Reached = Mapping[int, Sequence[JoinTuple]]  # alias -> its join tuples that a walk could enter


def count(graph: Graph, look: LookAhead, conditions: tuple[Expression, ...] = ()) -> int:
    """Count the view's rows that meet conditions, with their multiplicities."""
    plan = graph.plan
    readers = aliases_to_walk(plan, conditions)
    way = best_way(graph, Reading(conditions))
    if isinstance(way, Everyone):  # then it may start where fewer aliases are walked
        way = Everyone(min(readers, default=way.alias))
    tests, route = legs(plan, way.alias, conditions)
    walked = between(plan, way.alias, readers)
    steps = (counted(plan, step) for group in groups(graph, way) for step in group)
    begun = list(keep_true(plan, steps, tests))
    near = reached(graph, way.alias, begun)
    sent = messages(graph, near, [leg for leg in route if leg.hop.alias not in walked])
    inner = [leg for leg in route if leg.hop.alias in walked]
    outer = [leg.hop for leg in route if leg.hop.alias not in walked and leg.hop.near in walked]
    paths = walk(graph, look, begun, inner)
    return sum(path.times * around(graph, path, outer, sent) for path in paths)


def aliases_to_walk(plan: Plan, conditions: Iterable[Expression]) -> set[int]:
    """Find the aliases whose values must stand on a path; all, where a condition may fail.

    A row that is not in the view must not raise, so such a condition needs the complete path.
    """
    if not all(is_total(plan, each) for each in conditions):
        return {alias.index for alias in plan.aliases}
    index = {alias.name: alias.index for alias in plan.aliases}
    read = [aliases_of(each) for each in (*plan.residuals, *conditions)]
    return {index[name] for names in read if len(names) > 1 for name in names}


def between(plan: Plan, start: int, readers: Iterable[int]) -> set[int]:
    """Find the aliases on the way from a start to those that must be walked."""
    near = {hop.alias: hop.near for hop in plan.routes[start]}
    walked = {start}
    for reader in readers:
        while reader not in walked:
            walked.add(reader)
            reader = near[reader]
    return walked


def reached(graph: Graph, start: int, begun: Iterable[Path]) -> Reached:
    """Find the join tuples that can be met from the starts, the nearest aliases first."""
    plan = graph.plan
    steps = (path.steps[start] for path in begun)
    near = {start: list(dict.fromkeys(step.tuple for step in steps if step))}
    for hop in plan.routes[start]:
        place = plan.aliases[hop.near].vertices.index(hop.vertex)
        seat = plan.vertices[hop.vertex].seat(hop.alias)
        values = dict.fromkeys(each.values[place] for each in near[hop.near])
        near[hop.alias] = [each for value in values for each in value.tuples[seat]]
    return near


def messages(graph: Graph, near: Reached, route: Sequence[Leg]) -> Messages:
    """Send numbers towards the start, the farthest aliases first."""
    sent: dict[int, dict[VertexValue, int]] = {}
    hops = [leg.hop for leg in route]
    for hop, tests in reversed(route):
        beyond = [each for each in hops if each.near == hop.alias]
        place = graph.plan.aliases[hop.alias].vertices.index(hop.vertex)
        to: dict[VertexValue, int] = {}
        for each, rows in weighed(graph.plan, near[hop.alias], tests):
            value = each.values[place]
            to[value] = to.get(value, 0) + rows * ways(graph, each, beyond, sent)
        sent[hop.alias] = to
    return sent


def weighed(
    plan: Plan, tuples: Iterable[JoinTuple], tests: Sequence[Expression]
) -> Iterator[tuple[JoinTuple, int]]:
    """Yield join tuples with the base rows they stand for, of those that pass the tests."""
    if not tests:
        yield from ((each, sum(each.rows.values())) for each in tuples)
        return
    steps = (counted(plan, Step(each, row)) for each in tuples for row in each.rows)
    for path in keep_true(plan, steps, tests):
        (step,) = filter(None, path.steps)
        yield step.tuple, path.times


def ways(graph: Graph, at: JoinTuple, hops: list[Hop], sent: Messages) -> int:
    """Multiply what the aliases beyond a join tuple have sent to its vertex values."""
    vertices = graph.plan.aliases[at.alias].vertices
    return prod(sent[hop.alias].get(at.values[vertices.index(hop.vertex)], 0) for hop in hops)


def around(graph: Graph, path: Path, hops: list[Hop], sent: Messages) -> int:
    """Multiply what is sent to a walked path from all around."""
    return prod(
        ways(graph, step.tuple, [hop for hop in hops if hop.near == step.tuple.alias], sent)
        for step in path.steps
        if step
    )
