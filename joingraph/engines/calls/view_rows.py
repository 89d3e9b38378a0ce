"""View rows as a call writes them: read as Python rows at once, or as Arrow columns when asked.

    | a word or two a column ... | kind | count | base diff |      texts: offset << 32 | length

A WordsDiff owns a copy of these rows and of their texts: no later batch touches it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from joingraph.engines.calls import kernel as k
from joingraph.engines.calls.word_columns import Reader, as_it_is, python_reader, with_nulls
from joingraph.engines.contract import IdiffsOf
from joingraph.expressions.python_values import UNHOLDABLE
from joingraph.expressions.texts import is_text
from joingraph.expressions.types import INTEGERS, words_of
from joingraph.generators.compiled.net import net
from joingraph.generators.compiled.outputs import Kept, Outputs
from joingraph.graph.compiled.fields import NULL_WORD
from joingraph.graph.compiled.values.null_columns import Nulls
from joingraph.tables.row_batch import RowBatch, column_of
from joingraph.view_diffs.formats import made_as_rows
from joingraph.view_diffs.view_diff import (
    SIGNS,
    DiffRows,
    Forms,
    ViewDiff,
    ViewRow,
    beside,
    change_table,
    listed,
)

KINDS = tuple(SIGNS)
# Rows, their texts, the kind of all if each is there once, else -1, and if there are NULLs.
Found: TypeAlias = tuple[bytes, bytes, int, int]


class ViewRows:
    """How rows of one view go out."""

    def __init__(self, outputs: Outputs) -> None:
        columns = [
            column_of_view(kept, field.type, outputs.nulls)
            for kept, field in zip(outputs.columns, outputs.schema, strict=True)
        ]
        self.outputs, self.columns, self.width = outputs, columns, len(columns)
        self.are_slots = outputs.are_slots and not outputs.plan.residuals
        self.told = [(place, each.mark) for each in columns for place in each.places]
        self.texts = sum(bool(each.mark & k.IS_TEXT) for each in columns)
        self.words = len(self.told)
        self.step = self.words + k.META_WORDS
        self.size = 8 * self.step
        self.slices = [slice(at, None, self.step) for at in range(self.step)]
        self.readers = [reader_of(each) for each in columns]
        known = [(at, each) for at, each in enumerate(self.readers) if each is not None]
        self.converting = [each for each in known if each[1] is not as_it_is], known
        self.converts = bool(self.converting[0])
        self.is_quick = None not in self.readers
        self.alike = Struct(f"<{self.words}q{8 * k.META_WORDS}x").iter_unpack

    def listed(self, found: Found) -> list[ViewRow] | None:
        """List (change type, row, count); None if it takes columns to read these values."""
        data, texts, alike, has_null = found
        if not data:
            return []
        if not self.is_quick:
            return None
        if alike < 0:
            words = memoryview(data).cast("q")
            kinds, counts = (words[each].tolist() for each in self.slices[self.words : -1])
            rows = self.converted(data, texts, has_null)
            return [
                (KINDS[kind], row, count)
                for kind, row, count in zip(kinds, rows, counts, strict=True)
            ]
        kind = KINDS[alike]
        if self.converts or has_null:
            return [(kind, row, 1) for row in self.converted(data, texts, has_null)]
        return [(kind, row, 1) for row in self.alike(data)]

    def converted(self, data: bytes, texts: bytes, has_null: int) -> Iterable[tuple[Any, ...]]:
        """Turn words into values, a column at a time."""
        words = memoryview(data).cast("q")
        columns: list[Any] = [words[each].tolist() for each in self.slices[: self.words]]
        for at, reader in self.converting[bool(has_null)]:
            column = columns[at]
            is_full = not has_null or NULL_WORD not in column
            columns[at] = reader(column, texts) if is_full else with_nulls(column, texts, reader)
        return zip(*columns, strict=True)

    def changes(self, found: Found) -> DiffRows:
        """Return the rows by column."""
        data, texts, *_ = found
        if not data:
            return DiffRows.of(change_table(self.outputs.schema.empty_table(), [], [], []))
        rows = np.frombuffer(data, np.int64).reshape(-1, self.step)
        columns, at = list[pa.Array](), 0
        for each in self.columns:
            end = at + len(each.places)
            words = [np.ascontiguousarray(rows[:, word]) for word in range(at, end)]
            valid = words[-1] != NULL_WORD
            nulls = each.mark & k.MAY_BE_NULL and not valid.all()
            column = column_of(words, texts, each.stored, valid if nulls else None)
            columns.append(column if each.stored == each.wanted else column.cast(each.wanted))
            at = end
        codes, counts, diffs = (np.ascontiguousarray(rows[:, at + n]) for n in range(k.META_WORDS))
        table = pa.Table.from_arrays(columns, schema=self.outputs.schema)
        told = beside(table, pa.array(codes.astype(np.int8)), pa.array(counts))
        return DiffRows(lambda: told, lambda: pa.array(diffs))


class WordsDiff(ViewDiff):
    """The view diff of a call."""

    def __init__(
        self, view: ViewRows, found: Found, idiffs: tuple[IdiffsOf, RowBatch], seq: int
    ) -> None:
        self.seq, self._view, self._found, self._idiffs_of = seq, view, found, idiffs

    def __len__(self) -> int:
        return len(self._found[0]) // self._view.size

    @cached_property
    def _forms(self) -> Forms:
        changes, outputs = self._view.changes(self._found), self._view.outputs
        made, batch = self._idiffs_of
        return made_as_rows(changes, partial(made, batch), partial(net, outputs))

    def rows(self) -> list[ViewRow]:
        """List (change type, row, count) in the order of the base diffs."""
        try:
            rows = self._view.listed(self._found)
        except UNHOLDABLE:  # values that only Arrow can hold
            rows = None
        return listed(self._changes.rows, self._view.width) if rows is None else rows


class ViewColumn(NamedTuple):
    """A column of the view: where a block has its words, and how they are told."""

    stored: pa.DataType
    wanted: pa.DataType
    places: range
    mark: int


def column_of_view(kept: Kept | None, wanted: pa.DataType, nulls: Nulls) -> ViewColumn:
    """Describe a column that is kept, or computed."""
    if kept is None:
        mark = k.MAY_BE_NULL | k.IS_MADE * is_text(wanted)
        return ViewColumn(wanted, wanted, range(words_of(wanted)), mark)
    stored = kept.slot.stored
    is_key = kept.slot.vertex is not None and not nulls.may_be(kept.slot)
    mark = k.IS_TEXT * is_text(stored) | k.MAY_BE_NULL * (not is_key)
    return ViewColumn(stored, kept.wanted, range(kept.first, kept.end), mark)


def reader_of(column: ViewColumn) -> Reader | None:
    """Return what reads the words of a column as Python values; None: its Arrow column does."""
    stored, wanted = column.stored, column.wanted
    if stored in INTEGERS and wanted in INTEGERS:
        return python_reader(pa.uint64() if pa.uint64() in (stored, wanted) else wanted)
    return python_reader(wanted) if stored == wanted and len(column.places) == 1 else None
