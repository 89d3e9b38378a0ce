"""Counts the view diffs of a change without making them.

Every branch of the join tree is weighed: it sums up to how many ways there are to go on from the
changed tuple. Only what the change can reach is visited.

    Change(T <7>, +1)   F sends 3, R sends 2   ->   6 rows        residual predicates: 6 at the most
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from joingraph.generators.diffs import flipped
from joingraph.generators.factorised import is_read, is_tied
from joingraph.generators.paths import Step
from joingraph.generators.walk import Walker
from joingraph.graph.join_graph import Change, Flip, Graph, LookAhead, Move
from joingraph.plan.arrange import fanout_program


class Fanout(NamedTuple):
    """How many rows a view diff has, equal ones counted each; at the most, if not `exact`.

    The sign is 1 if all of them come, -1 if all go, else 0.
    """

    rows: int
    exact: bool
    sign: int


def fanout(graph: Graph, look: LookAhead, changes: Sequence[Change | Move | Flip]) -> Fanout:
    """Count the rows of one change, or of the two that one alias feels of an update."""
    return joined([one_change(graph, look, change) for change in changes])


def one_change(graph: Graph, look: LookAhead, change: Change | Move | Flip) -> Fanout:
    """Count the rows of one change; those of a move have two images, and may be of a flip."""
    if isinstance(change, Flip):
        rows = sum(each.times for each in flipped(graph, look, change))
        return Fanout(rows, exact=False, sign=0)
    if graph.plan.aliases[change.tuple.alias].is_silent:
        return Fanout(0, exact=True, sign=0)
    if isinstance(change, Move) and not is_read(graph.plan, change):
        return Fanout(0, exact=True, sign=0)
    at = change.tuple
    row = change.pre if isinstance(change, Move) else change.row
    program = graph.plan.program(fanout_program, at.alias)
    ways = sum(path.times for path in Walker(graph, look).through(Step(at, row), program))
    exact = not graph.plan.residuals or not ways
    if isinstance(change, Move):
        return Fanout(2 * ways, exact and not (ways and is_tied(graph.plan, change)), sign=0)
    return Fanout(ways * abs(change.times), exact, sign=1 if change.times > 0 else -1)


def joined(parts: Sequence[Fanout]) -> Fanout:
    """Add up what one base diff does; rows that go and rows that come may cancel or pair up."""
    shown = [each for each in parts if each.rows]
    signs = {each.sign for each in shown}
    sign = signs.pop() if len(signs) == 1 else 0
    exact = all(each.exact for each in shown) and (len(shown) < 2 or sign != 0)
    return Fanout(sum(each.rows for each in shown), exact, sign)
