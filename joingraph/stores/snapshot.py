"""A snapshot: the whole graph after one record, in one file that is never changed again.

    | JGSNP | format |     block, at a multiple of ALIGN | block | ...
    | footer (JSON): identity, number, view, state, and each block's place and checksums
    | length of the footer | checksum of the footer | JGEND |

It is written under another name, flushed, and renamed: a file that has a snapshot's name is whole.
A block is checked, chunk by chunk, before anything of it is believed. Snapshots are mapped, and
mapped files must not be overwritten: they are only renamed and unlinked.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from joingraph.errors import StoreError
from joingraph.stores import files
from joingraph.stores.files import doing
from joingraph.stores.folder import FORMAT, Folder, check_format
from joingraph.stores.unreadable import UNREADABLE

ALIGN = 1 << 16
CHUNK = 4 << 20
HEAD = struct.Struct("<8sI4x")
TAIL = struct.Struct("<QQ8s")
HEAD_MAGIC, TAIL_MAGIC = b"JGSNP\0\0\0", b"JGEND\0\0\0"
FOOTER_BYTES_MAX = 1 << 30


class Block(NamedTuple):
    """A named run of bytes, given in pieces."""

    name: str
    pieces: Iterable[Any]


class Place(NamedTuple):
    """Where a block lies in its file, and the checksum of each chunk."""

    offset: int
    length: int
    checksums: list[str]


class Snapshot:
    """A snapshot opened for reading; blocks are views of the mapped file."""

    def __init__(self, folder: Folder, number: int) -> None:
        self.path, self.number = folder.snapshot(number), number
        self.descriptor = files.read_from(self.path)
        try:
            with doing("read", self.path):
                size = os.fstat(self.descriptor).st_size
                if size < HEAD.size + TAIL.size:
                    raise self.damaged("it is too short")
                self.mapped = memoryview(mmap.mmap(self.descriptor, size, prot=mmap.PROT_READ))
            self.footer = self._read_footer()
            self.places = self._read_places()
        except BaseException:
            os.close(self.descriptor)
            raise
        if self.footer.get("number") != number:
            raise self.damaged(f"it is of record {self.footer.get('number')}: it was renamed")

    def __contains__(self, name: str) -> bool:
        return name in self.places

    def __getitem__(self, name: str) -> memoryview:
        """Give a block whose checksums are right."""
        if name not in self.places:
            raise self.damaged(f"it has no block {name!r}")
        place = self.places[name]
        block = self.mapped[place.offset : place.offset + place.length]
        for number, checksum in enumerate(place.checksums):
            chunk = block[number * CHUNK : (number + 1) * CHUNK]
            if xxhash.xxh3_64_hexdigest(chunk) != checksum:
                raise self.damaged(f"block {name!r} at {place.offset + number * CHUNK:,} bytes")
        return block

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    @property
    def size(self) -> int:
        """The file's length."""
        return len(self.mapped)

    def damaged(self, what: str) -> StoreError:
        """Say what is wrong with the file."""
        return StoreError(f"{self.path} is damaged: {what}; bring it back from a backup")

    def close(self) -> None:
        """Let go of the file; blocks that are still in use stay readable."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _read_footer(self) -> dict[str, Any]:
        magic, version = HEAD.unpack_from(self.mapped)
        length, checksum, end = TAIL.unpack(self.mapped[-TAIL.size :])
        if magic != HEAD_MAGIC or end != TAIL_MAGIC:
            raise self.damaged("it does not begin and end as a snapshot does")
        check_format(version, self.path)
        if length > min(self.size - HEAD.size - TAIL.size, FOOTER_BYTES_MAX):
            raise self.damaged("its footer is longer than the file")
        text = self.mapped[self.size - TAIL.size - length : self.size - TAIL.size]
        if xxhash.xxh3_64_intdigest(text) != checksum:
            raise self.damaged("its footer")
        try:
            footer = json.loads(bytes(text).decode("utf-8", "surrogatepass"))
        except UNREADABLE:
            raise self.damaged("its footer") from None
        if not isinstance(footer, dict):
            raise self.damaged("its footer")
        return footer

    def _read_places(self) -> dict[str, Place]:
        """Read where the blocks are; each must lie within the file and be checked whole."""
        try:
            places = {
                str(name): Place(int(offset), int(length), list(checksums))
                for name, (offset, length, checksums) in self.footer["blocks"].items()
            }
        except UNREADABLE:
            raise self.damaged("its list of blocks") from None
        for place in places.values():
            inside = place.offset >= 0 and 0 <= place.length <= self.size - place.offset
            if not inside or len(place.checksums) != -(-place.length // CHUNK):
                raise self.damaged("its list of blocks")
        return places


def write_snapshot(
    folder: Folder, number: int, footer: Mapping[str, Any], blocks: Iterable[Block]
) -> None:
    """Write a snapshot and put it in its place; then it is on the disk."""
    path = folder.snapshot(number)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    files.unlink(new)
    descriptor = files.create(new)
    try:
        written = Written(descriptor, new)
        written.put([HEAD.pack(HEAD_MAGIC, FORMAT)])
        places = {block.name: written.block(block) for block in blocks}
        text = json.dumps({**footer, "number": number, "blocks": places}).encode()
        tail = TAIL.pack(len(text), xxhash.xxh3_64_intdigest(text), TAIL_MAGIC)
        written.put([text, tail])
        files.sync(descriptor, new)
        files.rename(new, path)
    finally:
        os.close(descriptor)


class Written:
    """A file being written, and how long it is by now."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self.descriptor, self.path = descriptor, path
        self.size = 0

    def put(self, parts: list[Any]) -> None:
        """Write buffers at the end."""
        files.write(self.descriptor, parts, self.path)
        self.size += sum(memoryview(part).nbytes for part in parts)

    def block(self, block: Block) -> Place:
        """Write a block at the next aligned place, and its chunks' checksums down."""
        self.put([bytes(-self.size % ALIGN)])
        start, checksums, hashed, left = self.size, list[str](), xxhash.xxh3_64(), CHUNK
        for piece in block.pieces:
            rest = memoryview(piece).cast("B")
            self.put([rest])
            while len(rest):
                part, rest = rest[:left], rest[left:]
                hashed.update(part)
                left -= len(part)
                if not left:
                    checksums.append(hashed.hexdigest())
                    hashed, left = xxhash.xxh3_64(), CHUNK
        if left < CHUNK:
            checksums.append(hashed.hexdigest())
        return Place(start, self.size - start, checksums)
