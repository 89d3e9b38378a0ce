"""Puts rows in order as SQL compares, by column: each entry of ORDER BY becomes numbers to sort by.

    size DESC NULLS LAST    [2, NULL, 7]    ->   ranks [-0, 2, -1]        sorted: 7, 2, NULL

Numbers, dates and times rank by themselves, everything else by its place among the distinct values.
-0.0 equals 0.0, NaN is greater than every number: as in joingraph/expressions/order.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.expressions.order import Order
from joingraph.expressions.words import normal
from joingraph.generators.compiled.reads.column_walk import Walker
from joingraph.generators.compiled.reads.pieces import Piece
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.values.words import numbers


def ranks(order: Order, column: pa.Array) -> Words:
    """Return numbers that sort ascending as the entry wants its column sorted."""
    kind = column.type
    if not column.null_count and (pa.types.is_signed_integer(kind) or pa.types.is_temporal(kind)):
        (plain,) = numbers(column)
        return ~plain if order.descending else plain
    if pa.types.is_floating(kind):
        column = normal(column)
    encoded = column.dictionary_encode()
    known = encoded.dictionary
    rank = np.empty(len(known) + 1, np.int64)
    rank[np.asarray(pc.sort_indices(known))] = np.arange(len(known))
    if order.descending:
        rank = -rank
    rank[len(known)] = -len(known) - 1 if order.nulls_first else len(known) + 1
    places = encoded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    found: Words = rank[places]
    return found


def in_order(
    walker: Walker, piece: Piece, order: Sequence[Order], limit: int | None = None
) -> Piece:
    """Put paths in order, equal ones as they came, and keep the first of them, or all."""
    keys = [ranks(each, walker.computed(piece, each.value)) for each in order]
    some = np.arange(len(piece))
    if limit and len(piece) > 4 * limit:  # sort those only whose first key may be among the first
        least = np.partition(keys[0], limit - 1)[limit - 1]
        some = np.flatnonzero(keys[0] <= least)
        keys = [key[some] for key in keys]
    return piece.take(some[np.lexsort(keys[::-1])[:limit]])
