"""Reads the rows that ops point to, and marks ops by what they change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from joingraph.expressions.types import words_of
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.layout import Layout, row_places
from joingraph.graph.compiled.machine.kernel import kernel, ld
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent
from joingraph.graph.compiled.vertex_table import copy_words
from joingraph.plan.branches import tying, unread
from joingraph.plan.kept_columns import kept_parts
from joingraph.plan.model import Plan

INVERSE = {f.INSERT: f.DELETE, f.DELETE: f.INSERT}
SHARED = 1 << 8  # a base diff has several ops
FLIPS = 1 << 9  # a seat may flip by one of them


def kinds_of(ops: Words) -> int:
    """Return a bit for each kind of op there is (`bit_of`), and SHARED."""
    ops = np.ascontiguousarray(ops)
    with lent(ops):
        return int(look_over(address_of(ops), len(ops)))


def bit_of(kind: int) -> int:
    """Return the bit of a kind."""
    return 2 << kind


@kernel
def look_over(op: int, count: int) -> int:
    """Collect the bits of ops, whose base diffs are in order."""
    found, last = 0, -1
    for _ in range(count):
        found |= 1 << (ld(op, f.O_KIND) + 1)
        if ld(op, f.O_DIFF) <= last:
            found |= SHARED
        last = ld(op, f.O_DIFF)
        op += f.OP_WORDS * 8
    return found


def rows_of(ops: Words, layout: Layout, alias: int, *, post: bool) -> Words:
    """Copy the rows of one alias' ops as they were, or as they are; the rows are lent."""
    width = layout.aliases[alias].width
    found = np.zeros((len(ops), max(1, width)), np.int64)
    ops = np.ascontiguousarray(ops)
    with lent(ops, found):
        copy_rows(np.array([address_of(ops), len(ops), width, int(post), address_of(found)]))
    return found


@kernel
def copy_rows(args: Words) -> None:
    """Copy the row of each op; the new row of an update lies behind the old one."""
    ops, count, width, post, found = args[0], args[1], args[2], args[3], args[4]
    for at in range(count):
        op = ops + at * (f.OP_WORDS * 8)
        row = ld(op, f.O_ROW)
        if post and ld(op, f.O_KIND) >= f.UPDATE:
            row += width * 8
        copy_words(row, found + at * max(1, width) * 8, width)


def went(ops: Words, alias: int) -> Words:
    """Pick an alias' ops that take a row away."""
    kind = ops[:, f.O_KIND]
    found: Words = ops[(ops[:, f.O_ALIAS] == alias) & ((kind == f.DELETE) | (kind >= f.UPDATE))]
    return found


def came(ops: Words, alias: int) -> Words:
    """Pick an alias' ops that bring a row."""
    kind = ops[:, f.O_KIND]
    found: Words = ops[(ops[:, f.O_ALIAS] == alias) & ((kind == f.INSERT) | (kind >= f.UPDATE))]
    return found


def runs(ops: Words, marks: npt.NDArray[np.bool_]) -> Iterator[slice]:
    """Yield runs of ops of one alias and one mark; during a run other aliases do not change."""
    if not len(ops):
        return
    alias = ops[:, f.O_ALIAS]
    cuts = np.flatnonzero((np.diff(alias) != 0) | (np.diff(marks.astype(np.int8)) != 0)) + 1
    bounds = [0, *cuts.tolist(), len(ops)]
    yield from map(slice, bounds, bounds[1:])


def paired(ops: Words) -> npt.NDArray[np.bool_]:
    """Mark ops of updates that concern several aliases: their rows may pair up."""
    if not len(ops):
        return np.zeros(0, bool)
    _, group, counts = np.unique(ops[:, f.O_DIFF], return_inverse=True, return_counts=True)
    updates = np.bincount(group, ops[:, f.O_KIND] >= f.UPDATE) > 0
    return np.asarray((counts > 1)[group] & updates[group])


def tied(plan: Plan, layout: Layout, ops: Words) -> npt.NDArray[np.bool_]:
    """Mark moves that change a value which is computed with, or compared to, other aliases'."""
    mark = np.zeros(len(ops), bool)
    slots = [plan.slots[part] for wanted in tying(plan) for part in kept_parts(plan, wanted)]
    for alias in plan.aliases:
        at = np.flatnonzero((ops[:, f.O_ALIAS] == alias.index) & (ops[:, f.O_KIND] == f.MOVE))
        mine = [slot for slot in slots if slot.alias == alias.index and slot.vertex is None]
        if not len(at) or not mine:
            continue
        same = rows_of(ops[at], layout, alias.index, post=False) == rows_of(
            ops[at], layout, alias.index, post=True
        )
        for slot in mine:
            mark[at] |= ~same[:, row_places(plan, layout.aliases[alias.index], slot)].all(axis=1)
    return mark


def read_moves(plan: Plan, layout: Layout, moves: Words) -> npt.NDArray[np.bool_]:
    """Mark moves of one alias that change a value which the view or a predicate reads."""
    alias = plan.aliases[int(moves[0, f.O_ALIAS])] if len(moves) else None
    hidden = unread(plan, alias.index) if alias else frozenset()
    if not alias or not hidden:
        return np.ones(len(moves), bool)
    width = layout.aliases[alias.index].keys
    same = rows_of(moves, layout, alias.index, post=False) == rows_of(
        moves, layout, alias.index, post=True
    )
    mark = np.zeros(len(moves), bool)
    for position, each in enumerate(alias.projected):
        words = slice(width, width + words_of(each.type))
        if position not in hidden:
            mark |= ~same[:, words].all(axis=1)
        width = words.stop
    return mark


def inverse(ops: Words, widths: Words) -> Words:
    """Make the ops that undo a batch: backwards, each turned round.

    What was updated or moved comes back by a delete and an insert: only the graph's rows matter.
    """
    back: list[Words] = []
    for kind, address in ((f.DELETE, 1), (f.INSERT, 0)):
        part = ops.copy()
        two = part[:, f.O_KIND] >= f.UPDATE
        undone = two | (part[:, f.O_KIND] == INVERSE[kind])
        part[two, f.O_ROW] += address * 8 * widths[part[two, f.O_ALIAS]]
        part[:, f.O_KIND] = np.where(undone, kind, f.NOTHING)
        back.append(part)
    both = np.stack(back, axis=1)[::-1].reshape(-1, f.OP_WORDS)
    return np.ascontiguousarray(both[both[:, f.O_KIND] != f.NOTHING])
