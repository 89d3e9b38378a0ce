"""Putting rows in order, as SQL compares: by column, whatever keeps the rows.

    order  [size DESC NULLS LAST, name]    columns  [2, NULL, 7], ['b', 'a', 'c']    ->   [2, 0, 1]

A column becomes a list of comparables: plain Python values, NULL being None. -0.0 equals 0.0, NaN
is greater than every number; dates and timestamps share one scale, so that they compare, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isnan
from typing import Any

import pyarrow as pa

from joingraph.expressions.tree import Expression
from joingraph.expressions.words import to_words

Comparable = bool | int | float | Decimal | str | bytes | tuple[bool, float]
DAY_MICROSECONDS = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Order:
    """One entry of ORDER BY, over what the view keeps."""

    value: Expression
    descending: bool
    nulls_first: bool


def comparables(column: pa.Array) -> list[Any]:
    """Return a column's values as Python compares them; NULL is None.

    >>> comparables(pa.array([1.5, None, float("nan")]))
    [(False, 1.5), None, (True, 0.0)]
    """
    if pa.types.is_floating(column.type):
        return [x if x is None else ranked(x) for x in column.to_pylist()]
    words: list[Any] = to_words(column)
    if pa.types.is_date(column.type):
        return [None if days is None else days * DAY_MICROSECONDS for days in words]
    return words


def ranked(value: float) -> tuple[bool, float]:
    """Put NaN above all numbers."""
    return (True, 0.0) if isnan(value) else (False, value)


def in_order(order: Sequence[Order], columns: Sequence[pa.Array]) -> list[int]:
    """Number the rows in order, equal ones as they came; there is at least one column."""
    numbers = list(range(len(columns[0])))
    for each, column in reversed(list(zip(order, columns, strict=True))):
        keys = sort_keys(each, comparables(column))
        numbers.sort(key=keys.__getitem__, reverse=each.descending)
    return numbers


def sort_keys(order: Order, values: list[Any]) -> list[tuple[Any, ...]]:
    """Rank NULLs below or above all values, so that the sort's direction puts them in place."""
    null = (0,) if order.nulls_first != order.descending else (2,)
    return [null if value is None else (1, value) for value in values]
