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
from joingraph.graph.compiled.values.string_pool import pieces_of
from joingraph.graph.compiled.values.words import numbers, one_nan
from joingraph.tables.row_words import META_WORDS, Texts, UnfitError

if TYPE_CHECKING:
    from joingraph.engines.calls.base_rows import BaseRows


def enter_columns(rows: BaseRows, table: pa.Table, area: memoryview, at: int) -> int:
    """Write an Arrow table's rows into an area; gives where they end."""
    count, declared, batches = len(table), rows.table, table.to_batches()
    fits = table.schema.equals(declared.nullable) or table.schema.equals(declared.schema)
    if rows.computed or not fits or len(batches) != 1:
        raise UnfitError
    batches[0].validate(full=True)
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


def enter_column(column: pa.Array, rows: Words, at: int, texts: Texts) -> None:
    """Write a column's words at a place of rows, and note its NULLs, at which there is no word."""
    words = text_words(column, texts) if is_text(column.type) else numbers(one_nan(column))
    valid = np.asarray(column.is_valid()) if column.null_count else None
    for place, each in enumerate(words, at):
        rows[:, place] = each if valid is None else np.where(valid, each, 0)
        if valid is not None:
            rows[:, 1] |= np.where(valid, 0, 1 << (place - META_WORDS))


def text_words(column: pa.Array, texts: Texts) -> Sequence[Words]:
    """Return the words of texts, once their bytes are among a batch's."""
    starts, _, data = pieces_of(column)
    moved = starts + (texts.size - starts[0])
    texts.enter_column(data[starts[0] : starts[-1]].tobytes(), len(column))
    return [moved[:-1] << 32 | np.diff(starts)]
