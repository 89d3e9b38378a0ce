"""From blocks of words to columns of the view: residual predicates, output columns, folding.

    block    one column of words a needed slot, segments of (op, weight)
    rows     paths on which every residual predicate holds
    columns  slots that are output columns are only words; expressions are evaluated by column

No Python per row: a column is words in numpy until it becomes an Arrow array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.evaluate import evaluate, holds
from joingraph.expression import Expression, columns_of
from joingraph.kernels import fields as f
from joingraph.kernels.layout import Layout, words_of
from joingraph.kernels.memory import Words
from joingraph.kernels.paths import Paths
from joingraph.kernels.strings import Interner
from joingraph.kernels.words import from_words, is_text, to_words
from joingraph.plan.keyed import keyed_aliases
from joingraph.plan.model import Plan
from joingraph.plan.told_apart import are_told_apart
from joingraph.viewdiff import META


class Outputs:
    """Makes the view's columns of a plan's paths."""

    def __init__(self, plan: Plan, layout: Layout, interner: Interner) -> None:
        self.plan, self.interner = plan, interner
        self.schema = plan.definition.schema
        # With where a row came from, and without.
        self.told_schema = {
            positions: pa.schema([*self.schema, *(META if positions else list(META)[:-1])])
            for positions in (True, False)
        }
        self.words_at: dict[object, tuple[int, int]] = {}
        first = 0
        for slot in layout.slots:
            count = words_of(slot.stored)
            self.words_at[slot] = (first, first + count)
            first += count
        outputs = [each.value for each in plan.definition.output]
        # Where keys are told, rows differ as long as keys do.
        self.told_apart = are_told_apart(plan)
        self.all_keyed = len(keyed_aliases(plan)) == len(plan.aliases)
        self.are_slots = all(each in plan.slots for each in outputs)
        self.no_values = [None] * len(outputs)
        self.told = [
            word
            for each in outputs
            if each in plan.slots
            for word in range(*self.words_at[plan.slots[each]])
        ]

    def slot_words(self, paths: Paths, kept: Expression) -> list[Words]:
        """Give the words that paths keep for an expression."""
        first, end = self.words_at[self.plan.slots[kept]]
        return paths.words[first:end]

    def column(self, paths: Paths, kept: Expression) -> pa.Array:
        """Give what paths keep for an expression, in its own type."""
        slot = self.plan.slots[kept]
        words, is_key = self.slot_words(paths, kept), slot.vertex is not None
        found = from_words(words, slot.stored, self.interner, key=is_key)
        return found if slot.stored == kept.type else found.cast(kept.type)

    def given(self, paths: Paths, wanted: Expression) -> Mapping[Expression, pa.Array]:
        """Collect the columns that an expression over several aliases reads."""
        return {each: self.column(paths, each) for each in columns_of(wanted)}

    def holding(self, paths: Paths) -> npt.NDArray[np.bool_]:
        """Mark the paths on which every residual predicate is TRUE."""
        if not self.plan.residuals:
            return np.ones(len(paths), bool)
        left = np.arange(len(paths))
        for residual in self.plan.residuals:
            here = paths if len(left) == len(paths) else paths.kept(marked(left, len(paths)))
            true = np.asarray(holds(residual, self.given(here, residual), len(here)), bool)
            left = left[true]
        return marked(left, len(paths))

    def values(self, paths: Paths) -> list[pa.Array | None]:
        """Compute the output columns that are no slots; None where one is."""
        return [
            None
            if each.value in self.plan.slots
            else evaluate(each.value, self.given(paths, each.value), len(paths))
            for each in self.plan.definition.output
        ]

    def matrix(self, paths: Paths, values: Sequence[pa.Array | None]) -> Words:
        """Put the words that tell view rows apart side by side."""
        columns: list[Words] = []
        for output, value in zip(self.plan.definition.output, values, strict=True):
            if value is None:
                columns += self.slot_words(paths, output.value)
            else:
                columns += self.value_words(value)
        matrix = np.zeros((len(paths), max(1, len(columns))), np.int64)
        for place, column in enumerate(columns):
            matrix[:, place] = column
        return matrix

    def value_words(self, value: pa.Array) -> list[Words]:
        """Turn computed values into words; texts are told apart without keeping them."""
        if is_text(value.type):
            codes = value.dictionary_encode().indices.cast(pa.int64())
            return to_words(codes, self.interner)
        return to_words(value, self.interner)

    def arrays(
        self, paths: Paths, values: Sequence[pa.Array | None], rows: Words | None
    ) -> list[pa.Array]:
        """Make the view's columns, of chosen rows or of all."""
        if rows is not None:
            words = [each[rows] for each in paths.words]
            paths = Paths(words, paths.starts, paths.ops, paths.weights, len(rows))
            values = [None if each is None else each.take(pa.array(rows)) for each in values]
        return [
            self.column(paths, output.value) if value is None else value
            for output, value in zip(self.plan.definition.output, values, strict=True)
        ]

    @property
    def all_words(self) -> range:
        """The columns of a block."""
        return range(max((end for _, end in self.words_at.values()), default=0))

    def values_where(self, paths: Paths, kept: npt.NDArray[np.bool_]) -> list[pa.Array | None]:
        """Compute output columns on the paths that are kept only; the others must not fail."""
        if kept.all():
            return self.values(paths)
        places = np.cumsum(kept) - 1
        back = pa.array(places, mask=~kept)
        return [None if each is None else each.take(back) for each in self.values(paths.kept(kept))]

    def batches(self, paths: Paths) -> Iterable[pa.RecordBatch]:
        """Make record batches of scanned paths, rows repeated by their weight."""
        if self.plan.residuals:
            paths = paths.kept(self.holding(paths))
        values = self.values(paths)
        if (paths.weights == 1).all():
            batch = pa.record_batch(self.arrays(paths, values, None), schema=self.schema)
            for start in range(0, len(batch), f.BLOCK_LIMIT):
                yield batch.slice(start, f.BLOCK_LIMIT)
            return
        ends = np.cumsum(paths.by_row(paths.weights))
        for start in range(0, int(ends[-1]) if len(ends) else 0, f.BLOCK_LIMIT):
            numbers = np.arange(start, min(start + f.BLOCK_LIMIT, int(ends[-1])))
            rows = np.searchsorted(ends, numbers, side="right")
            yield pa.record_batch(self.arrays(paths, values, rows), schema=self.schema)


def marked(rows: Words, length: int) -> npt.NDArray[np.bool_]:
    """Mark some of many rows."""
    mark = np.zeros(length, bool)
    mark[rows] = True
    return mark
