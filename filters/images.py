"""Splits the rows that pass into what the graph keeps of them: keys and projected values.

In: a base table's rows by column. Out: for each row its image for one alias, or None where the
filter drops it. A NULL in a key meets nothing, so such a row is dropped too, or kept at a value of
its own where it counts without partners.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.evaluate import evaluate
from joingraph.expressions.tree import Column, Expression, columns_of
from joingraph.expressions.words import normal, to_words
from joingraph.filters.conditions import (
    BaseColumns,
    Columns,
    Numbers,
    columns_at,
    numbered,
    passing,
)
from joingraph.graph.join_graph import Image, Row, lone_keys
from joingraph.plan.model import AliasPlan


def images(alias: AliasPlan, table: pa.Table) -> list[Image | None]:
    """Split a base table's rows as one alias keeps them, computing whole columns at a time."""
    return [image for piece in texts.pieces(table) for image in images_of(alias, piece)]


def images_of(alias: AliasPlan, table: pa.Table) -> list[Image | None]:
    """Split rows whose text fits one array a column."""
    given = BaseColumns(table)
    numbers = passing(alias.conditions, given, table.num_rows)
    flat = [each for vertex in alias.keys for each in vertex]
    keys = [normal(each) for each in computed(flat, given, numbers)]
    asked = (each for place, each in enumerate(keys) if place not in alias.lone_places)
    joins = without_null(asked, len(numbers))
    numbers = numbers[joins]
    key_words = rows_of((each.filter(pa.array(joins)) for each in keys), len(numbers))
    row_words = rows_of(computed(alias.projected, given, numbers), len(numbers))
    split: list[Image | None] = [None] * table.num_rows
    for number, words, row in zip(numbers.tolist(), key_words, row_words, strict=True):
        remaining = iter(words)
        key = tuple(tuple(next(remaining) for _ in vertex) for vertex in alias.keys)
        split[number] = Image(lone_keys(alias.index, key) if any(alias.lone) else key, row)
    return split


def computed(wanted: Sequence[Expression], given: Columns, numbers: Numbers) -> list[pa.Array]:
    """Compute expressions for the numbered rows only: the others must not raise errors."""
    return [
        numbered(given[each], numbers)
        if isinstance(each, Column)
        else evaluate(each, columns_at(given, columns_of(each), numbers), len(numbers))
        for each in wanted
    ]


def without_null(
    keys: Iterable[pa.Array], length: int
) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
    """Mark the rows that have no NULL in any key."""
    joins = np.ones(length, dtype=bool)
    for each in keys:
        if each.null_count:
            joins &= np.asarray(each.is_valid())
    return joins


def rows_of(arrays: Iterable[pa.Array], length: int) -> Iterable[Row]:
    """Turn columns into one tuple of words for each row, empty ones where there is no column."""
    words = [to_words(each) for each in arrays]
    return zip(*words, strict=True) if words else [()] * length
