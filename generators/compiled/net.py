"""Folds the view diffs of a batch: equal rows are one, with what is left of them on balance.

    rows      (7, 1) +1    (8, 1) +1    (7, 1) -1    (8, 1) +1
    balance   0            2            .            .             at the first of its equals
    table     | row + 1 | ...                                      open addressing

Rows of a batch that only inserts, or only deletes, are all different where keys tell them apart;
but a first partner takes the row of NULLs that the batch may have brought.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from joingraph.generators.compiled.fold import hash_row, same_rows
from joingraph.generators.compiled.outputs import Outputs
from joingraph.graph.compiled.fields import DELETE, INSERT
from joingraph.graph.compiled.machine.kernel import kernel, ld, sto
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent
from joingraph.graph.compiled.op_rows import SHARED, bit_of
from joingraph.view_diffs.view_diff import DiffRows, Fold, left_over, signed_counts


def folding(outputs: Outputs, kinds: int) -> Fold:
    """Return what folds a batch's view diff, given the kinds of its ops."""
    is_one_way = kinds & ~SHARED in (0, bit_of(INSERT), bit_of(DELETE))
    return as_it_is if outputs.told_apart and is_one_way else partial(net, outputs)


def as_it_is(changes: DiffRows) -> pa.Table:
    """Fold a view diff without equal rows."""
    return changes.rows


def net(outputs: Outputs, of: DiffRows) -> pa.Table:
    """Keep the first appearance of each row that has changed on balance, with that balance."""
    width, changes = len(outputs.schema), of.rows
    columns = [word for each in changes.columns[:width] for word in outputs.value_words(each)]
    balance = balances(columns, signed_counts(changes, width))
    first = np.flatnonzero(balance)
    return left_over(changes, width, first, balance[first])


def balances(columns: Sequence[Words], by: Words) -> Words:
    """Sum up how often equal rows came, at the first of them; 0 at the others."""
    capacity = 1 << int(2 * len(by) + 16).bit_length()
    table, balance = np.zeros(capacity, np.int64), np.zeros(len(by), np.int64)
    by, places = np.ascontiguousarray(by), np.array([address_of(each) for each in columns])
    arrays = [places, by, table, balance]
    with lent(*columns, *arrays):
        given = [*(address_of(each) for each in arrays), len(by), len(columns), capacity - 1]
        sum_up(np.array(given))
    return balance


@kernel
def sum_up(given: Words) -> None:
    """Add each row's count to that of its first equal."""
    columns, by, table, balance = given[0], given[1], given[2], given[3]
    length, width, mask = given[4], given[5], given[6]
    for at in range(length):
        place = hash_row(columns, width, at) & mask
        first = ld(table, place) - 1
        while first >= 0 and not same_rows(columns, width, first, at):
            place = (place + 1) & mask
            first = ld(table, place) - 1
        if first < 0:
            first = at
            sto(table, place, at + 1)
        sto(balance, first, ld(balance, first) + ld(by, at))
