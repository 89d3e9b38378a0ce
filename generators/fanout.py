"""Counts the view diffs of a change without making them.

From each branch of the join tree a number comes towards the changed tuple: how many ways there are
to go on from there. Only what the change can reach is visited, each vertex value once a seat.

    Change(T <7>, +1)   F sends 3, R sends 2   ->   6 rows        residual predicates: 6 at the most
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from joingraph.generators.factorised import is_read, is_tied
from joingraph.graph.join_graph import Change, Graph, JoinTuple, Move, VertexValue

Messages = dict[tuple[VertexValue, int], int]  # what a seat sends across a vertex value


class Fanout(NamedTuple):
    """How many rows a view diff has, equal ones counted each; at the most, if not `exact`.

    The sign is 1 if all of them come, -1 if all go, else 0.
    """

    rows: int
    exact: bool
    sign: int


def fanout(graph: Graph, changes: Sequence[Change | Move]) -> Fanout:
    """Count the rows of one change, or of the two that one alias feels of an update."""
    return joined([one_change(graph, change) for change in changes])


def one_change(graph: Graph, change: Change | Move) -> Fanout:
    """Count the rows of one change; those of a move have two images."""
    if isinstance(change, Move) and not is_read(graph.plan, change):
        return Fanout(0, exact=True, sign=0)
    ways = through(graph, change.tuple, None, {})
    exact = not graph.plan.residuals or not ways
    if isinstance(change, Move):
        return Fanout(2 * ways, exact and not (ways and is_tied(graph.plan, change)), sign=0)
    return Fanout(ways * abs(change.times), exact, sign=1 if change.times > 0 else -1)


def joined(parts: Sequence[Fanout]) -> Fanout:
    """Add up what one base diff does; rows that go and rows that come may cancel or pair up."""
    felt = [each for each in parts if each.rows]
    signs = {each.sign for each in felt}
    sign = signs.pop() if len(signs) == 1 else 0
    exact = all(each.exact for each in felt) and (len(felt) < 2 or sign != 0)
    return Fanout(sum(each.rows for each in felt), exact, sign)


def through(graph: Graph, at: JoinTuple, entry: int | None, sent: Messages) -> int:
    """Count the ways to go on from a join tuple, other than back by its entry."""
    return prod(
        arriving(graph, value, seat, sent)
        for place, value in enumerate(at.values)
        if place != entry
        for seat in range(len(value.tuples))
        if seat != graph.seats[at.alias][place]
    )


def arriving(graph: Graph, value: VertexValue, seat: int, sent: Messages) -> int:
    """Sum up what the join tuples of a seat send to a vertex value."""
    if (value, seat) not in sent:
        sent[value, seat] = sum(
            sum(each.rows.values()) * through(graph, each, each.values.index(value), sent)
            for each in value.tuples[seat]
        )
    return sent[value, seat]
