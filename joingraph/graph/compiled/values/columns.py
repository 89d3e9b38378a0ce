"""Reads Arrow columns into rows of words; words.py says what a value's word is.

    columns   [7, NULL, 9]  ["a", "b", "a"]     matrix   | 7 0 |
                                                         | . 1 |     . is the NULL word
                                                         | 9 0 |

Values of 64 bits are read where Arrow has them; others are made into words first.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import pyarrow as pa

from joingraph.expressions.types import words_of
from joingraph.graph.compiled.fields import NULL_WORD
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.ops import Strided, lay, plain
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.graph.compiled.values.words import null_word_taken, one_nan, to_words

OTHER_NULL = NULL_WORD ^ 1
# Bytes from one value to the next, where a value is its word or two.
STEPS = {
    pa.int64().id: 8,
    pa.uint64().id: 8,
    pa.timestamp("us").id: 8,
    pa.float64().id: 8,
    pa.decimal128(1).id: 16,
}


def rows_of_words(
    columns: Sequence[pa.Array],
    length: int,
    interner: Interner,
    *,
    keys: int,
    lone: Container[int] = (),
) -> Words:
    """Put columns side by side; the first so many are keys: without NULL, of any word.

    But `lone` ones may have NULL, where a row counts without partners.
    """
    of: list[pa.Array] = []
    found: list[Strided] = []
    for place, column in enumerate(columns):
        parts = described(column, interner, is_key=place < keys and place not in lone)
        of += [column] * len(parts)
        found += parts
    matrix, clash = lay(found, length)
    if clash >= 0:
        raise null_word_taken(of[clash].type)
    return matrix


def set_apart(rows: Words, full: Iterable[int], apart: Iterable[int]) -> Words:
    """Let NULL be another word in some key columns: of two aliases that meet, in one's."""
    for place in full:
        if (rows[:, place] == OTHER_NULL).any():
            raise null_word_taken(pa.int64())
    for place in apart:
        column = rows[:, place]
        column[column == NULL_WORD] = OTHER_NULL
    return rows


def set_together(rows: Words, places: Iterable[int]) -> Words:
    """Let NULL be the usual word again."""
    for place in places:
        column = rows[:, place]
        column[column == OTHER_NULL] = NULL_WORD
    return rows


def described(column: pa.Array, interner: Interner, *, is_key: bool) -> list[Strided]:
    """Return where the words of a column are, one or two a value."""
    step = STEPS.get(column.type.id)
    if step is None or column.buffers()[1] is None:
        return [plain(each) for each in to_words(column, interner, key=is_key)]
    column = one_nan(column)
    (present, data), start, bits = column.buffers(), column.offset, 0
    if present is not None and not is_key and column.null_count:
        bits = present.address
    memory = (data, present) if bits else (data,)
    any_word = is_key or step > 8  # two words are NULL together
    return [
        Strided(data.address + start * step + 8 * word, step, bits, start, any_word, memory)
        for word in range(words_of(column.type) if step > 8 else 1)
    ]
