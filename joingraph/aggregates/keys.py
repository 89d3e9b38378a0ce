"""Values as keys: what tells equal values apart, and what puts values in order.

    NULL (1,)    2.5 (0, (False, 2.5, 1.0))    NaN (0, (True, 0.0, 1.0))    'b' (0, 'b')

Identity keeps -0.0 and 0.0 apart, a rank does not; of NaN there is one, above all numbers. Values
of one type are compared only, so TRUE never meets 1. Python orders texts by code points, which is
the order of their UTF-8 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from joingraph.aggregates.contract import Order, Row
from joingraph.aggregates.exact import integer_of
from joingraph.expressions.order import ranked
from joingraph.expressions.tree import Value

Key: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Descending:
    """A key that comes first where the key itself comes last."""

    key: Key

    def __lt__(self, other: Descending) -> bool:
        return other.key < self.key


def rank(value: Value, type: pa.DataType) -> Key:
    """Return a key by which values compare as SQL compares them; NULL comes last."""
    if value is None:
        return (1,)
    if isinstance(value, float):
        return (0, ranked(value))
    is_time = pa.types.is_date(type) or pa.types.is_timestamp(type)
    return (0, integer_of(value, type) if is_time else value)


def identity(value: Value, type: pa.DataType) -> Key:
    """Return a key that only the same value has; in order, -0.0 just below 0.0."""
    if isinstance(value, float):
        is_nan, number = ranked(value)
        return (0, (is_nan, number, math.copysign(1.0, number)))
    return rank(value, type)


def identities(values: Row, types: Sequence[pa.DataType]) -> Key:
    """Return the key of a row."""
    return tuple(map(identity, values, types))


def one_nan(value: Value) -> Value:
    """Return the same object for every NaN, so that equal rows compare equal in Python, too."""
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def normal(value: Value) -> Value:
    """Return 0.0 for -0.0, and one NaN for all."""
    if not isinstance(value, float):
        return value
    return math.nan if math.isnan(value) else value + 0.0


def in_order(
    rows: Iterable[tuple[Row, int]], types: Sequence[pa.DataType], order: Sequence[Order]
) -> list[tuple[Row, int]]:
    """Return counted rows as ORDER BY puts them; ties go by the rows' values."""
    found = sorted(rows, key=lambda row: identities(row[0], types))
    for each in reversed(order):
        found.sort(key=_sort_key(each, types[each.argument]), reverse=each.descending)
    return found


def _sort_key(order: Order, type: pa.DataType) -> Any:
    """Return the key of one entry of ORDER BY, NULLs where the entry wants them."""
    null = (-1,) if order.nulls_first != order.descending else (1,)

    def key(row: tuple[Row, int]) -> Key:
        value = row[0][order.argument]
        return null if value is None else rank(value, type)

    return key
