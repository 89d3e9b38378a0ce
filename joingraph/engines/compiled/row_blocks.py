"""The compiled graph's rows as any engine can take them (joingraph/graph/row_blocks.py), and back.

alias' lists  ->  pieces of rows of words  ->  columns, and a count  ->  blocks of a snapshot
blocks  ->  columns  ->  rows of words, each as often as it counts
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.types import words_of
from joingraph.filters.compiled.rows_to_ops import Feeder
from joingraph.generators.compiled.reads.pieces import Piece
from joingraph.generators.compiled.reads.starts import Starts
from joingraph.graph.blocks import Block
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.values.columns import set_together
from joingraph.graph.compiled.values.words import from_words
from joingraph.graph.row_blocks import COUNT, block_name, rows_schema
from joingraph.plan.model import AliasPlan


def dump_rows(starts: Starts) -> Iterator[Block]:
    """Write all aliases' rows as blocks."""
    for alias in starts.plan.of_tables:
        yield Block(block_name(alias), stream_of(starts, alias))


def stream_of(starts: Starts, alias: AliasPlan) -> Iterator[bytes]:
    """Write an alias' rows as an Arrow stream, piece by piece."""
    schema, sink = rows_schema(starts.plan, alias), io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        for piece in starts.everyone(alias.index):
            for batch in batches_of(starts, alias, piece):
                writer.write_batch(batch)
                yield sink.getvalue()
                sink.seek(0)
                sink.truncate()
    yield sink.getvalue()


def batches_of(starts: Starts, alias: AliasPlan, piece: Piece) -> Iterator[pa.RecordBatch]:
    """Turn rows of words into columns, as many at once as have text for a block."""
    kinds = rows_schema(starts.plan, alias).types[:-1]
    ends = np.cumsum([words_of(kind) for kind in kinds])
    rows, interner = starts.walker.row_words(piece, alias.index), starts.walker.interner
    lengths = np.zeros(len(rows), np.int64)
    for kind, end in zip(kinds, ends, strict=True):
        if texts.is_text(kind):
            lengths += interner.lengths(rows[:, end - 1])
    for span in texts.spans(lengths, texts.BLOCK_BYTES):
        yield batch_of(starts, alias, rows[span], piece.times[span])


def batch_of(starts: Starts, alias: AliasPlan, rows: Words, times: Words) -> pa.RecordBatch:
    """Turn rows of words into columns; a key has no NULL, whatever its words, unless it is lone."""
    schema, place, columns = rows_schema(starts.plan, alias), 0, []
    layout = starts.walker.layout.aliases[alias.index]
    rows = set_together(rows, layout.apart)
    for kind in schema.types[:-1]:
        words = [rows[:, place + word] for word in range(words_of(kind))]
        column = from_words(words, kind, starts.walker.interner)
        is_lone = place + len(words) - 1 in layout.lone
        if place < layout.keys and column.null_count and not is_lone:
            column = pa.Array.from_buffers(kind, len(column), [None, *column.buffers()[1:]])
        columns.append(column)
        place += len(words)
    return pa.RecordBatch.from_arrays([*columns, pa.array(times)], schema=schema)


def repeated(alias: AliasPlan, batches: Iterable[pa.RecordBatch], feeder: Feeder) -> Words:
    """Put an alias' rows side by side, each as often as it counts."""
    found = [np.empty((0, 1), np.int64)]
    for batch in batches:
        rows = feeder.words(alias.index, batch.columns[:-1], batch.num_rows)
        found.append(np.repeat(rows, batch.column(COUNT).to_numpy(), axis=0))
    return np.concatenate(found[1:] or found)
