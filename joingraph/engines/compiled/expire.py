"""Makes the deletes of all base rows of the compiled graph that meet a condition.

In: conjuncts over what each alias keeps. Out: ops in the order of the aliases, each a base diff of
its own, and the rows they point to; nothing is changed yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from joingraph.expressions.evaluate import holds
from joingraph.expressions.tree import Column, Expression, columns_of
from joingraph.filters.compiled.rows_to_ops import Feed, Part
from joingraph.generators.compiled.reads.pieces import Piece
from joingraph.generators.compiled.reads.starts import Starts
from joingraph.graph.compiled.fields import DELETE
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.ops import ops_alike
from joingraph.plan.kept_columns import kept_slot
from joingraph.plan.model import Slot
from joingraph.reads.access_paths import Everyone, Way, at_indexes, at_vertices
from joingraph.reads.expire import Conditions
from joingraph.reads.requests import Reading


def expired(starts: Starts, conditions: Conditions) -> Feed:
    """Find the rows that are to go."""
    parts, count = list[Part](), 0
    for alias, conjuncts in conditions.items():
        for piece in candidates(starts, alias, conjuncts):
            gone = piece.take(meeting(starts, alias, piece, conjuncts))
            rows = starts.walker.row_words(gone, alias)
            matrix = np.repeat(rows, gone.times, axis=0)
            diffs = np.arange(count, count + len(matrix))
            parts.append(Part(alias, matrix, partial(ops_alike, alias, diffs, DELETE, matrix)))
            count += len(matrix)
    return Feed(tuple(parts), (count,), ())


def candidates(starts: Starts, alias: int, conditions: Sequence[Expression]) -> Iterator[Piece]:
    """Yield the rows that may meet the conditions, as few as an index tells."""
    outputs = {each.name: each.value for each in starts.plan.definition.output}
    indexed = {column: outputs[column] for column in starts.indexes}
    ways: list[Way] = list(at_vertices(starts.plan, conditions))
    ways += at_indexes(starts.plan, Reading(tuple(conditions)), indexed)
    mine = [way for way in ways if way.alias == alias]
    yield from starts.group(mine[0] if mine else Everyone(alias))


def meeting(starts: Starts, alias: int, piece: Piece, conditions: Sequence[Expression]) -> Words:
    """Number the rows on which every condition is TRUE."""
    left = np.arange(len(piece))
    for condition in conditions:
        slots = read_by(starts, alias, condition)
        true = [
            np.asarray(holds(condition, kept_columns(starts, part, slots), len(part)), dtype=bool)
            for part in starts.walker.cut_by(piece.take(left), slots.values())
        ]
        left = left[np.concatenate(true)]
    return left


def read_by(starts: Starts, alias: int, condition: Expression) -> dict[Column, Slot]:
    """Find where an alias keeps the columns that a condition reads."""
    found: dict[Column, Slot] = {}
    for column in columns_of(condition):
        slot = kept_slot(starts.plan, starts.plan.aliases[alias], column)
        assert slot is not None, "what is not kept was refused when the condition was bound"
        found[column] = slot
    return found


def kept_columns(
    starts: Starts, piece: Piece, slots: Mapping[Column, Slot]
) -> dict[Expression, pa.Array]:
    """Return what rows keep of some columns."""
    return {
        column: starts.walker.slot_column(piece, slot).cast(column.type)
        for column, slot in slots.items()
    }
