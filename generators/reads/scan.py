"""Turns complete paths into rows of the view: Algorithm 6 of the thesis, its last part.

Out: record batches of at most `BLOCK` rows, rows repeated by their multiplicity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.generators.paths import Path, shown
from joingraph.graph.join_graph import Graph

Numbers = npt.NDArray[Any]  # of int64, or of Python's integers

BLOCK = 65_536  # rows a record batch holds at the most


def in_batches(graph: Graph, paths: Iterable[Path]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of paths, in their order."""
    rest = iter(paths)
    while some := list(islice(rest, BLOCK)):
        yield from blocks(graph, some)


def blocks(graph: Graph, paths: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    """Compute the rows of paths and repeat each by its multiplicity, in bounded batches."""
    for part, rows in shown(graph.plan, paths):
        for numbers in repeated([path.times for path in part]):
            yield from texts.picked(rows, numbers)


def repeated(counts: Sequence[int] | Numbers) -> Iterator[Numbers]:
    """Yield each index as often as its count says, at most `BLOCK` of them at a time."""
    is_huge = float(np.sum(counts, dtype=float)) >= 1 << 62
    ends = np.cumsum(counts, dtype=object if is_huge else np.int64)
    total = int(ends[-1]) if len(ends) else 0
    for low in range(0, total, BLOCK):
        yield np.searchsorted(ends, np.arange(low, min(low + BLOCK, total)), side="right")
