"""Arrow columns to 64-bit words and back, by column; equal words are the same value.

bool, ints, date, timestamp    the number          float, double    the bits (all NaNs are one)
decimal                        the unscaled number; over 18 digits two words, low and high
string, binary                 the id of the interned bytes            NULL    the NULL word
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.common.errors import LimitError
from joingraph.expressions.texts import is_text
from joingraph.expressions.types import words_of
from joingraph.graph.compiled.fields import NULL_WORD
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.values.string_pool import Interner, validity
from joingraph.tables.row_batch import number_column

# By the id of a type, as Arrow takes long to hash a type itself.
INTEGERS = {
    pa.int8().id: np.int8,
    pa.int16().id: np.int16,
    pa.int32().id: np.int32,
    pa.int64().id: np.int64,
    pa.uint8().id: np.uint8,
    pa.uint16().id: np.uint16,
    pa.uint32().id: np.uint32,
    pa.uint64().id: np.uint64,
    pa.date32().id: np.int32,
    pa.float32().id: np.int32,
    pa.float64().id: np.int64,
}


def to_words(column: pa.Array, interner: Interner, *, key: bool = False) -> list[Words]:
    """Turn a column into one or two columns of words; a key has no NULL and takes any word."""
    kind = column.type
    if is_text(kind):
        return [interner.words(column)]
    words = numbers(one_nan(column))
    if key:
        return words
    present = np.asarray(column.is_valid()) if column.null_count else None
    if holds_any_word(kind) and stands_for_null(words[0], present):
        raise null_word_taken(kind)
    if present is not None:
        return [np.where(present, each, NULL_WORD) for each in words]
    return words


def holds_any_word(kind: pa.DataType) -> bool:
    """True if each pattern of 64 bits is a value, even the word that stands for NULL."""
    return not is_text(kind) and kind.bit_width == 64


def stands_for_null(words: Words, present: npt.NDArray[np.bool_] | None) -> bool:
    """True if a value that is there is the NULL word."""
    alike = words == NULL_WORD
    return bool(alike.any() if present is None else (alike & present).any())


def null_word_taken(kind: pa.DataType) -> LimitError:
    """Make the error for the one value that cannot be kept."""
    return LimitError(
        f"a {kind} column holds the value that stands for NULL inside the graph, {NULL_WORD}: "
        "it can be a join attribute, but not a projected one"
    )


def one_nan(column: pa.Array) -> pa.Array:
    """Make all NaNs the same; other numbers stay as they are."""
    if not pa.types.is_floating(column.type):
        return column
    nan = pc.is_nan(column)
    if not pc.any(nan).as_py():
        return column
    return pc.if_else(nan, pa.scalar(float("nan"), column.type), column)


def numbers(column: pa.Array) -> list[Words]:
    """Read a column's numbers off its buffer; what stands at a NULL does not matter."""
    kind, start, length = column.type, column.offset, len(column)
    if pa.types.is_boolean(kind):
        return numbers(column.cast(pa.int8()))
    data = column.buffers()[1]
    if data is None:
        return [np.zeros(length, np.int64)] * words_of(kind)
    if pa.types.is_decimal(kind):
        halves = np.frombuffer(data, np.int64, 2 * (start + length)).reshape(-1, 2)[start:]
        return [halves[:, half] for half in range(words_of(kind))]
    stored = INTEGERS.get(kind.id, np.int64)
    found = np.frombuffer(data, stored, start + length)[start:]
    return [found.view(np.int64) if found.itemsize == 8 else found.astype(np.int64)]


def from_words(
    words: Sequence[Words], kind: pa.DataType, interner: Interner, *, nulls: bool = True
) -> pa.Array:
    """Turn words back into a column; one without NULL, as keys are, may hold any word."""
    if is_text(kind):
        return interner.array(np.ascontiguousarray(words[0]), kind)
    return number_column(words, kind, validity(words[-1]) if nulls else None)
