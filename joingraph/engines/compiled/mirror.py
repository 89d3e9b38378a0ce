"""The compiled graph as plain objects, each made when it is reached: for rare questions.

A walk that looks for broken paths asks more of the graph than reads do, and is short: it goes over
the plain form (joingraph/graph/join_graph.py), of which only what it visits is ever made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from joingraph.generators.compiled.reads.pieces import Piece
from joingraph.generators.compiled.reads.reading import word_rows
from joingraph.generators.compiled.reads.starts import Starts
from joingraph.graph.compiled import fields as f
from joingraph.graph.join_graph import Graph, Image, JoinTuple, Key, Row, VertexValue
from joingraph.maintainers.lookahead import NoLook
from joingraph.maintainers.rows import insert


class Mirror(Graph):
    """A plain graph that fills itself from a compiled one; the starts' walker folds."""

    def __init__(self, starts: Starts) -> None:
        super().__init__(starts.plan)
        self.starts, self.walker = starts, starts.walker

    def find(self, vertex: int, words: Row) -> VertexValue | None:
        """Find a vertex value."""
        ids = self.starts.ids(vertex, [words]).tolist()
        return self.value_of(vertex, ids[0], words) if ids else None

    def of_alias(self, alias: int) -> Iterator[JoinTuple]:
        """Yield all join tuples of an alias."""
        for piece in self.starts.everyone(alias):
            yield from self.join_tuples(piece, alias)

    def size(self, alias: int) -> int:
        """Return how many rows an alias has."""
        return int(self.walker.memory.alias(alias)[f.A_ROWS])

    def value_of(self, vertex: int, identity: int, words: Row) -> VertexValue:
        """Return the vertex value with an id, made if it was not reached before."""
        known = self.values[vertex].get(words)
        if known is None:
            known = self.values[vertex][words] = VertexValue(vertex, words, 0)
            known.tuples = Seats(self, vertex, identity)
        return known

    def join_tuples(self, piece: Piece, alias: int) -> list[JoinTuple]:
        """Make the join tuples that paths pass at an alias, each with its rows, in their order."""
        vertices = self.plan.aliases[alias].vertices
        ids = [piece.values[vertex].tolist() for vertex in vertices]
        words = [word_rows(self.walker.key_columns(piece, each), len(piece)) for each in vertices]
        rows = word_rows(self.walker.projected_columns(piece, alias), len(piece))
        found: dict[JoinTuple, None] = {}
        for at, (row, times) in enumerate(zip(rows, piece.counts[alias].tolist(), strict=True)):
            key: Key = tuple(each[at] for each in words)
            if key not in self.tuples[alias]:
                pairs = zip(vertices, (each[at] for each in ids), key, strict=True)
                values = tuple(self.value_of(*each) for each in pairs)
                self.tuples[alias][key] = JoinTuple(alias, key, values)
            found[self.tuples[alias][key]] = None
            self.tuples[alias][key].rows[row] = times
        return list(found)


class Seats(list[dict[JoinTuple, None]]):
    """The join tuples at a vertex value by seat, each seat's made when it is asked for."""

    def __init__(self, mirror: Mirror, vertex: int, identity: int) -> None:
        aliases = mirror.plan.vertices[vertex].aliases
        super().__init__({} for _ in aliases)
        self.mirror, self.vertex, self.identity, self.aliases = mirror, vertex, identity, aliases
        self.made: set[int] = set()

    def __getitem__(self, seat: Any) -> Any:
        found: dict[JoinTuple, None] = super().__getitem__(seat)
        if seat not in self.made:
            self.made.add(seat)
            ids, alias = np.array([self.identity]), self.aliases[seat]
            for piece in self.mirror.starts.at_values(alias, self.vertex, ids):
                found.update(dict.fromkeys(self.mirror.join_tuples(piece, alias)))
        return found


def plain_copy(starts: Starts) -> Graph:
    """Copy the whole graph into its plain form."""
    graph = Graph(starts.plan)
    look = NoLook(graph)
    mirror = Mirror(starts)
    for alias in graph.plan.aliases:
        for each in mirror.of_alias(alias.index):
            for row, times in each.rows.items():
                insert(graph, look, alias.index, Image(each.key, row), times=times)
    return graph
