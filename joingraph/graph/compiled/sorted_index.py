"""A declared secondary index of the compiled graph: one alias' rows sorted by an output column.

    base     rows of words, sorted by the column       what the graph held when it was last sorted
    come     rows that came since then                 gone     rows that went since then

What an index lists within a span is base + come - gone. Changes only pile up; a read sorts them,
and sorts all anew when they are many against the base. So a batch pays nothing but a copy.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.expressions.order import comparables
from joingraph.expressions.words import normal
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.graph.compiled.values.words import from_words
from joingraph.reads.access_paths import Span

MANY = 4096  # changes that are sorted apart; with more than a tenth of the base all is sorted anew
PIECE = 16  # rows of the first piece of an ordered read
NO_ROWS: Words = np.empty((0, 1), np.int64)


class SortedRows:
    """Rows sorted by their values, those with NULL apart."""

    def __init__(self, values: pa.Array, rows: Words, nulls: Words) -> None:
        self.values, self.rows, self.nulls = values, rows, nulls

    def __len__(self) -> int:
        return len(self.rows) + len(self.nulls)

    def value(self, at: int) -> Any:
        """Return a value as Python compares it."""
        return comparables(self.values.slice(at, 1))[0]

    def bound(self, value: Any, *, after: bool) -> int:
        """Find where a value's rows begin, or where they end."""
        find = bisect_right if after else bisect_left
        return find(range(len(self.values)), value, key=self.value)

    def slice_of(self, span: Span) -> slice:
        """Find the rows within a span."""
        low, high = 0, len(self.values)
        if span.low is not None:
            low = self.bound(span.low, after=span.without_low)
        if span.high is not None:
            high = self.bound(span.high, after=not span.without_high)
        return slice(low, max(low, high))

    def within(self, span: Span) -> Words:
        """Return the rows within a span, in order."""
        found: Words = self.rows[self.slice_of(span)]
        return found


class Content(NamedTuple):
    """What an index lists: rows that were sorted, and those that came and went since then."""

    base: SortedRows
    come: list[Words]
    gone: list[Words]


class SortedIndex:
    """Lists the rows of one alias by the column whose words lie at `place` of a row."""

    def __init__(self, alias: int, place: slice, kind: pa.DataType, interner: Interner) -> None:
        self.alias, self.place, self.kind, self.interner = alias, place, kind, interner
        # One value, so that an exception never leaves what was sorted in two places.
        self._content = Content(self.run(NO_ROWS), [], [])
        self._changes: tuple[SortedRows, SortedRows] | None = None

    def __len__(self) -> int:
        base, come, gone = self.runs()
        return len(base) + len(come) - len(gone)

    @property
    def bytes(self) -> int:
        """How much memory the rows take."""
        base, come, gone = self._content
        rows = [base.rows, base.nulls, *come, *gone]
        return sum(int(each.nbytes) for each in rows)

    def note(self, rows: Words, *, come: bool) -> None:
        """Add rows that came to the changes, or rows that went."""
        if len(rows):
            (self._content.come if come else self._content.gone).append(rows)
            self._changes = None

    def runs(self) -> tuple[SortedRows, SortedRows, SortedRows]:
        """Sort what has changed since the last read."""
        if self._changes is None:
            come, gone = concatenated(self._content.come), concatenated(self._content.gone)
            if len(come) + len(gone) > max(MANY, len(self._content.base) // 10):
                self._content, come, gone = self._sorted(), NO_ROWS, NO_ROWS
            self._changes = self.run(come), self.run(gone)
        return (self._content.base, *self._changes)

    def _sorted(self) -> Content:
        """Sort everything anew."""
        base, come, gone = self._content
        rows = concatenated([base.rows, base.nulls, *come])
        return Content(self.run(without(rows, concatenated(gone))), [], [])

    def run(self, rows: Words) -> SortedRows:
        """Sort rows by the column."""
        values = self.values(rows)
        order = np.asarray(pc.sort_indices(values))
        some = len(values) - values.null_count
        first = order[:some]
        return SortedRows(values.take(pa.array(first)), rows[first], rows[order[some:]])

    def values(self, rows: Words) -> pa.Array:
        """Read the column off rows, so that it can be compared."""
        if not len(rows):
            return pa.nulls(0, self.kind)
        places = range(self.place.start, self.place.stop)
        words = [np.ascontiguousarray(rows[:, at]) for at in places]
        return normal(from_words(words, self.kind, self.interner))

    def settled(self) -> tuple[Words, Words]:
        """Sort everything anew; gives the rows in order, and those that have no value."""
        if self._content.come or self._content.gone:
            self._changes = None
            self._content = self._sorted()
        return self._content.base.rows, self._content.base.nulls

    def begin(self, rows: Words, nulls: Words) -> None:
        """Begin with what `settled` gave."""
        self._changes = None
        self._content = Content(SortedRows(self.values(rows), rows, nulls), [], [])

    def size(self, span: Span) -> int:
        """Count what is listed within a span."""
        base, come, gone = (len(run.within(span)) for run in self.runs())
        return base + come - gone

    def within(self, span: Span) -> Words:
        """Return the rows within a span."""
        base, come, gone = (run.within(span) for run in self.runs())
        return without(concatenated([base, come]), gone)

    def nulls(self) -> Words:
        """Return the rows that have no value."""
        base, come, gone = (run.nulls for run in self.runs())
        return without(concatenated([base, come]), gone)

    def ordered(self, *, descending: bool, nulls_first: bool) -> Iterator[Words]:
        """Yield all rows in order, small parts first; equal values are never parted."""
        if nulls_first:
            yield self.nulls()
        for span in self.spans(descending=descending):
            yield self.within(span)
        if not nulls_first:
            yield self.nulls()

    def spans(self, *, descending: bool) -> Iterator[Span]:
        """Cut the values into spans that hold about as many rows each, doubling."""
        sorted_rows, come, _ = self.runs()
        base = sorted_rows if len(sorted_rows.values) else come
        length, ends, size = len(base.values), [0], PIECE
        while ends[-1] + size < length:
            ends.append(ends[-1] + size)
            size *= 2
        places = [length - end for end in ends[1:]] if descending else ends[1:]
        cuts = list(dict.fromkeys(base.value(place) for place in places))
        bounds = [None, *cuts, None]
        for one, two in pairwise(bounds):
            yield (
                Span(two, one, without_high=True)
                if descending
                else Span(one, two, without_high=True)
            )


def concatenated(parts: list[Words]) -> Words:
    """Put rows below one another; those without any do not count."""
    some = [part for part in parts if len(part)]
    if len(some) == 1:
        return some[0]
    return np.concatenate(some) if some else NO_ROWS


def without(rows: Words, gone: Words) -> Words:
    """Take rows away, each of them once, from where they are found first."""
    if not len(gone):
        return rows
    both = np.ascontiguousarray(np.concatenate([rows, gone]))
    whole = both.view([("", np.int64)] * both.shape[1]).ravel()
    _, group = np.unique(whole, return_inverse=True)
    mine, theirs = group[: len(rows)], group[len(rows) :]
    less = np.bincount(theirs, minlength=int(group.max()) + 1)
    order = np.argsort(mine, kind="stable")
    sorted_groups = mine[order]
    starts = np.searchsorted(sorted_groups, sorted_groups)
    rank = np.arange(len(rows)) - starts
    keep = np.ones(len(rows), bool)
    keep[order[rank < less[sorted_groups]]] = False
    return rows[keep]
