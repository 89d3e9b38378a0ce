"""From blocks of words to columns of the view: residual predicates, output columns, folding.

    block    one column of words a needed slot, segments of (op, weight)
    rows     paths on which every residual predicate holds
    columns  slots that are output columns are only words; expressions are evaluated by column

No Python per row: a column is words in numpy until it becomes an Arrow array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.evaluate import NoAnswer, evaluate, holds
from joingraph.expressions.texts import is_text
from joingraph.expressions.tree import Expression
from joingraph.expressions.types import words_of
from joingraph.generators.reads.scan import BLOCK, repeated
from joingraph.graph.compiled.layout import Layout
from joingraph.graph.compiled.memory.path_blocks import Paths
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.values.null_columns import Nulls
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.graph.compiled.values.words import from_words, to_words
from joingraph.plan.kept_columns import kept_parts
from joingraph.plan.keys.distinct import are_told_apart
from joingraph.plan.keys.keyed import keyed_aliases
from joingraph.plan.model import Plan, Slot
from joingraph.reads.unanswered import unanswered
from joingraph.view_diffs.view_diff import HAPPENED


class Kept(NamedTuple):
    """Where a block has the words of an expression, and what they are."""

    first: int
    end: int
    slot: Slot
    wanted: pa.DataType  # cast from what is stored


class Outputs:
    """Makes the view's columns of a plan's paths."""

    def __init__(self, plan: Plan, layout: Layout, interner: Interner, nulls: Nulls) -> None:
        self.plan, self.interner, self.nulls = plan, interner, nulls
        self.schema = plan.definition.schema
        self.told_schema = pa.schema([*self.schema, *HAPPENED])
        first, ends = 0, dict[Slot, int]()
        for slot in layout.slots:
            first = ends[slot] = first + words_of(slot.stored)
        self.all_words = range(first)
        self.kept: dict[Expression, Kept] = {
            each: Kept(ends[slot] - words_of(slot.stored), ends[slot], slot, each.type)
            for each, slot in plan.slots.items()
            if slot in ends
        }
        outputs = [each.value for each in plan.definition.output]
        self.columns = [self.kept.get(each) for each in outputs]  # None: computed
        # Where keys are told, rows differ as long as keys do; but a row stays as it is that does
        # not show the mark that turns: it goes, and comes.
        has_marks = any("mark" in vertex.modes for vertex in plan.vertices)
        self.told_apart = are_told_apart(plan) and not has_marks
        self.all_keyed = len(keyed_aliases(plan)) == len(plan.of_tables) and not has_marks
        self.are_slots = None not in self.columns
        tells = [layout.tells_flips(alias) for alias in range(len(layout.aliases))]
        self.flipping = np.array(tells, bool) if any(tells) else None
        self.texts = sorted(
            {each.first for each in self.kept.values() if is_text(each.slot.stored)}
        )
        self.no_values = [None] * len(outputs)

    def column(self, paths: Paths, kept: Kept) -> pa.Array:
        """Return what paths keep for an expression, in its own type."""
        words, stored = paths.words[kept.first : kept.end], kept.slot.stored
        found = from_words(words, stored, self.interner, nulls=self.nulls.may_be(kept.slot))
        return found if stored == kept.wanted else found.cast(kept.wanted)

    def given(self, paths: Paths, wanted: Expression) -> Mapping[Expression, pa.Array]:
        """Collect what an expression over several aliases reads: its largest kept parts."""
        parts = kept_parts(self.plan, wanted)
        return {each: self.column(paths, self.kept[each]) for each in parts}

    def lengths(self, paths: Paths) -> Words | None:
        """Return how many bytes of text each path keeps; None if all have less than a block."""
        if len(self.texts) * self.interner.longest * len(paths) <= texts.BLOCK_BYTES:
            return None
        return sum_of((self.interner.lengths(paths.words[at]) for at in self.texts), len(paths))

    def cut(self, paths: Paths) -> Iterator[Paths]:
        """Cut paths so that each part keeps text for a block at most, or is one path."""
        lengths = self.lengths(paths)
        if lengths is None:
            yield paths
            return
        for span in texts.spans(lengths, texts.BLOCK_BYTES):
            yield paths.part(span.start, span.stop)

    def holding(self, paths: Paths) -> npt.NDArray[np.bool_]:
        """Mark the paths on which every residual predicate is TRUE."""
        if not self.plan.residuals:
            return np.ones(len(paths), bool)
        return np.concatenate([self._holding(each) for each in self.cut(paths)])

    def _holding(self, paths: Paths) -> npt.NDArray[np.bool_]:
        left = np.arange(len(paths))
        for residual in self.plan.residuals:
            here = paths if len(left) == len(paths) else paths.where(marked(left, len(paths)))
            left = left[self.true_on(here, residual)]
        return marked(left, len(paths))

    def true_on(self, paths: Paths, test: Expression) -> npt.NDArray[np.bool_]:
        """Mark the paths on which a predicate is TRUE; see `lost` for one that has no answer."""
        try:
            return np.asarray(holds(test, self.given(paths, test), len(paths)), bool)
        except NoAnswer:
            found = ~self.lost(paths, test)
            some = paths.where(found)
            found[found] = np.asarray(holds(test, self.given(some, test), len(some)), bool)
            return found

    def lost(self, paths: Paths, wanted: Expression) -> npt.NDArray[np.bool_]:
        """Mark the paths that go and have no answer: the view never had their rows.

        One that comes is an error: with it the view could not be read.
        """
        given, goes = self.given(paths, wanted), paths.by_row(paths.weights) < 0

        def compute(some: slice) -> None:
            part = {each: column[some] for each, column in given.items()}
            evaluate(wanted, part, some.stop - some.start)

        found = np.zeros(len(paths), bool)
        for row, error in unanswered(len(paths), compute):
            if not goes[row]:
                raise error.in_row(row)
            found[row] = True
        return found

    def values(self, paths: Paths) -> list[pa.Array | None]:
        """Compute the output columns that are no slots; None where one is."""
        if self.are_slots:
            return self.no_values
        parts = [self._values(each) for each in self.cut(paths)]
        if len(parts) == 1:
            return parts[0]
        columns = zip(*parts, strict=True)
        return [None if each[0] is None else texts.joined(each) for each in columns]

    def _values(self, paths: Paths) -> list[pa.Array | None]:
        return [
            None if kept else evaluate(each.value, self.given(paths, each.value), len(paths))
            for each, kept in zip(self.plan.definition.output, self.columns, strict=True)
        ]

    def told_words(self, paths: Paths, values: Sequence[pa.Array | None]) -> list[Words]:
        """Return the words that tell view rows apart, by column."""
        return [
            word
            for kept, value in zip(self.columns, values, strict=True)
            for word in (paths.words[kept.first : kept.end] if kept else self.value_words(value))
        ]

    def value_words(self, value: pa.Array | pa.ChunkedArray) -> list[Words]:
        """Turn values into words that tell them apart; texts are not kept for that.

        A value may be the very word that stands for NULL elsewhere: NULLs are told by a word more.
        """
        if is_text(value.type):
            return [texts.codes(value)]
        whole = texts.whole(value)
        words = [np.ascontiguousarray(each) for each in to_words(whole, self.interner, key=True)]
        if not whole.null_count:
            return words
        present = np.asarray(whole.is_valid())
        return [*(np.where(present, each, 0) for each in words), present.astype(np.int64)]

    def arrays(
        self, paths: Paths, values: Sequence[pa.Array | None], rows: Words | None
    ) -> list[pa.Array]:
        """Make the view's columns, of chosen rows or of all; no more than `tables` cuts off."""
        if rows is not None:
            words = [each.take(rows) for each in paths.words]
            paths = Paths(words, paths.starts, paths.ops, paths.weights, len(rows))
            values = [None if each is None else each.take(pa.array(rows)) for each in values]
        return [
            self.column(paths, kept) if kept else texts.narrowest(value)
            for kept, value in zip(self.columns, values, strict=True)
        ]

    def tables(
        self, paths: Paths, values: Sequence[pa.Array | None], rows: Words | None
    ) -> Iterator[tuple[slice, list[pa.Array]]]:
        """Make the view's columns of as many rows at once as have text for a block."""
        for span in self.spans(paths, values, rows):
            if rows is not None:
                yield span, self.arrays(paths, values, rows[span])
            else:
                part = paths.part(span.start, span.stop)
                here = [None if each is None else each[span] for each in values]
                yield span, self.arrays(part, here, None)

    def spans(
        self, paths: Paths, values: Sequence[pa.Array | None], rows: Words | None
    ) -> Iterator[slice]:
        """Cut rows where what the view shows of them outgrows a block."""
        count = len(paths) if rows is None else len(rows)
        shown = [each.first for each in self.columns if each and is_text(each.slot.stored)]
        computed = [each for each in values if each is not None and is_text(each.type)]
        if not computed and len(shown) * self.interner.longest * count <= texts.BLOCK_BYTES:
            yield slice(0, count)
            return
        lengths = sum_of((self.interner.lengths(paths.words[at]) for at in shown), len(paths))
        lengths += texts.sizes(computed, len(paths))
        yield from texts.spans(lengths if rows is None else lengths[rows], texts.BLOCK_BYTES)

    def answered(self, paths: Paths) -> tuple[npt.NDArray[np.bool_], list[pa.Array | None]]:
        """Mark the paths that have a row, and compute the output columns of these."""
        kept = self.holding(paths)
        try:
            return kept, self.values_where(paths, kept)
        except NoAnswer:
            for each, column in zip(self.plan.definition.output, self.columns, strict=True):
                if column is None:
                    kept[kept] = ~self.lost(paths.where(kept), each.value)
            return kept, self.values_where(paths, kept)

    def values_where(self, paths: Paths, kept: npt.NDArray[np.bool_]) -> list[pa.Array | None]:
        """Compute output columns on the paths that are kept only; the others must not fail."""
        if kept.all():
            return self.values(paths)
        places = np.cumsum(kept) - 1
        back = pa.array(places, mask=~kept)
        return [
            None if each is None else each.take(back) for each in self.values(paths.where(kept))
        ]

    def batches(self, paths: Paths) -> Iterable[pa.RecordBatch]:
        """Make record batches of scanned paths, rows repeated by their weight."""
        for part in self.cut(paths):
            kept = part.where(self.holding(part)) if self.plan.residuals else part
            values = self.values(kept)
            alike = (kept.weights == 1).all()
            for rows in [None] if alike else repeated(kept.by_row(kept.weights)):
                for _, arrays in self.tables(kept, values, rows):
                    batch = pa.record_batch(arrays, schema=self.schema)
                    for start in range(0, len(batch), BLOCK):
                        yield batch.slice(start, BLOCK)


def sum_of(columns: Iterable[Words], length: int) -> Words:
    """Add columns up, row by row."""
    found = np.zeros(length, np.int64)
    for each in columns:
        found += each
    return found


def marked(rows: Words, length: int) -> npt.NDArray[np.bool_]:
    """Mark some of many rows."""
    mark = np.zeros(length, bool)
    mark[rows] = True
    return mark
