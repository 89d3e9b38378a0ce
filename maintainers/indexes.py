"""Declares a secondary index on the plain join graph; maintainers/rows.py keeps it from then on."""

from __future__ import annotations

from joingraph.graph.indexes import Index
from joingraph.graph.join_graph import Graph


def index(graph: Graph, column: str) -> None:
    """Index an output column that is kept as it is; a column that has an index keeps it."""
    if column not in graph.indexes:
        graph.indexes[column] = filled(graph, column)


def filled(graph: Graph, column: str) -> Index:
    """Make an index of what the graph holds now."""
    (value,) = (each.value for each in graph.plan.definition.output if each.name == column)
    new = Index(graph.plan.slots[value])
    for each in graph.tuples[new.slot.alias].values():
        for row in each.rows:
            new.add(each, row)
    return new
