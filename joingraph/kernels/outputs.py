"""From blocks of words to columns of the view: residual predicates, output columns, folding.

    block    one column of words a needed slot, segments of (op, weight)
    rows     paths on which every residual predicate holds
    columns  slots that are output columns are only words; expressions are evaluated by column

No Python per row: a column is words in numpy until it becomes an Arrow array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.evaluate import evaluate, holds
from joingraph.expression import Expression, columns_of
from joingraph.kernels import fields as f
from joingraph.kernels.fold import DIFF, EFFECT_WORDS, POST, PRE, TIMES, fold
from joingraph.kernels.layout import Layout, words_of
from joingraph.kernels.memory import Words
from joingraph.kernels.strings import Interner
from joingraph.kernels.words import from_words, is_text, to_words
from joingraph.plan.model import Plan
from joingraph.viewdiff import META, WORDS


@dataclass(frozen=True, slots=True)
class Paths:
    """Complete paths by column of words; of each its op (or -1) and its weight."""

    words: list[Words]
    ops: Words
    weights: Words

    def take(self, chosen: npt.NDArray[np.bool_] | Words | slice) -> Paths:
        """Keep some of the paths."""
        words = [each[chosen] for each in self.words]
        return Paths(words, self.ops[chosen], self.weights[chosen])

    def moved(self, ops: int) -> Paths:
        """Number the ops anew, by how many came before."""
        return Paths(self.words, self.ops + ops, self.weights)

    def __len__(self) -> int:
        return len(self.ops)


def read_block(state: Words, block: Words, segments: Words) -> Paths:
    """Copy what a full block holds."""
    rows, count = int(state[f.ROWS]), int(state[f.SEGMENT_COUNT])
    table = segments[: count * f.SEGMENT_WORDS].reshape(-1, f.SEGMENT_WORDS)
    lengths = np.diff(table[:, f.G_START], append=rows)
    columns = range(int(state[f.COLUMN_COUNT]))
    return Paths(
        [block[c * f.COLUMN_STRIDE : c * f.COLUMN_STRIDE + rows].copy() for c in columns],
        np.repeat(table[:, f.G_OP], lengths),
        np.repeat(table[:, f.G_WEIGHT], lengths),
    )


def joined(parts: Sequence[Paths], columns: int) -> Paths:
    """Put the paths of several blocks together."""
    if len(parts) == 1:
        return parts[0]
    none = Paths([np.empty(0, np.int64)] * columns, *[np.empty(0, np.int64)] * 2)
    parts = [none, *parts]
    return Paths(
        [np.concatenate([part.words[c] for part in parts]) for c in range(columns)],
        np.concatenate([part.ops for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )


class Outputs:
    """Makes the view's columns of a plan's paths."""

    def __init__(self, plan: Plan, layout: Layout, interner: Interner) -> None:
        self.plan, self.interner = plan, interner
        self.schema = plan.definition.schema
        self.words_at: dict[object, tuple[int, int]] = {}
        first = 0
        for slot in layout.slots:
            count = words_of(slot.stored)
            self.words_at[slot] = (first, first + count)
            first += count

    def slot_words(self, paths: Paths, kept: Expression) -> list[Words]:
        """Give the words that paths keep for an expression."""
        first, end = self.words_at[self.plan.slots[kept]]
        return paths.words[first:end]

    def column(self, paths: Paths, kept: Expression) -> pa.Array:
        """Give what paths keep for an expression, in its own type."""
        slot = self.plan.slots[kept]
        found = from_words(self.slot_words(paths, kept), slot.stored, self.interner)
        return found if slot.stored == kept.type else found.cast(kept.type)

    def given(self, paths: Paths, wanted: Expression) -> Mapping[Expression, pa.Array]:
        """Collect the columns that an expression over several aliases reads."""
        return {each: self.column(paths, each) for each in columns_of(wanted)}

    def holding(self, paths: Paths) -> npt.NDArray[np.bool_]:
        """Mark the paths on which every residual predicate is TRUE."""
        left = np.arange(len(paths))
        for residual in self.plan.residuals:
            here = paths.take(left)
            true = np.asarray(holds(residual, self.given(here, residual), len(here)), bool)
            left = left[true]
        mark = np.zeros(len(paths), bool)
        mark[left] = True
        return mark

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
        chosen = slice(None) if rows is None else rows
        few = Paths([each[chosen] for each in paths.words], paths.ops[chosen], paths.weights[:0])
        return [
            self.column(few, output.value)
            if value is None
            else (value if rows is None else value.take(pa.array(rows)))
            for output, value in zip(self.plan.definition.output, values, strict=True)
        ]

    def changes(self, parts: Sequence[Paths], ops: Words, *, paired: bool = True) -> pa.Table:
        """Make the view diff of a batch's paths; those of a move pair up if they are all there."""
        paths = joined(parts, len(self.all_words))
        kept = self.holding(paths) if self.plan.residuals else np.ones(len(paths), bool)
        effects = effects_of(paths, ops, kept, paired=paired)
        values = self.values_where(paths, kept)
        folded = fold(self.matrix(paths, values), effects)
        arrays = self.arrays(paths, values, folded.rows)
        kinds = pa.DictionaryArray.from_arrays(
            pa.array(folded.kinds.astype(np.int8)), pa.array(WORDS)
        )
        meta = [kinds, pa.array(folded.counts), pa.array(folded.diffs)]
        return pa.table([*arrays, *meta], schema=pa.schema([*self.schema, *META]))

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
        return [None if each is None else each.take(back) for each in self.values(paths.take(kept))]

    def batches(self, paths: Paths) -> Iterable[pa.RecordBatch]:
        """Make record batches of scanned paths, rows repeated by their weight."""
        if self.plan.residuals:
            paths = paths.take(self.holding(paths))
        values = self.values(paths)
        weights = paths.weights
        if (weights == 1).all():
            batch = pa.record_batch(self.arrays(paths, values, None), schema=self.schema)
            for start in range(0, len(batch), f.BLOCK_LIMIT):
                yield batch.slice(start, f.BLOCK_LIMIT)
            return
        ends = np.cumsum(weights)
        for start in range(0, int(ends[-1]) if len(ends) else 0, f.BLOCK_LIMIT):
            numbers = np.arange(start, min(start + f.BLOCK_LIMIT, int(ends[-1])))
            rows = np.searchsorted(ends, numbers, side="right")
            yield pa.record_batch(self.arrays(paths, values, rows), schema=self.schema)


def effects_of(paths: Paths, ops: Words, kept: npt.NDArray[np.bool_], *, paired: bool) -> Words:
    """Say what each path does; the paths before and after a move pair up in their order."""
    rows = np.arange(len(paths))
    effects = np.full((len(paths), EFFECT_WORDS), -1, np.int64)
    gone, come = paths.weights < 0, paths.weights > 0
    effects[gone & kept, PRE] = rows[gone & kept]
    effects[come & kept, POST] = rows[come & kept]
    effects[:, TIMES] = np.abs(paths.weights)
    effects[:, DIFF] = ops[paths.ops, f.O_DIFF]
    moved = ops[paths.ops, f.O_KIND] == f.MOVE
    if paired and moved.any():
        before, after = rows[moved & gone], rows[moved & come]
        assert len(before) == len(after), "a move meets the same paths before and after"
        effects[before, POST] = effects[after, POST]
        effects[after, POST] = -1
    return np.ascontiguousarray(effects[(effects[:, PRE] >= 0) | (effects[:, POST] >= 0)])
