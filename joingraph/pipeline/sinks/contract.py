"""The contract of sinks: where the view diffs of one view go, and what is promised of them.

A sink gets every batch in the order of `seq`, again if it did not live to acknowledge it. One that
knows a batch by its number is exactly once; one that does not is at least once, and says so. A
batch that comes again has the same rows, those of one base diff perhaps in another order; a sink
with a true attribute `by_row` gets them in the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import pyarrow as pa

from joingraph.plan.view import View
from joingraph.view_diffs.view_diff import ViewDiff

EXACTLY_ONCE: Final = "exactly once"
AT_LEAST_ONCE: Final = "at least once"


class Sink(Protocol):
    """Takes the view diffs of one view."""

    @property
    def guarantee(self) -> str:
        """What is promised of a batch: exactly once, or at least once."""
        ...

    def open(self, view: View) -> None:
        """Get ready for the view diffs of a view."""
        ...

    def last(self) -> int:
        """Return the number of the last batch that is there already; 0 if there is none."""
        ...

    def write(self, diff: ViewDiff) -> None:
        """Take one batch; returning says that it is safe."""
        ...

    def close(self) -> None:
        """Let go of what `open` took."""
        ...


class Memory:
    """Keeps every batch in this process: for tests and notebooks."""

    guarantee = EXACTLY_ONCE

    def __init__(self) -> None:
        self.batches: dict[int, pa.Table] = {}

    def open(self, view: View) -> None:
        """Nothing is needed."""

    def last(self) -> int:
        """Return the number of the last batch."""
        return max(self.batches, default=0)

    def write(self, diff: ViewDiff) -> None:
        """Keep a batch under its number."""
        self.batches[diff.seq] = diff.to_arrow(positions=True)

    def close(self) -> None:
        """Nothing is open."""

    def to_arrow(self) -> pa.Table:
        """Return all view diffs so far, in order."""
        return pa.concat_tables(self.batches[seq] for seq in sorted(self.batches))


class Call:
    """Hands every batch to a function, as Arrow with `_change_type`, `_count`, `_seq`, `_diff`."""

    guarantee = AT_LEAST_ONCE

    def __init__(self, function: Callable[[pa.Table], object]) -> None:
        self.function = function

    def open(self, view: View) -> None:
        """Nothing is needed."""

    def last(self) -> int:
        """Nothing is kept, so nothing is there already."""
        return 0

    def write(self, diff: ViewDiff) -> None:
        """Hand a batch over."""
        self.function(diff.to_arrow(positions=True))

    def close(self) -> None:
        """Nothing is open."""
