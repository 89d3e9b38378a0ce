"""Base rows on their way into a call: which aliases they pass, and what each alias keeps of them.

    rows of Python values  ->  | aliases passed | NULLs | a word or two a column ... |

A table's words (kernel.py) say where the kernel finds in a base row what its aliases keep. A table
that no row of words can say this of goes by blocks: UnfitError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pyarrow as pa

from joingraph.engines.calls import kernel as k
from joingraph.engines.codegen.install import Plugs
from joingraph.expressions.evaluate import holds
from joingraph.expressions.texts import is_text
from joingraph.expressions.tree import Column, Expression, columns_of
from joingraph.expressions.types import INTEGERS
from joingraph.graph.compiled.fields import OP_WORDS
from joingraph.graph.compiled.layout import words_of
from joingraph.graph.compiled.memory.reserved import address_of, reserve
from joingraph.plan.classes import bare
from joingraph.plan.model import AliasPlan
from joingraph.tables.row_words import META_WORDS, NULLS_MAX, RowWords, Texts, UnfitError
from joingraph.tables.table import Table

if TYPE_CHECKING:
    from joingraph.engines.compiled.engine import CompiledEngine

Holds: TypeAlias = Callable[[Sequence[Any]], Any]


class Place(NamedTuple):
    """Where a base row has a word, what care it needs, and where its NULLs are noted."""

    at: int
    care: int
    met: int
    is_text: bool


class BaseRows:
    """How rows of one base table come in."""

    def __init__(self, engine: CompiledEngine, table: Table, texts: Texts) -> None:
        self.name, self.engine = table.name, engine
        self.encoder = RowWords(table, texts)
        if self.encoder.words > NULLS_MAX or table.name in engine.keys.tables:
            raise UnfitError
        self.aliases = [each for each in engine.plan.aliases if each.table == table.name]
        layouts = [engine.layout.aliases[each.index] for each in self.aliases]
        self.width = META_WORDS + self.encoder.words
        self.alias_count = len(self.aliases)
        kept = sum(2 * each.width for each in layouts)
        self.words_max = max(2 * self.width, kept, OP_WORDS * self.alias_count)  # of a base diff
        self.columns = {name: at for at, name in enumerate(table.schema.names)}
        self.names = self.columns.keys()
        self.free = sum(1 << n for n, each in enumerate(self.aliases) if not each.conditions)
        self.conditions = [
            (1 << number, [self.condition(each) for each in alias.conditions])
            for number, alias in enumerate(self.aliases)
            if alias.conditions
        ]
        self._write()

    def _write(self) -> None:
        """Write the table's words."""
        places = [list(self.places(alias)) for alias in self.aliases]
        texts = sorted({each.at for here in places for each in here if each.is_text})
        first = k.TABLE_WORDS + k.ALIAS_WORDS * len(self.aliases)
        self.region = reserve(first + len(texts) + k.PLACE_WORDS * sum(map(len, places)) + 1)
        words, self.address = self.region.words, self.region.address
        words[: k.TABLE_WORDS] = self.width, len(places), len(texts), self.address + 8 * first
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

    def places(self, alias: AliasPlan) -> Iterator[Place]:
        """Yield where a base row has the words that an alias keeps."""
        for vertex in alias.keys:
            for key in vertex:
                yield from self.words_of(key, ZEROS.get(key.type, k.PLAIN), 0)
        nulls = self.engine.nulls
        for position, kept in enumerate(alias.projected):
            met = address_of(nulls.met) + 8 * (nulls.firsts[alias.index] + position)
            is_double = kept.type.bit_width == 64 if not is_text(kept.type) else False
            yield from self.words_of(kept, k.NOT_NULL_WORD if is_double else k.PLAIN, met)

    def words_of(self, kept: Expression, care: int, met: int) -> Iterator[Place]:
        """Yield where the words of a kept value are."""
        column = bare(kept)
        if not isinstance(column, Column) or not are_alike(column.type, kept.type):
            raise UnfitError
        first = self.encoder.firsts[self.columns[column.name]]
        for word in range(words_of(kept.type)):
            yield Place(first + word, care, met, is_text(kept.type))

    def condition(self, condition: Expression) -> Holds:
        """Return what computes a condition of a row's values."""
        wanted = [(each, self.columns[each.name]) for each in dict.fromkeys(columns_of(condition))]
        if any(pa.types.is_decimal(each.type) for each, _ in wanted):
            raise UnfitError

        def answer(row: Sequence[Any]) -> Any:
            known: dict[Expression, pa.Array] = {
                each: pa.array([row[at]], each.type) for each, at in wanted
            }
            return holds(condition, known, 1)[0].as_py()

        return answer

    def listed(self, rows: Any) -> list[Any]:
        """Return rows that are no list as one; UnfitError if they are handed over otherwise."""
        if type(rows) is tuple:
            return list(rows) if rows and type(rows[0]) in (tuple, dict, list) else [rows]
        if type(rows) is dict:
            return [rows]
        raise UnfitError

    def tuple_of(self, row: Any) -> tuple[Any, ...]:
        """Return a row of values by name, or a list, as a tuple."""
        if type(row) is dict and row.keys() == self.names:
            return tuple(map(row.__getitem__, self.names))
        if type(row) is list:
            return tuple(row)
        raise UnfitError

    def note(self, plugs: Plugs) -> None:
        """Tell the view's own kernels what the table's aliases have felt."""
        words = self.region.words
        for alias, at in self.counters:
            plugs.count(alias, int(words[at]), int(words[at + 1]))
            words[at : at + 2] = 0

    def enter(self, rows: Sequence[Any], area: memoryview, at: int) -> int:
        """Write rows into an area; gives where they end; UNFIT for one that goes by blocks."""
        size, conditions, free = 8 * self.width, self.conditions, self.free
        plans, settle = self.encoder.plans, self.encoder.settle
        for row in rows:
            if type(row) is not tuple:
                row = self.tuple_of(row)
            kinds = (*map(type, row),)
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
            if writers:
                row = [*row]
                for place, convert in writers:
                    row[place] = convert(row[place])
            pack(area, at, passed, nulls, *row)
            at += size
        return at


ZEROS = {pa.float64(): k.DOUBLE_ZERO, pa.float32(): k.FLOAT_ZERO}


def are_alike(column: pa.DataType, kept: pa.DataType) -> bool:
    """True if a column's words are those of the type in which it is kept."""
    return bool(column == kept) or (column in INTEGERS and kept in INTEGERS)
