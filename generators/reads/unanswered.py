"""Finds a complete path on which the view has no answer (joingraph/reads/unanswered.py).

In: where to start, and the conditions that paths must meet. Out: the first such path. Only the
aliases that the checks read are entered; the others are weighed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain

from joingraph.expressions.evaluate import evaluate, holds
from joingraph.expressions.tree import Expression
from joingraph.generators.paths import LIVES, Path, Step, keep_true, kept_columns, pieces
from joingraph.generators.reads.reading import without_start
from joingraph.generators.reads.starts import best_way, counted, groups
from joingraph.generators.walk import Walker
from joingraph.graph.join_graph import Graph, Image, LookAhead
from joingraph.reads.access_paths import starting_in
from joingraph.reads.requests import Reading
from joingraph.reads.unanswered import (
    Checks,
    Unanswered,
    checks_of,
    first_unanswered,
    unchecked_program,
)
from joingraph.reads.why import Kept


def read_unanswered(
    graph: Graph, look: LookAhead, conditions: Sequence[Expression]
) -> Unanswered | None:
    """Return a path that meets conditions and has no answer."""
    checks = checks_of(graph.plan, conditions)
    way = best_way(graph, Reading(tuple(conditions)))
    way = starting_in(graph.plan, checks.readers, way, conditions)
    steps = (step for group in groups(graph, way) for step in group)
    return find(graph, look, conditions, start=way.alias, steps=steps, is_whole=True)


def new_unanswered(
    graph: Graph, look: LookAhead, new: Mapping[int, Sequence[Image]], fresh: Sequence[int]
) -> Unanswered | None:
    """Return a path through new rows that has no answer.

    All rows of a `fresh` alias are new, and every complete path has one of them. Beside outer joins
    and EXISTS, new rows make paths that they are not on: all paths are looked at.
    """
    checks = checks_of(graph.plan, ())
    if not checks.tests and not checks.values:
        return None
    if not graph.plan.is_inner:
        return read_unanswered(graph, look, ())
    starts = sorted(fresh, key=lambda alias: alias not in checks.readers)[:1] or list(new)
    for alias in starts:
        tuples = graph.tuples[alias]
        steps = (Step(tuples[image.key], image.row) for image in dict.fromkeys(new.get(alias, ())))
        found = find(graph, look, (), start=alias, steps=steps)
        if found:
            return found
    return None


def find(
    graph: Graph,
    look: LookAhead,
    conditions: Sequence[Expression],
    *,
    start: int,
    steps: Iterable[Step],
    is_whole: bool = False,
) -> Unanswered | None:
    """Return the first path from some steps of an alias that has no answer.

    If these are all of its steps (`is_whole`), paths on which it is missing are looked at, too.
    """
    plan = graph.plan
    checks = checks_of(plan, conditions)
    program = unchecked_program(plan, start, conditions, checks)
    begun = keep_true(plan, (counted(plan, step) for step in steps), program.tests)
    walker = Walker(graph, look)
    paths = walker.walk(begun, program.steps)
    if is_whole:
        reading = Reading(tuple(conditions))
        paths = chain(paths, without_start(walker, reading, start, unasked=checks.tests))
    for whole in pieces(paths):
        found = first_unanswered(len(whole), partial(check, graph, checks, whole))
        if found:
            row, error = found
            steps_of = [step for step in whole[row].steps if step and is_of_rows(step)]
            kept = {each.tuple.alias: kept_of(each) for each in steps_of}
            return Unanswered.of(plan, kept, error)
    return None


def check(graph: Graph, checks: Checks, whole: Sequence[Path], some: slice) -> None:
    """Compute everything that may fail on some paths."""
    paths = whole[some]
    for test in checks.tests:
        true = holds(test, kept_columns(graph.plan, paths, test), len(paths)).to_pylist()
        paths = [path for path, keep in zip(paths, true, strict=True) if keep]
    for value in checks.values:
        evaluate(value, kept_columns(graph.plan, paths, value), len(paths))


def is_of_rows(step: Step) -> bool:
    """True if a step is at base rows: it stands in for none, and is no mark."""
    return step.tuple is not LIVES and not step.tuple.is_null


def kept_of(step: Step) -> Kept:
    """Return what an alias keeps at a step."""
    return Kept(step.tuple.key, step.row, step.tuple.rows[step.row])
