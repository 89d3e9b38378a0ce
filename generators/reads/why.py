"""Finds the complete paths behind one row of the view.

The row's values are conditions, so the walk is a read with a `where`: it starts at a vertex value
or an index entry that the row names, and meets only what can lead to the row.
"""

from __future__ import annotations

from joingraph.generators.paths import Path
from joingraph.generators.reads.reading import matching
from joingraph.generators.reads.starts import best_way
from joingraph.generators.rows import view_rows
from joingraph.graph.join_graph import Graph, LookAhead
from joingraph.plan.arrange import paths_program
from joingraph.reads.requests import Reading, Touched
from joingraph.reads.row_lookup import Asked
from joingraph.reads.why import Kept


def why(graph: Graph, look: LookAhead, asked: Asked) -> list[tuple[Kept, ...]]:
    """Find the row's paths: what each alias keeps on them."""
    reading = Reading(asked.conditions)
    way = best_way(graph, reading)
    program = graph.plan.program(paths_program, way.alias, asked.conditions)
    touched = Touched()
    paths = list(matching(graph, look, reading, way=way, program=program, touched=touched))
    rows = view_rows(graph.plan, paths)
    return [kept(path) for path, row in zip(paths, rows, strict=True) if row == asked.words]


def kept(path: Path) -> tuple[Kept, ...]:
    """Return what each alias keeps on a path."""
    steps = filter(None, path.steps)
    return tuple(Kept(at.key, row, at.rows[row]) for at, row in steps)
