"""Paths through the compiled graph by column: pieces of them, for answers on demand.

    values      vertex -> id of its value on each path          {v0: [7, 7, 9]}
    projected   alias  -> its projected words, by column        {F: [[1, 2, 1]]}
    times       how many rows each path stands for              [1, 1, 1]
    counts      alias  -> of how many equal base rows it is     {F: [1, 1, 1]}      only if folded

An alias is entered by reading, for each path, its list at the path's vertex value: numpy gathers
over the graph's own memory, no Python per row. What is made of a piece comes in bounded pieces
again, so that a walk (walk.py) takes little memory however many paths there are. Equal base rows
lie there one by one; a walk that folds makes one path of them. Batches go another way
(generators/compiled/odometer.py); both read the same lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.evaluate import evaluate, holds
from joingraph.expressions.texts import is_text
from joingraph.expressions.tree import Expression
from joingraph.expressions.types import words_of
from joingraph.generators.compiled.reads.find_values import find_ids
from joingraph.generators.compiled.reads.pieces import Entered, Piece
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.layout import Layout, Seat
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.memory.state import GraphMemory
from joingraph.graph.compiled.values.columns import set_together
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.graph.compiled.values.words import from_words
from joingraph.plan.kept_columns import kept_parts
from joingraph.plan.model import Plan, Slot
from joingraph.reads.requests import Touched

Marks = npt.NDArray[np.bool_]
PIECE = 1 << 17  # paths that are made at once


class Walker:
    """Reads one graph by column; `folds` if equal base rows make one path."""

    def __init__(
        self,
        plan: Plan,
        layout: Layout,
        memory: GraphMemory,
        interner: Interner,
        *,
        folds: bool = False,
    ) -> None:
        self.plan, self.layout, self.memory, self.interner = plan, layout, memory, interner
        self.folds = folds
        self.marks = {plan.slots[mark] for mark in plan.marks}

    def records(self, vertex: int) -> Words:
        """Return the records of a vertex' values, one a line."""
        stride = self.layout.vertices[vertex].stride
        used = int(self.memory.vertex(vertex)[f.V_NEXT])
        return self.memory.records[vertex].words[: used * stride].reshape(used, stride)

    def nodes(self, alias: int) -> Words:
        """Return the records of an alias' nodes, one a line."""
        stride = self.layout.aliases[alias].stride
        used = int(self.memory.alias(alias)[f.A_NEXT])
        return self.memory.nodes[alias].words[: used * stride].reshape(used, stride)

    def seat(self, alias: int, vertex: int) -> Seat:
        """Find an alias' seat at a vertex."""
        return next(seat for seat in self.layout.vertices[vertex].seats if seat.alias == alias)

    def begun(self, alias: int, rows: Words) -> Piece:
        """Begin paths at rows of an alias, given by words; -1 stands for a value not there."""
        layout = self.layout.aliases[alias]
        if not len(rows):
            rows = np.empty((0, max(1, layout.width)), np.int64)
        values = {}
        for link in layout.links:
            width = self.layout.vertices[link.vertex].key
            keys = rows[:, link.key : link.key + width] if width else np.zeros((len(rows), 1), int)
            keys = np.ascontiguousarray(keys)
            values[link.vertex] = find_ids(self.memory, link.vertex, keys)
        words = [rows[:, layout.keys + word] for word in range(layout.projected)]
        return Piece(values, {alias: words}, np.ones(len(rows), np.int64))

    def records_at(self, piece: Piece, vertex: int) -> Words:
        """Return the records of each path's value; of zeros where there is no value."""
        ids, records = piece.values[vertex], self.records(vertex)
        if self.plan.is_inner or (ids >= 0).all():
            return records[ids]
        nothing = np.zeros((1, records.shape[1]), np.int64)
        found: Words = np.concatenate([records, nothing])[ids]
        return found

    def live(self, piece: Piece, alias: int, vertex: int) -> Words:
        """Return how many live entries an alias has at each path's value."""
        live: Words = self.records_at(piece, vertex)[:, self.seat(alias, vertex).live] & f.LENGTH
        return live

    def missing(self, piece: Piece, live: Words, vertex: int, mode: str) -> Marks | None:
        """Mark the paths on which one row of NULLs stands for an alias; None: on none."""
        if mode == "null":
            return np.ones(len(piece), bool)
        found: Marks = piece.values[vertex] < 0
        if mode == "opt":
            found |= live == 0
        return found if found.any() else None

    def entered(
        self, piece: Piece, alias: int, vertex: int, *, dead: bool = False, mode: str = "req"
    ) -> Iterator[Entered]:
        """Extend each path by every row that an alias has at its value of a vertex.

        Rows from which look-ahead knows no path to be complete are left out, unless `dead` ones
        are wanted, too. There is always one piece at the least, be it empty. Where the alias is
        missing, the heap's first words stand for its row, which are NULL, and no value for those
        beyond.
        """
        seat = self.seat(alias, vertex)
        records = self.records_at(piece, vertex)
        live = records[:, seat.length if dead else seat.live] & f.LENGTH
        gone = None if self.plan.is_inner else self.missing(piece, live, vertex, mode)
        if gone is not None:
            live = np.where(gone, 1, live)
            records = np.where(gone[:, None], 0, records)
        if seat.kind == f.COUNT:
            some = np.flatnonzero(live)
            found = piece.take(some)
            found = replace(found, projected={**found.projected, alias: []})
            yield self.counted(Entered(found.weighed(alias, live[some]), some), alias, gone)
            return
        ends = np.cumsum(live)
        total = int(ends[-1]) if len(ends) else 0
        before, steps = records[:, seat.offset] - (ends - live), steps_of(records[:, seat.length])
        for low in range(0, max(total, 1), PIECE):
            number = np.arange(low, min(low + PIECE, total))
            if total <= PIECE:
                parents = np.repeat(np.arange(len(live)), live)
            else:
                parents = np.searchsorted(ends, number, side="right")
            places = before[parents] + number
            found = self.extended(piece.take(parents), seat, places, steps[parents])
            if gone is not None and seat.kind >= f.EDGE:
                found = self.without_values(found, seat, gone[parents])
            entered = self.folded(found, alias, parents) if self.folds else Entered(found, parents)
            yield self.counted(entered, alias, gone)

    def counted(self, entered: Entered, alias: int, gone: Marks | None) -> Entered:
        """Count no rows where an alias is missing, if rows are counted."""
        if gone is None or not self.folds:
            return entered
        counts = np.where(gone[entered.parents], 0, entered.piece.counts[alias])
        piece = replace(entered.piece, counts={**entered.piece.counts, alias: counts})
        return Entered(piece, entered.parents)

    def without_values(self, piece: Piece, seat: Seat, gone: Marks) -> Piece:
        """Let some paths have no values beyond an alias, and NULL for what it projects."""
        alias = self.layout.aliases[seat.alias]
        values = dict(piece.values)
        for place, link in enumerate(alias.links):
            if place != seat.link:
                values[link.vertex] = np.where(gone, -1, values[link.vertex])
        words = [np.where(gone, f.NULL_WORD, each) for each in piece.projected[seat.alias]]
        return replace(piece, values=values, projected={**piece.projected, seat.alias: words})

    def folded(self, piece: Piece, alias: int, parents: Words) -> Entered:
        """Make one path of those that came by equal rows of an alias from the same path."""
        ids = [piece.values[link.vertex] for link in self.layout.aliases[alias].links]
        rows = np.stack([parents, *ids, *piece.projected[alias]], axis=1)
        _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
        order = np.argsort(first)
        some = first[order]
        return Entered(piece.take(some).weighed(alias, counts[order]), parents[some])

    def extended(self, piece: Piece, seat: Seat, places: Words, steps: Words) -> Piece:
        """Add to each path the entry at a place of the heap; a leaf's columns are a step apart."""
        alias, heap = self.layout.aliases[seat.alias], self.memory.heap.words
        if seat.kind == f.LEAF:
            words = [heap[places]]
            words += [heap[places + column * steps] for column in range(1, alias.projected)]
            return replace(piece, projected={**piece.projected, seat.alias: words})
        entries = heap[places]
        if len(entries) and entries.min() < 0:  # where an alias is missing
            entries = np.maximum(entries, 0)
        others = [
            (place, link.vertex) for place, link in enumerate(alias.links) if place != seat.link
        ]
        if seat.kind == f.EDGE:
            ((_, far),) = others
            values = {**piece.values, far: entries >> 32}
            return replace(piece, values=values, projected={**piece.projected, seat.alias: []})
        nodes = self.nodes(seat.alias)
        nodes = nodes[entries] if len(nodes) else np.zeros((len(entries), alias.stride), np.int64)
        first = 1 + len(alias.links)
        words = [nodes[:, first + word] for word in range(alias.projected)]
        values = {vertex: nodes[:, 1 + place] >> 32 for place, vertex in others}
        return replace(
            piece,
            values={**piece.values, **values},
            projected={**piece.projected, seat.alias: words},
        )

    def note(self, touched: Touched, alias: int, parents: Words) -> None:
        """Count what was entered; an alias with one vertex has one join tuple at a value."""
        touched.projected_tuples += len(parents)
        kind = self.layout.aliases[alias].kind
        met = len(parents) if kind >= f.EDGE else 1 + np.count_nonzero(np.diff(parents))
        touched.join_tuples += int(met) if len(parents) else 0

    def passing(self, piece: Piece, tests: Sequence[Expression]) -> Piece:
        """Keep the paths on which conditions are TRUE."""
        return piece.take(self.surviving(piece, tests)) if tests else piece

    def surviving(self, piece: Piece, tests: Sequence[Expression]) -> Words:
        """Number the paths on which conditions are TRUE, one condition after the other."""
        left = np.arange(len(piece))
        for test in tests:
            parts = self.cut(piece, [test])
            true = [np.asarray(holds(test, self.given(each, test), len(each))) for each in parts]
            some = np.flatnonzero(np.concatenate(true))
            if len(some) < len(piece):
                piece, left = piece.take(some), left[some]
        return left

    def cut(self, piece: Piece, wanted: Iterable[Expression]) -> Iterator[Piece]:
        """Cut paths so that what expressions read of each part is text for a block at most."""
        return self.cut_by(piece, self.slots_of(wanted))

    def cut_by(self, piece: Piece, slots: Iterable[Slot]) -> Iterator[Piece]:
        """Cut paths so that what each part keeps in some slots is text for a block at most."""
        lengths = self.lengths(piece, slots, texts.BLOCK_BYTES)
        if lengths is None:
            yield piece
            return
        for span in texts.spans(lengths, texts.BLOCK_BYTES):
            yield piece.take(span)

    def slots_of(self, wanted: Iterable[Expression]) -> set[Slot]:
        """Find the slots that expressions read."""
        return {self.plan.slots[part] for each in wanted for part in kept_parts(self.plan, each)}

    def lengths(self, piece: Piece, slots: Iterable[Slot], most: int) -> Words | None:
        """Return how many bytes of text each path has in slots; None if all have no more."""
        some = [each for each in slots if is_text(each.stored)]
        if len(some) * self.interner.longest * len(piece) <= most:
            return None
        found = np.zeros(len(piece), np.int64)
        for slot in some:
            found += self.interner.lengths(self.slot_words(piece, slot)[0])
        return found if int(found.sum()) > most else None

    def given(self, piece: Piece, wanted: Expression) -> dict[Expression, pa.Array]:
        """Collect the kept values that an expression is computed of."""
        parts = dict.fromkeys(kept_parts(self.plan, wanted))
        return {each: self.column(piece, each) for each in parts}

    def column(self, piece: Piece, kept: Expression) -> pa.Array:
        """Collect what paths keep for an expression, in its own type."""
        slot = self.plan.slots[kept]
        found = self.slot_column(piece, slot)
        return found if slot.stored == kept.type else found.cast(kept.type)

    def slot_column(self, piece: Piece, slot: Slot) -> pa.Array:
        """Collect what paths keep in a slot."""
        words = self.slot_words(piece, slot)
        nulls = slot.vertex is None or self.plan.aliases[slot.alias].lone[slot.vertex]
        return from_words(words, slot.stored, self.interner, nulls=nulls)

    def slot_words(self, piece: Piece, slot: Slot) -> list[Words]:
        """Collect a slot's words."""
        alias = self.plan.aliases[slot.alias]
        if slot in self.marks:
            return list(piece.projected[slot.alias])
        if slot.vertex is None:
            before = sum(words_of(each.type) for each in alias.projected[: slot.position])
            end = before + words_of(slot.stored)
            return list(piece.projected[slot.alias][before:end])
        vertex = self.layout.aliases[slot.alias].links[slot.vertex].vertex
        types = self.plan.vertices[vertex].types
        before = sum(map(words_of, types[: slot.position]))
        end = before + words_of(types[slot.position])
        words = self.records(vertex)[piece.values[vertex], before:end]
        apart = self.layout.aliases[slot.alias].apart_at(vertex)
        words = set_together(words, [at - before for at in apart if before <= at < end])
        return list(np.ascontiguousarray(words.T))

    def computed(self, piece: Piece, wanted: Expression) -> pa.Array:
        """Return a kept value, or compute an expression of several; text may be wide."""
        if wanted in self.plan.slots:
            return self.column(piece, wanted)
        parts = self.cut(piece, [wanted])
        return texts.joined(
            [evaluate(wanted, self.given(each, wanted), len(each)) for each in parts]
        )

    def output(self, piece: Piece) -> list[pa.Array]:
        """Compute the view's columns for complete paths, one row each; text may be wide."""
        return [self.computed(piece, each.value) for each in self.plan.definition.output]

    def shown(self, piece: Piece) -> Iterator[tuple[Piece, pa.Table]]:
        """Yield complete paths with the view's rows on them, text for a block at once."""
        definition = self.plan.definition
        for part in self.cut(piece, [each.value for each in definition.output]):
            yield part, texts.typed(self.output(part), definition.schema)

    def key_columns(self, piece: Piece, vertex: int) -> list[pa.Array]:
        """Return the values that paths have at a vertex, by class."""
        types = self.plan.vertices[vertex].types
        words = self.records_at(piece, vertex)[:, : sum(map(words_of, types))]
        if self.plan.is_inner:
            return list(self.columns(types, list(words.T), nulls=False))
        words[piece.values[vertex] < 0] = f.NULL_WORD
        seats = self.layout.vertices[vertex].seats
        apart = (self.layout.aliases[seat.alias].apart_at(vertex) for seat in seats)
        words = set_together(words, [place for places in apart for place in places])
        return list(self.columns(types, list(words.T), nulls=True))

    def projected_columns(self, piece: Piece, alias: int) -> list[pa.Array]:
        """Return what an alias projects on paths."""
        types = [each.type for each in self.plan.aliases[alias].projected]
        return list(self.columns(types, piece.projected[alias], nulls=True))

    def columns(
        self, types: Iterable[pa.DataType], words: Sequence[Words], *, nulls: bool
    ) -> Iterator[pa.Array]:
        """Yield values that lie word by word behind one another."""
        rest = iter(words)
        for kind in types:
            yield from_words(list(islice(rest, words_of(kind))), kind, self.interner, nulls=nulls)

    def row_words(self, piece: Piece, alias: int) -> Words:
        """Return the rows that an alias has on paths: key words, then projected words."""
        layout = self.layout.aliases[alias]
        rows = np.empty((len(piece), max(1, layout.width)), np.int64)
        for link in layout.links:
            records, ids = self.records(link.vertex), piece.values[link.vertex]
            for word in range(self.layout.vertices[link.vertex].key):
                rows[:, link.key + word] = records[ids, word]
        for word, column in enumerate(piece.projected[alias]):
            rows[:, layout.keys + word] = column
        return rows


def steps_of(sized: Words) -> Words:
    """Return how many words lie between the columns of lists, from their sized lengths."""
    found: Words = (1 << (sized >> 40)) >> 1
    return found
