"""A change of a graph from its first step to its last, so that an exception never halves it.

    attempt begins -> engine carries out -> record is logged -> attempt ends
                                             ^ from here on it stands

An exception, an interrupt too, may come at any instruction, even while another one is being
handled. So nothing depends on a handler that is reached: the attempt is noted before anything is
changed, and as long as it is noted, the next call settles it before it does anything else. If its
record stands, the change is brought to its end, else it is taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from inspect import GEN_CLOSED, getgeneratorstate
from weakref import ref

import pyarrow as pa

from joingraph.engines.missing_rows import Quarantined
from joingraph.storage.record import Record


@dataclass(slots=True)
class Attempt:
    """A change that has begun; `before` is the number of the last record at that time."""

    before: int
    record: Record | None = None  # that makes it stand
    number: int | None = None  # of the record, once it is known to stand
    is_trial: bool = False  # taken back in the end: what_if, fanout
    is_done: bool = False  # carried out to its end in memory
    quarantined: list[Quarantined] | None = None  # of the graph, once it stands
    changes: Callable[[], pa.Table] | None = None  # view diffs that were not logged
    tables: Generator[pa.Table] | None = None  # a stream of its view diffs
    stream: ref[object] | None = None  # what its caller takes them from, until it is resolved
    then: Callable[[], None] | None = None  # what is left to do; twice is as good as once
    failure: str = ""  # of settling it; an exception itself would hold the stream in its frames
    failures: int = 0

    @property
    def is_streaming(self) -> bool:
        """True if its view diffs are still being taken."""
        return self.tables is not None and getgeneratorstate(self.tables) != GEN_CLOSED

    def end_stream(self) -> bool:
        """Close the tables of a stream that no caller has; true if no stream is open then.

        An interrupt can keep a stream from closing them as it is dropped, or from being made.
        """
        if self.tables is not None and (self.stream is None or self.stream() is None):
            with suppress(ValueError):  # another thread is closing them
                self.tables.close()
        return not self.is_streaming

    def standing(self, last: tuple[int, str]) -> int | None:
        """Return the number of its record if it stands, given the last record's number and kind."""
        number, kind = last
        if self.number is None and self.record is not None:
            return number if number > self.before and kind == self.record.kind else None
        return self.number
