"""Counts the rows of a batch's view diffs without making them, as generators/fanout.py does.

From each branch of the join tree a number comes towards the rows that changed (sums.py).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from joingraph.kernels.fields import MOVE, O_ALIAS, O_DIFF, O_KIND
from joingraph.kernels.memory import Words
from joingraph.kernels.pieces import Walker
from joingraph.kernels.rows import came, read_moves, rows_of, went
from joingraph.kernels.sums import ways_through


class Fanouts:
    """Adds up what base diffs do; the rows of several changes of one may cancel or pair up."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker
        self.rows, self.exact = 0, True
        self.felt: set[int] = set()  # base diffs that did something already

    def add(self, ops: Words, tied: npt.NDArray[np.bool_]) -> None:
        """Take a run of one alias' ops that has just been carried out."""
        alias, moves = int(ops[0, O_ALIAS]), ops[:, O_KIND] == MOVE
        moved = np.flatnonzero(moves)
        moved = moved[read_moves(self.walker.plan, self.walker.layout, ops[moved])]
        self.count(ops[moved], tied[moved], post=True, images=2)
        for pick, is_post in ((went, False), (came, True)):
            others = pick(ops[~moves], alias)
            self.count(others, np.zeros(len(others), bool), post=is_post)

    def count(
        self, ops: Words, tied: npt.NDArray[np.bool_], *, post: bool, images: int = 1
    ) -> None:
        """Count the paths through rows that went or came."""
        if not len(ops):
            return
        walker, alias = self.walker, int(ops[0, O_ALIAS])
        piece = walker.begun(alias, rows_of(ops, walker.layout, alias, post=post))
        exact = not walker.plan.residuals
        ways = ways_through(walker, alias, piece)
        for diff, is_tied, rows in zip(ops[:, O_DIFF].tolist(), tied.tolist(), ways, strict=True):
            if rows:
                self.rows += images * rows
                self.exact &= exact and not is_tied and diff not in self.felt
                self.felt.add(diff)
