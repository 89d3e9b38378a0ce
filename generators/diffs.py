"""Makes view diffs of changes of the join graph: Algorithm 5 of the thesis, corrected.

    Change(R <1> ('bob',), +1)  ->  for every complete path through it, insert its view row
    Move(T <7><1> (d1,) -> (d2,))  ->  for every rest of a path, update its view row

A path's multiplicity is the change's own count times the counts of the other projected tuples.
Where only one side of a move meets the residual predicates, an insert or a delete is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from joingraph.generators.paths import Path, Step, complete_paths
from joingraph.graph import Change, Graph, LookAhead, Move


class Effect(NamedTuple):
    """What a change does to rows of the view: `times` of them go from one path to another."""

    pre: Path | None
    post: Path | None
    times: int


def effects(graph: Graph, look: LookAhead, change: Change | Move) -> Iterator[Effect]:
    """Yield what one change of the graph does to the view."""
    if isinstance(change, Move):
        yield from moved(graph, look, change)
        return
    for path in complete_paths(graph, look, Step(change.tuple, change.row)):
        if change.times > 0:
            yield Effect(None, path, path.times * change.times)
        else:
            yield Effect(path, None, path.times * -change.times)


def moved(graph: Graph, look: LookAhead, move: Move) -> Iterator[Effect]:
    """Pair the paths before and after a move that share all their other steps."""
    alias = move.tuple.alias
    before, after = (
        {rest(path, alias): path for path in complete_paths(graph, look, Step(move.tuple, row))}
        for row in (move.pre, move.post)
    )
    for other_steps, path in before.items():
        yield Effect(path, after.get(other_steps), path.times)
    for other_steps, path in after.items():
        if other_steps not in before:
            yield Effect(None, path, path.times)


def rest(path: Path, alias: int) -> tuple[Step | None, ...]:
    """Give the steps of a path but one."""
    return path.steps[:alias] + path.steps[alias + 1 :]
