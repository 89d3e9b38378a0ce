"""What a folded batch did to groups, of one note a group: what each showed, and what it shows.

notes   [diff, number] [key words] [sums before] [sums now]      a group once
rows    delete ('bob', 2)  insert ('bob', 3)  insert ('eve', 1)  a group's rows side by side
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from joingraph.expressions.texts import take_rows
from joingraph.generators.compiled.groups.group_diffs import are_alike
from joingraph.generators.compiled.groups.group_table import GroupTable, Some
from joingraph.generators.compiled.net import as_it_is
from joingraph.graph.compiled.machine.kernel import brief, ld, sto
from joingraph.graph.compiled.memory.leases import leased
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent
from joingraph.view_diffs.view_diff import CODES, DiffRows, Fold, beside, consolidated

BOTH = np.array([CODES["delete"], CODES["insert"]], np.int8)


def folded(table: GroupTable, notes: Sequence[Words]) -> tuple[DiffRows, Fold]:
    """Return what is left of a batch, of no known base diff, and what folds that: nothing."""
    found = left_over(table, notes)
    return DiffRows(lambda: found, lambda: pa.nulls(len(found), pa.int64())), as_it_is


def left_over(table: GroupTable, notes: Sequence[Words]) -> pa.Table:
    """Return the rows that groups no longer show, and show."""
    keys, words = len(table.memory.at.keys), table.memory.at.words
    old, new = notes[1 : 1 + keys + words], [*notes[1 : 1 + keys], *notes[-words:]]
    columns = side_by_side(old, new, len(notes[0]))
    codes, sums = np.tile(BOTH, len(notes[0])), columns[keys:-1]
    pairs = zip(old[keys:], notes[-words:], strict=True)
    differ = np.logical_or.reduce([before != now for before, now in pairs])
    is_there = table.is_there(sums.T)
    went, came = is_there[0::2] & differ, is_there[1::2] & differ
    before, after = slice(0, None, 2), slice(1, None, 2)  # rows of the groups that have both
    if not (went.all() and came.all()):
        some = np.stack([went, came], axis=1).ravel()
        after = np.cumsum(some)[1::2][went & came] - 1
        columns, codes, before = columns[:, some], codes[some], after - 1
    counts = pa.array(columns[-1])
    rows = table.shown_some(Some(table.key_columns([*columns[:keys]]), columns[keys:-1].T)).rows
    same = are_alike(rows, before, after)
    if same.any():
        places = np.arange(len(codes))
        places = np.delete(places, [places[before][same], places[after][same]])
        rows, codes, counts = take_rows(rows, places), codes[places], counts[: len(places)]
    found = beside(rows, pa.array(codes), counts)
    return found if table.is_keyed else consolidated(found, rows.num_columns)


def side_by_side(before: Sequence[Words], after: Sequence[Words], count: int) -> Words:
    """Return columns of what was, each word before the one of what is; and one of ones."""
    both = leased((len(before) + 1, 2 * count))
    both[-1] = 1
    with lent(both, *before, *after):
        for row, old, new in zip(both, before, after, strict=False):
            interleave(address_of(row), address_of(old), address_of(new), count)
    return both


@brief
def interleave(to: int, old: int, new: int, count: int) -> None:
    """Write words of two columns in turn."""
    for at in range(count):
        sto(to, 2 * at, ld(old, at))
        sto(to, 2 * at + 1, ld(new, at))
