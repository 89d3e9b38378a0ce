"""Memory that grows without being copied: address space is reserved, pages come when touched.

    reserve(words)        ->  Region(address, words)     anonymous, zeroed, MAP_NORESERVE
    reserve_together(..)  ->  several of them at fixed distances; large ones with huge pages
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

from joingraph.common.errors import LimitError
from joingraph.graph.blocks import Part

Words = npt.NDArray[np.int64]

INTERPRETED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]  # set dynamically
CHECKED = not INTERPRETED and os.environ.get("JOINGRAPH_KERNELS") == "checked"
FENCED = INTERPRETED or CHECKED  # raw kernels look at no fence

MAX_REGIONS = 1 << 20
HUGE_BYTES = 2 << 20
SMALL_BYTES = 256 << 10
OVERSHOT_BYTES = 1 << 10
ALLOCATED_WORDS = 1 << 13
MAP_FIXED = 0x10  # on Linux and macOS, and in no module of Python
# Python 3.11 and 3.12 do not name this flag
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0x40)
# [violations, regions in use, low 0, high 0, low 1, high 1, ...]; a freed pair is 0, 0
FENCES: Words = np.zeros(2 + 2 * MAX_REGIONS, np.int64)
free_fences: list[int] = []
reserved = [0]  # bytes of address space, in all


@dataclass(eq=False, slots=True)
class Region:
    """A stretch of reserved memory; `words` is a view of it that must not outlive the region."""

    area: mmap.mmap | None  # None: it is of the allocator
    words: Words
    address: int
    start: int = 0  # bytes of the area before it

    def release(self, start: int, end: int) -> None:
        """Give the whole pages between two word indexes back; they read as zero afterwards."""
        page = mmap.PAGESIZE // 8
        first, last = -(-start // page) * page, end // page * page
        if last > first and self.area is not None:
            place = self.start + first * 8
            self.area.madvise(mmap.MADV_DONTNEED, place, (last - first) * 8)


def reserve(words: int) -> Region:
    """Reserve zeroed memory that takes up room only where it is touched; few words are malloc's.

    A process may have some 65,000 mappings, so a small region is not one of them.
    """
    if words <= ALLOCATED_WORDS:
        view = np.zeros(words, np.int64)
        fence_with(view, [(view.ctypes.data, view.nbytes)])
        return Region(None, view, view.ctypes.data)
    area = reserve_area(words * 8)
    view = np.frombuffer(area, np.int64)
    fence_with(area, [(view.ctypes.data, len(area))])
    return Region(area, view, view.ctypes.data)


def reserve_together(sizes: Sequence[int]) -> list[Region]:
    """Reserve several regions of so many bytes: sizes alone tell the distances between them.

    The first region's `words` reach over the others too. A large region has huge pages, which save
    page faults and address look-ups, and begins a little before one, so that it may stay small.
    """
    starts, end = spread_out(sizes)
    is_large = any(map(has_huge_pages, sizes))
    area = reserve_area(end + (HUGE_BYTES if is_large else 0))
    whole = np.frombuffer(area, np.int64)
    base = -whole.ctypes.data % HUGE_BYTES if is_large else 0
    regions = []
    for size, start in zip(sizes, starts, strict=True):
        if has_huge_pages(size) and hasattr(mmap, "MADV_HUGEPAGE"):
            huge = base + start + SMALL_BYTES
            area.madvise(mmap.MADV_HUGEPAGE, huge, -(-size // HUGE_BYTES) * HUGE_BYTES)
        view = whole[(base + start) // 8 :]
        regions.append(Region(area, view, view.ctypes.data, base + start))
    fences = [(each.address, size) for each, size in zip(regions, sizes, strict=True)]
    fence_with(area, fences)
    return regions


def has_huge_pages(size: int) -> bool:
    """True if a region is so large that it has huge pages."""
    return size > 2 * HUGE_BYTES


def spread_out(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Return where regions of so many bytes begin, and where the last one ends.

    Eight words at once are read and written, so a region is followed by room for an overshoot.
    """
    starts, end = [], 0
    for size in sizes:
        start, unit = end, mmap.PAGESIZE
        if has_huge_pages(size):
            unit = HUGE_BYTES
            start = -(-(end + SMALL_BYTES) // unit) * unit - SMALL_BYTES
        starts.append(start)
        end = start + -(-(size + OVERSHOT_BYTES) // unit) * unit
    return starts, end


def reserve_area(size: int) -> mmap.mmap:
    """Reserve whole pages of address space, or raise LimitError if none is left."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    try:
        area = mmap.mmap(-1, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE, flags=flags)
    except (OSError, OverflowError) as error:
        raise LimitError(
            f"{size:,} bytes of address space are asked for, and the system gives no more"
            f" ({error}): allow the process more (`ulimit -v`, or `vm.max_map_count` mappings),"
            " or close other graphs of it"
        ) from error
    reserved[0] += len(area)
    weakref.finalize(area, _given_back, len(area)).atexit = False
    return area


def _given_back(size: int) -> None:
    reserved[0] -= size


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
    """Return the address of a contiguous array, six times as fast as numpy does."""
    return int(pa.py_buffer(array).address)


def bytes_at(address: int, size: int) -> memoryview:
    """Return a view of fenced memory as bytes, to be read before the next change."""
    return memoryview((ctypes.c_ubyte * size).from_address(inside(address, size))).cast("B")


def fence_with(owner: object, spans: Sequence[tuple[int, int]]) -> None:
    """Allow accesses to addresses and the bytes from them on, as long as their owner lives."""
    places = [fence(address, address + size) for address, size in spans]
    weakref.finalize(owner, _unfence_all, places).atexit = False


def fence(low: int, high: int) -> int:
    """Allow accesses between two addresses; returns the place of its bounds."""
    place = free_fences.pop() if free_fences else int(FENCES[1])
    if place >= MAX_REGIONS:
        raise LimitError(
            f"{MAX_REGIONS:,} regions of memory are in use: close graphs of the process"
        )
    FENCES[1] = max(int(FENCES[1]), place + 1)
    FENCES[2 + 2 * place] = low
    FENCES[3 + 2 * place] = high
    return place


def _unfence_all(places: Sequence[int]) -> None:
    for place in places:
        FENCES[2 + 2 * place] = 0
        FENCES[3 + 2 * place] = 0
        free_fences.append(place)


def word_at(address: int) -> ctypes.c_int64:
    """Return the word at a fenced address, to read or write; outside of every fence is an error."""
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
        _unfence_all(places)
