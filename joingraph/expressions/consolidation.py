"""Equal rows of an Arrow table folded into counts: what is left of them on balance.

    rows      (7, 'a') +1    (8, 'b') +1    (7, 'a') -1    (8, 'b') +1
    balance                  (8, 'b') +2

Rows are equal where their words are: NULL equals NULL, NaN equals NaN, -0.0 is not 0.0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.expressions.texts import Column, Numbers, codes, is_text, whole
from joingraph.expressions.words import bits_of, to_words


class Balances(NamedTuple):
    """How often equal rows came, below zero if they went, and where one of them is."""

    at: Numbers
    counts: Numbers

    def where(self, chosen: npt.NDArray[np.bool_] | Numbers) -> Balances:
        """Pick some, by a mask or by their places."""
        return Balances(self.at[chosen], self.counts[chosen])


def consolidate(rows: pa.Table, by: Numbers) -> Balances:
    """Add up the counts of equal rows, in the order of their first appearances; none is zero.

    The place is that of the first row that came, or else of the first: where only some columns are
    compared, a row that came has the newest values of the others.
    """
    if not len(by):
        return Balances(by, by)
    names = [f"c{at}" for at in range(rows.num_columns)]
    at, counts = pa.array(np.arange(len(by))), pa.array(by)
    came = pc.if_else(pc.greater(counts, 0), at, pa.scalar(None, pa.int64()))
    columns = [comparable(column) for column in rows.columns]
    table = pa.table([*columns, at, came, counts], names=[*names, "at", "came", "by"])
    found = table.group_by(names, use_threads=False).aggregate(
        [("at", "min"), ("came", "min"), ("by", "sum")]
    )
    first, total = found["at_min"].to_numpy(), found["by_sum"].to_numpy()
    place = pc.coalesce(found["came_min"], found["at_min"]).to_numpy()
    left = np.flatnonzero(total)
    left = left[np.argsort(first[left])]
    return Balances(place[left], total[left])


def comparable(column: Column) -> pa.Array:
    """Return a column whose values are equal exactly where the words of another are."""
    if is_text(column.type):
        return pa.array(codes(column))
    found = whole(column)
    if pa.types.is_nested(found.type):
        return pa.array(to_words(found), pa.string())
    if not pa.types.is_floating(found.type):
        return found
    nan = pa.scalar(float("nan"), found.type)
    return pc.if_else(pc.is_nan(found), nan, found).view(bits_of(found.type))
