"""Deltas of changes that were listed with the keys of their groups, where no groups are kept.

    listed       (0, +1) ann, bob     (1, +1) ann, eve      changes, and keys by column
    deltas       ann 0 +1    bob 0 +1    ann 1 +1    eve 1 +1
    factorised   (0, +1) [ann, bob]      (1, +1) [ann, eve]

Keys are copied and changes spread; no group is looked for, unless a base diff may tell one twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.expressions.texts import Numbers, take_rows, typed
from joingraph.expressions.types import words_of
from joingraph.generators.compiled.distinct_rows import all_distinct
from joingraph.generators.compiled.groups.fold_lists import folded
from joingraph.generators.compiled.groups.group_sums import number
from joingraph.generators.deltas import DeltaMaker, Integers
from joingraph.graph.compiled.groups.group_layout import GroupLayout
from joingraph.graph.compiled.groups.list_memory import Listed
from joingraph.graph.compiled.machine.kernel import fill8, kernel, ld, sto
from joingraph.graph.compiled.memory.leases import leased
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent
from joingraph.graph.compiled.values.null_columns import Nulls
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.graph.compiled.values.words import from_words
from joingraph.plan.groups.messages import Read
from joingraph.view_diffs.deltas import Deltas, FactorisedDeltas, alike, with_groups

PATHS = Read(0, 1)  # the sum that counts a group's paths
Marks = npt.NDArray[np.bool_]
SHORT, OVERSHOT = 4, 8  # runs below this length are written row by row, others by eights
CONSTANTS: dict[int, Words] = {}  # of the last word that was constant, as many as were asked for


class Blocks(NamedTuple):
    """What a batch has listed, block by block, and how its words are read."""

    parts: Sequence[Listed]
    are_once: bool  # as keys are declared, a list has no group twice
    at: GroupLayout
    interner: Interner
    nulls: Nulls
    reads: Mapping[int, tuple[Read, ...]]  # by aggregate


class Told(NamedTuple):
    """Changes by column, those of `_diff` first, and where the groups of each begin and end."""

    changes: list[pa.Array]
    keys: list[pa.Array]
    starts: Numbers


def deltas_of(blocks: Blocks, maker: DeltaMaker) -> Deltas:
    """Return the deltas of a batch."""
    found = [spread(told_of(blocks, part, maker), maker) for part in blocks.parts]
    return Deltas(pa.concat_tables(found)) if found else maker.none


def factorised_of(blocks: Blocks, maker: DeltaMaker, none: FactorisedDeltas) -> FactorisedDeltas:
    """Return the deltas of a batch, each change once with the list of its groups."""
    found, tables = [told_of(blocks, part, maker) for part in blocks.parts], list[pa.Table]()
    for told in found:
        fields, width = [*maker.columns.schema], len(told.keys)
        keys = typed(told.keys, pa.schema(fields[:width]))
        changes = pa.Table.from_arrays(told.changes, schema=pa.schema(fields[width:]))
        tables += with_groups(*ordered(changes, keys, told.starts))
    groups = pa.concat_tables(tables or none.tables.values())
    return FactorisedDeltas({"groups": groups}, none.rows)


def told_of(blocks: Blocks, listed: Listed, maker: DeltaMaker) -> Told:
    """Return the changes of a block that are not 0, with their groups."""
    is_once = blocks.are_once and are_single(listed.ops)
    if not is_once and not all_distinct(listed, listed.words, np.ones(len(listed.ops), bool)):
        listed = folded(listed, blocks.at.sizes)
    changes = changes_of(blocks, listed, maker)
    is_told = reduce(np.logical_or, [each != 0 for each in changes])
    if not is_told.all():
        listed, changes = some_of(listed, is_told), [each[is_told] for each in changes]
    keys, starts = key_columns(blocks, listed.words), np.append(listed.starts, len(listed))
    told = maker.changes_of(changes, lambda at: [each.slice(starts[at], 1) for each in keys])
    return Told([pa.array(listed.ops), *told], keys, starts)


def are_single(diffs: Words) -> bool:
    """True if each base diff has one change."""
    return bool((diffs[1:] != diffs[:-1]).all())


def some_of(listed: Listed, chosen: Marks) -> Listed:
    """Return some changes, with their groups."""
    rows, lengths = np.repeat(chosen, listed.lengths()), listed.lengths()[chosen]
    words, starts = [each[rows] for each in listed.words], np.cumsum(lengths) - lengths
    some = listed.ops[chosen], listed.weights, int(lengths.sum()), listed.sums[chosen]
    return Listed(words, starts, *some)


def changes_of(blocks: Blocks, listed: Listed, maker: DeltaMaker) -> list[Integers]:
    """Return by how much each total changes."""
    found, first, sums = list[Integers](), 0, list[Integers]()
    for size in blocks.at.sizes:
        sums.append(number(listed.sums[:, first : first + size]))
        first += size
    for change in maker.columns.changes:
        read = PATHS if change.use is None else blocks.reads[change.use][change.total.at]
        found.append(sums[read.sum] * read.times)
    return found


def key_columns(blocks: Blocks, words: Sequence[Words]) -> list[pa.Array]:
    """Turn the words of keys into columns."""
    found, first = list[pa.Array](), 0
    for slot in blocks.at.messages.keys:
        end = first + words_of(slot.stored)
        nulls = blocks.nulls.may_be(slot)
        found.append(from_words(words[first:end], slot.stored, blocks.interner, nulls=nulls))
        first = end
    return found


def ordered(
    changes: pa.Table, keys: pa.Table, starts: Numbers
) -> tuple[pa.Table, pa.Table, Numbers]:
    """Put changes of a base diff together that are equal, and their groups behind one another."""
    if are_single(changes.column(0).to_numpy()):
        return changes, keys, starts
    order, firsts = alike(changes)
    order = np.arange(len(changes)) if order is None else order
    lengths = np.diff(starts)[order]
    ends = np.append(0, np.cumsum(lengths))
    rows = np.arange(ends[-1]) + np.repeat(starts[:-1][order] - ends[:-1], lengths)
    return take_rows(changes, order[firsts[:-1]]), take_rows(keys, rows), ends[firsts]


def spread(told: Told, maker: DeltaMaker) -> pa.Table:
    """Return a row for each group of each change."""
    columns, rows = list[pa.Array](), int(told.starts[-1])
    places: pa.Array | None = None
    for each in told.changes:
        if each.type == pa.int64():
            columns.append(pa.array(repeated(each.to_numpy(), told.starts)))
        else:
            if places is None:
                places = pa.array(repeated(np.arange(len(each)), told.starts))
            columns.append(each.take(places))
    assert all(len(each) == rows for each in columns), "each change goes to its groups"
    return typed([*told.keys, *columns], maker.columns.schema)


def repeated(words: Words, starts: Numbers) -> Words:
    """Repeat words, each from one of the starts to the next; equal ones need not be written."""
    rows = int(starts[-1])
    if len(words) and words[0] == words[-1] and (words == words[0]).all():
        return constant(int(words[0]), rows)
    out: Words = leased((1, rows + OVERSHOT))[0]
    with lent(out, starts, words):
        repeat_words(address_of(words), address_of(out), address_of(starts), len(words))
    return out[:rows]


def constant(word: int, rows: int) -> Words:
    """Return so many equal words; those of one batch after the other are the same."""
    known = CONSTANTS.get(word)
    if known is None or len(known) < rows:
        CONSTANTS.clear()
        known = CONSTANTS[word] = np.full(1 << rows.bit_length(), word, np.int64)
        known.flags.writeable = False
    return known[:rows]


@kernel
def repeat_words(of: int, to: int, starts: int, count: int) -> None:
    """Write each word from its start to the next one; eight at a time write beyond it first."""
    for at in range(count):
        first, end, word = ld(starts, at), ld(starts, at + 1), ld(of, at)
        if end - first < SHORT:
            for row in range(first, end):
                sto(to, row, word)
        else:
            for row in range(first, end, 8):
                fill8(to, row, word)
