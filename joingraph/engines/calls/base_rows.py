"""Base rows on their way into a call: which aliases they pass, and what each alias keeps of them.

    rows of Python values  ->  | aliases passed | NULLs | a word or two a column ... |

A table's words (kernel.py) say where the kernel finds in a base row what its aliases keep. A table
that no row of words can say this of goes by blocks: UnfitError.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from joingraph.engines.calls import kernel as k
from joingraph.engines.calls.base_columns import enter_columns
from joingraph.engines.codegen.install import Plugs
from joingraph.expressions.functions.by_row import OfRow
from joingraph.expressions.row_form import column_form, row_form
from joingraph.expressions.texts import is_text
from joingraph.expressions.tree import Column, Expression
from joingraph.expressions.types import INTEGERS, words_of
from joingraph.graph.compiled.fields import OP_WORDS
from joingraph.graph.compiled.memory.reserved import address_of, reserve
from joingraph.graph.compiled.values.words import holds_any_word
from joingraph.plan.classes import bare
from joingraph.plan.model import AliasPlan
from joingraph.tables.row_words import (
    META_WORDS,
    NULLS_MAX,
    Convert,
    RowWords,
    Texts,
    UnfitError,
    word_writer,
)
from joingraph.tables.table import Table

if TYPE_CHECKING:
    from joingraph.engines.compiled.engine import CompiledEngine


SLOW_ROWS_MAX = 2  # whose values columns compute, one by one
ZEROS = {pa.float64(): k.DOUBLE_ZERO, pa.float32(): k.FLOAT_ZERO}


class Place(NamedTuple):
    """Where a base row has a word, what care it needs, and where its NULLs are noted."""

    at: int
    care: int
    met: int
    is_text: bool


class Kept(NamedTuple):
    """A value that an alias keeps, what care its words need, and where its NULLs are noted."""

    alias: AliasPlan
    value: Expression
    care: int
    met: int


class Computed(NamedTuple):
    """A value that is kept and is no column: the words behind a row's columns that it takes."""

    at: int
    mask: int  # of its NULL
    compute: OfRow
    write: Convert | None

    def enter(self, row: Sequence[Any], extra: list[int], first: int) -> bool:
        """Compute it of a row and write it among the words behind; False if it is NULL."""
        value = self.compute(row)
        if value is None:
            return False
        word = value if self.write is None else self.write(value)
        words = word if type(word) is tuple else (word,)
        extra[self.at - first : self.at - first + len(words)] = words
        return True


class ComputedOf(NamedTuple):
    """What is computed for one alias, of rows that it lets pass: keys first, as NULL joins none."""

    bit: int
    key_nulls: int
    keys: list[Computed]
    projected: list[Computed]


class BaseRows:
    """How rows of one base table come in."""

    def __init__(self, engine: CompiledEngine, table: Table, texts: Texts) -> None:
        self.name, self.engine, self.table = table.name, engine, table
        self.encoder = RowWords(table, texts)
        self.declared = self.encoder.words
        self.is_slow = False  # a value has no row form
        self.aliases = [each for each in engine.plan.aliases if each.table == table.name]
        layouts = [engine.layout.aliases[each.index] for each in self.aliases]
        self.columns = {name: at for at, name in enumerate(table.schema.names)}
        self.names = self.columns.keys()
        self.free = sum(1 << n for n, each in enumerate(self.aliases) if not each.conditions)
        self.filtered = [
            (each, 1 << number) for number, each in enumerate(self.aliases) if each.conditions
        ]
        self.conditions = [
            (bit, [self.form(alias, each) for each in alias.conditions])
            for alias, bit in self.filtered
        ]
        self.computed: list[ComputedOf] = []
        self._write([self.places(number, alias) for number, alias in enumerate(self.aliases)])
        self.extra = self.encoder.words - self.declared
        self.extra_nulls = (1 << self.encoder.words) - (1 << self.declared)
        self.width = META_WORDS + self.encoder.words
        self.size, self.plans = 8 * self.width, self.encoder.plans
        self.region.words[k.T_WIDTH] = self.width
        self.alias_count = len(self.aliases)
        kept = sum(2 * each.width for each in layouts)
        self.words_max = max(2 * self.width, kept, OP_WORDS * self.alias_count)  # of a base diff
        if self.encoder.words > NULLS_MAX:
            raise UnfitError

    def _write(self, places: Sequence[list[Place]]) -> None:
        """Write the table's words, given where a base row has what each alias keeps."""
        texts = sorted({each.at for here in places for each in here if each.is_text})
        first = k.TABLE_WORDS + k.ALIAS_WORDS * len(self.aliases)
        self.region = reserve(first + len(texts) + k.PLACE_WORDS * sum(map(len, places)) + 1)
        words, self.address = self.region.words, self.region.address
        words[k.T_ALIASES], words[k.T_TEXTS] = len(places), len(texts)
        words[k.T_TEXT_PLACES] = self.address + 8 * first
        words[first : first + len(texts)] = texts
        at, self.counters = first + len(texts), list[tuple[int, int]]()
        for number, (alias, here) in enumerate(zip(self.aliases, places, strict=True)):
            layout = self.engine.layout.aliases[alias.index]
            start = k.TABLE_WORDS + k.ALIAS_WORDS * number
            words[start : start + k.K_PLACES + 1] = [
                *(alias.index, 1 << number, layout.width, layout.keys, self.address + 8 * at)
            ]
            self.counters.append((alias.index, start + k.K_INSERTS))
            for each in here:
                words[at : at + k.PLACE_WORDS] = each.at, each.care, each.met
                at += k.PLACE_WORDS

    def places(self, number: int, alias: AliasPlan) -> list[Place]:
        """Return where a base row has the words that an alias keeps."""
        computed, found = ComputedOf(1 << number, 0, [], []), list[Place]()
        for place, vertex in enumerate(alias.keys):
            for key in vertex:
                care = ZEROS.get(key.type, k.PLAIN)
                if alias.lone[place : place + 1] == (True,):
                    if care != k.PLAIN:
                        raise UnfitError
                    care = k.LONE
                found += self.words_of(Kept(alias, key, care, 0), computed.keys)
        keys = [each.at for each in found if each.at < self.declared and each.care != k.LONE]
        nulls = self.engine.nulls
        for position, value in enumerate(alias.projected):
            care = k.NOT_NULL_WORD if holds_any_word(value.type) else k.PLAIN
            met = address_of(nulls.met) + 8 * (nulls.firsts[alias.index] + position)
            kept = Kept(alias, value, care, met)
            found += self.words_of(kept, computed.projected)
        if computed.keys or computed.projected:
            key_nulls = sum({1 << each for each in keys})
            self.computed.append(computed._replace(key_nulls=key_nulls))
        return found

    def words_of(self, kept: Kept, computed: list[Computed]) -> Iterator[Place]:
        """Yield where the words of a kept value are: a column's, or some behind them."""
        column, kind = bare(kept.value), kept.value.type
        count = words_of(kind)
        if isinstance(column, Column) and are_alike(column.type, kind):
            first = self.encoder.firsts[self.columns[column.name]]
        else:
            first = self.encoder.words
            self.encoder.words += count
            mask = ((1 << count) - 1) << first
            form = self.form(kept.alias, kept.value)
            computed.append(Computed(first, mask, form, word_writer(kind, self.encoder.texts)))
        for word in range(count):
            yield Place(first + word, kept.care, kept.met, is_text(kind))

    def form(self, alias: AliasPlan, value: Expression) -> OfRow:
        """Return what computes a value of a row's values, for one alias."""
        known = [Column(alias.name, each.name, each.type) for each in self.table.schema]
        found = row_form(value, known)
        self.is_slow |= found is None
        return found or column_form(value, known)

    def compute(self, row: Sequence[Any], passed: int, nulls: int) -> tuple[list[int], int]:
        """Compute what is kept besides columns; gives these words, and NULLs."""
        extra, nulls = [0] * self.extra, nulls | self.extra_nulls
        for bit, key_nulls, keys, projected in self.computed:
            if not passed & bit or nulls & key_nulls:
                continue
            for each in (*keys, *projected):
                if each.enter(row, extra, self.declared):
                    nulls &= ~each.mask
                elif each in keys:
                    break
        return extra, nulls

    def listed(self, rows: Any) -> list[Any] | pa.Table:
        """Return rows that are no list as one, or as a table; UnfitError if they are neither."""
        if type(rows) is pa.Table:
            return rows
        if type(rows) is pa.RecordBatch:
            return pa.Table.from_batches([rows])
        if type(rows) is tuple:
            return list(rows) if rows and type(rows[0]) in (tuple, dict, list) else [rows]
        if type(rows) is dict:
            return [rows]
        raise UnfitError

    def tuple_of(self, row: Any) -> tuple[Any, ...]:
        """Return a row of values by name as a tuple."""
        if type(row) is dict and row.keys() == self.names:
            return tuple(map(row.__getitem__, self.names))
        raise UnfitError

    def note(self, plugs: Plugs) -> None:
        """Tell the view's own kernels what the table's aliases have felt."""
        words = self.region.words
        for alias, at in self.counters:
            plugs.count(alias, int(words[at]), int(words[at + 1]))
            words[at : at + 2] = 0

    def enter(self, rows: Sequence[Any] | pa.Table, area: memoryview, at: int) -> int:
        """Write rows into an area; gives where they end; UNFIT for one that goes by blocks."""
        if type(rows) is not list:
            return enter_columns(self, rows, area, at)
        if self.is_slow and len(rows) > SLOW_ROWS_MAX:
            raise UnfitError
        size, conditions, free, computed = self.size, self.conditions, self.free, self.computed
        plans, settle = self.plans, self.encoder.settle
        if rows and type(rows[0]) is dict:
            rows = [*map(self.tuple_of, rows)]
        for row in rows:
            if type(row) is not tuple:
                row = listed_tuple(row)
            kinds = tuple([type(value) for value in row])
            nulls, readers, writers, pack = plans.get(kinds) or settle(kinds)
            if readers:
                row = [*row]
                for place, convert in readers:
                    row[place] = convert(row[place])
            passed = free
            for bit, all_hold in conditions:
                for condition in all_hold:
                    if condition(row) is not True:
                        break
                else:
                    passed |= bit
            if computed:
                extra, nulls = self.compute(row, passed, nulls)
                row = [*row, *extra]
            if writers:
                row = [*row]
                for place, convert in writers:
                    row[place] = convert(row[place])
            pack(area, at, passed, nulls, *row)
            at += size
        return at


def listed_tuple(row: Any) -> tuple[Any, ...]:
    """Return a row that is a list as a tuple."""
    if type(row) is list:
        return tuple(row)
    raise UnfitError


def are_alike(column: pa.DataType, kept: pa.DataType) -> bool:
    """True if a column's words are those of the type in which it is kept."""
    return bool(column == kept) or (column in INTEGERS and kept in INTEGERS)
