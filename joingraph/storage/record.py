"""One entry of the log: what was done to a graph, as bytes and back.

    | JGRC | head's checksum | number | durable | length | payload's checksum |   the head, 40 bytes
    | length of meta | meta (JSON) | Arrow stream | Arrow stream | ...            the payload
    | ROWS | seq | flags | length of place | of batch | place | batch | Arrow stream |      or this

Numbers count on from 1 without a gap. `durable` is the last number that was known to be on the
disk when this one was written: a damaged record below it had been acknowledged. The streams are
the sides of the batch's entries, then its view diffs if they may be asked for again.

The second payload is a batch of few rows: `place` is its source and position (JSON) if it has
them, `batch` its rows as words (tables/row_batch.py), the stream its view diffs.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from joingraph.common.errors import StoreError
from joingraph.common.unreadable import UNREADABLE
from joingraph.tables.batch import SIDES, Entry
from joingraph.tables.row_batch import RowBatch, unpacked
from joingraph.view_diffs.deltas import Deltas, is_deltas
from joingraph.view_diffs.view_diff import DIFF, META, SIGNS

HEAD = struct.Struct("<4sIQQQQ")
MAGIC = b"JGRC"
WORD, CHECKSUM = struct.Struct("<Q"), struct.Struct("<I")
META_BYTES_MAX = 64 << 20
ROWS = b"JGROWS\0\xff"  # no length of a meta
ROWS_HEAD = struct.Struct("<8sQQQQ")
SKIP, QUARANTINE, REMADE = 1, 2, 4

# What a record of each kind says, and of which types; None is a type where it may be left open.
SAID: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "batch": {"skip": (bool,), "quarantine": (bool,), "source": (str, NoneType)},
    "load": {"source": (str, NoneType)},
    "expire": {"table": (str,), "where": (str,)},
    "index": {"column": (str,)},
    "subscribe": {"name": (str,), "bytes": (int,), "full": (str,)},
    "ack": {"name": (str,), "seq": (int,)},
    "drop": {"name": (str,)},
}


class Record(NamedTuple):
    """What was done: `seq` is the graph's sequence number by then, `said` what else counts.

    kind        said
    batch       skip; source, position; remade, if its view diffs are not here but can be remade
    load        source, position
    expire      table, where
    index       column
    subscribe   name, bytes, full
    ack         name, seq
    drop        name, why
    rotate      the next segment is there
    close       nothing came after
    """

    kind: str
    seq: int
    said: Mapping[str, Any]
    entries: Sequence[Entry] = ()
    changes: pa.Table | None = None
    changes_bytes: int | None = None  # as read: their size, whether they were asked for or not
    rows: RowBatch | None = None  # in place of entries: few rows as words

    @property
    def is_remade(self) -> bool:
        """True if its view diffs are not in the log and may be asked for: replay remakes them."""
        return bool(self.said.get("remade"))

    @property
    def kept_bytes(self) -> int | None:
        """Return what its view diffs take in the log; None if they cannot be asked for."""
        if self.changes is not None:
            return int(self.changes.nbytes)
        return 0 if self.is_remade else self.changes_bytes


class Head(NamedTuple):
    """What a record says before its payload."""

    number: int
    durable: int
    length: int
    checksum: int


def encode(record: Record, number: int, durable: int) -> list[Any]:
    """Write a record as buffers, to be put one after the other."""
    if record.rows is not None:
        payload = rows_payload(record, record.rows)
        head = head_of(number, durable, len(payload), xxhash.xxh3_64_intdigest(payload))
        return [head + payload]  # in one piece: few rows are quicker copied than written in two
    hashed, parts = xxhash.xxh3_64(), payload_of(record)
    for part in parts:
        hashed.update(part)
    length = sum(map(len, parts))
    return [head_of(number, durable, length, hashed.intdigest()), *parts]


def head_of(number: int, durable: int, length: int, checksum: int) -> bytes:
    """Write what a record says before its payload."""
    rest = HEAD.pack(MAGIC, 0, number, durable, length, checksum)[8:]
    return MAGIC + CHECKSUM.pack(zlib.crc32(rest)) + rest


def rows_payload(record: Record, rows: RowBatch) -> bytes:
    """Write a batch of few rows, and its view diffs if they are kept."""
    said, place = record.said, b""
    flags = SKIP * said["skip"] | QUARANTINE * said["quarantine"] | REMADE * record.is_remade
    if said["source"] is not None:
        place = to_json([said["source"], said["position"]])
    batch = rows.packed()
    head = ROWS_HEAD.pack(ROWS, record.seq, flags, len(place), len(batch))
    changes = b"" if record.changes is None else to_stream(record.changes, "lz4")
    return b"".join((head, place, batch, changes))


def to_json(written: object) -> bytes:
    """Write what may hold any text."""
    return json.dumps(written, ensure_ascii=False).encode("utf-8", "surrogatepass")


def from_json(data: memoryview) -> Any:
    """Read what `to_json` wrote."""
    return json.loads(bytes(data).decode("utf-8", "surrogatepass"))


def payload_of(record: Record) -> list[Any]:
    """Write what a record says, and its tables."""
    tables = [side for entry in record.entries for side in entry[2:] if side is not None]
    streams = [to_stream(table) for table in tables]
    # View diffs are many rows of few values: a sixth of their bytes, and no time lost over it.
    changes = [] if record.changes is None else [to_stream(record.changes, "lz4")]
    meta = {
        "kind": record.kind,
        "seq": record.seq,
        "said": dict(record.said),
        "entries": [[entry.operation, entry.table] for entry in record.entries],
        "streams": [stream.size for stream in (*streams, *changes)],
    }
    text = to_json(meta)
    text += b" " * (-len(text) % 8)
    return [WORD.pack(len(text)), text, *streams, *changes]


def to_stream(table: pa.Table, compression: str | None = None) -> pa.Buffer:
    """Write a table as an Arrow stream; its length is a multiple of eight bytes."""
    sink, options = pa.BufferOutputStream(), pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def read_head(data: bytes) -> Head | None:
    """Read a record's head; None if these bytes are none."""
    if len(data) < HEAD.size or not data.startswith(MAGIC):
        return None
    _, checksum, *rest = HEAD.unpack_from(data)
    return Head(*rest) if zlib.crc32(data[8 : HEAD.size]) == checksum else None


def decode(payload: memoryview, *, changes: bool = False) -> Record:
    """Read a payload whose checksum is right; view diffs only if they are asked for."""
    try:
        if bytes(payload[: len(ROWS)]) == ROWS:
            return read_rows(payload, changes=changes)
        meta, streams = taken_apart(payload)
        kind, seq, said = str(meta["kind"]), int(meta["seq"]), dict(meta["said"])
        check_said(kind, said)
        entries = list(read_entries(meta["entries"], streams))
        found = changes_stream(streams[0]) if changes and streams else None
    except UNREADABLE as error:
        raise StoreError(f"a record of the log says nothing sensible: {error!r:.200}") from error
    size = len(streams[0]) if streams else None
    return Record(kind, seq, said, entries, found, size)


def read_rows(payload: memoryview, *, changes: bool) -> Record:
    """Read a batch of few rows."""
    _, seq, flags, *sizes = ROWS_HEAD.unpack_from(payload)
    at = ROWS_HEAD.size
    place, batch = payload[at : at + sizes[0]], payload[at + sizes[0] : at + sum(sizes)]
    stream = payload[at + sum(sizes) :]
    source, position = from_json(place) if len(place) else (None, None)
    said = {
        "skip": bool(flags & SKIP),
        "quarantine": bool(flags & QUARANTINE),
        "source": source,
        "position": position,
        **({"remade": True} if flags & REMADE else {}),
    }
    check_said("batch", said)
    found = changes_stream(stream) if changes and len(stream) else None
    return Record("batch", seq, said, (), found, len(stream) or None, unpacked(batch))


def check_said(kind: str, said: Mapping[str, Any]) -> None:
    """Raise TypeError if a record does not say what one of its kind has to."""
    for name, types in SAID.get(kind, {}).items():
        if type(said.get(name)) not in types:
            raise TypeError(f"{kind}: {name} is {said.get(name)!r:.100}")
    if said.get("source") is not None and said.get("position") is None:
        raise TypeError(f"{kind}: there is a source, and no position")


def changes_stream(data: memoryview) -> pa.Table:
    """Read view diffs, whatever view they are of."""
    found = read_stream(data)
    if DIFF.name in found.column_names and is_deltas(found):
        return checked_deltas(found)
    happened = found.schema.remove_metadata()
    if [*happened][-len(META) :] != [*META]:
        raise ValueError("its view diffs do not say what happened")
    kinds, counts, _ = found.columns[-len(META) :]
    known = pc.is_in(kinds.cast(pa.string()), value_set=pa.array(SIGNS))
    if (not pc.all(known).as_py() and len(found)) or counts.null_count:
        raise ValueError("its view diffs say that something else happened")
    return found


def checked_deltas(found: pa.Table) -> pa.Table:
    """Return deltas; raise ValueError if they are not numbers of base diffs and of totals."""
    numbers = found.select(range(len(Deltas(found).key), found.num_columns))
    diffs, *changes = numbers.schema.types
    known = all(each == pa.int64() or pa.types.is_decimal(each) for each in changes)
    if diffs != DIFF.type or not known or any(each.null_count for each in numbers.columns):
        raise ValueError("its deltas are not numbers")
    return found


def taken_apart(payload: memoryview) -> tuple[Any, list[memoryview]]:
    """Cut a payload into its meta and its streams."""
    (length,) = WORD.unpack_from(payload)
    if length > min(len(payload), META_BYTES_MAX):
        raise ValueError("meta is longer than the record")
    meta = from_json(payload[WORD.size : WORD.size + length])
    streams, start = [], WORD.size + length
    for size in meta["streams"]:
        if not isinstance(size, int) or not 0 <= size <= len(payload) - start:
            raise ValueError("a stream is longer than the record")
        streams.append(payload[start : start + size])
        start += size
    return meta, streams


def read_entries(written: Sequence[Any], streams: list[memoryview]) -> Iterator[Entry]:
    """Read a batch's entries, taking their sides off the streams."""
    for operation, table in written:
        sides = {side: read_stream(streams.pop(0)) for side in SIDES[operation]}
        yield Entry(operation, str(table), sides.get("pre"), sides.get("post"))


def read_stream(data: memoryview) -> pa.Table:
    """Read an Arrow stream, believing nothing of it."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        table = reader.read_all()
    table.validate(full=True)
    return table
