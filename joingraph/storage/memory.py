"""The store of a graph that lives and dies with its process: it keeps only what may be asked again.

It promises nothing beyond the process (contract.py).
"""

from __future__ import annotations

import pyarrow as pa

from joingraph.common.errors import StoreError
from joingraph.storage.record import Record


class Memory:
    """Numbers records, and keeps the view diffs that subscribers or sources may ask for."""

    is_durable = False
    remedy = "the graph is in memory alone: make it anew"
    checkpoints = None
    failed = None  # it takes more at all times

    def __init__(self) -> None:
        self._last = 0, ""  # the number and the kind of the last record
        self._waiting: dict[int, pa.Table] = {}
        self._answers: dict[str, dict[int, pa.Table]] = {}  # of each source, the last

    def append(self, record: Record) -> int:
        """Number a record, which stands once it is the last; gives its number."""
        number, source = self._last[0] + 1, record.said.get("source")
        self._waiting.pop(number, None)
        if record.changes is not None:
            self._waiting[number] = record.changes
            if source is not None:
                self._answers.setdefault(str(source), {})[number] = record.changes
        self._last = number, record.kind
        if record.changes is not None and source is not None:
            of_source = self._answers[str(source)]
            for earlier in [each for each in of_source if each != number]:
                del of_source[earlier]
        return number

    def settle(self) -> tuple[int, str]:
        """Return the number and the kind of the last record, by which it stands or does not."""
        return self._last

    def sync(self, number: int, *, wait: bool = True) -> None:
        """Promise nothing."""

    def changes(self, number: int) -> pa.Table:
        """Return the view diffs that a record kept."""
        if number in self._waiting:
            return self._waiting[number]
        for of_source in self._answers.values():
            if number in of_source:
                return of_source[number]
        raise StoreError(
            "the view diffs of this batch are no longer kept: a graph in memory keeps those of each"
            " source's last batch, and those that a subscriber waits for"
        )

    def keep(self, number: int, changes: pa.Table) -> None:
        """Have the view diffs of the last record that does not hold its own at hand."""
        self._waiting[number] = changes

    def forget(self, before: int) -> None:
        """Drop what no subscriber waits for any more."""
        for number in [each for each in self._waiting if each < before]:
            del self._waiting[number]

    def close(self, *, complete: bool) -> None:
        """Drop everything."""
        self._waiting, self._answers = {}, {}
