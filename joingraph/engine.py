"""The contract of the two forms of the join graph: the plain one and the compiled one.

An engine takes checked entries through the three stages and keeps the graph. It does not know of
sequence numbers, names of callers or locks: that is JoinGraph's part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from joingraph.batch import Entry


class Refused(NamedTuple):
    """A diff that removes a row which is not there, by its place in the batch."""

    entry: int
    row: int


class Applied(NamedTuple):
    """What a batch did: the rows of the view diff (viewdiff.py), and what was left out of it."""

    changes: pa.Table
    refused: list[Refused]


class Engine(Protocol):
    """Keeps one view's join graph."""

    def load(self, entries: Sequence[Entry]) -> None:
        """Insert rows without making view diffs."""

    def apply(self, entries: Sequence[Entry], *, skip: bool, generate: bool) -> Applied:
        """Apply a batch whole, or raise and leave the graph as it was.

        Diffs that remove a row which is not there are left out if `skip`; else, if there are any,
        nothing is applied.
        """

    def scan(self) -> Iterator[pa.RecordBatch]:
        """Read the whole view in bounded batches."""

    def count(self) -> int:
        """Count the view's rows without making them."""

    def stats(self) -> dict[str, Any]:
        """Tell the graph's size by alias, vertex and kind."""

    def check(self) -> None:
        """Recompute every invariant, or raise CorruptGraph."""
