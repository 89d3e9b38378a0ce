"""Rows of Arrow columns on their way into a call: the words that rows of Python values make, too.

    columns of an Arrow table  ->  | aliases passed | NULLs | a word or two a column ... |

What is no table of just the declared columns, or keeps values that are computed, goes by blocks:
UnfitError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from joingraph.expressions.texts import is_text
from joingraph.filters.conditions import BaseColumns, passing
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.values.words import numbers, one_nan
from joingraph.tables.row_words import META_WORDS, Texts, UnfitError

if TYPE_CHECKING:
    from joingraph.engines.calls.base_rows import BaseRows


def enter_columns(rows: BaseRows, table: pa.Table, area: memoryview, at: int) -> int:
    """Write an Arrow table's rows into an area; gives where they end."""
    count, declared, batches = len(table), rows.table, table.to_batches()
    fits = table.schema.equals(declared.nullable) or table.schema.equals(declared.schema)
    if rows.computed or not fits or len(batches) != 1 or not is_sound(batches[0]):
        raise UnfitError
    words = np.frombuffer(area, np.int64, count * rows.width, at).reshape(count, rows.width)
    words[:, 0], words[:, 1] = rows.free, 0
    for place, column in enumerate(batches[0].columns):
        if column.null_count and place in declared.required:
            raise UnfitError
        enter_column(column, words, META_WORDS + rows.encoder.firsts[place], rows.encoder.texts)
    given = BaseColumns(table) if rows.filtered else {}
    for alias, bit in rows.filtered:
        words[passing(alias.conditions, given, count), 0] |= bit
    return at + count * rows.size


def is_sound(batch: pa.RecordBatch) -> bool:
    """True if a batch's bytes are of its types."""
    try:
        batch.validate(full=True)
    except pa.ArrowException:
        return False
    return True


def enter_column(column: pa.Array, rows: Words, at: int, texts: Texts) -> None:
    """Write a column's words at a place of rows, and note its NULLs, at which there is no word."""
    words = text_words(column, texts) if is_text(column.type) else number_words(column)
    if not column.null_count:
        for each in words:
            rows[:, at] = each
            at += 1
        return
    valid = np.asarray(column.is_valid())
    for each in words:
        rows[:, at] = np.where(valid, each, 0)
        rows[:, 1] |= np.where(valid, 0, 1 << (at - META_WORDS))
        at += 1


def number_words(column: pa.Array) -> Sequence[Words]:
    """Return the words of numbers."""
    return numbers(one_nan(column) if pa.types.is_floating(column.type) else column)


def text_words(column: pa.Array, texts: Texts) -> Sequence[Words]:
    """Return the words of texts, once their bytes are among a batch's."""
    _, ends, data = column.buffers()
    count, before = len(column), texts.size
    offsets = np.frombuffer(ends, np.int32, column.offset + count + 1)[column.offset :]
    first, last = int(offsets[0]), int(offsets[-1])
    texts.enter_bytes(bytes(data[first:last]) if data is not None else b"")
    starts = offsets.astype(np.int64) + (before - first)
    return [starts[:-1] << 32 | starts[1:] - starts[:-1]]
