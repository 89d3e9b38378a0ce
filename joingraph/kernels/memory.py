"""Memory that grows without being copied: address space is reserved, pages come when touched.

    reserve(words)        ->  Region(address, words)     anonymous, zeroed, MAP_NORESERVE
    reserve_together(..)  ->  several of them at fixed distances, with huge pages
    lay_over(address, part of a file)                    the file's pages, copied when written to

Kernels work on raw addresses; the Region keeps the mapping alive. Every live region is fenced:
FENCES lists their bounds, and the checked and interpreted kernels refuse an access outside.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import weakref
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.stores.snapshot import Part

Words = npt.NDArray[np.int64]

INTERPRETED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]  # set dynamically
CHECKED = not INTERPRETED and os.environ.get("JOINGRAPH_KERNELS") == "checked"
FENCED = INTERPRETED or CHECKED  # raw kernels look at no fence

MAX_REGIONS = 1 << 16
HUGE_BYTES = 2 << 20
SMALL_BYTES = 256 << 10
MAP_FIXED = 0x10  # on Linux and macOS, and in no module of Python
# Python 3.11 and 3.12 do not name this flag
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0x40)
# [violations, regions in use, low 0, high 0, low 1, high 1, ...]; a freed pair is 0, 0
FENCES: Words = np.zeros(2 + 2 * MAX_REGIONS, np.int64)
_free_fences: list[int] = []


@dataclass(eq=False, slots=True, weakref_slot=True)
class Region:
    """A stretch of reserved memory; `words` is a view of it that must not outlive the region."""

    area: mmap.mmap
    words: Words
    address: int
    start: int = 0  # bytes of the area before it

    def release(self, start: int, end: int) -> None:
        """Give the whole pages between two word indexes back; they read as zero afterwards."""
        page = mmap.PAGESIZE // 8
        first, last = -(-start // page) * page, end // page * page
        if last > first:
            place = self.start + first * 8
            self.area.madvise(mmap.MADV_DONTNEED, place, (last - first) * 8)


def reserve(words: int) -> Region:
    """Reserve zeroed memory that takes up room only where it is touched."""
    area = reserve_area(words * 8)
    view = np.frombuffer(area, np.int64)
    return fenced(Region(area, view, view.ctypes.data), len(area))


def reserve_together(sizes: Sequence[int]) -> list[Region]:
    """Reserve several regions of so many words: their distances are the same in every process.

    The first region's `words` reach over the others too. Huge pages save page faults and address
    look-ups; a region begins a little before one, so that small graphs stay small.
    """
    room = [-(-size * 8 // HUGE_BYTES) * HUGE_BYTES + HUGE_BYTES for size in sizes]
    area = reserve_area(sum(room) + 2 * HUGE_BYTES)
    whole = np.frombuffer(area, np.int64)
    start = -whole.ctypes.data % HUGE_BYTES + HUGE_BYTES - SMALL_BYTES
    regions = []
    for size, bytes_ in zip(sizes, room, strict=True):
        if hasattr(mmap, "MADV_HUGEPAGE"):
            area.madvise(mmap.MADV_HUGEPAGE, start + SMALL_BYTES, bytes_ - HUGE_BYTES)
        view = whole[start // 8 :]
        regions.append(fenced(Region(area, view, view.ctypes.data, start), size * 8))
        start += bytes_
    return regions


def reserve_area(size: int) -> mmap.mmap:
    """Reserve whole pages of address space."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    return mmap.mmap(-1, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE, flags=flags)


def lay_over(address: int, part: Part) -> None:
    """Let reserved memory be what a part of a file is; the file itself stays as it is.

    Whole pages are mapped, the rest is copied: what lies behind the part reads as zero.
    """
    size, of = len(part.data), np.frombuffer(part.data, np.uint8)
    inside(address, size)
    is_placed = address % mmap.PAGESIZE == 0 and part.offset % mmap.PAGESIZE == 0
    mapped = size // mmap.PAGESIZE * mmap.PAGESIZE if is_placed else 0
    if mapped:
        map_over(address, mapped, part)
    ctypes.memmove(address + mapped, of.ctypes.data + mapped, size - mapped)


def map_over(address: int, size: int, part: Part) -> None:
    """Map whole pages of a file in place of reserved ones."""
    system = ctypes.CDLL(None, use_errno=True)
    system.mmap.restype = ctypes.c_void_p
    system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
    allowed, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | MAP_FIXED
    found = system.mmap(address, size, allowed, flags, part.descriptor, part.offset)
    if found != address:
        raise MemoryError(f"{size:,} bytes cannot be mapped: {os.strerror(ctypes.get_errno())}")


def address_of(array: npt.NDArray[Any]) -> int:
    """Give the address of a contiguous array, six times as fast as numpy does."""
    return int(pa.py_buffer(array).address)


def bytes_at(address: int, size: int) -> memoryview:
    """Give a view of fenced memory as bytes, to be read before the next change."""
    return memoryview((ctypes.c_ubyte * size).from_address(inside(address, size))).cast("B")


def fenced(region: Region, size: int) -> Region:
    """Allow accesses to a region as long as it lives."""
    place = fence(region.address, region.address + size)
    weakref.finalize(region, _unfence, place)
    return region


def fence(low: int, high: int) -> int:
    """Allow accesses between two addresses; returns the place that `unfence` takes."""
    place = _free_fences.pop() if _free_fences else int(FENCES[1])
    assert place < MAX_REGIONS, "there are never that many graphs in one process"
    FENCES[1] = max(int(FENCES[1]), place + 1)
    FENCES[2 + 2 * place] = low
    FENCES[3 + 2 * place] = high
    return place


def _unfence(place: int) -> None:
    FENCES[2 + 2 * place] = 0
    FENCES[3 + 2 * place] = 0
    _free_fences.append(place)


def word_at(address: int) -> ctypes.c_int64:
    """Give the word at a fenced address, to read or write; outside of every fence is an error."""
    return ctypes.c_int64.from_address(inside(address, 8))


def byte_at(address: int) -> int:
    """Read the byte at a fenced address."""
    return ctypes.c_uint8.from_address(inside(address, 1)).value


def inside(address: int, size: int) -> int:
    """Insist that an access lies within one fence."""
    bounds = FENCES[2 : 2 + 2 * int(FENCES[1])]
    if not ((bounds[0::2] <= address) & (address + size <= bounds[1::2])).any():
        raise IndexError(f"{size} bytes at {address:#x} lie in no region")
    return int(address)


def lent(*memory: npt.NDArray[Any] | pa.Buffer) -> AbstractContextManager[object]:
    """Keep arrays and buffers while this lasts, and allow kernels to access them."""
    return _fenced_for_now(memory) if FENCED else nullcontext(memory)


@contextmanager
def _fenced_for_now(memory: Sequence[npt.NDArray[Any] | pa.Buffer]) -> Generator[None]:
    buffers = [pa.py_buffer(each) for each in memory]
    places = [fence(each.address, each.address + each.size) for each in buffers]
    try:
        yield
    finally:
        for place in places:
            _unfence(place)
