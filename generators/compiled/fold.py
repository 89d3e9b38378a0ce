"""Folds the rows of each base diff: what came and went within it cancels, equal rows are one.

    effects   pre row, post row (or -1), times, base diff; a row is named by its first equal
    rows      which row, change type, count, base diff       as generators/rows.py says, compiled

A pair stays an update where all that its rows' pairs ask for is left after folding; else its rows
go separately. This depends on no order: the order of paths is the graph's own affair.

In: rows as columns of words and the effects over them, in the order of the base diffs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from joingraph.graph.compiled.fields import MOVE, O_DIFF, O_KIND, OP_WORDS
from joingraph.graph.compiled.machine.kernel import kernel, ld, ldb, mix, small, sto
from joingraph.graph.compiled.memory.leases import leased
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent

INSERTED, DELETED, PRE_IMAGE, POST_IMAGE = 0, 1, 2, 3  # as viewdiff.WORDS orders them
PRE, POST, TIMES, DIFF = 0, 1, 2, 3
EFFECT_WORDS = 4
# a row of a diff: its first appearance, what is left of it, what pairs want of it on each side
S_ROW, S_NET, S_GENERATION, S_WANT = 0, 1, 2, 3
SLOT_WORDS = 5
PAIR_WORDS = 4  # slots of pre and post, times, generation


class Folded(NamedTuple):
    """The rows of a view diff: which of those that came in, what happened, how often, where."""

    rows: Words
    kinds: npt.NDArray[np.int8]
    counts: Words
    diffs: Words


def fold(columns: Sequence[Words], effects: Words) -> Folded:
    """Fold effects within each base diff."""
    borders = np.flatnonzero(np.diff(effects[:, DIFF], prepend=-1, append=-1))
    largest = int(np.diff(borders).max(initial=0))
    capacity = 1 << int(8 * largest + 16).bit_length()
    table = np.zeros(capacity * SLOT_WORDS, np.int64)
    pairs = np.zeros(capacity * PAIR_WORDS, np.int64)
    order, slots = leased((2, len(columns[0]) + 1))
    tables = [order, slots, pairs, table]
    places, out = places_of(columns), leased((4, 2 * len(effects) + 1))
    with lent(*columns, places, effects, out, *tables):
        given = [address_of(places), len(columns), address_of(effects), len(effects)]
        given += [address_of(out), out.shape[1], 0, *(address_of(each) for each in tables)]
        return folded(out, fold_all(np.array(given)))


def unfolded(columns: Sequence[Words], paths: Paths, ops: Words) -> Folded:
    """List the rows of paths, but those that a move leaves as they are; no others are equal."""
    places, out = places_of(columns), leased((4, len(paths)))
    arrays = [paths.ops, paths.starts, paths.weights, out, np.ascontiguousarray(ops), places]
    with lent(*columns, *arrays):
        segments, starts, weights, *rest = (address_of(each) for each in arrays)
        given = [segments, starts, weights, len(paths.starts), rest[0], len(paths), *rest[1:]]
        return folded(out, list_all(np.array([*given, 1, len(paths), len(columns)])))


def places_of(columns: Sequence[Words]) -> Words:
    """Return the addresses of columns."""
    return np.array([address_of(each) for each in columns], np.int64)


def folded(out: Words, count: int) -> Folded:
    """Return what a kernel has written; who keeps few rows should not keep room for many."""
    found = out[:, :count]
    rows, kinds, counts, diffs = found.copy() if count < out.shape[1] // 4 else found
    return Folded(rows, kinds.astype(np.int8), counts, diffs)


def effects_of(paths: Paths, ops: Words, kept: npt.NDArray[np.bool_], *, paired: bool) -> Words:
    """Return what each path does; the paths before and after a move pair up in their order."""
    effects = leased((len(paths), EFFECT_WORDS))
    segments = [paths.ops, paths.starts, paths.weights]
    others: list[npt.NDArray[Any]] = [np.ascontiguousarray(ops), kept.view(np.uint8), effects]
    with lent(*segments, *others):
        given = [*(address_of(each) for each in segments), len(paths.starts)]
        given += [*(address_of(each) for each in others), int(paired), 1, len(paths)]
        return effects[: write_effects(np.array(given))]


@kernel
def write_effects(given: Words) -> int:
    """Write the effects of all segments; gives how many there are.

    What is said of a segment lies so many words from what is said of the next one.
    """
    segments, weights, count, ops, step = given[0], given[2], given[3], given[4], given[8]
    at, written = 0, 0
    while at < count:
        op = ld(segments, at * step)
        first, last, half, end = end_of(given, at - 1), 0, 0, at
        while end < count and ld(segments, end * step) == op:
            last = end_of(given, end)
            if ld(weights, end * step) < 0:
                half = last - first
            end += 1
        op = ops + op * (OP_WORDS * 8)
        is_move = given[7] and ld(op, O_KIND) == MOVE
        for segment in range(at, end):
            weight, last = ld(weights, segment * step), end_of(given, segment)
            if weight < 0 or not is_move:
                for row in range(first, last):
                    partner = row + half if is_move else -1
                    written = write_effect(given, written, row, partner, weight, ld(op, O_DIFF))
            first = last
        at = end
    return written


@small
def end_of(given: Words, segment: int) -> int:
    """Return where a segment ends."""
    return ld(given[1], (segment + 1) * given[8]) if segment + 1 < given[3] else given[9]


@kernel
def write_effect(given: Words, at: int, row: int, partner: int, weight: int, diff: int) -> int:
    """Write what a row and its partner do, as far as they are kept; gives the next place."""
    mark, effect = given[5], given[6] + at * (EFFECT_WORDS * 8)
    own = row if ldb(mark, row) else -1
    other = partner if partner >= 0 and ldb(mark, partner) else -1
    if own < 0 and other < 0:
        return at
    sto(effect, PRE, own if weight < 0 else -1)
    sto(effect, POST, other if weight < 0 else own)
    sto(effect, TIMES, abs(weight))
    sto(effect, DIFF, diff)
    return at + 1


@kernel
def fold_all(given: Words) -> int:
    """Fold diff after diff; gives how many rows are left.

    A diff tells its slots from older ones by its generation: given[6] is how many went before in
    the same tables, if they are used again.
    """
    effects, count = given[2], given[3]
    first, written = 0, 0
    while first < count:
        end = first
        diff = ld(effects, first * EFFECT_WORDS + DIFF)
        while end < count and ld(effects, end * EFFECT_WORDS + DIFF) == diff:
            end += 1
        mask = 15
        while mask < 4 * (end - first):
            mask = 2 * mask + 1
        written = fold_one(given, first, end, mask, written)
        first = end
    return written


@kernel
def list_all(given: Words) -> int:
    """List all rows but those of moves that the view does not show; gives how many."""
    segments, weights, count, ops = given[0], given[2], given[3], given[6]
    at, written = 0, 0
    while at < count:
        op = ops + ld(segments, at) * (OP_WORDS * 8)
        first, half, end = end_of(given, at - 1), 0, at
        while end < count and ld(segments, end) == ld(segments, at):
            if ld(weights, end) < 0:
                half = end_of(given, end) - first
            end += 1
        is_move, diff = ld(op, O_KIND) == MOVE, ld(op, O_DIFF)
        if is_move and same_rows(given[7], given[10], first, first + half):
            at = end  # a move changes all of its rows, or none
        for segment in range(at, end):
            weight, last = ld(weights, segment), end_of(given, segment)
            for row in range(first, last if weight < 0 or not is_move else first):
                kind = PRE_IMAGE if is_move else INSERTED if weight > 0 else DELETED
                written = write(given, written, row, kind, abs(weight), diff)
                if is_move:
                    written = write(given, written, row + half, POST_IMAGE, -weight, diff)
            first = last
        at = end
    return written


@kernel
def fold_one(given: Words, first: int, end: int, mask: int, written: int) -> int:
    """Fold one base diff: sum up each row, keep the pairs that stand, then what else is left."""
    effects, order, slots = given[2], given[7], given[8]
    seen, generation = 0, given[6] + first + 1
    for place in range(first, end):
        effect = effects + place * (EFFECT_WORDS * 8)
        for side in range(2):
            row = ld(effect, side)
            if row >= 0:
                slot = slot_of(given, mask, row, generation)
                if ld(slot, S_GENERATION) != generation:
                    open_slot(slot, row, generation)
                    sto(order, seen, slot)
                    seen += 1
                sto(slots, row, slot)
                count_effect(effect, slot, side)
    for place in range(first, end):
        effect = effects + place * (EFFECT_WORDS * 8)
        if ld(effect, PRE) >= 0 and ld(effect, POST) >= 0:
            gather_pair(given, effect, mask, generation)
    diff = ld(effects, first * EFFECT_WORDS + DIFF)
    for place in range(first, end):
        written = write_pair(given, effects + place * (EFFECT_WORDS * 8), mask, written)
    for place in range(seen):
        slot = ld(order, place)
        net = ld(slot, S_NET)
        if net != 0:
            kind = INSERTED if net > 0 else DELETED
            written = write(given, written, ld(slot, S_ROW), kind, abs(net), diff)
    return written


@kernel
def open_slot(slot: int, row: int, generation: int) -> None:
    """Begin to count a row of a diff."""
    for word in range(SLOT_WORDS):
        sto(slot, word, 0)
    sto(slot, S_ROW, row)
    sto(slot, S_GENERATION, generation)


@kernel
def count_effect(effect: int, slot: int, side: int) -> None:
    """Add one side of an effect to its row; a pair also says how many it wants of it."""
    times = ld(effect, TIMES)
    sto(slot, S_NET, ld(slot, S_NET) + (times if side == POST else -times))
    if ld(effect, PRE) >= 0 and ld(effect, POST) >= 0:
        sto(slot, S_WANT + side, ld(slot, S_WANT + side) + times)


@kernel
def gather_pair(given: Words, effect: int, mask: int, generation: int) -> None:
    """Add an effect to its pair, if the pair stands: no other effect cancels any of its rows."""
    slots = given[8]
    pre, post = ld(slots, ld(effect, PRE)), ld(slots, ld(effect, POST))
    if -ld(pre, S_NET) < ld(pre, S_WANT) or ld(post, S_NET) < ld(post, S_WANT + 1):
        return
    pair = pair_of(given[9], mask, pre, post, generation)
    if ld(pair, 3) != generation:
        sto(pair, 0, pre)
        sto(pair, 1, post)
        sto(pair, 2, 0)
        sto(pair, 3, generation)
    sto(pair, 2, ld(pair, 2) + ld(effect, TIMES))


@kernel
def pair_of(pairs: int, mask: int, pre: int, post: int, generation: int) -> int:
    """Find a pair's slot among those of its diff."""
    place = (mix(mix(pre) ^ post) >> 32) & mask
    while True:
        pair = pairs + place * (PAIR_WORDS * 8)
        if ld(pair, 3) != generation or (ld(pair, 0) == pre and ld(pair, 1) == post):
            return pair
        place = (place + 1) & mask


@kernel
def slot_of(given: Words, mask: int, row: int, generation: int) -> int:
    """Find the slot of a row among those of its diff; older diffs' slots count as empty."""
    columns, width, table = given[0], given[1], given[10]
    place = hash_row(columns, width, row) & mask
    while True:
        slot: int = table + place * (SLOT_WORDS * 8)
        if ld(slot, S_GENERATION) != generation:
            return slot
        if same_rows(columns, width, ld(slot, S_ROW), row):
            return slot
        place = (place + 1) & mask


@kernel
def write_pair(given: Words, effect: int, mask: int, written: int) -> int:
    """Write the pair of an effect as an update, once for all its effects."""
    if ld(effect, PRE) < 0 or ld(effect, POST) < 0:
        return written
    slots, diff = given[8], ld(effect, DIFF)
    pre, post = ld(slots, ld(effect, PRE)), ld(slots, ld(effect, POST))
    pair = pair_of(given[9], mask, pre, post, ld(pre, S_GENERATION))
    times = ld(pair, 2)
    if ld(pair, 3) != ld(pre, S_GENERATION) or times == 0:
        return written
    sto(pair, 2, 0)
    sto(pre, S_NET, ld(pre, S_NET) + times)
    sto(post, S_NET, ld(post, S_NET) - times)
    written = write(given, written, ld(pre, S_ROW), PRE_IMAGE, times, diff)
    return write(given, written, ld(post, S_ROW), POST_IMAGE, times, diff)


@small
def hash_row(columns: int, count: int, row: int) -> int:
    """Hash a row of columns to a signed 32-bit number."""
    h = 0
    for column in range(count):
        h = mix(h ^ ld(ld(columns, column), row))
    return h >> 32


@small
def same_rows(columns: int, count: int, one: int, two: int) -> bool:
    """Compare two rows of columns."""
    for column in range(count):  # kernels have no generators
        if ld(ld(columns, column), one) != ld(ld(columns, column), two):
            return False
    return True


@kernel
def write(given: Words, at: int, row: int, kind: int, count: int, diff: int) -> int:
    """Write one row of the view diff, by column; gives the next place."""
    out, stride = given[4], given[5]
    sto(out, at, row)
    sto(out, stride + at, kind)
    sto(out, 2 * stride + at, count)
    sto(out, 3 * stride + at, diff)
    return at + 1
