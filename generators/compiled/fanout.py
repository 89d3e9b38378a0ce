"""Counts the rows of a batch's view diffs without making them, as generators/fanout.py does.

From each branch of the join tree a number comes towards the rows that changed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from joingraph.generators.compiled.reads.column_walk import Walker
from joingraph.generators.compiled.reads.pieces import Piece
from joingraph.generators.compiled.reads.walk import Walk
from joingraph.generators.compiled.whole_numbers import Numbers, multiplied
from joingraph.graph.compiled.fields import MOVE, O_ALIAS, O_DIFF, O_KIND
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.op_rows import came, read_moves, rows_of, went
from joingraph.plan.arrange import fanout_program
from joingraph.plan.program import Weigh

WENT, MOVED, CAME = -1, 0, 1


class Fanouts:
    """Adds up what base diffs do; rows that go and rows that come may cancel or pair up."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker
        self.rows, self.exact = 0, True
        self.signs: dict[int, int] = {}  # of what a base diff did: all came, all went, or moved

    def add(self, ops: Words, tied: npt.NDArray[np.bool_]) -> None:
        """Take a run of one alias' ops that has just been carried out."""
        alias, moves = int(ops[0, O_ALIAS]), ops[:, O_KIND] == MOVE
        moved = np.flatnonzero(moves)
        moved = moved[read_moves(self.walker.plan, self.walker.layout, ops[moved])]
        self.count(ops[moved], tied[moved], sign=MOVED)
        for pick, sign in ((went, WENT), (came, CAME)):
            others = pick(ops[~moves], alias)
            self.count(others, np.zeros(len(others), bool), sign=sign)

    def count(self, ops: Words, tied: npt.NDArray[np.bool_], *, sign: int) -> None:
        """Count the paths through rows that went, came or moved; a move has two images."""
        if not len(ops):
            return
        walker, alias = self.walker, int(ops[0, O_ALIAS])
        piece = walker.begun(alias, rows_of(ops, walker.layout, alias, post=sign != WENT))
        exact = not walker.plan.residuals
        ways = ways_through(walker, alias, piece)
        for diff, is_tied, rows in zip(ops[:, O_DIFF].tolist(), tied.tolist(), ways, strict=True):
            if rows:
                self.rows += rows * (2 if sign == MOVED else 1)
                alone = diff not in self.signs
                same = sign != MOVED and self.signs.setdefault(diff, sign) == sign
                self.exact &= exact and not is_tied and (alone or same)
                self.signs[diff] = sign if alone or same else MOVED


def ways_through(walker: Walker, alias: int, piece: Piece) -> list[int]:
    """Count the complete paths through rows of an alias, residual predicates left out."""
    walk, ways = Walk(walker), np.ones(len(piece), np.int64)
    product: Numbers = ways
    for step in walker.plan.program(fanout_program, alias).steps:
        assert isinstance(step, Weigh), "a fan-out asks for nothing but sums"
        product = multiplied(product, walk.sums(step, piece.values[step.enter.vertex]))
    return [int(each) for each in product]
