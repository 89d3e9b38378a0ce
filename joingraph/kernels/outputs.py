"""From blocks of words to columns of the view: residual predicates, output columns, folding.

    block    one column of words a needed slot, segments of (op, weight)
    rows     paths on which every residual predicate holds
    columns  slots that are output columns are only words; expressions are evaluated by column

No Python per row: a column is words in numpy until it becomes an Arrow array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.evaluate import evaluate, holds
from joingraph.expression import Expression, columns_of
from joingraph.kernels import fields as f
from joingraph.kernels.laying import matrix_of
from joingraph.kernels.layout import Layout, words_of
from joingraph.kernels.memory import Words
from joingraph.kernels.nulls import Nulls
from joingraph.kernels.paths import Paths
from joingraph.kernels.strings import Interner
from joingraph.kernels.words import from_words, is_text, to_words
from joingraph.plan.keyed import keyed_aliases
from joingraph.plan.model import Plan, Slot
from joingraph.plan.told_apart import are_told_apart
from joingraph.viewdiff import HAPPENED


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
        # Where keys are told, rows differ as long as keys do.
        self.told_apart = are_told_apart(plan)
        self.all_keyed = len(keyed_aliases(plan)) == len(plan.aliases)
        self.are_slots = None not in self.columns
        self.no_values = [None] * len(outputs)
        self.told = [word for each in self.columns if each for word in range(each.first, each.end)]

    def column(self, paths: Paths, kept: Kept) -> pa.Array:
        """Give what paths keep for an expression, in its own type."""
        words, stored = paths.words[kept.first : kept.end], kept.slot.stored
        found = from_words(words, stored, self.interner, nulls=self.nulls.may_be(kept.slot))
        return found if stored == kept.wanted else found.cast(kept.wanted)

    def given(self, paths: Paths, wanted: Expression) -> Mapping[Expression, pa.Array]:
        """Collect the columns that an expression over several aliases reads."""
        return {each: self.column(paths, self.kept[each]) for each in columns_of(wanted)}

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
            None if kept else evaluate(each.value, self.given(paths, each.value), len(paths))
            for each, kept in zip(self.plan.definition.output, self.columns, strict=True)
        ]

    def matrix(self, paths: Paths, values: Sequence[pa.Array | None]) -> Words:
        """Put the words that tell view rows apart side by side."""
        columns: list[Words] = []
        for kept, value in zip(self.columns, values, strict=True):
            if kept:
                columns += paths.words[kept.first : kept.end]
            else:
                columns += self.value_words(value)
        return matrix_of(columns, len(paths))

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
            self.column(paths, kept) if kept else value
            for kept, value in zip(self.columns, values, strict=True)
        ]

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
