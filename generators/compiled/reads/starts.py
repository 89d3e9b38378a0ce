"""Where a read of the compiled graph starts: pieces of one alias' rows, tested, in order.

    AtVertex F {7}   ->   F's rows at the value 7        then tests, then sorting

In: a reading, and the access path chosen for it (reads/access_paths.py). Out: pieces that have
been at the start alias only. Small pieces come first, in case that only a few rows are wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from joingraph.expressions.tree import Expression
from joingraph.expressions.words import Word
from joingraph.expressions.words import from_words as words_to_arrow
from joingraph.generators.compiled.reads.column_walk import Walker
from joingraph.generators.compiled.reads.find_values import find_ids
from joingraph.generators.compiled.reads.order import in_order
from joingraph.generators.compiled.reads.pieces import Piece, joined
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.sorted_index import SortedIndex
from joingraph.graph.compiled.values.columns import rows_of_words
from joingraph.reads.access_paths import (
    AtIndex,
    AtVertex,
    Everyone,
    InOrder,
    Way,
    choose,
    sorting_alias,
)
from joingraph.reads.requests import Reading, Touched

FIRST_PIECE = 256  # vertex values of the first piece of a full scan; the next are twice as large
LAST_PIECE = 1 << 14

Indexes = Mapping[str, SortedIndex]


class Starts:
    """Finds where reads of one graph start."""

    def __init__(self, walker: Walker, indexes: Indexes) -> None:
        self.walker, self.indexes, self.plan = walker, indexes, walker.plan

    def best_way(self, reading: Reading) -> Way:
        """Choose the way with the fewest starts."""
        return choose(self.plan, reading, self.indexes, self.size)

    def size(self, way: Way) -> int:
        """Return how many starts a way has."""
        match way:
            case AtVertex(alias, vertex, words):
                seat = self.walker.seat(alias, vertex)
                records = self.walker.records(vertex)[self.ids(vertex, words)]
                return int((records[:, seat.length] & f.LENGTH).sum())
            case AtIndex(_, column, spans):
                return sum(self.indexes[column].size(span) for span in spans)
            case Everyone(alias) | InOrder(alias, _, _, _):
                return int(self.walker.memory.alias(alias)[f.A_ROWS])

    def ids(self, vertex: int, words: Sequence[Sequence[Word]]) -> Words:
        """Find the vertex values there are, of those asked for."""
        types = self.plan.vertices[vertex].types
        columns = [
            words_to_arrow([each[position] for each in words], kind)
            for position, kind in enumerate(types)
        ]
        keys = rows_of_words(columns, len(words), self.walker.interner, keys=len(columns))
        found = find_ids(self.walker.memory, vertex, keys)
        return found[found >= 0]

    def pieces(
        self, reading: Reading, way: Way, tests: Sequence[Expression], touched: Touched
    ) -> Iterator[Piece]:
        """Yield the starts that meet the conditions on their alias, sorted if that helps."""
        is_sorted = sorting_alias(self.plan, reading) == way.alias
        groups = self.in_values(way) if isinstance(way, InOrder) else [self.group(way)]
        first, every = reading.part
        for group in groups:
            passed = [
                self.walker.passing(piece, tests)
                for piece in self.noted(every_nth(group, first, every), way.alias, touched)
            ]
            if is_sorted and passed:
                yield from cut(in_order(self.walker, joined(passed), reading.order))
            else:
                yield from passed

    def noted(self, pieces: Iterable[Piece], alias: int, touched: Touched) -> Iterator[Piece]:
        """Count the starts that go by."""
        for piece in pieces:
            home = self.walker.layout.aliases[alias].links[0].vertex
            self.walker.note(touched, alias, piece.values[home])
            yield piece

    def group(self, way: Way) -> Iterator[Piece]:
        """Yield the rows a way leads to, in no order."""
        match way:
            case AtVertex(alias, vertex, words):
                yield from self.at_values(alias, vertex, self.ids(vertex, words))
            case AtIndex(alias, column, spans):
                for span in spans:
                    yield self.piece_of(alias, self.indexes[column].within(span))
            case Everyone(alias) | InOrder(alias, _, _, _):
                yield from self.everyone(alias)

    def in_values(self, way: InOrder) -> Iterator[Iterable[Piece]]:
        """Yield an alias' rows in the order of an index, equal values always together."""
        index = self.indexes[way.column]
        for rows in index.ordered(descending=way.descending, nulls_first=way.nulls_first):
            yield [self.piece_of(way.alias, rows)]

    def everyone(self, alias: int) -> Iterator[Piece]:
        """Yield all rows of an alias, vertex value by vertex value."""
        home = self.walker.layout.aliases[alias].links[0].vertex
        used, low, size = len(self.walker.records(home)), 0, FIRST_PIECE
        while low < used:
            yield from self.at_values(alias, home, np.arange(low, min(low + size, used)))
            low, size = low + size, min(2 * size, LAST_PIECE)

    def at_values(self, alias: int, vertex: int, ids: Words) -> Iterator[Piece]:
        """Yield an alias' rows at vertex values."""
        begin = Piece({vertex: ids}, {}, np.ones(len(ids), np.int64))
        for found, _ in self.walker.entered(begin, alias, vertex, dead=True):
            yield found

    def piece_of(self, alias: int, rows: Words) -> Piece:
        """Begin paths at rows that an index lists."""
        piece = self.walker.begun(alias, rows)
        if self.walker.folds:
            return self.walker.folded(piece, alias, np.zeros(len(piece), np.int64)).piece
        return piece


def every_nth(pieces: Iterable[Piece], first: int, every: int) -> Iterator[Piece]:
    """Pick the i-th start of every n; all of them if n is 1."""
    if every == 1:
        yield from pieces
        return
    passed = 0
    for piece in pieces:
        yield piece.take(np.arange((first - passed) % every, len(piece), every))
        passed += len(piece)


def cut(piece: Piece) -> Iterator[Piece]:
    """Cut a sorted piece, small parts first."""
    low, size = 0, 1
    while low < len(piece):
        yield piece.take(np.arange(low, min(low + size, len(piece))))
        low, size = low + size, min(2 * size, LAST_PIECE)
