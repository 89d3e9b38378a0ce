"""Walks the join graph: all complete paths through one projected tuple (Algorithm 5's core).

    start  T <7><1> ()      hop by v0 into F: {7} -> F <7> ('ann',)     hop by v1 into R: ...
    path   (F's step, T's step, R's step), count = 1 x 1 x 2

In: where a path starts. Out: the paths, each with a step for every alias and the product of the
counts of all projected tuples on it but the first. Breadth first, so that a residual predicate is
evaluated by column for all paths that have come equally far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from joingraph.evaluate import evaluate, holds
from joingraph.expression import Expression, columns_of
from joingraph.graph import Graph, JoinTuple, LookAhead, Row, VertexValue
from joingraph.plan.model import Hop, Plan, Slot
from joingraph.words import Word, from_words


class Step(NamedTuple):
    """Where a path passes an alias: a join tuple and one of its projected tuples."""

    tuple: JoinTuple
    row: Row


class Path(NamedTuple):
    """Steps by alias, None where the walk has not been yet, and how many view rows they stand for."""

    steps: tuple[Step | None, ...]
    times: int


def complete_paths(graph: Graph, look: LookAhead, start: Step) -> list[Path]:
    """Find all complete paths through a step."""
    if not look.is_open(start.tuple, None):
        return []
    return walk(graph, look, start, graph.plan.routes[start.tuple.alias])


def walk(graph: Graph, look: LookAhead, start: Step, route: Sequence[Hop]) -> list[Path]:
    """Follow a route from a step, keeping the paths whose residual predicates hold."""
    steps = [None] * len(graph.plan.aliases)
    paths = [Path(with_step(steps, start), 1)]
    for hop in route:
        paths = [
            Path(with_step(path.steps, step), path.times * count)
            for path in paths
            for step, count in partners(graph, look, path, hop)
        ]
        for residual in hop.residuals:
            paths = keep_true(graph.plan, paths, graph.plan.residuals[residual])
    return paths


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


def keep_true(plan: Plan, paths: list[Path], residual: Expression) -> list[Path]:
    """Keep the paths on which a residual predicate is TRUE."""
    if not paths:
        return paths
    given = kept_columns(plan, paths, residual)
    true = holds(residual, given, len(paths)).to_pylist()
    return [path for path, keep in zip(paths, true, strict=True) if keep]


def output(plan: Plan, paths: Sequence[Path]) -> list[pa.Array]:
    """Compute the view's columns for complete paths, one row each."""
    return [output_column(plan, paths, each.value) for each in plan.definition.output]


def output_column(plan: Plan, paths: Sequence[Path], value: Expression) -> pa.Array:
    """Look an output column up where it is kept; compute it only if it spans several aliases."""
    if value in plan.slots:
        return column(plan, paths, value)
    return evaluate(value, kept_columns(plan, paths, value), len(paths))


def kept_columns(
    plan: Plan, paths: Sequence[Path], wanted: Expression
) -> dict[Expression, pa.Array]:
    """Collect the columns that an expression over several aliases reads."""
    return {each: column(plan, paths, each) for each in columns_of(wanted)}


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
