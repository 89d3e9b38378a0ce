"""Paths through the join graph, and the values on them.

    start  T <7><1> ()      enter F at v0: {7} -> F <7> ('ann',)     enter R at v1: ...
    path   values (v0: {7}, v1: {1}), steps (F's, T's, R's), times = 1 x 1 x 2

A path has a value for each vertex and a step for each alias that it has been at, and the product
of the counts met on the way. Values are collected and predicates evaluated by column, for pieces
of paths that have come equally far.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.evaluate import evaluate, holds
from joingraph.expressions.texts import is_text
from joingraph.expressions.tree import Expression
from joingraph.expressions.words import Word, from_words
from joingraph.graph.join_graph import NOWHERE, JoinTuple, Row, VertexValue
from joingraph.plan.kept_columns import kept_parts
from joingraph.plan.model import Plan, Slot

LIVES = JoinTuple(-1, (), ())  # of an alias that is asked for: its row says whether it is there
PIECE_MIN, PIECE_MAX = 16, 4096  # paths on which a condition is evaluated at once


class Step(NamedTuple):
    """Where a path passes an alias: a join tuple and one of its projected tuples."""

    tuple: JoinTuple
    row: Row


class Path(NamedTuple):
    """Values by vertex and steps by alias, None where the path has not been.

    `times` tells how many view rows it stands for, `lists` are those attached to it.
    """

    values: tuple[VertexValue | None, ...]
    steps: tuple[Step | None, ...]
    times: int
    lists: tuple[list[Path], ...] = ()


def begin(plan: Plan, start: Step, times: int = 1) -> Path:
    """Make the path that has one step only."""
    nowhere = Path((None,) * len(plan.vertices), (None,) * len(plan.aliases), times)
    return bound(plan, nowhere, start, times)


def at_value(plan: Plan, value: VertexValue) -> Path:
    """Make the path that begins at a vertex value."""
    values = [None] * len(plan.vertices)
    at = (*values[: value.vertex], value, *values[value.vertex + 1 :])
    return Path(at, (None,) * len(plan.aliases), 1)


def bound(plan: Plan, path: Path, step: Step, times: int) -> Path:
    """Make the path that goes on by a step, whose vertex values are bound, too."""
    alias = step.tuple.alias
    values = list(path.values)
    for vertex, value in zip(plan.aliases[alias].vertices, step.tuple.values, strict=True):
        if value is not NOWHERE:
            values[vertex] = value
    steps = (*path.steps[:alias], step, *path.steps[alias + 1 :])
    return Path(tuple(values), steps, times, path.lists)


def bound_null(plan: Plan, path: Path, null: JoinTuple) -> Path:
    """Make the path on which an alias is missing, and all beyond it."""
    (row,) = null.rows
    return bound(plan, path, Step(null, row), path.times)


def noted(path: Path, alias: int, lives: bool) -> Path:
    """Make the path that says whether an alias was there that is asked for."""
    step = Step(LIVES, (lives,))
    return path._replace(steps=(*path.steps[:alias], step, *path.steps[alias + 1 :]))


def keep_true(plan: Plan, paths: Iterable[Path], tests: Sequence[Expression]) -> Iterator[Path]:
    """Let through the paths on which conditions are TRUE, one condition after the other."""
    if not tests:
        yield from paths
        return
    for piece in pieces(paths):
        for part in cut(plan, piece, tests):
            yield from all_true(plan, part, tests)


def all_true(plan: Plan, paths: Sequence[Path], tests: Sequence[Expression]) -> Sequence[Path]:
    """Return those of some paths on which conditions are TRUE."""
    known = dict[Expression, pa.Array]()  # what the tests so far read, of the paths left
    for test in tests:
        parts = {part for part in kept_parts(plan, test) if part not in known}
        known |= {part: column(plan, paths, part) for part in parts}
        true = holds(test, known, len(paths))
        if true.true_count < len(paths):
            paths = [path for path, keep in zip(paths, true.to_pylist(), strict=True) if keep]
            known = {part: found.filter(true) for part, found in known.items()}
    return paths


def pieces(paths: Iterable[Path]) -> Iterator[list[Path]]:
    """Cut paths into pieces: small ones first, in case that only a few are wanted."""
    rest, size = iter(paths), PIECE_MIN
    while piece := list(islice(rest, size)):
        yield piece
        size = min(2 * size, PIECE_MAX)


def cut(
    plan: Plan, paths: Sequence[Path], wanted: Sequence[Expression]
) -> Iterator[Sequence[Path]]:
    """Cut paths so that what expressions read of each part is text for a block at most."""
    parts = [part for each in wanted for part in kept_parts(plan, each)]
    slots = {slot: None for slot in map(plan.slots.__getitem__, parts) if is_text(slot.stored)}
    if not slots:
        yield paths
        return
    lengths = np.zeros(len(paths), np.int64)
    for slot in slots:
        words = ([word(plan, path, slot)] for path in paths)
        lengths += np.fromiter(map(texts.length_of, words), np.int64, len(paths))
    if int(lengths.sum()) <= texts.BLOCK_BYTES:
        yield paths
        return
    for span in texts.spans(lengths, texts.BLOCK_BYTES):
        yield paths[span]


def shown(plan: Plan, paths: Sequence[Path]) -> Iterator[tuple[Sequence[Path], pa.Table]]:
    """Yield complete paths with the view's rows on them, text for a block at once."""
    for part in cut(plan, paths, [each.value for each in plan.definition.output]):
        yield part, texts.typed(output(plan, part), plan.definition.schema)


def output(plan: Plan, paths: Sequence[Path]) -> list[pa.Array]:
    """Compute the view's columns for complete paths, one row each; text may be wide."""
    return [output_column(plan, paths, each.value) for each in plan.definition.output]


def output_column(plan: Plan, paths: Sequence[Path], value: Expression) -> pa.Array:
    """Look an output column up where it is kept; compute it only if it spans several aliases."""
    if value in plan.slots:
        return column(plan, paths, value)
    parts = cut(plan, paths, [value])
    return texts.joined(
        [evaluate(value, kept_columns(plan, each, value), len(each)) for each in parts]
    )


def kept_columns(
    plan: Plan, paths: Sequence[Path], wanted: Expression
) -> dict[Expression, pa.Array]:
    """Collect the kept values that an expression is computed of."""
    parts = dict.fromkeys(kept_parts(plan, wanted))
    return {each: column(plan, paths, each) for each in parts}


def column(plan: Plan, paths: Sequence[Path], kept: Expression) -> pa.Array:
    """Collect what paths keep for an expression, in its own type."""
    slot = plan.slots[kept]
    found = from_words([word(plan, path, slot) for path in paths], slot.stored)
    return found if slot.stored == kept.type else found.cast(kept.type)


def word(plan: Plan, path: Path, slot: Slot) -> Word:
    """Read one kept value off a path: at its vertex if it is a key, else in its alias' row."""
    if slot.vertex is None:
        step = path.steps[slot.alias]
        assert step is not None, "a projected value is read only after its alias was entered"
        return step.row[slot.position]
    value = path.values[plan.aliases[slot.alias].vertices[slot.vertex]]
    assert value is not None, "a key is read only after its vertex was bound"
    return value.words[slot.position]
