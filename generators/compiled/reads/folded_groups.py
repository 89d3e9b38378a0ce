"""What a folded batch did to groups, of one note a group: what each showed, and what it shows.

notes   [diff, number] [key words] [sums before] [sums now]      a group once
rows    delete ('bob', 2)  insert ('bob', 3)  insert ('eve', 1)  a group's rows side by side
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from joingraph.generators.compiled.net import as_it_is
from joingraph.generators.compiled.reads.group_diffs import are_alike, put_together
from joingraph.generators.compiled.reads.group_table import GroupTable, Some
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.view_diffs.view_diff import CODES, DiffRows, Fold, consolidated

BOTH = np.array([CODES["delete"], CODES["insert"]], np.int8)


def folded(table: GroupTable, notes: Sequence[Words]) -> tuple[DiffRows, Fold]:
    """Return what is left of a batch, of no known base diff, and what folds that: nothing."""
    found = left_over(table, notes)
    return DiffRows(lambda: found, lambda: pa.nulls(len(found), pa.int64())), as_it_is


def left_over(table: GroupTable, notes: Sequence[Words]) -> pa.Table:
    """Return the rows that groups no longer show, and show."""
    keys, words = len(table.memory.at.keys), table.memory.at.words
    columns = side_by_side(notes[1 : 1 + keys + words], [*notes[1 : 1 + keys], *notes[-words:]])
    codes, sums = np.tile(BOTH, len(notes[0])), columns[keys:]
    differ = (sums[:, 0::2] != sums[:, 1::2]).any(axis=0)
    is_told = table.is_there(sums.T) & np.repeat(differ, 2)
    is_pair = is_told[0::2] & is_told[1::2]
    after = np.flatnonzero(is_pair) * 2 + 1  # where those are that have a row before, too
    if not is_told.all():
        columns, codes = columns[:, is_told], codes[is_told]
        after = np.cumsum(is_told)[after] - 1
    some = Some(table.key_columns([*columns[:keys]]), columns[keys:].T)
    rows = table.shown_some(some).rows
    same = after[are_alike(rows, after - 1, after)]
    places = np.delete(np.arange(len(codes)), np.concatenate([same - 1, same]))
    found = put_together(rows, places, codes[places])
    return found if table.is_keyed else consolidated(found, rows.num_columns)


def side_by_side(old: Sequence[Words], new: Sequence[Words]) -> Words:
    """Return columns of what was, each before the one of what is."""
    both = np.empty((len(old), 2 * len(old[0])), np.int64)
    for at, (before, now) in enumerate(zip(old, new, strict=True)):
        both[at, 0::2], both[at, 1::2] = before, now
    return both
