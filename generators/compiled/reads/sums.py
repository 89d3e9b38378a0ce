"""Counts paths without making them: what predicates tie together is walked, all else weighed."""

from __future__ import annotations

import numpy as np

from joingraph.expressions.tree import Expression
from joingraph.generators.compiled.reads.column_walk import Piece, Walker
from joingraph.generators.compiled.reads.starts import Starts
from joingraph.generators.compiled.reads.walk import Walk
from joingraph.generators.compiled.whole_numbers import Numbers, multiplied, total
from joingraph.plan.arrange import aliases_tied, count_program, fanout_program
from joingraph.plan.program import Weigh
from joingraph.reads.access_paths import starting_in
from joingraph.reads.requests import Reading, Touched


def count_where(starts: Starts, conditions: tuple[Expression, ...]) -> int:
    """Count the view's rows that meet conditions; only what they tie together is walked."""
    plan, reading = starts.plan, Reading(conditions)
    way = starting_in(aliases_tied(plan, conditions), starts.best_way(reading))
    program = plan.program(count_program, way.alias, conditions)
    begun = starts.pieces(reading, way, program.tests, Touched())
    return sum(total(piece.times) for piece in Walk(starts.walker).walk(begun, program.steps))


def ways_through(walker: Walker, alias: int, piece: Piece) -> list[int]:
    """Count the complete paths through rows of an alias, residual predicates left out."""
    walk, ways = Walk(walker), np.ones(len(piece), np.int64)
    product: Numbers = ways
    for step in walker.plan.program(fanout_program, alias).steps:
        assert isinstance(step, Weigh), "a fan-out asks for nothing but sums"
        product = multiplied(product, walk.sums(step, piece.values[step.enter.vertex]))
    return [int(each) for each in product]
