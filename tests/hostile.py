"""Values that no caller hands over on purpose, and who is right about them.

A refusal is right if it is a JoinGraphError, or a TypeError or ValueError that joingraph raises
itself; what a caller's own object raises comes through as it is.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import joingraph as jg

PACKAGE = str(Path(jg.__file__).parent)
TESTS = str(Path(__file__).parent)
LONG_NUMBER = "9" * 5_000
LONE = "\ud800"


class Boom(Exception):
    """What a hostile object raises."""


class Raises:
    """Raises whatever is asked of it."""

    def __len__(self) -> int:
        raise Boom

    def __iter__(self) -> Iterator[object]:
        raise Boom

    def __repr__(self) -> str:
        raise Boom

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise Boom

    def __hash__(self) -> int:
        raise Boom

    def __bool__(self) -> bool:
        raise Boom

    def __fspath__(self) -> str:
        raise Boom


class Lies(list[Any]):
    """Says that it is longer than it is."""

    def __len__(self) -> int:
        return 7


class LyingRow(tuple[Any, ...]):
    """A row that says it has another length, or gives other values when it is asked again."""

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[Any]:
        return iter([1, 2, 3])


class Changing(dict[str, Any]):
    """A mapping that has one more key whenever it is read."""

    def __iter__(self) -> Iterator[str]:
        for key in list(self.keys()):
            self[f"{key}'"] = []
            yield key

    def items(self) -> Any:
        for key in super().__iter__():
            super().__setitem__(f"{key}'", [])
            yield key, []


class NoItems(Mapping[str, Any]):
    """A mapping that has not what it lists."""

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(["t", "k"])

    def __len__(self) -> int:
        return 2


class OddText(str):
    """A text that is not equal to itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 1


class Streams:
    """Says that it is an Arrow stream, and is none."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return 7


def breaking() -> Iterator[tuple[int, int]]:
    """Give a row, then break."""
    yield 1, 2
    raise Boom


def deep() -> list[Any]:
    """Nest lists deeper than Python follows."""
    found: list[Any] = []
    for _ in range(100_000):
        found = [found]
    return found


def far() -> pa.Array:
    """Give a date that Python does not have."""
    return pa.array([4_000_000], pa.int32()).cast(pa.date32())


VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "zero": lambda: 0,
    "minus": lambda: -1,
    "huge": lambda: 10**5_000,
    "float": lambda: 1.5,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "complex": lambda: 1j,
    "bytes": lambda: b"t",
    "bad bytes": lambda: b"\xff\x00",
    "empty": lambda: "",
    "text": lambda: "t",
    "number text": lambda: LONG_NUMBER,
    "surrogate": lambda: LONE,
    "surrogate in": lambda: f"t{LONE}t",
    "nul": lambda: "t\0t",
    "long": lambda: "x" * 100_000,
    "path": lambda: "/" + "x/" * 3_000,
    "list": list,
    "list of None": lambda: [None],
    "list of texts": lambda: ["t", LONE],
    "rows": lambda: [(1, 2)],
    "odd rows": lambda: [(1, 2), (1,)],
    "row of surrogate": lambda: [(1, LONE)],
    "huge row": lambda: [(10**5_000, 2)],
    "lying row": lambda: [LyingRow((1, 2))],
    "lies": lambda: Lies([(1, 2)]),
    "rows of raises": lambda: [(Raises(), 2)],
    "raises in rows": lambda: [Raises()],
    "tuple": lambda: (),
    "set": lambda: {1},
    "dict": dict,
    "dict of surrogate": lambda: {LONE: LONE},
    "dict of numbers": lambda: {1: 2},
    "dicts": lambda: [{"k": 1, "n": 2}, {LONE: 1}],
    "dict rows": lambda: [NoItems()],
    "changing": lambda: Changing(t=[]),
    "no items": NoItems,
    "raises": Raises,
    "odd text": lambda: OddText("t"),
    "object": object,
    "type": lambda: int,
    "function": lambda: deep,
    "generator": breaking,
    "deep": deep,
    "streams": Streams,
    "array": lambda: np.zeros((2, 2)),
    "objects": lambda: np.array([object()]),
    "arrow": lambda: pa.table({"k": [1], "n": [2]}),
    "arrow column": lambda: pa.array([1]),
    "no columns": lambda: pa.table({}),
    "schema": lambda: pa.schema([("k", pa.int64())]),
    "scalar": lambda: pa.scalar(1),
    "list scalar": lambda: pa.scalar([1]),
    "deep scalar": lambda: pa.scalar([{"a": [1]}]),
    "map scalar": lambda: pa.scalar([("a", 1)], pa.map_(pa.string(), pa.int64())),
    "struct of far": lambda: pa.StructArray.from_arrays([far()], ["d"])[0],
    "union scalar": lambda: pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [far()])[0],
    "interval": lambda: pa.scalar((1, 2, 3), pa.month_day_nano_interval()),
    "run": lambda: pa.RunEndEncodedArray.from_arrays([1], [5])[0],
    "far": lambda: far()[0],
    "view": lambda: jg.View("SELECT k FROM t", {"t": "CREATE TABLE t (k INT)"}),
    "module": lambda: sys,
    "slice": lambda: slice(None),
    "range": lambda: range(3),
}


def is_right(error: BaseException) -> bool:
    """Hold of an error that says what to do, or is the caller's own."""
    if isinstance(error, (jg.JoinGraphError, Boom)):
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    file = trace.tb_frame.f_code.co_filename
    if file.startswith(TESTS):
        return True
    if not isinstance(error, (TypeError, ValueError)):
        return False
    line = linecache.getline(file, trace.tb_lineno).strip()
    return file.startswith(PACKAGE) and line.startswith("raise ")
