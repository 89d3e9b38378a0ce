"""What a graph keeps of its base rows, as Arrow: the form in which any engine can take them.

    alias T    key 0.0: userId | key 1.0: tweetId | projected 0: text | count
               7               | 100              | hello             | 2

One block of a snapshot holds one alias' rows, as an Arrow stream in bounded batches, in the order
in which the graph has them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from joingraph.common.errors import StoreError
from joingraph.common.progress import shown_progress
from joingraph.common.unreadable import UNREADABLE
from joingraph.expressions import texts
from joingraph.expressions.words import column_of, to_words
from joingraph.graph.blocks import Block
from joingraph.graph.join_graph import Graph, Image, lone_keys
from joingraph.plan.model import AliasPlan, Plan

BATCH_ROWS = 65_536
COUNT = "count"


def rows_schema(plan: Plan, alias: AliasPlan) -> pa.Schema:
    """Name and type the columns of an alias' rows."""
    keys = [
        pa.field(f"key {place}.{position}", kind)
        for place, vertex in enumerate(alias.vertices)
        for position, kind in enumerate(plan.vertices[vertex].types)
    ]
    projected = [
        pa.field(f"projected {place}", each.type) for place, each in enumerate(alias.projected)
    ]
    return pa.schema([*keys, *projected, pa.field(COUNT, pa.int64())])


def block_name(alias: AliasPlan) -> str:
    """Name the block of an alias' rows."""
    return f"rows-{alias.index}"


def dump_rows(graph: Graph) -> Iterator[Block]:
    """Write all aliases' rows as blocks."""
    for alias in graph.plan.of_tables:
        yield Block(
            block_name(alias), stream_of(rows_schema(graph.plan, alias), rows(graph, alias))
        )


def rows(graph: Graph, alias: AliasPlan) -> Iterator[tuple[Any, ...]]:
    """Yield an alias' rows: key words, projected words, count."""
    for at in graph.of_alias(alias.index):
        pairs = zip(at.key, widths_of(graph.plan, alias), strict=True)
        key = tuple(word for words, width in pairs for word in words[:width])
        for row, count in at.rows.items():
            yield (*key, *row, count)


def stream_of(schema: pa.Schema, found: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    """Write rows of words as an Arrow stream, piece by piece."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        for part in parts_of(found):
            columns = zip(*part, strict=True)
            pairs = zip(columns, schema.types, strict=True)
            arrays = [column_of(list(words), kind) for words, kind in pairs]
            for batch in texts.blocks(texts.typed(arrays, schema), BATCH_ROWS):
                writer.write_batch(batch)
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


def parts_of(found: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Cut rows into lists of bounded length and text."""
    part: list[tuple[Any, ...]] = []
    length = 0
    for row in found:
        part.append(row)
        length += texts.length_of(row)
        if len(part) == BATCH_ROWS or length > texts.BLOCK_BYTES:
            yield part
            part, length = [], 0
    if part:
        yield part


def read_rows(plan: Plan, alias: AliasPlan, block: memoryview) -> Iterator[pa.RecordBatch]:
    """Read an alias' rows in batches, each checked."""
    schema, source = rows_schema(plan, alias), pa.BufferReader(pa.py_buffer(block))
    show = shown_progress(f"{alias.name}: KiB of rows read")
    try:
        with pa.ipc.open_stream(source) as reader:
            if reader.schema != schema:
                raise StoreError(f"the rows of {alias.name} have other columns than the view keeps")
            for batch in reader:
                batch.validate(full=True)
                if batch.num_rows and (batch.column(COUNT).null_count or min_of(batch) < 1):
                    raise StoreError(f"the rows of {alias.name} have counts below one")
                show(source.tell() // 1024, len(block) // 1024)
                yield batch
    except UNREADABLE as error:
        raise StoreError(f"the rows of {alias.name} do not read: {error}") from error


def min_of(batch: pa.RecordBatch) -> int:
    """Return the least count."""
    return int(batch.column(COUNT).to_numpy().min())


def images(plan: Plan, alias: AliasPlan, batch: pa.RecordBatch) -> Iterator[tuple[Image, int]]:
    """Turn rows back into images with their counts."""
    widths = widths_of(plan, alias)
    for words in zip(
        *map(to_words, batch.columns[:-1]), batch.column(COUNT).to_pylist(), strict=True
    ):
        rest = iter(words[:-1])
        key = tuple(tuple(islice(rest, width)) for width in widths)
        yield Image(lone_keys(alias.index, key), tuple(rest)), words[-1]


def widths_of(plan: Plan, alias: AliasPlan) -> list[int]:
    """Return of how many words the parts of an alias' key are."""
    return [len(plan.vertices[vertex].types) for vertex in alias.vertices]
