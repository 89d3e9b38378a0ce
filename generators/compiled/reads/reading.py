"""Reads some of the view off the compiled graph: rows that meet conditions, in order, with a limit.

    starts -> (walk: enter, test, weigh, ...) -> complete paths -> the best k -> record batches

The same steps as generators/reads/reading.py takes on the plain graph, by column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat

import numpy as np
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.tree import Expression
from joingraph.expressions.words import Word, to_words, words_of
from joingraph.generators.compiled.reads.column_walk import Walker
from joingraph.generators.compiled.reads.order import in_order
from joingraph.generators.compiled.reads.pieces import Piece, joined
from joingraph.generators.compiled.reads.starts import Starts
from joingraph.generators.compiled.reads.walk import Walk
from joingraph.generators.compiled.whole_numbers import total
from joingraph.generators.reads.scan import repeated
from joingraph.graph.compiled import fields as f
from joingraph.plan.arrange import (
    aliases_tied,
    count_program,
    paths_program,
    rows_program,
)
from joingraph.reads.access_paths import sorting_alias, starting_in, starting_without
from joingraph.reads.requests import Reading, Touched
from joingraph.reads.row_lookup import Asked
from joingraph.reads.why import Kept


def read(starts: Starts, reading: Reading, touched: Touched) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are asked for."""
    if reading.limit == 0:
        return
    way = starts.best_way(reading)
    order = tuple(each.value for each in reading.order)
    program = starts.plan.program(rows_program, way.alias, reading.conditions, order)
    begun = starts.pieces(reading, way, program.tests, touched)
    pieces = Walk(starts.walker, touched).walk(begun, program.steps)
    pieces = chain(pieces, without_start(starts, reading, way.alias))
    if reading.order and sorting_alias(starts.plan, reading) != way.alias:
        pieces = best(starts.walker, pieces, reading)
    if reading.limit is not None:
        pieces = limited(pieces, reading.limit)
    for piece in pieces:
        yield from batches(starts.walker, piece)


def best(walker: Walker, pieces: Iterable[Piece], reading: Reading) -> Iterator[Piece]:
    """Keep the first of all paths in the order asked for, as many as are wanted."""
    kept: list[Piece] = []
    waiting = 0
    for piece in pieces:
        kept.append(piece)
        waiting += len(piece)
        if reading.limit is not None and waiting > max(f.BLOCK_LIMIT, 4 * reading.limit):
            kept = [in_order(walker, joined(kept), reading.order, reading.limit)]
            waiting = len(kept[0])
    if kept:
        yield in_order(walker, joined(kept), reading.order, reading.limit)


def limited(pieces: Iterable[Piece], limit: int) -> Iterator[Piece]:
    """Let through as many rows as are wanted; the last path may stand for more than that."""
    left = limit
    for piece in pieces:
        before = np.cumsum(piece.times) - piece.times
        some = piece.take(np.flatnonzero(before < left))
        times = np.minimum(some.times, left - before[: len(some)])
        yield replace(some, times=times)
        left -= int(times.sum())
        if left <= 0:
            return


def batches(walker: Walker, piece: Piece) -> Iterator[pa.RecordBatch]:
    """Make record batches of paths, rows repeated as often as they stand for."""
    for part, rows in walker.shown(piece):
        if (part.times == 1).all():
            yield from texts.blocks(rows, max(1, len(rows)))
        else:
            for numbers in repeated(part.times):
                yield from texts.picked(rows, numbers)


def count_where(starts: Starts, conditions: tuple[Expression, ...]) -> int:
    """Count the view's rows that meet conditions; only what they tie together is walked."""
    plan, reading = starts.plan, Reading(conditions)
    way = starting_in(plan, aliases_tied(plan, conditions), starts.best_way(reading), conditions)
    program = plan.program(count_program, way.alias, conditions)
    begun = starts.pieces(reading, way, program.tests, Touched())
    pieces = Walk(starts.walker).walk(begun, program.steps)
    pieces = chain(pieces, without_start(starts, reading, way.alias))
    return sum(total(piece.times) for piece in pieces)


def without_start(
    starts: Starts,
    reading: Reading,
    start: int,
    *,
    unasked: Sequence[Expression] = (),
    has_all: bool = False,
) -> Iterator[Piece]:
    """Yield the paths on which the alias is missing where reads start (reads/access_paths.py)."""
    walker, passed = starts.walker, 0
    first, every = reading.part
    ways = starting_without(starts.plan, reading, start, unasked=unasked, has_all=has_all)
    for vertex, leading, program in ways:
        records, seats = walker.records(vertex), walker.layout.vertices[vertex].seats
        (live,) = (each.live for each in seats if each.alias == leading)
        someone = np.any([records[:, each.length] & f.LENGTH for each in seats], axis=0)
        ids = np.flatnonzero(someone & (records[:, live] & f.LENGTH == 0))
        some = ids[(np.arange(len(ids)) + passed) % every == first]
        passed += len(ids)
        if len(some):
            begin = Piece({vertex: some}, {}, np.ones(len(some), np.int64))
            yield from Walk(walker).walk([begin], program.steps)


def why(starts: Starts, asked: Asked) -> list[tuple[Kept | None, ...]]:
    """Find the row's paths: what each alias keeps on them; the starts' walker folds."""
    walker, plan = starts.walker, starts.plan
    reading = Reading(asked.conditions)
    way = starts.best_way(reading)
    program = plan.program(paths_program, way.alias, asked.conditions)
    begun = starts.pieces(reading, way, program.tests, Touched())
    found: list[tuple[Kept | None, ...]] = []
    pieces = Walk(walker).walk(begun, program.steps)
    for piece in chain(pieces, without_start(starts, reading, way.alias, has_all=True)):
        for part, shown in walker.shown(piece):
            rows = zip(*(words_of(each) for each in shown.columns), strict=True)
            same = [at for at, row in enumerate(rows) if row == asked.words]
            mine = part.take(np.array(same, np.int64))
            found += zip(*(kept(walker, mine, alias.index) for alias in plan.aliases), strict=True)
            if asked.is_full(len(found)):
                return found[: asked.limit]
    return found


def kept(walker: Walker, piece: Piece, alias: int) -> Iterator[Kept | None]:
    """Yield what an alias keeps on each path; None where it is missing, or not shown."""
    if walker.plan.aliases[alias].is_silent:
        (noted,) = piece.projected.get(alias, [None])
        for lives in [None] * len(piece) if noted is None else noted.tolist():
            yield None if lives is None else Kept((), (bool(lives),), 1)
        return
    vertices = walker.plan.aliases[alias].vertices
    keys = [word_rows(walker.key_columns(piece, each), len(piece)) for each in vertices]
    rows = word_rows(walker.projected_columns(piece, alias), len(piece))
    by_path = zip(*keys, strict=True) if keys else repeat((), len(piece))
    for key, row, times in zip(by_path, rows, piece.counts[alias].tolist(), strict=True):
        yield Kept(key, row, times) if times else None


def word_rows(columns: Sequence[pa.Array], length: int) -> list[tuple[Word, ...]]:
    """Turn columns into rows of words."""
    if not columns:
        return [()] * length
    return list(zip(*map(to_words, columns), strict=True))
