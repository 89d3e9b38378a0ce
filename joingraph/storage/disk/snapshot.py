"""A snapshot: the whole graph after one record, in one file that is never changed again.

    | JGSNP | format |     block, at a multiple of ALIGN | block | ...
    | footer (JSON): identity, number, view, state, and each block's place and checksums
    | length of the footer | checksum of the footer | JGEND |

Rows are the blocks that any version and engine can read. Arrays are blocks too, of memory as it
is: they make opening quick and are believed only if their seal holds (seal.py); without them the
rows tell the same.

It is written under another name, flushed, and renamed: a file that has a snapshot's name is whole.
A block is checked, chunk by chunk, before anything of it is believed. Snapshots are mapped, and
mapped files must not be overwritten: they are only renamed and unlinked.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from joingraph.common.atomic_file import replacing
from joingraph.common.closing import on_error
from joingraph.common.errors import StoreError
from joingraph.common.unreadable import UNREADABLE
from joingraph.graph.blocks import Block, Part
from joingraph.storage.disk import files
from joingraph.storage.disk.files import File, doing
from joingraph.storage.disk.folder import FORMAT, Folder, check_format
from joingraph.storage.disk.seal import Seal, find_key, new_seal

ALIGN = 1 << 16
CHUNK = 4 << 20
HEAD = struct.Struct("<8sI4x")
TAIL = struct.Struct("<QQ8s")
HEAD_MAGIC, TAIL_MAGIC = b"JGSNP\0\0\0", b"JGEND\0\0\0"
FOOTER_BYTES_MAX = 1 << 30
FLUSHED_BYTES = 1 << 20  # so that the log's flushes wait for 3 ms at most; 8 MiB made it 60
CHECKERS_MAX = 8
log = logging.getLogger("joingraph")


class Place(NamedTuple):
    """Where a block lies in its file, and, of rows, the checksum of each chunk."""

    offset: int
    length: int
    checksums: Sequence[str] = ()


class Snapshot:
    """A snapshot opened for reading; blocks are views of the mapped file."""

    def __init__(self, folder: Folder, number: int) -> None:
        self.path, self.number = folder.snapshot(number), number
        self.file = files.read_from(self.path)
        with on_error(self.close):
            with doing("read", self.path):
                found = os.fstat(self.file.fileno())
                size, self.taken = found.st_size, found.st_mtime
                if size < HEAD.size + TAIL.size:
                    raise self.damaged("it is too short")
                mapped = mmap.mmap(self.file.fileno(), size, prot=mmap.PROT_READ)
                self.mapped = memoryview(mapped)
            self.footer = self._read_footer()
            self.places = self._read_places(self.footer.get("blocks"), "blocks")
            if any(
                len(each.checksums) != -(-each.length // CHUNK) for each in self.places.values()
            ):
                raise self.damaged("its list of blocks")
            self.seal, self.array_places = self._read_seal(), dict[str, Place]()
            if self.seal is not None:
                written = self.footer["arrays"].get("blocks")
                self.array_places = self._read_places(written, "arrays")
            if self.footer.get("number") != number:
                raise self.damaged(f"it is of record {self.footer.get('number')}: it was renamed")

    def __contains__(self, name: str) -> bool:
        return name in self.places

    def __getitem__(self, name: str) -> memoryview:
        """Return a block whose checksums are right."""
        if name not in self.places:
            raise self.damaged(f"it has no block {name!r}")
        place = self.places[name]
        for chunk, checksum in zip(self._chunks(place), place.checksums, strict=True):
            if xxhash.xxh3_64_hexdigest(chunk) != checksum:
                raise self.damaged(f"block {name!r}, at {place.offset:,} bytes or behind it")
        return self._bytes(place)

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def arrays(self, stamp: str) -> dict[str, Part]:
        """Return the arrays, if their names begin so, once all were checked; none if one is wrong.

        Nor are there any if they were sealed by another user, or elsewhere.
        """
        if not any(name.startswith(stamp) for name in self.array_places):
            return {}
        if not self.are_arrays_right():
            log.warning("%s: its arrays are damaged; the graph is made of its rows", self.path)
            return {}
        return {
            name: Part(self.file.fileno(), place.offset, self._bytes(place))
            for name, place in self.array_places.items()
        }

    def are_arrays_right(self) -> bool:
        """Check the arrays that were sealed here, several chunks at a time."""
        if self.seal is None:
            return True
        seed, arrays = self.seal.seed, self.footer["arrays"]
        chunks = [chunk for place in self.array_places.values() for chunk in self._chunks(place)]
        with ThreadPoolExecutor(min(os.cpu_count() or 1, CHECKERS_MAX)) as checkers:
            checksums = checkers.map(lambda chunk: xxhash.xxh3_128_digest(chunk, seed), chunks)
            return self.seal.holds(sealed(self.footer, arrays["blocks"], checksums), arrays["mark"])

    def _chunks(self, place: Place) -> list[memoryview]:
        block = self._bytes(place)
        return [block[start : start + CHUNK] for start in range(0, place.length, CHUNK)]

    def _bytes(self, place: Place) -> memoryview:
        return self.mapped[place.offset : place.offset + place.length]

    @property
    def size(self) -> int:
        """The file's length."""
        return len(self.mapped)

    def damaged(self, what: str) -> StoreError:
        """Return what is wrong with the file."""
        return StoreError(f"{self.path} is damaged: {what}; bring it back from a backup")

    def close(self) -> None:
        """Let go of the file; blocks that are still in use stay readable."""
        self.file.close()

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

    def _read_seal(self) -> Seal | None:
        """Read what the arrays were sealed with, if that was done here."""
        key, arrays = find_key(), self.footer.get("arrays")
        if arrays is None or key is None:
            return None
        try:
            seal = Seal(key, bytes.fromhex(arrays["nonce"]))
            is_ours = arrays["key"] == seal.name and isinstance(arrays["mark"], str)
            return seal if is_ours else None
        except UNREADABLE:
            raise self.damaged("its list of arrays") from None

    def _read_places(self, written: Any, what: str) -> dict[str, Place]:
        """Read where blocks are; refuse those that are not within the file."""
        try:
            places = {
                str(name): Place(int(offset), int(length), *map(list, checksums))
                for name, (offset, length, *checksums) in written.items()
            }
        except UNREADABLE:
            raise self.damaged(f"its list of {what}") from None
        for each in places.values():
            if each.offset < 0 or not 0 <= each.length <= self.size - each.offset:
                raise self.damaged("its list of blocks")
        return places


def sealed(footer: Mapping[str, Any], places: Any, checksums: Iterable[bytes]) -> bytes:
    """Return what a seal is on: the arrays of one record of one graph.

    Their checksums are written nowhere else: from one of them its seed might be had.
    """
    text = json.dumps([footer["graph"], footer["number"], places], sort_keys=True)
    return b"".join([text.encode(), *checksums])


def write_snapshot(
    folder: Folder, number: int, footer: Mapping[str, Any], blocks: Iterable[Block]
) -> None:
    """Write a snapshot and put it in its place; then it is on the disk."""
    path = folder.snapshot(number)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    files.unlink(new)
    with files.doing("rename", new), replacing(path, new=new), closing(files.create(new)) as file:
        written = Written(file, new)
        written.put([HEAD.pack(HEAD_MAGIC, FORMAT)])
        text = json.dumps(written.footer({**footer, "number": number}, blocks)).encode()
        tail = TAIL.pack(len(text), xxhash.xxh3_64_intdigest(text), TAIL_MAGIC)
        written.put([text, tail])
        files.sync(file, new)


class Written:
    """A file being written, and how long it is by now."""

    def __init__(self, file: File, path: Path) -> None:
        self.file, self.path = file, path
        self.size = self.flushed = 0

    def put(self, parts: list[Any]) -> None:
        """Write buffers at the end."""
        files.write(self.file, parts, self.path)
        self.size += sum(memoryview(part).nbytes for part in parts)
        if self.size - self.flushed > FLUSHED_BYTES:
            files.sync(self.file, self.path)
            self.flushed = self.size

    def footer(self, facts: dict[str, Any], blocks: Iterable[Block]) -> dict[str, Any]:
        """Write the blocks; gives the footer that says where they are."""
        seal, rows, arrays = new_seal(), dict[str, Place](), dict[str, tuple[int, int]]()
        sums: list[bytes] = []
        for block in blocks:
            if not block.is_array:
                start, checksums = self.block(block, xxhash.xxh3_64)
                found = Place(start, self.size - start, [each.hex() for each in checksums])
                rows[block.name] = found
            elif seal is not None:
                start, checksums = self.block(block, partial(xxhash.xxh3_128, seed=seal.seed))
                arrays[block.name] = start, self.size - start
                sums += checksums
        facts["blocks"] = rows
        if arrays and seal is not None:
            facts["arrays"] = {
                "key": seal.name,
                "nonce": seal.nonce.hex(),
                "mark": seal.mark(sealed(facts, arrays, sums)),
                "blocks": arrays,
            }
        return facts

    def block(self, block: Block, begin: Callable[[], Any]) -> tuple[int, list[bytes]]:
        """Write a block at the next aligned place; gives that, and its chunks' checksums."""
        self.put([bytes(-self.size % ALIGN)])
        start, checksums, hashed, left = self.size, list[bytes](), begin(), CHUNK
        for piece in block.pieces:
            rest = memoryview(piece).cast("B")
            while len(rest):
                part, rest = rest[:left], rest[left:]
                self.put([part])
                hashed.update(part)
                left -= len(part)
                if not left:
                    checksums.append(hashed.digest())
                    hashed, left = begin(), CHUNK
        if left < CHUNK:
            checksums.append(hashed.digest())
        return start, checksums
