"""Finds a complete path on which the view has no answer, by column (joingraph/reads/unanswered.py).

The same steps as generators/reads/unanswered.py takes on the plain graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from joingraph.expressions.tree import Expression
from joingraph.generators.compiled.reads.column_walk import Walker
from joingraph.generators.compiled.reads.pieces import Piece
from joingraph.generators.compiled.reads.reading import kept, without_start
from joingraph.generators.compiled.reads.starts import Starts
from joingraph.generators.compiled.reads.walk import Walk
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.reads.access_paths import starting_in
from joingraph.reads.requests import Reading
from joingraph.reads.unanswered import (
    Checks,
    Unanswered,
    checks_of,
    first_unanswered,
    unchecked_program,
)


def read_unanswered(starts: Starts, conditions: Sequence[Expression]) -> Unanswered | None:
    """Return a path that meets conditions and has no answer."""
    checks, reading = checks_of(starts.plan, conditions), Reading(tuple(conditions))
    way = starting_in(starts.plan, checks.readers, starts.best_way(reading), conditions)
    others = without_start(starts, reading, way.alias, unasked=checks.tests)
    return find(starts.walker, conditions, way.alias, starts.group(way), others=others)


def new_unanswered(
    starts: Starts, new: Mapping[int, Sequence[Words]], fresh: Sequence[int]
) -> Unanswered | None:
    """Return a path through new rows that has no answer.

    All rows of a `fresh` alias are new, and every complete path has one of them. Beside outer joins
    and EXISTS, new rows make paths that they are not on: all paths are looked at.
    """
    walker, checks = starts.walker, checks_of(starts.plan, ())
    if not checks.tests and not checks.values:
        return None
    if not starts.plan.is_inner:
        return read_unanswered(starts, ())
    aliases = range(len(starts.plan.aliases))
    if not all(walker.memory.alias(alias)[f.A_ROWS] for alias in aliases):
        return None
    if fresh:
        alias = min(fresh, key=lambda each: each not in checks.readers)
        return find(walker, (), alias, starts.everyone(alias))
    found = (find(walker, (), alias, begun(walker, alias, new[alias])) for alias in new)
    return next(filter(None, found), None)


def begun(walker: Walker, alias: int, matrices: Iterable[Words]) -> Iterator[Piece]:
    """Begin paths at rows of an alias, equal ones once."""
    for matrix in matrices:
        yield walker.begun(alias, np.unique(matrix, axis=0))


def find(
    walker: Walker,
    conditions: Sequence[Expression],
    start: int,
    pieces: Iterable[Piece],
    *,
    others: Iterable[Piece] = (),
) -> Unanswered | None:
    """Return the first path from some rows of an alias, or of others, that has no answer."""
    plan = walker.plan
    checks = checks_of(plan, conditions)
    program = unchecked_program(plan, start, conditions, checks)
    passed = (walker.passing(piece, program.tests) for piece in pieces)
    for whole in chain(Walk(walker).walk(passed, program.steps), others):
        found = first_unanswered(len(whole), partial(check, walker, checks, whole))
        if found:
            row, error = found
            path = whole.take(np.array([row]))
            if not walker.folds:
                path = replace(path, counts=dict.fromkeys(program.entered, path.times))
            rows = {alias: next(kept(walker, path, alias)) for alias in path.counts}
            there = {alias: each for alias, each in rows.items() if each is not None}
            return Unanswered.of(plan, there, error)
    return None


def check(walker: Walker, checks: Checks, piece: Piece, some: slice) -> None:
    """Compute everything that may fail on some paths."""
    piece = piece.take(np.arange(len(piece))[some])
    piece = walker.passing(piece, checks.tests)
    for value in checks.values:
        walker.computed(piece, value)
