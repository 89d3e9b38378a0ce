"""Counts the view's rows without making them.

A side of a join vertex sends one number across it for each vertex value: how many ways there are
to go on beyond. Residual predicates need values, not numbers: the smallest part of the join tree
that holds their aliases is walked path by path, and everything around it is sent as numbers.

    R --- S --- T --- U      residual over S and T: paths of S --- T; R and U send numbers

Numbers are Python's, so they never wrap.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from joingraph.expression import aliases_of
from joingraph.generators.paths import Path, Step, walk
from joingraph.graph import Graph, JoinTuple, LookAhead, VertexValue
from joingraph.plan.model import Hop, Plan

Messages = Mapping[int, Mapping[VertexValue, int]]  # alias -> what it sends to each vertex value


def count(graph: Graph, look: LookAhead) -> int:
    """Count the view's rows with their multiplicities."""
    start, walked = walked_part(graph.plan)
    route = graph.plan.routes[start]
    sent = messages(graph, [hop for hop in route if hop.alias not in walked])
    inner = [hop for hop in route if hop.alias in walked]
    outer = [hop for hop in route if hop.alias not in walked and hop.near in walked]
    return sum(
        times * path.times * around(graph, path, outer, sent)
        for each in graph.tuples[start].values()
        for row, times in each.rows.items()
        for path in walk(graph, look, Step(each, row), inner)
    )


def walked_part(plan: Plan) -> tuple[int, set[int]]:
    """Choose where to start, and the aliases between those that residual predicates read."""
    index = {alias.name: alias.index for alias in plan.aliases}
    readers = {index[name] for each in plan.residuals for name in aliases_of(each)}
    start = min(readers, default=0)
    near = {hop.alias: hop.near for hop in plan.routes[start]}
    walked = {start}
    for reader in readers:
        while reader not in walked:
            walked.add(reader)
            reader = near[reader]
    return start, walked


def messages(graph: Graph, hops: list[Hop]) -> Messages:
    """Send numbers towards the start, the farthest aliases first."""
    sent: dict[int, dict[VertexValue, int]] = {}
    for hop in reversed(hops):
        beyond = [each for each in hops if each.near == hop.alias]
        place = graph.plan.aliases[hop.alias].vertices.index(hop.vertex)
        to: dict[VertexValue, int] = {}
        for each in graph.tuples[hop.alias].values():
            value = each.values[place]
            to[value] = to.get(value, 0) + sum(each.rows.values()) * ways(graph, each, beyond, sent)
        sent[hop.alias] = to
    return sent


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
