"""Lays rows of words and the ops over them, in one pass each.

columns   [7, 8]  [1, 1]             matrix   | 7 1 |
                                              | 8 1 |
updates   pre | 7 1 |, post | 7 2 |  matrix   | 7 1 7 2 |
ops       | diff | alias | kind | address of a row | its place, not known yet |
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joingraph.kernels.fields import (
    DELETE,
    INSERT,
    MOVE,
    NOTHING,
    O_ALIAS,
    O_DIFF,
    O_KIND,
    O_PLACE,
    O_ROW,
    OP_WORDS,
    UPDATE,
)
from joingraph.kernels.intrinsics import kernel, ld, small, sto
from joingraph.kernels.keyed_feed import Side
from joingraph.kernels.layout import AliasLayout
from joingraph.kernels.memory import Words, lent

NOBODY = -2  # of an update that passes on no side


def matrix_of(columns: Sequence[Words], length: int) -> Words:
    """Put columns of words side by side; a row has a word at least, if only a zero."""
    matrix = (np.empty if columns else np.zeros)((length, max(1, len(columns))), np.int64)
    columns = [np.ascontiguousarray(each) for each in columns]
    places = np.array([each.ctypes.data for each in columns], np.int64)
    with lent(places, matrix, *columns):
        lay_words(places.ctypes.data, np.array([len(columns), length, matrix.ctypes.data]))
    return matrix


@kernel
def lay_words(columns: int, given: Words) -> None:
    """Copy columns into rows."""
    count, length, row = given[0], given[1], given[2]
    if count == 1:
        for at in range(length):
            sto(row, at, ld(ld(columns, 0), at))
        return
    for at in range(length):
        for column in range(count):
            sto(row, column, ld(ld(columns, column), at))
        row += count * 8


def ops_of(alias: int, diffs: Words, kinds: Words, rows: Words) -> Words:
    """Write ops: the base diff, kind and row of each; a row is an address."""
    ops = np.empty((len(diffs), OP_WORDS), np.int64)
    given = [np.ascontiguousarray(each) for each in (diffs, kinds, rows)]
    with lent(ops, *given):
        places = [each.ctypes.data for each in given]
        write_ops(np.array([ops.ctypes.data, len(ops), alias, *places]))
    return ops


@kernel
def write_ops(given: Words) -> None:
    """Write op after op; where its row lies in the graph is not known yet."""
    op, count, alias, diffs, kinds, rows = (
        given[0],
        given[1],
        given[2],
        given[3],
        given[4],
        given[5],
    )
    for at in range(count):
        sto(op, O_DIFF, ld(diffs, at))
        sto(op, O_ALIAS, alias)
        sto(op, O_KIND, ld(kinds, at))
        sto(op, O_ROW, ld(rows, at))
        sto(op, O_PLACE, -1)
        op += OP_WORDS * 8


def paired_ops(
    alias: int, layout: AliasLayout, diffs: Words, pre: Side, post: Side
) -> tuple[Words, Words]:
    """Pair the sides of updates: what passes on one side only is a delete or an insert."""
    length, width = len(diffs), pre.words.shape[1]
    matrix = np.zeros((length, 2 * width), np.int64)
    kinds = np.empty(length, np.int64)
    arrays = [np.ascontiguousarray(each) for each in (*pre, *post)]
    with lent(matrix, kinds, *arrays):
        places = [each.ctypes.data for each in arrays]
        ends = [len(pre.numbers), len(post.numbers), length]
        pair_sides(
            np.array([*places, *ends, width, layout.keys, layout.width]),
            matrix.ctypes.data,
            kinds.ctypes.data,
        )
    rows = addresses(matrix) + np.where(kinds == INSERT, width * 8, 0)
    felt = kinds != NOBODY
    if not felt.all():
        diffs, kinds, rows = diffs[felt], kinds[felt], rows[felt]
    return ops_of(alias, diffs, kinds, rows), matrix


@kernel
def pair_sides(given: Words, row: int, kinds: int) -> None:
    """Copy the sides of each update next to each other, and say what it is."""
    pres, pre, posts, post = given[0], given[1], given[2], given[3]
    pre_end, post_end, length = given[4], given[5], given[6]
    width, keys, kept = given[7], given[8], given[9]
    at, other = 0, 0
    for number in range(length):
        has_pre = at < pre_end and ld(pres, at) == number
        has_post = other < post_end and ld(posts, other) == number
        if has_pre:
            copy_words(pre + at * width * 8, row, width)
            at += 1
        if has_post:
            copy_words(post + other * width * 8, row + width * 8, width)
            other += 1
        kind = NOBODY
        if has_pre and has_post:
            same = alike_words(row, row + width * 8, kept)
            kind = UPDATE if same < keys else MOVE if same < kept else NOTHING
        elif has_pre:
            kind = DELETE
        elif has_post:
            kind = INSERT
        sto(kinds, number, kind)
        row += width * 16


@small
def copy_words(source: int, to: int, count: int) -> None:
    """Copy some words."""
    for word in range(count):
        sto(to, word, ld(source, word))


@small
def alike_words(one: int, two: int, count: int) -> int:
    """Say how many words are the same before the first that differs."""
    for word in range(count):
        if ld(one, word) != ld(two, word):
            return word
    return count


def addresses(matrix: Words) -> Words:
    """Give the address of each row of a matrix."""
    return matrix.ctypes.data + np.arange(len(matrix)) * matrix.strides[0]
