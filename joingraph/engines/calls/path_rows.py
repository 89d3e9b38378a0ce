"""Rows of views with residual predicates or computed columns, path by path, of few paths.

    block   paths by column of words  ->  values  ->  residual predicates, computed columns
                                      ->  columns of words, and a mark for each path that is kept

In: what a call has left in the block. Out: what `consolidate` (kernel.py) folds. Where a function
has no row form, or raises, the whole block goes by column: there are paths without an answer, too.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from ctypes import string_at
from itertools import chain
from struct import Struct
from typing import Any, NamedTuple

import pyarrow as pa

from joingraph.engines.calls.memory import CallMemory
from joingraph.engines.calls.word_columns import VALUE_READERS, Reader, as_it_is, with_nulls
from joingraph.expressions.functions.by_row import OfRow
from joingraph.expressions.row_form import row_form
from joingraph.expressions.texts import is_text
from joingraph.expressions.tree import Expression
from joingraph.expressions.types import INTEGERS, words_of
from joingraph.generators.compiled.outputs import Kept, Outputs
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.values.string_pool import ARENA, Interner
from joingraph.graph.compiled.values.words import holds_any_word
from joingraph.tables.row_words import Convert, Texts, UnfitError, word_writer

BY_ROW_MAX = 1024  # paths of one call: columns are quicker for more
LOW = (1 << 64) - 1
WORDS = Struct("<qq")


class MadeTexts(Texts):
    """Texts that are computed: equal ones have one word."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str | bytes, int] = {}

    def enter(self, value: str) -> int:
        """Return the word of a text."""
        if value not in self.known:
            self.known[value] = super().enter(value)
        return self.known[value]

    def enter_bytes(self, data: bytes) -> int:
        """Return the word of bytes."""
        if data not in self.known:
            self.known[data] = super().enter_bytes(data)
        return self.known[data]


class Value(NamedTuple):
    """A kept value: where a block has its words, and what they mean."""

    places: range
    read: Reader
    may_be_null: bool


class Made(NamedTuple):
    """A computed column: what computes it, and its words."""

    compute: OfRow
    write: Convert | None
    width: int
    may_clash: bool  # with the word that stands for NULL

    def words_of(self, paths: Sequence[Sequence[Any]], kept: Sequence[int]) -> list[list[int]]:
        """Return its words by column, of the paths that are kept."""
        found = [[f.NULL_WORD] * len(paths) for _ in range(self.width)]
        compute, write, (first, *_) = self.compute, self.write, found
        for number in kept:
            value = compute(paths[number])
            if value is None:
                continue
            word = value if write is None else write(value)
            if type(word) is tuple:
                first[number], found[1][number] = word
                continue
            if self.may_clash and word == f.NULL_WORD:
                raise UnfitError
            first[number] = word
        return found


class PathRows:
    """Makes the rows of one view's paths; UnfitError if it takes columns to do so."""

    def __init__(self, outputs: Outputs) -> None:
        self.outputs, self.texts = outputs, MadeTexts()
        self.known = list(outputs.kept)
        self.values = [self.value(each) for each in outputs.kept.values()]
        self.residuals = [self.form(each) for each in outputs.plan.residuals]
        self.made = [
            kept if kept else self.computed(output.value)
            for kept, output in zip(outputs.columns, outputs.plan.definition.output, strict=True)
        ]

    def form(self, value: Expression) -> OfRow:
        """Return the row form of a value."""
        found = row_form(value, self.known)
        if found is None:
            raise UnfitError
        return found

    def value(self, kept: Kept) -> Value:
        """Say how a kept value is read."""
        stored, wanted = kept.slot.stored, kept.wanted
        if stored != wanted and not (stored in INTEGERS and wanted in INTEGERS):
            raise UnfitError
        read = value_reader(stored, self.outputs.interner)
        return Value(range(kept.first, kept.end), read, kept.slot.vertex is None)

    def computed(self, value: Expression) -> Made:
        """Say how a column is computed."""
        kind = value.type
        write = word_writer(kind, self.texts)
        return Made(self.form(value), write, words_of(kind), holds_any_word(kind))

    def fill(self, memory: CallMemory, block: Words, rows: int) -> bytes:
        """Write the rows of paths, and which are kept; gives the texts that were computed."""
        words = [
            block[at * f.COLUMN_STRIDE : at * f.COLUMN_STRIDE + rows].tolist()
            for at in self.outputs.all_words
        ]
        columns = [decoded(each, words) for each in self.values]
        paths: list[tuple[Any, ...]] = [*zip(*columns, strict=True)] if columns else [()] * rows
        self.texts.parts, self.texts.size, self.texts.known = [], 0, {}
        kept: Sequence[int] = range(rows)
        for test in self.residuals:
            kept = [number for number in kept if test(paths[number]) is True]
        found: list[Sequence[int]] = []
        for column in self.made:
            if isinstance(column, Kept):
                found += words[column.first : column.end]
            else:
                found += column.words_of(paths, kept)
        result = memory.result
        flat = array("q", chain.from_iterable(found))
        result.made[: 8 * len(flat)] = memoryview(flat).cast("B")
        result.marks[:rows] = len(kept) == rows
        result.marks[list(kept)] = 1
        return b"".join(self.texts.parts)


def decoded(value: Value, words: Sequence[list[int]]) -> Iterable[Any]:
    """Return the values of a column."""
    *low, high = (words[at] for at in value.places)
    if low:
        pairs = zip(low[0], high, strict=True)
        return [None if b == f.NULL_WORD else (b << 64) + (a & LOW) for a, b in pairs]
    if value.may_be_null and f.NULL_WORD in high:
        return with_nulls(high, b"", value.read)
    return value.read(high, b"")


def value_reader(kind: pa.DataType, interner: Interner) -> Reader:
    """Return what turns words into values as conditions take them; those of texts are ids."""
    if not is_text(kind):
        return VALUE_READERS.get(kind, as_it_is)
    state, is_string = interner.state, pa.types.is_string(kind)

    def text(identity: int) -> str | bytes:
        entry = int(state[f.V_RECORDS]) + 16 * identity
        start, length = WORDS.unpack(string_at(entry, WORDS.size))
        data = string_at(int(state[ARENA]) + start, length)
        return data.decode() if is_string else data

    return lambda words, texts: map(text, words)
