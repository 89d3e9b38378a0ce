"""The filter stage in compiled form: entries of a batch become ops over rows of words.

    entries  insert tweet (7, 1, ..)   update follower (7, 8) -> (7, 9)
    rows     per alias and entry a matrix of words, key words first, pre and post side by side
    ops      | diff, alias, kind, address of the row | ...     in the order of the base diffs

Conditions and kept columns are computed by column (joingraph.filters); from there on a row is its
words. The feed owns the matrices that its ops point into.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.batch import Entry
from joingraph.filters.conditions import columns, passing
from joingraph.filters.images import computed, without_null
from joingraph.kernels.fields import DELETE, INSERT, MOVE, OP_WORDS, UPDATE
from joingraph.kernels.keyed_feed import Side, Sides, is_by_key, resolve
from joingraph.kernels.keys import Keys, RunningKeys
from joingraph.kernels.layout import AliasLayout, Layout
from joingraph.kernels.memory import Words
from joingraph.kernels.rows import NOTHING
from joingraph.kernels.strings import Interner
from joingraph.kernels.words import to_words
from joingraph.plan.model import AliasPlan, Plan
from joingraph.words import normal

Mask = npt.NDArray[np.bool_]
NO_OPS: Words = np.empty((0, OP_WORDS), np.int64)


@dataclass(frozen=True, slots=True)
class Feed:
    """A batch's ops in order, the matrices they point into, and where each base diff came from.

    `lost` are the base diffs that remove a row by a key which nobody has.
    """

    ops: Words
    matrices: tuple[Words, ...]
    lengths: tuple[int, ...]
    lost: tuple[int, ...]


class Feeder:
    """Prepares batches for one graph."""

    def __init__(self, plan: Plan, layout: Layout, interner: Interner, keys: Keys) -> None:
        self.plan, self.layout, self.interner, self.keys = plan, layout, interner, keys

    def feed(self, entries: Sequence[Entry]) -> Feed:
        """Filter a batch and make its ops."""
        running = RunningKeys(self.keys)
        parts: list[Words] = []
        matrices: list[Words] = []
        lost: list[int] = []
        first = 0
        for entry in entries:
            sides = self.sides(entry) if entry.length else {}
            if sides and entry.table in self.keys.tables:
                sides, missing = resolve(running, entry, sides)
                lost += [first + row for row in missing]
            of_entry = []
            for alias, side in sides.items():
                ops, matrix = self.alias_ops(alias, entry.length, side)
                ops[:, 0] += first
                of_entry.append(ops)
                matrices.append(matrix)
            parts += in_order(of_entry)
            first += entry.length
        ops = parts[0] if len(parts) == 1 else np.concatenate([NO_OPS, *parts])
        lengths = tuple(entry.length for entry in entries)
        return Feed(np.ascontiguousarray(ops), tuple(matrices), lengths, tuple(lost))

    def sides(self, entry: Entry) -> dict[int, Sides]:
        """Say what each alias of an entry's table keeps of it; rows given by key are left open."""
        by_key = is_by_key(self.keys, entry)
        return {
            alias.index: Sides(
                None if entry.pre is None or by_key else self.side(alias, entry.pre),
                None if entry.post is None else self.side(alias, entry.post),
            )
            for alias in self.plan.aliases
            if alias.table == entry.table
        }

    def alias_ops(self, alias: int, length: int, sides: Sides) -> tuple[Words, Words]:
        """Make one alias' ops of one entry, in the order of its rows, and their matrix."""
        pre, post = sides
        if pre is not None and post is not None:
            return two_sided(alias, self.layout.aliases[alias], length, pre, post)
        kept = pre or post
        assert kept is not None, "every operation has a side"
        kind = np.full(len(kept.numbers), INSERT if pre is None else DELETE)
        return ops_of(alias, kept.numbers, kind, kept.words), kept.words

    def side(self, alias: AliasPlan, table: pa.Table) -> Side:
        """Let rows through and turn what the alias keeps of them into words."""
        given = columns(alias, table)
        numbers = passing(alias.conditions, given, table.num_rows)
        flat = [each for vertex in alias.keys for each in vertex]
        keys = [normal(each) for each in computed(flat, given, numbers)]
        joins = without_null(keys, len(numbers))
        if not joins.all():
            numbers = numbers[joins]
            keys = [each.filter(pa.array(joins)) for each in keys]
        words = [word for each in keys for word in to_words(each, self.interner, key=True)]
        for each in computed(alias.projected, given, numbers):
            words += to_words(each, self.interner)
        matrix = np.empty((len(numbers), max(1, len(words))), np.int64)
        for place, word in enumerate(words):
            matrix[:, place] = word
        return Side(numbers, matrix)


def ops_of(alias: int, numbers: Words, kinds: Words, matrix: Words) -> Words:
    """Write ops over the rows of a matrix."""
    ops = np.empty((len(numbers), OP_WORDS), np.int64)
    ops[:, 0], ops[:, 1], ops[:, 2] = numbers, alias, kinds
    ops[:, 3] = matrix.ctypes.data + np.arange(len(numbers)) * matrix.strides[0]
    ops[:, 4] = -1
    return ops


def two_sided(
    alias: int, layout: AliasLayout, length: int, pre: Side, post: Side
) -> tuple[Words, Words]:
    """Pair the sides of updates: what passes on one side only is a delete or an insert."""
    has_pre, has_post = np.zeros(length, bool), np.zeros(length, bool)
    has_pre[pre.numbers], has_post[post.numbers] = True, True
    width = pre.words.shape[1]
    matrix = np.zeros((length, 2 * width), np.int64)
    matrix[pre.numbers, :width] = pre.words
    matrix[post.numbers, width:] = post.words
    both = has_pre & has_post
    kind = np.where(has_pre, DELETE, INSERT)
    same = matrix[:, :width] == matrix[:, width:]
    kind[both] = np.where(same[both, : layout.keys].all(axis=1), MOVE, UPDATE)
    kind[both & same[:, : layout.width].all(axis=1)] = NOTHING
    numbers = np.flatnonzero(has_pre | has_post)
    ops = ops_of(alias, numbers, kind[numbers], matrix[: len(numbers)])
    ops[:, 3] = matrix.ctypes.data + numbers * matrix.strides[0]
    ops[kind[numbers] == INSERT, 3] += width * 8
    return ops, matrix


def in_order(of_aliases: list[Words]) -> list[Words]:
    """Merge the ops of a table's aliases: a base diff goes through all of them, then the next."""
    if len(of_aliases) < 2:
        return of_aliases
    ops = np.concatenate(of_aliases)
    return [ops[np.argsort(ops[:, 0], kind="stable")]]
