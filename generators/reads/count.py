"""Counts the view's rows, or those that meet conditions, without making them.

Only the aliases that predicates tie together are entered; all around them are weighed.

    R --- S --- T --- U      residual over S and T: paths of S --- T; R and U are sums

Numbers are Python's: they never wrap.
"""

from __future__ import annotations

from joingraph.expressions.tree import Expression
from joingraph.generators.reads.reading import matching
from joingraph.generators.reads.starts import best_way
from joingraph.graph.join_graph import Graph, LookAhead
from joingraph.plan.arrange import aliases_tied, count_program
from joingraph.reads.access_paths import starting_in
from joingraph.reads.requests import Reading, Touched


def count(graph: Graph, look: LookAhead, conditions: tuple[Expression, ...] = ()) -> int:
    """Count the view's rows that meet conditions, with their multiplicities."""
    reading = Reading(conditions)
    way = starting_in(aliases_tied(graph.plan, conditions), best_way(graph, reading))
    program = graph.plan.program(count_program, way.alias, conditions)
    paths = matching(graph, look, reading, way=way, program=program, touched=Touched())
    return sum(path.times for path in paths)
