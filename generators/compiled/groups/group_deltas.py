"""What base diffs add to groups, of the notes of a batch: deltas, block by block of notes.

    notes    [diff, number] [key words] [sums before] [sums now]
    deltas   key, base diff, sums now less sums before         told where one of them is not 0

No group is looked for, and no note moved: a base diff has its notes in one block.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from joingraph.generators.compiled.groups.group_diffs import Notes, read_notes
from joingraph.generators.compiled.groups.group_sums import number
from joingraph.generators.compiled.groups.group_table import GroupTable
from joingraph.generators.deltas import DeltaMaker, Integers
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.plan.groups.bags import Bag
from joingraph.plan.groups.messages import Read
from joingraph.view_diffs.deltas import Deltas

PATHS = Read(0, 1)  # the sum that counts a group's paths


def deltas_of(table: GroupTable, parts: Sequence[Paths], maker: DeltaMaker) -> Deltas:
    """Return the deltas of the notes of a batch."""
    found = [deltas_of_block(table, read_notes(table, part.words), maker) for part in parts]
    return Deltas(pa.concat_tables(each.table for each in found)) if found else maker.none


def deltas_of_block(table: GroupTable, notes: Notes, maker: DeltaMaker) -> Deltas:
    """Return the deltas of the notes of a block."""
    sums, changes = added(table, notes), list[Integers]()
    for change in maker.columns.changes:
        of_use = None if change.use is None else table.reads[change.use]
        assert not isinstance(of_use, int | Bag), "what a bag decides is no total"
        read = PATHS if of_use is None else of_use[change.total.at]
        changes.append(sums[read.sum] * read.times)
    return maker.of_columns(table.key_columns(notes.keys), notes.diffs, changes)


def added(table: GroupTable, notes: Notes) -> list[Integers]:
    """Return what was added to each sum."""
    found, first = list[Integers](), 0
    for size in table.memory.at.sizes:
        old, new = (each[:, first : first + size] for each in (notes.old, notes.new))
        words = new - old
        if size > 1:
            words[:, 1] -= new[:, 0].view(np.uint64) < old[:, 0].view(np.uint64)
        found.append(number(words))
        first += size
    return found
