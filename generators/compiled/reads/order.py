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


def in_order(keys: Sequence[Words]) -> Words:
    """Number the rows in order, equal ones as they came; there is at least one key."""
    found: Words = np.lexsort(tuple(reversed(keys)))
    return found


def first_in_order(keys: Sequence[Words], limit: int) -> Words:
    """Number the first rows in order, looking only at those whose first key may be among them."""
    if limit == 0 or len(keys[0]) <= 4 * limit:
        return in_order(keys)[:limit]
    least = np.partition(keys[0], limit - 1)[limit - 1]
    some = np.flatnonzero(keys[0] <= least)
    return some[in_order([key[some] for key in keys])[:limit]]
