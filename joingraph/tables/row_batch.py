"""A batch of few rows as words: what the log keeps of it, and columns when they are asked for.

    part      operation, table, how many rows, words of a row     update: pre rows, then post rows
    words     | of no meaning here | NULLs | a word or two a column ... | of no meaning ... |
    texts     one after the other      a text's word: offset << 32 | length

As bytes: parts, words, texts, their lengths first (PACKED), then each part (PART) with its name.

In: what RowWords (row_words.py) wrote. Out: entries as read_batch makes them of the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.expressions.texts import ARRAY_BYTES_MAX, is_text
from joingraph.tables.batch import SIDES, Entry
from joingraph.tables.row_words import META_WORDS, places_of
from joingraph.tables.table import Table

Words = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
LOW = (1 << 32) - 1
PACKED, PART = Struct("<QQQ"), Struct("<BIHH")
OPERATIONS = tuple(SIDES)
NARROW = {4: np.int32, 2: np.int16, 1: np.int8}


Part: TypeAlias = tuple[str, str, int, int]  # operation, table, how many rows, words of a row


class RowBatch(NamedTuple):
    """A batch as it was given, before its texts become numbers."""

    parts: Sequence[Part]
    words: bytes
    texts: bytes

    def packed(self) -> bytes:
        """Return it as bytes."""
        found = [PACKED.pack(len(self.parts), len(self.words), len(self.texts))]
        for operation, table, count, width in self.parts:
            name = table.encode()
            found += (PART.pack(OPERATIONS.index(operation), count, width, len(name)), name)
        return b"".join((*found, self.words, self.texts))

    def entries(self, tables: Mapping[str, Table]) -> list[Entry]:
        """Return the entries of the batch; ValueError if these words are none of such tables."""
        words, at, found = np.frombuffer(self.words, np.int64), 0, list[Entry]()
        for operation, name, count, width in self.parts:
            table, sides = tables[name], dict[str, pa.Table]()
            for side in SIDES[operation]:
                rows = words[at : at + count * width].reshape(count, width)
                sides[side] = table_of(rows, self.texts, table)
                at += count * width
            found.append(Entry(operation, name, sides.get("pre"), sides.get("post")))
        if at != len(words):
            raise ValueError("there are more words than rows")
        return found


def unpacked(data: memoryview) -> RowBatch:
    """Return what `packed` made bytes of, believing nothing of it."""
    count, words, texts = PACKED.unpack_from(data)
    at, parts = PACKED.size, list[Part]()
    for _ in range(count):
        operation, rows, width, length = PART.unpack_from(data, at)
        at += PART.size + length
        parts.append((OPERATIONS[operation], str(data[at - length : at], "utf-8"), rows, width))
    if at + words + texts != len(data):
        raise ValueError("its words are cut short")
    return RowBatch(parts, bytes(data[at : at + words]), bytes(data[at + words :]))


def table_of(rows: Words, texts: bytes, table: Table) -> pa.Table:
    """Return rows of words as columns, which may come from a log: all is validated."""
    columns, nulls = list[pa.Array](), rows[:, 1]
    places = places_of(table.schema.types)
    for kind, first, end in zip(table.schema.types, places, places[1:], strict=False):
        of = [np.ascontiguousarray(rows[:, META_WORDS + at]) for at in range(first, end)]
        valid = (nulls >> first) & 1 == 0
        columns.append(column_of(of, texts, kind, None if valid.all() else valid))
    found = pa.Table.from_arrays(columns, schema=table.nullable)
    found.validate(full=True)
    return found


def column_of(
    words: Sequence[Words], texts: bytes, kind: pa.DataType, valid: Mask | None
) -> pa.Array:
    """Return words as a column; those of values that are not there say nothing."""
    bits = None
    if valid is not None:
        bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
        words = [np.where(valid, each, 0) for each in words]
    if is_text(kind):
        return text_column(words[0], texts, kind, bits)
    return number_column(words, kind, bits)


def number_column(words: Sequence[Words], kind: pa.DataType, bits: pa.Buffer | None) -> pa.Array:
    """Return the numbers that words are, given the bits that say which are there."""
    length, types = len(words[0]), pa.types
    if types.is_boolean(kind):
        data = np.packbits(words[0] == 1, bitorder="little")
    elif types.is_decimal(kind):
        high = words[1] if len(words) == 2 else words[0] >> 63
        data = np.stack([words[0], high], axis=1)
    else:
        data = np.ascontiguousarray(words[0], NARROW.get(kind.bit_width // 8, np.int64))
    return pa.Array.from_buffers(kind, length, [bits, pa.py_buffer(data)])


def text_column(words: Words, texts: bytes, kind: pa.DataType, bits: pa.Buffer | None) -> pa.Array:
    """Return the texts that words name."""
    starts, lengths = words >> 32, words & LOW
    if len(words) and (int(starts.min()) < 0 or int((starts + lengths).max()) > len(texts)):
        raise ValueError("a text lies outside of its batch")
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > ARRAY_BYTES_MAX:
        raise ValueError("the texts of a column are too long for it")
    from_start = np.repeat(starts - offsets[:-1], lengths) + np.arange(int(offsets[-1]))
    data = np.frombuffer(texts, np.uint8)[from_start] if len(from_start) else np.empty(0, np.uint8)
    buffers = [bits, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, len(words), buffers)
