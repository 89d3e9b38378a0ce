"""Finds the diffs that remove a row which is not there, before anything is changed.

    graph holds ('ann',) x1;  the batch: delete ann, delete ann, insert bob, delete bob
    ->  the second diff is at fault; the last is not, since the batch itself brought bob

A row is judged by what its aliases keep of it, over the batch's running counts. One that every
alias drops cannot be told from one that was never there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from joingraph.graph.join_graph import Diff, Graph, Image


class Presence:
    """The rows of a graph as they will be after the diffs admitted so far."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.running: Counter[tuple[int, Image]] = Counter()

    def admit(self, diffs: Sequence[Diff]) -> bool:
        """Take one base row's diffs into account, unless an alias lacks the row they remove."""
        if not all(self.holds(diff.alias, diff.pre) for diff in diffs if diff.pre):
            return False
        for diff in diffs:
            if diff.pre:
                self.running[diff.alias, diff.pre] -= 1
            if diff.post:
                self.running[diff.alias, diff.post] += 1
        return True

    def holds(self, alias: int, image: Image) -> bool:
        """True if an alias would now hold a row with this image."""
        return self.graph.count(alias, image) + self.running[alias, image] > 0
