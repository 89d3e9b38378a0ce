"""Lets through the rows of a base table that matter to one alias.

In: a base table's rows by column. Out: the numbers of those on which every condition of the
alias holds. NULL is no TRUE, so a row whose condition is unknown does not pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from joingraph.expressions.evaluate import holds
from joingraph.expressions.texts import whole
from joingraph.expressions.tree import Column, Expression, columns_of

Columns = Mapping[Expression, pa.Array]
Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


class BaseColumns(dict[Expression, pa.Array]):
    """A base table's columns as any alias calls them, each made whole when it is asked for."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, wanted: Expression) -> pa.Array:
        assert isinstance(wanted, Column), "everything else is computed of columns"
        found = self[wanted] = whole(self._table.column(wanted.name))
        return found


def passing(conditions: Sequence[Expression], given: Columns, length: int) -> Numbers:
    """Number the rows on which all conditions hold.

    One condition after the other, each only for the rows that the earlier ones left, so that
    `b <> 0 AND a / b > 2` never divides by zero.
    """
    left = np.arange(length, dtype=np.int64)
    for condition in conditions:
        here = columns_at(given, columns_of(condition), left)
        left = left[np.asarray(holds(condition, here, len(left)), dtype=bool)]
    return left


def columns_at(
    given: Columns, wanted: Iterable[Expression], numbers: Numbers
) -> dict[Expression, pa.Array]:
    """Return the numbered rows of the columns that are wanted."""
    return {name: numbered(given[name], numbers) for name in wanted}


def numbered(column: pa.Array, numbers: Numbers) -> pa.Array:
    """Take the numbered rows of a column; all of them need no copy."""
    return column if len(column) == len(numbers) else column.take(numbers)
