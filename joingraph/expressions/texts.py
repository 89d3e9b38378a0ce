"""Texts in columns of bounded size: the two bounds, and what cuts, joins and takes within them.

    BLOCK_BYTES      text in a block of rows that is scanned, streamed or written to a snapshot;
                     a row with more is a block of its own
    ARRAY_BYTES_MAX  text in one Arrow array of 32-bit offsets, so also in one value

Columns that callers hand in, and columns of view diffs, are strings of 32-bit offsets, in as many
chunks as it takes. An array that must be one has 64-bit offsets where its text needs them ("wide").
Binaries are texts here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

BLOCK_BYTES = 64 << 20
ARRAY_BYTES_MAX = (1 << 31) - 2  # Arrow's builders take no more

WIDE = {
    pa.string().id: pa.large_string(),
    pa.binary().id: pa.large_binary(),
    pa.string_view().id: pa.large_string(),
    pa.binary_view().id: pa.large_binary(),
}
NARROW = {pa.large_string().id: pa.string(), pa.large_binary().id: pa.binary()}

Column: TypeAlias = pa.Array | pa.ChunkedArray
Numbers = npt.NDArray[np.int64]


class TooMuchText(Exception):
    """The texts of some rows do not fit one array: the caller tries fewer rows at once."""


def within_array(length: int) -> None:
    """Raise TooMuchText if one array cannot hold so many bytes."""
    if length > ARRAY_BYTES_MAX:
        raise TooMuchText


def is_text(kind: pa.DataType) -> bool:
    """True of strings and binaries, wide ones too."""
    return kind.id in WIDE or kind.id in NARROW


def sizes(columns: Iterable[Column], length: int) -> Numbers:
    """Return how many bytes of text each row has in some columns."""
    found = np.zeros(length, np.int64)
    for column in columns:
        if is_text(column.type):
            kind = column.type if column.type.id in NARROW else WIDE[column.type.id]
            counts = pc.fill_null(pc.binary_length(column.cast(kind)), 0)
            found += counts.to_numpy() if length else 0
    return found


def length_of(values: Iterable[object]) -> int:
    """Return how long the texts among some values are: a character of a string counts as one."""
    return sum(len(each) for each in values if isinstance(each, (str, bytes)))


def spans(sizes: Numbers, most: int, rows: int | None = None) -> Iterator[slice]:
    """Cut rows where their bytes outgrow `most`, or where they are as many as said."""
    ends, start, length = np.cumsum(sizes), 0, len(sizes)
    while start < length:
        before = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
        end = min(end, start + (rows or length))
        yield slice(start, end)
        start = end


def is_within(rows: Column | pa.Table, most: int) -> bool:
    """True if columns take no more than so many bytes; of few rows that is quick to see."""
    quick = len(rows) * rows.get_total_buffer_size()  # where chunks share a buffer it counts once
    return quick <= most or int(rows.nbytes) <= most


def pieces(table: pa.Table) -> Iterator[pa.Table]:
    """Cut a table so that each text column of each piece fits one array."""
    if is_within(table, ARRAY_BYTES_MAX):
        yield table
        return
    for span in spans(sizes(table.columns, len(table)), ARRAY_BYTES_MAX):
        yield table.slice(span.start, span.stop - span.start)


def blocks(table: pa.Table, rows: int) -> Iterator[pa.RecordBatch]:
    """Cut a table into record batches, bounded by rows and by bytes of text."""
    if is_within(table, BLOCK_BYTES):
        yield from table.to_batches(max_chunksize=rows)
        return
    for span in spans(sizes(table.columns, len(table)), BLOCK_BYTES, rows):
        yield from table.slice(span.start, span.stop - span.start).to_batches()


def picked(table: pa.Table, rows: Numbers) -> Iterator[pa.RecordBatch]:
    """Take rows of a table, some of them perhaps several times, in bounded record batches."""
    if table.nbytes * len(rows) <= BLOCK_BYTES:
        yield from table.take(pa.array(rows)).to_batches()
        return
    for span in spans(sizes(table.columns, len(table))[rows], BLOCK_BYTES):
        yield from take_rows(table, rows[span]).to_batches()


def outgrows(column: Column) -> bool:
    """True if a column's text does not fit one array."""
    if is_within(column, ARRAY_BYTES_MAX):
        return False
    return int(sizes([column], len(column)).sum()) > ARRAY_BYTES_MAX


def whole(column: Column) -> pa.Array:
    """Make one array of a column's chunks, a wide one if its text needs that."""
    if column.type.id in WIDE and outgrows(column):
        column = column.cast(WIDE[column.type.id])
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a dictionary column; texts that may not fit one array are wide."""
    kind = column.type.value_type
    if kind.id not in WIDE or column.nbytes * max(1, len(column)) <= ARRAY_BYTES_MAX:
        return column.cast(kind)
    kind = WIDE[kind.id]
    parts = [each.dictionary.cast(kind).take(each.indices) for each in column.chunks]
    return pa.chunked_array(parts, kind)


def joined(parts: Sequence[pa.Array]) -> pa.Array:
    """Put arrays of one type one behind the other; some may be wide already."""
    kinds = {part.type.id: part.type for part in parts}
    if len(kinds) > 1:
        parts = [each.cast(WIDE.get(each.type.id, each.type)) for each in parts]
    return whole(pa.chunked_array(parts))


def narrowed(column: Column, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a text column with 32-bit offsets again, in as many chunks as it takes."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return pa.chunked_array([part for chunk in chunks for part in narrow_parts(chunk)], type=kind)


def narrow_parts(array: pa.Array) -> Iterator[pa.Array]:
    """Cut an array so that each part fits 32-bit offsets; its bytes are not copied."""
    if not outgrows(array):
        yield narrowest(array)
        return
    for span in spans(sizes([array], len(array)), ARRAY_BYTES_MAX):
        yield narrowest(array[span])


def narrow(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a part of a wide array, whose text fits, with 32-bit offsets that begin at zero."""
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    first, last = int(ends[0]), int(ends[-1])
    valid = None
    if array.null_count:
        valid = pa.py_buffer(np.packbits(np.asarray(array.is_valid()), bitorder="little"))
    buffers = [
        valid,
        pa.py_buffer((ends - first).astype(np.int32)),
        pa.py_buffer(b"") if data is None else data.slice(first, last - first),
    ]
    return pa.Array.from_buffers(kind, len(array), buffers)


def narrowest(array: pa.Array) -> pa.Array:
    """Return a part of a wide array with 32-bit offsets; its text fits them."""
    return narrow(array, NARROW[array.type.id]) if array.type.id in NARROW else array


def chunked(array: pa.Array) -> Column:
    """Give a wide array 32-bit offsets, in as many chunks as it takes; others stay as they are."""
    return narrowed(array, NARROW[array.type.id]) if array.type.id in NARROW else array


def typed(arrays: Sequence[Column], schema: pa.Schema) -> pa.Table:
    """Make a table of columns some of which may be wide."""
    columns = [
        narrowed(each, field.type) if each.type.id in NARROW and each.type != field.type else each
        for each, field in zip(arrays, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def take_rows(table: pa.Table, rows: Numbers) -> pa.Table:
    """Take rows of a table, some of them perhaps several times, however much text they have."""
    if len(rows) == len(table) and np.array_equal(rows, np.arange(len(rows))):
        return table
    if fits(table, rows):
        return table.take(pa.array(rows))
    return typed([take_wide(each, rows) for each in table.columns], table.schema)


def fits(table: pa.Table, rows: Numbers) -> bool:
    """True if a table's text, and that of the rows that are taken, fits one array a column."""
    if not is_within(table, ARRAY_BYTES_MAX):
        return False
    if table.nbytes * len(rows) <= ARRAY_BYTES_MAX:
        return True
    of_rows = sizes(table.columns, len(table))
    return int(of_rows[rows].sum()) <= ARRAY_BYTES_MAX


def take_wide(column: pa.ChunkedArray, rows: Numbers) -> pa.Array:
    """Take rows of a column; of texts as a wide array."""
    if column.type.id in WIDE:
        column = column.cast(WIDE[column.type.id])
    return whole(column).take(pa.array(rows))


def codes(column: Column) -> Numbers:
    """Number the distinct values of a column, rows of equal values alike; -1 is NULL."""
    if column.type.id in WIDE and column.nbytes > ARRAY_BYTES_MAX:
        column = column.cast(WIDE[column.type.id])
    encoded = column.dictionary_encode()  # the chunks of one column share one dictionary
    chunks = encoded.chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]
    found = [each.indices.fill_null(-1).to_numpy(zero_copy_only=False) for each in chunks]
    return np.concatenate([np.empty(0, np.int64), *found]).astype(np.int64)
