"""Makes view diffs of changes of the join graph: Algorithm 5 of the thesis, corrected.

    Change(R <1> ('bob',), +1)  ->  for every complete path through it, insert its view row
    Move(T <7><1> (d1,) -> (d2,))  ->  for every rest of a path, update its view row

A path's multiplicity is the change's own count times the counts of the other projected tuples.
Where only one side of a move meets the residual predicates, an insert or a delete is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from joingraph.expressions.evaluate import NoAnswer
from joingraph.expressions.tree import Expression
from joingraph.generators.paths import Path, Step, at_value, keep_true
from joingraph.generators.walk import Walker
from joingraph.graph.join_graph import Change, Flip, Graph, LookAhead, Move
from joingraph.plan.arrange import around_program, rows_program
from joingraph.plan.model import Plan
from joingraph.reads.unanswered import checks_of, unanswered

Rest = tuple[Step | None, ...]


class Effect(NamedTuple):
    """What a change does to rows of the view: `times` of them go from one path to another."""

    pre: Path | None
    post: Path | None
    times: int


def effects(graph: Graph, look: LookAhead, change: Change | Move | Flip) -> Iterator[Effect]:
    """Yield what one change of the graph does to the view."""
    if isinstance(change, Flip):
        yield from flipped(graph, look, change)
        return
    if graph.plan.aliases[change.tuple.alias].is_silent:
        return
    if isinstance(change, Move):
        yield from moved(graph, look, change)
        return
    step = Step(change.tuple, change.row)
    if change.times > 0:
        for path in complete_paths(graph, look, step):
            yield Effect(None, path, path.times * change.times)
    else:
        for path in answered_paths(graph, look, step):
            yield Effect(path, None, path.times * -change.times)


def flipped(graph: Graph, look: LookAhead, flip: Flip) -> Iterator[Effect]:
    """Yield what becomes of the rows around a vertex value as a seat is no longer empty, or is.

    The rows of NULLs go as the first partner comes; rows that ask for one come, or go.
    """
    plan, value = graph.plan, flip.value
    at = plan.vertices[value.vertex]
    alias, mode = at.aliases[flip.seat], at.modes[flip.seat]
    if all(plan.aliases[other].is_silent for other in at.aliases if other != alias):
        return
    for told in (True, False) if mode == "mark" else (None,):
        for path in around(graph, look, flip, told):
            comes = flip.is_up == (mode == "semi" if told is None else told)
            yield Effect(None, path, path.times) if comes else Effect(path, None, path.times)


def around(graph: Graph, look: LookAhead, flip: Flip, told: bool | None) -> list[Path]:
    """Return the complete paths through a vertex value, one of its seats apart."""
    vertex = flip.value.vertex
    alias = graph.plan.vertices[vertex].aliases[flip.seat]
    program = graph.plan.program(around_program, vertex, alias, told)
    return list(Walker(graph, look).walk([at_value(graph.plan, flip.value)], program.steps))


def moved(graph: Graph, look: LookAhead, move: Move) -> Iterator[Effect]:
    """Pair the paths before and after a move that share all their other steps."""
    alias = move.tuple.alias
    before, after = (
        {rest(path, alias): path for path in paths_through(graph, look, Step(move.tuple, row))}
        for paths_through, row in ((answered_paths, move.pre), (complete_paths, move.post))
    )
    for other_steps, path in before.items():
        yield Effect(path, after.get(other_steps), path.times)
    for other_steps, path in after.items():
        if other_steps not in before:
            yield Effect(None, path, path.times)


def rest(path: Path, alias: int) -> Rest:
    """Return the steps of a path but one."""
    return path.steps[:alias] + path.steps[alias + 1 :]


def complete_paths(graph: Graph, look: LookAhead, start: Step) -> list[Path]:
    """Return the complete paths through a step, as far as the view's rows need them."""
    program = graph.plan.program(rows_program, start.tuple.alias)
    return list(Walker(graph, look).through(start, program))


def answered_paths(graph: Graph, look: LookAhead, start: Step) -> list[Path]:
    """Return the complete paths through a step that goes, but for those without an answer.

    Where a predicate could not be computed, the view never had the row.
    """
    try:
        return complete_paths(graph, look, start)
    except NoAnswer:
        plan = graph.plan
        tests = checks_of(plan, ()).tests
        unasked = plan.program(rows_program, start.tuple.alias).without(tests)
        paths = list(Walker(graph, look).through(start, unasked))
        for test in tests:
            compute = partial(true_paths, plan, paths, test)
            lost = {row for row, _ in unanswered(len(paths), compute)}
            paths = [path for row, path in enumerate(paths) if row not in lost]
            paths = true_paths(plan, paths, test, slice(None))
        return paths


def true_paths(plan: Plan, paths: list[Path], test: Expression, some: slice) -> list[Path]:
    """Return those of some paths on which a condition is TRUE."""
    return list(keep_true(plan, paths[some], (test,)))
