"""Walks the join graph: all complete paths through one projected tuple (Algorithm 5's core).

    start  T <7><1> ()      hop by v0 into F: {7} -> F <7> ('ann',)     hop by v1 into R: ...
    path   (F's step, T's step, R's step), count = 1 x 1 x 2

In: where paths start, and a route. Out: the paths in the order of their starts, each with a step
for every alias and the product of the counts met on the way. A walk is a chain of generators, one
for each hop, so that who wants few paths walks no further than they need; a condition is evaluated
by column, for pieces of paths that have come equally far.
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
from joingraph.graph.join_graph import Graph, JoinTuple, LookAhead, Row, VertexValue
from joingraph.plan.kept_columns import kept_parts
from joingraph.plan.model import Hop, Leg, Plan, Slot
from joingraph.reads.requests import Touched, legs

PIECE_MIN, PIECE_MAX = 16, 4096  # paths on which a condition is evaluated at once


class Step(NamedTuple):
    """Where a path passes an alias: a join tuple and one of its projected tuples."""

    tuple: JoinTuple
    row: Row


class Path(NamedTuple):
    """Steps by alias, None where the walk has not been yet, and how many view rows they make."""

    steps: tuple[Step | None, ...]
    times: int


def complete_paths(graph: Graph, look: LookAhead, start: Step) -> list[Path]:
    """Find all complete paths through a step."""
    if not look.is_open(start.tuple, None):
        return []
    _, route = legs(graph.plan, start.tuple.alias, ())
    return list(walk(graph, look, [begin(graph.plan, start)], route))


def begin(plan: Plan, start: Step, times: int = 1) -> Path:
    """Make the path that has one step only."""
    return Path(with_step([None] * len(plan.aliases), start), times)


def walk(
    graph: Graph,
    look: LookAhead,
    paths: Iterable[Path],
    route: Sequence[Leg],
    *,
    touched: Touched | None = None,
) -> Iterator[Path]:
    """Follow a route, letting through the paths on which all conditions hold."""
    touched = touched or Touched()
    for leg in route:
        paths = entered(graph, look, paths, leg.hop, touched=touched)
        paths = keep_true(graph.plan, paths, leg.tests)
    return iter(paths)


def entered(
    graph: Graph, look: LookAhead, paths: Iterable[Path], hop: Hop, *, touched: Touched
) -> Iterator[Path]:
    """Extend each path by every step that a hop leads to."""
    for path in paths:
        last = None
        for step, count in partners(graph, look, path, hop):
            touched.join_tuples += step.tuple is not last
            touched.projected_tuples += 1
            last = step.tuple
            yield Path(with_step(path.steps, step), path.times * count)


def with_step(steps: Sequence[Step | None], new: Step) -> tuple[Step | None, ...]:
    """Add a step to those of a path."""
    alias = new.tuple.alias
    return (*steps[:alias], new, *steps[alias + 1 :])


def partners(graph: Graph, look: LookAhead, path: Path, hop: Hop) -> Iterator[tuple[Step, int]]:
    """Yield what a path can go on with: the projected tuples of an alias at a vertex value."""
    value = value_at(graph.plan, path, hop)
    entry = graph.plan.aliases[hop.alias].vertices.index(hop.vertex)
    for partner in value.tuples[graph.seats[hop.alias][entry]]:
        if look.is_open(partner, entry):
            for row, count in partner.rows.items():
                yield Step(partner, row), count


def value_at(plan: Plan, path: Path, hop: Hop) -> VertexValue:
    """Find the vertex value from which a hop leaves."""
    near = path.steps[hop.near]
    assert near is not None, "a route visits an alias before it leaves from it"
    return near.tuple.values[plan.aliases[hop.near].vertices.index(hop.vertex)]


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
        words = ([word(path.steps[slot.alias], slot)] for path in paths)
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
    found = from_words([word(path.steps[slot.alias], slot) for path in paths], slot.stored)
    return found if slot.stored == kept.type else found.cast(kept.type)


def word(step: Step | None, slot: Slot) -> Word:
    """Read one kept value off a step."""
    assert step is not None, "a value is read only after its alias was visited"
    row = step.row if slot.vertex is None else step.tuple.values[slot.vertex].words
    return row[slot.position]
