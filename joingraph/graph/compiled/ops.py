"""Lays rows of words and the ops over them, in one pass each.

columns   [7, 8]  [1, NULL]          matrix   | 7 1 |
                                              | 8 . |      . is the NULL word
updates   pre | 7 1 |, post | 7 2 |  matrix   | 7 1 7 2 |
ops       | diff | alias | kind | address of a row | its place, not known yet |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.layout import AliasLayout
from joingraph.graph.compiled.machine.kernel import kernel, ld, ldb, small, sto
from joingraph.graph.compiled.memory.leases import leased
from joingraph.graph.compiled.memory.reserved import Words, address_of, lent
from joingraph.graph.compiled.vertex_table import copy_words

PLACE_UNKNOWN = -1  # where an op's row lies in the graph
STRIDED_WORDS = 5  # of what a kernel is told of a column
ROWS_AT_ONCE = 1024  # of all columns, while they are in the cache


class Strided(NamedTuple):
    """A column of words somewhere in memory, and the bits that say which of them are there."""

    values: int  # the address of the first word
    step: int  # bytes from one word to the next
    bits: int  # the address of the bits; 0 if every word is there
    first: int  # the number of the first word's bit
    is_key: bool  # it may hold any word, even the one that stands for NULL
    memory: tuple[pa.Buffer | Words, ...]  # what all this lies in


def plain(words: Words) -> Strided:
    """Describe words that are an array of their own; NULL is among them already."""
    words = np.ascontiguousarray(words)
    return Strided(address_of(words), 8, 0, 0, True, (words,))


def lay(columns: Sequence[Strided], length: int) -> tuple[Words, int]:
    """Put columns side by side; also return which holds the NULL word as a value, or -1.

    A row has a word at least, if only a zero.
    """
    shape = length, max(1, len(columns))
    matrix = leased(shape) if columns else np.zeros(shape, np.int64)
    args = np.array([each[:STRIDED_WORDS] for each in columns], np.int64)
    memory = [each for column in columns for each in column.memory]
    with lent(args, matrix, *memory):
        clash = lay_words(address_of(args), address_of(matrix), len(columns), length)
    return matrix, clash


@kernel
def lay_words(args: int, matrix: int, count: int, length: int) -> int:
    """Copy columns into rows, some rows of all columns at a time."""
    clash = -1
    for start in range(0, length, ROWS_AT_ONCE):
        end = min(start + ROWS_AT_ONCE, length)
        for column in range(count):
            at = args + column * STRIDED_WORDS * 8
            step, bits, is_key = ld(at, 1), ld(at, 2), ld(at, 4)
            value, bit = ld(at, 0) + start * step, ld(at, 3) + start
            to = matrix + (start * count + column) * 8
            for _ in range(start, end):
                word = ld(value, 0)
                if bits and not (ldb(bits, bit >> 3) >> (bit & 7)) & 1:
                    word = f.NULL_WORD
                elif word == f.NULL_WORD and not is_key:
                    clash = column
                sto(to, 0, word)
                value, bit, to = value + step, bit + 1, to + count * 8
    return clash


def ops_alike(alias: int, diffs: Words, kind: int, matrix: Words) -> Words:
    """Write ops of one kind, one for each row of a matrix."""
    ops, diffs = leased((len(diffs), f.OP_WORDS)), np.ascontiguousarray(diffs)
    args = [alias, kind, address_of(matrix), matrix.strides[0]]
    with lent(ops, diffs):
        write_ops(address_of(ops), address_of(diffs), len(ops), np.array(args))
    return ops


@kernel
def write_ops(op: int, diffs: int, count: int, args: Words) -> None:
    """Write op after op."""
    alias, kind, row, stride = args[0], args[1], args[2], args[3]
    for at in range(count):
        write_op(op, ld(diffs, at), alias, kind, row + at * stride)
        op += f.OP_WORDS * 8


@small
def write_op(op: int, diff: int, alias: int, kind: int, row: int) -> None:
    """Write an op."""
    sto(op, f.O_DIFF, diff)
    sto(op, f.O_ALIAS, alias)
    sto(op, f.O_KIND, kind)
    sto(op, f.O_ROW, row)
    sto(op, f.O_PLACE, PLACE_UNKNOWN)


def paired_ops(
    alias: int, layout: AliasLayout, diffs: Words, pre: Side, post: Side
) -> tuple[Words, Words]:
    """Pair the sides of updates: what passes on one side only is a delete or an insert."""
    length, width = len(diffs), pre.words.shape[1]
    matrix = leased((length, 2 * width))
    ops = leased((length, f.OP_WORDS))
    arrays = [np.ascontiguousarray(each) for each in (diffs, *pre, *post)]
    with lent(matrix, ops, *arrays):
        places = [address_of(each) for each in arrays]
        ends = [len(pre.numbers), len(post.numbers), length]
        args = np.array([*places, *ends, width, layout.keys, layout.width, alias])
        count = pair_sides(args, address_of(matrix), address_of(ops))
    return ops[:count], matrix


@kernel
def pair_sides(args: Words, row: int, op: int) -> int:
    """Copy the sides of each update next to each other, and write what it is; gives how many."""
    diffs, pres, pre, posts, post = args[0], args[1], args[2], args[3], args[4]
    pre_end, post_end, length = args[5], args[6], args[7]
    width, keys, row_words, alias = args[8], args[9], args[10], args[11]
    at, other, count = 0, 0, 0
    for number in range(length):
        has_pre = at < pre_end and ld(pres, at) == number
        has_post = other < post_end and ld(posts, other) == number
        if has_pre:
            copy_words(pre + at * width * 8, row, width)
            at += 1
        if has_post:
            copy_words(post + other * width * 8, row + width * 8, width)
            other += 1
        kind = f.DELETE
        if has_pre and has_post:
            kind = kind_of_change(row, row + width * 8, keys, row_words)
        elif has_post:
            kind = f.INSERT
        if has_pre or has_post:
            write_op(op, ld(diffs, number), alias, kind, row if has_pre else row + width * 8)
            op += f.OP_WORDS * 8
            count += 1
        row += width * 16
    return count


def merged_ops(parts: Sequence[Words], diffs: int) -> Words:
    """Return all ops: a base diff goes through all aliases of its table, then comes the next."""
    if len(parts) == 1:
        return parts[0]
    parts = [np.ascontiguousarray(part) for part in parts if len(part)]
    ops = leased((sum(map(len, parts)), f.OP_WORDS))
    places = np.zeros(diffs + 1, np.int64)
    if parts:
        with lent(ops, places, *parts):
            args = [[address_of(part), len(part)] for part in parts]
            merge_ops(np.array(args), address_of(places), diffs, address_of(ops))
    return ops


@kernel
def merge_ops(args: Words, places: int, diffs: int, ops: int) -> None:
    """Count the ops of each base diff, so that every op is copied to its place at once."""
    for part in range(len(args)):
        op = args[part, 0]
        for _ in range(args[part, 1]):
            sto(places, ld(op, f.O_DIFF) + 1, ld(places, ld(op, f.O_DIFF) + 1) + 1)
            op += f.OP_WORDS * 8
    for diff in range(diffs):
        sto(places, diff + 1, ld(places, diff) + ld(places, diff + 1))
    for part in range(len(args)):
        op = args[part, 0]
        for _ in range(args[part, 1]):
            place = ld(places, ld(op, f.O_DIFF))
            copy_words(op, ops + place * f.OP_WORDS * 8, f.OP_WORDS)
            sto(places, ld(op, f.O_DIFF), place + 1)
            op += f.OP_WORDS * 8


@small
def kind_of_change(one: int, two: int, keys: int, count: int) -> int:
    """Return what it is to go from one row to another, given their words and how many are keys."""
    for word in range(count):
        if ld(one, word) != ld(two, word):
            return f.UPDATE if word < keys else f.MOVE
    return f.NOTHING


SLOT_WORDS = 3


def slots_for(ops: int) -> int:
    """Return how many slots the running counts of so many ops take."""
    return 1 << int(3 * ops + 16).bit_length()


class Side(NamedTuple):
    """One side of an entry as an alias keeps it: which base rows pass, and their words."""

    numbers: Words
    words: Words
