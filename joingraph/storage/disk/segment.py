"""A segment of the log: a header, then records, back to back.

    | JGLOG | format | first number | graph | checksum |      48 bytes
    | record | record | ...                                          (storage/record.py)

A crash may leave the last record of the last segment torn: it was never acknowledged, and is cut
off. Anything else that does not read is damage and is refused by name: a record behind it says
that it had been on the disk. Beside a writer it may also be a record that is being written
(log_reader.py).
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NamedTuple

import xxhash

from joingraph.common.errors import StoreError
from joingraph.storage.disk.files import doing
from joingraph.storage.disk.folder import FORMAT, Identity, check_format
from joingraph.storage.record import HEAD, MAGIC, Head, read_head

HEADER = struct.Struct("<8sI4xQ16sQ")
SEGMENT_MAGIC = b"JGLOG\0\0\0"
SEARCH_BYTES = 1 << 20


class Found(NamedTuple):
    """A record in a segment: its head, where it begins, and its payload's bytes."""

    head: Head
    offset: int
    payload: memoryview

    @property
    def end(self) -> int:
        """Where the next record begins."""
        return self.offset + HEAD.size + self.head.length


def write_header(first: int, identity: Identity) -> bytes:
    """Begin a segment."""
    packed = HEADER.pack(SEGMENT_MAGIC, FORMAT, first, identity.graph, 0)[:-8]
    return packed + struct.pack("<Q", xxhash.xxh3_64_intdigest(packed))


def check_header(descriptor: int, path: Path, first: int, identity: Identity) -> None:
    """Refuse a segment that is damaged, or not the one that its name says."""
    with doing("read", path):
        data = os.pread(descriptor, HEADER.size, 0)
    if len(data) < HEADER.size or not data.startswith(SEGMENT_MAGIC):
        raise StoreError(f"{path} is no segment of a log: its first bytes are damaged")
    _, version, number, graph, checksum = HEADER.unpack(data)
    if xxhash.xxh3_64_intdigest(data[:-8]) != checksum:
        raise StoreError(f"{path} is damaged in its header: bring it back from a backup")
    check_format(version, path)
    if number != first:
        raise StoreError(
            f"{path} holds the records from {number} on: it was renamed or swapped; remove it if it"
            " is a copy that was put there, else bring the right file back"
        )
    if graph != identity.graph:
        raise StoreError(
            f"{path} belongs to another graph: remove it if it was put there, else bring the right"
            " file back"
        )


def read_found(descriptor: int, offset: int, path: Path) -> Found | None:
    """Read the record at an offset; None if there is no whole one."""
    with doing("read", path):
        head = read_head(os.pread(descriptor, HEAD.size, offset))
        if head is None or head.length > os.fstat(descriptor).st_size - offset - HEAD.size:
            return None
        payload = read_fully(descriptor, head.length, offset + HEAD.size)
    if len(payload) < head.length or xxhash.xxh3_64_intdigest(payload) != head.checksum:
        return None
    return Found(head, offset, memoryview(payload))


def read_fully(descriptor: int, length: int, offset: int) -> bytes:
    """Read so many bytes, or to the file's end."""
    parts: list[bytes] = []
    while length:
        part = os.pread(descriptor, length, offset)
        if not part:
            break
        parts.append(part)
        length, offset = length - len(part), offset + len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def was_durable(descriptor: int, offset: int, number: int) -> bool:
    """True if a later record of the segment knows that this one had been on the disk.

    If its head reads, later records begin behind its payload, which may hold anything.
    """
    own = read_head(os.pread(descriptor, HEAD.size, offset))
    at = offset + 1 if own is None else offset + HEAD.size + own.length
    while data := os.pread(descriptor, SEARCH_BYTES + HEAD.size, at):
        place = data.find(MAGIC)
        while 0 <= place < SEARCH_BYTES:
            head = read_head(data[place : place + HEAD.size])
            if head is not None and head.number > number and head.durable >= number:
                return True
            place = data.find(MAGIC, place + 1)
        at += SEARCH_BYTES
    return False
