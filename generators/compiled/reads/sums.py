"""Counts paths by what one side of a vertex sends across it, without making them.

    F --- v0 --- T        F sends to the value 7 of v0: how many rows it has there       3

What a value is sent is computed when first asked for, for many values at once, and remembered.
Numbers are 64-bit where no sum can be larger, else Python's own: they never wrap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from joingraph.expressions.tree import Expression
from joingraph.generators.compiled.reads.column_walk import Piece, Walker
from joingraph.generators.compiled.reads.starts import Starts
from joingraph.generators.reads.count import aliases_to_walk, between
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.plan.model import Leg
from joingraph.reads.access_paths import Everyone
from joingraph.reads.requests import Reading, Touched, legs

Sums = npt.NDArray[Any]  # of int64, or of Python's integers


class Messages:
    """What the aliases of a route send towards its start."""

    def __init__(self, walker: Walker, route: Sequence[Leg]) -> None:
        self.walker, self.route = walker, route
        aliases = range(len(walker.plan.aliases))
        most = prod(max(1, int(walker.memory.alias(alias)[f.A_ROWS])) for alias in aliases)
        self.kind: type = np.int64 if most < 1 << 62 else object
        used = {leg.hop.alias: len(walker.records(leg.hop.vertex)) for leg in route}
        self.sums: dict[int, Sums] = {alias: np.zeros(n, self.kind) for alias, n in used.items()}
        self.known = {alias: np.zeros(n, bool) for alias, n in used.items()}

    def around(self, piece: Piece, walked: Iterable[int]) -> Sums:
        """Multiply what is sent to paths by all aliases next to those they have been at."""
        product: Sums = np.ones(len(piece), self.kind)
        for leg in self.route:
            if leg.hop.near in walked and leg.hop.alias not in walked:
                product = product * self.sent(leg, piece.values[leg.hop.vertex])
        return product

    def sent(self, leg: Leg, ids: Words) -> Sums:
        """Give what an alias sends to values; nothing to those that are not there."""
        sums, known = self.sums[leg.hop.alias], self.known[leg.hop.alias]
        there = ids >= 0
        some = ids[there]
        fresh = np.unique(some[~known[some]])
        if len(fresh):
            known[fresh] = True
            self.fill(leg, fresh)
        found: Sums = np.zeros(len(ids), self.kind)
        found[there] = sums[some]
        return found

    def fill(self, leg: Leg, ids: Words) -> None:
        """Add up what the alias' rows at each value stand for, with all that lies beyond them."""
        alias, vertex = leg.hop.alias, leg.hop.vertex
        begin = Piece({vertex: ids}, {}, np.ones(len(ids), np.int64))
        for found, parents in self.walker.entered(begin, alias, vertex):
            some = self.walker.surviving(found, leg.tests)
            if len(some):
                rows, up = found.take(some), parents[some]
                ways = rows.times * self.around(rows, {alias})
                first = np.flatnonzero(np.diff(up, prepend=-1))
                self.sums[alias][ids[up[first]]] += np.add.reduceat(ways, first)


def count_where(starts: Starts, conditions: tuple[Expression, ...]) -> int:
    """Count the view's rows that meet conditions; only what they tie together is walked."""
    plan, walker = starts.plan, starts.walker
    readers = aliases_to_walk(plan, conditions)
    way = starts.best_way(Reading(conditions))
    if isinstance(way, Everyone):  # then it may start where fewer aliases are walked
        way = Everyone(min(readers, default=way.alias))
    tests, route = legs(plan, way.alias, conditions)
    walked = between(plan, way.alias, readers)
    inner = [leg for leg in route if leg.hop.alias in walked]
    messages = Messages(walker, [leg for leg in route if leg.hop.alias not in walked])
    begun = starts.pieces(Reading(conditions), way, tests, Touched())
    return sum(
        int((piece.times * messages.around(piece, walked)).sum())
        for piece in walker.walk(begun, inner)
    )


def ways_through(walker: Walker, alias: int, piece: Piece) -> list[int]:
    """Count the complete paths through rows of an alias, residual predicates left out."""
    route = [Leg(hop, ()) for hop in walker.plan.routes[alias]]
    return [int(ways) for ways in Messages(walker, route).around(piece, {alias})]
