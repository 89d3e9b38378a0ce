"""Makes the view diff of a batch's paths: residual predicates, folding, columns, what happened.

    paths   T <7> came: [1, 2] x1      ->      fan | _change_type | _count | _diff
                                                 1   insert         1        0
                                                 2   insert         1        0

Base diffs that one alias feels need no folding where their rows are different, and no column is
copied then; where that is known before the rows are seen, blocks need not be put together either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.generators.compiled.distinct_rows import all_distinct
from joingraph.generators.compiled.fold import DELETED, INSERTED, Folded, effects_of, fold, unfolded
from joingraph.generators.compiled.outputs import Outputs
from joingraph.graph.compiled.fields import MOVE, O_ALIAS, O_DIFF, O_KIND, UPDATE
from joingraph.graph.compiled.memory.path_blocks import Paths, joined
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.op_rows import FLIPS, SHARED, bit_of, kinds_of
from joingraph.view_diffs.view_diff import WORDS, DiffRows

MANY = 1 << 17
ONES = pa.array(np.ones(MANY, np.int64))


def kinds_array(codes: npt.NDArray[np.int8]) -> pa.DictionaryArray:
    """Write change types."""
    return pa.DictionaryArray.from_arrays(pa.array(codes), WORDS)


ALIKE = {code: kinds_array(np.full(MANY, code, np.int8)) for code in (INSERTED, DELETED)}


class Made(NamedTuple):
    """A view diff: its rows in tables, to be made once, and the base diff of each row."""

    tables: Iterator[pa.Table]
    diffs: Callable[[], pa.Array | pa.ChunkedArray]


class ViewDiffs:
    """Makes the view diffs of one batch, of all its paths or of some of its base diffs."""

    def __init__(self, outputs: Outputs, ops: Words) -> None:
        self.outputs, self.ops = outputs, ops
        self.kinds = kinds_of(ops)
        flipping = outputs.flipping
        if flipping is not None and flipping[ops[:, O_ALIAS]].any():
            self.kinds |= FLIPS
        self.moves = bool(self.kinds & bit_of(MOVE))
        self.plain = outputs.are_slots and not self.kinds & SHARED
        if self.moves:
            self.plain &= outputs.told_apart and not outputs.plan.residuals
        # From before to after an update of join attributes, a key that others tell may change; a
        # row of NULLs may stay as it is.
        is_update = bool(self.kinds & bit_of(UPDATE))
        all_keyed = outputs.all_keyed and (outputs.plan.is_inner or not is_update)
        self.distinct = all_keyed or (outputs.told_apart and not is_update)

    def rows(self, parts: Sequence[Paths], *, paired: bool = True) -> DiffRows:
        """Make the view diff of paths; those of a move pair up if they are all there."""
        made = self.made(parts, paired=paired)
        tables = list(made.tables) or [self.outputs.told_schema.empty_table()]
        whole = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
        return DiffRows(lambda: whole, made.diffs)

    def made(self, parts: Sequence[Paths], *, paired: bool) -> Made:
        """Make the view diff of paths in tables of bounded text, each when it is asked for."""
        outputs, plain = self.outputs, self.plain and (paired or not self.moves)
        if plain and outputs.plan.residuals:
            parts = [each.where(outputs.holding(each)) for each in parts]
        if plain and self.distinct and not self.moves and parts:
            return self.as_they_are(parts)
        paths = joined(parts, len(outputs.all_words))
        are_different = plain and self.are_different(paths)
        if are_different and not self.moves:
            return self.as_they_are([paths])
        kept, values = outputs.answered(paths)
        told = outputs.told_words(paths, values)
        if are_different:
            return self.folded(paths, values, unfolded(told, paths, self.ops))
        effects = effects_of(paths, self.ops, kept, paired=paired)
        return self.folded(paths, values, fold(told, effects))

    def folded(self, paths: Paths, values: Sequence[pa.Array | None], folded: Folded) -> Made:
        """Make the view diff of the rows that are left."""
        tables = (
            self.put_together(
                arrays, [kinds_array(folded.kinds[span]), pa.array(folded.counts[span])]
            )
            for span, arrays in self.outputs.tables(paths, values, folded.rows)
        )
        return Made(tables, lambda: pa.array(folded.diffs))

    def are_different(self, paths: Paths) -> bool:
        """True if no base diff has equal rows, but for what a move does not change."""
        outputs, kinds = self.outputs, self.ops[paths.ops, O_KIND]
        if self.distinct:
            return True
        mark = kinds == UPDATE if outputs.told_apart else np.ones(len(kinds), bool)
        told = outputs.told_words(paths, outputs.no_values)
        return not mark.any() or all_distinct(paths, told, mark)

    def as_they_are(self, parts: Sequence[Paths]) -> Made:
        """Make the view diff of rows that came and went."""
        tables = (self.came_and_went(each) for part in parts for each in self.outputs.cut(part))
        ops = self.ops

        def diffs() -> pa.ChunkedArray:
            return pa.chunked_array([each.by_row(ops[each.ops, O_DIFF]) for each in parts])

        return Made(tables, diffs)

    def came_and_went(self, paths: Paths) -> pa.Table:
        """Make the rows of a block; mostly all of them came, or all went, once."""
        length, weights = len(paths), paths.weights
        weight = int(weights[0]) if length else 1
        if abs(weight) == 1 and length <= MANY and (weights == weight).all():
            alike = ALIKE[INSERTED if weight > 0 else DELETED]
            meta = [alike.slice(0, length), ONES.slice(0, length)]
        else:
            codes = paths.by_row(np.where(weights > 0, INSERTED, DELETED))
            meta = [kinds_array(codes.astype(np.int8)), pa.array(paths.by_row(np.abs(weights)))]
        return self.put_together(self.outputs.arrays(paths, self.outputs.no_values, None), meta)

    def put_together(self, arrays: list[pa.Array], meta: list[pa.Array]) -> pa.Table:
        """Put the view's columns and what happened to their rows side by side."""
        return pa.Table.from_arrays([*arrays, *meta], schema=self.outputs.told_schema)
