"""Named runs of bytes: the graph is written as blocks, and read back from parts of a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Block(NamedTuple):
    """A named run of bytes, given in pieces; an array is memory as it is."""

    name: str
    pieces: Iterable[Any]
    is_array: bool = False


class Part(NamedTuple):
    """A part of a file, to be mapped or read: where it lies, and its bytes."""

    descriptor: int
    offset: int
    data: memoryview
