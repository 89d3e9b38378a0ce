"""The filter stage in compiled form: entries of a batch become ops over rows of words.

    entries  insert tweet (7, 1, ..)   update follower (7, 8) -> (7, 9)   insert tweet (8, 1, ..)
    alike    insert tweet (7, 1, ..) (8, 1, ..), base diffs 0 and 2   update follower, base diff 1
    rows     per alias a matrix of words, key words first, pre and post side by side
    ops      | diff, alias, kind, address of the row | ...     in the order of the base diffs

Conditions and kept columns are computed by column (joingraph.filters), so entries of one kind go
through together, however they are mixed; from there on a row is its words. The feed owns the
matrices that its ops point into.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.texts import is_text
from joingraph.expressions.tree import Column, Expression
from joingraph.expressions.words import FLOATS, normal
from joingraph.filters.compiled.keyed_rows import Sides, is_by_key, resolve
from joingraph.filters.conditions import BaseColumns, passing
from joingraph.filters.images import computed, without_null
from joingraph.graph.compiled.fields import DELETE, INSERT, O_DIFF
from joingraph.graph.compiled.key_index import Keys, RunningKeys
from joingraph.graph.compiled.layout import Layout
from joingraph.graph.compiled.memory.reserved import Words
from joingraph.graph.compiled.ops import Side, merged_ops, ops_alike, paired_ops
from joingraph.graph.compiled.values.columns import rows_of_words, set_apart
from joingraph.graph.compiled.values.null_columns import Nulls
from joingraph.graph.compiled.values.string_pool import Interner
from joingraph.plan.model import AliasPlan, Plan
from joingraph.tables.batch import Entry, Refused

Diffs = Sequence[range]  # base diffs, by their numbers in the batch
MANY = 1 << 17
NUMBERS: Words = np.arange(MANY)
NUMBERS.flags.writeable = False


class Part(NamedTuple):
    """What one alias feels of entries of one kind: rows of words, and the ops over them."""

    alias: int
    matrix: Words
    ops: Callable[[], Words]  # made when asked for, as a load needs none


@dataclass(frozen=True)
class Feed:
    """A batch's parts, how long its entries are, and which base diffs affect no alias.

    `lost` are the base diffs that remove a row by a key that no row has.
    """

    parts: tuple[Part, ...]
    lengths: tuple[int, ...]
    lost: tuple[int, ...]

    def only(self, parts: Sequence[Part]) -> Feed:
        """Return a feed of some of the parts; base diffs keep their numbers."""
        return replace(self, parts=tuple(parts))

    @cached_property
    def ops(self) -> Words:
        """Return all ops in the order of the base diffs."""
        return merged_ops([part.ops() for part in self.parts], sum(self.lengths))

    @property
    def rows(self) -> int:
        """How many ops there are, without making them."""
        return sum(len(part.matrix) for part in self.parts)

    @cached_property
    def matrices(self) -> tuple[Words, ...]:
        """Return what the ops point into."""
        return tuple(part.matrix for part in self.parts)


class Feeder:
    """Prepares batches for one graph."""

    def __init__(
        self, plan: Plan, layout: Layout, interner: Interner, keys: Keys, nulls: Nulls
    ) -> None:
        self.plan, self.layout, self.interner, self.keys = plan, layout, interner, keys
        self.nulls = nulls
        self.flat_keys = [
            [each for vertex in alias.keys for each in vertex] for alias in plan.aliases
        ]
        self.lone = [alias.lone_places for alias in plan.aliases]
        self.plain = [
            plain_columns(alias, keys)
            for alias, keys in zip(plan.aliases, self.flat_keys, strict=True)
        ]

    def feed(self, entries: Sequence[Entry]) -> Feed:
        """Filter a batch and make its ops."""
        running = RunningKeys(self.keys)
        parts: list[Part] = []
        lost: list[int] = []
        for entry, diffs in alike(entries, self.keys.tables):
            sides = self.sides(entry) if entry.length else {}
            if sides and entry.table in self.keys.tables:
                sides, missing = resolve(running, entry, sides)
                lost += numbers_of(diffs)[missing].tolist()
            parts += [self.part(alias, diffs, side) for alias, side in sides.items()]
        return Feed(tuple(parts), tuple(entry.length for entry in entries), tuple(lost))

    def sides(self, entry: Entry) -> dict[int, Sides]:
        """Say what each alias of an entry's table keeps of it; rows given by key are left open."""
        by_key = is_by_key(self.keys, entry)
        return {
            alias.index: Sides(
                None if entry.pre is None or by_key else self.side(alias, entry.pre),
                None if entry.post is None else self.side(alias, entry.post),
            )
            for alias in self.plan.aliases
            if alias.table == entry.table
        }

    def part(self, alias: int, diffs: Diffs, sides: Sides) -> Part:
        """Return what one alias feels of base diffs, in their order."""
        pre, post = sides
        if pre is not None and post is not None:
            layout = self.layout.aliases[alias]
            ops, matrix = paired_ops(alias, layout, numbers_of(diffs), pre, post)
            return Part(alias, matrix, lambda: ops)
        kept, kind = (post, INSERT) if pre is None else (pre, DELETE)
        assert kept is not None, "every operation has a side"
        return Part(alias, kept.words, partial(ops_of_side, alias, diffs, kind, kept))

    def side(self, alias: AliasPlan, table: pa.Table) -> Side:
        """Let rows through and turn what the alias keeps of them into words."""
        if (whole := self.side_of_all(alias.index, table)) is not None:
            return whole
        sides = [self.side_of(alias, piece) for piece in texts.pieces(table)]
        if len(sides) == 1:
            return sides[0]
        firsts = np.cumsum([0, *(len(piece) for piece in texts.pieces(table))])
        numbers = [each.numbers + first for each, first in zip(sides, firsts, strict=False)]
        return Side(np.concatenate(numbers), np.concatenate([each.words for each in sides]))

    def side_of_all(self, alias: int, table: pa.Table) -> Side | None:
        """Turn all rows into words at once, if the alias keeps all and no more than columns."""
        if (names := self.plain[alias]) is None:
            return None
        columns = [one_array(table.column(name)) for name in names]
        keys, lone = len(self.flat_keys[alias]), self.lone[alias]
        if any(each.null_count for at, each in enumerate(columns[:keys]) if at not in lone):
            return None
        words = self.words(alias, columns, table.num_rows)
        return Side(first_numbers(table.num_rows), words)

    def words(self, alias: int, columns: Sequence[pa.Array], length: int) -> Words:
        """Turn what an alias keeps of rows into words, key columns first."""
        keys = len(self.flat_keys[alias])
        self.nulls.note(alias, columns[keys:])
        lone = self.lone[alias]
        found = rows_of_words(columns, length, self.interner, keys=keys, lone=lone)
        layout = self.layout.aliases[alias]
        return set_apart(found, layout.full, layout.apart)

    def side_of(self, alias: AliasPlan, table: pa.Table) -> Side:
        """Do so with rows whose text fits one array a column."""
        given = BaseColumns(table)
        numbers = passing(alias.conditions, given, table.num_rows)
        keys = [normal(each) for each in computed(self.flat_keys[alias.index], given, numbers)]
        asked = [each for at, each in enumerate(keys) if at not in self.lone[alias.index]]
        if any(each.null_count for each in asked):
            joins = without_null(asked, len(numbers))
            numbers = numbers[joins]
            keys = [each.filter(pa.array(joins)) for each in keys]
        projected = computed(alias.projected, given, numbers)
        return Side(numbers, self.words(alias.index, [*keys, *projected], len(numbers)))


def plain_columns(alias: AliasPlan, keys: Sequence[Expression]) -> tuple[str, ...] | None:
    """Name the columns that an alias keeps as they are, of every row; or None if it does not.

    Texts may have to be cut into pieces, and a float that joins has one zero of two.
    """
    kept = [*keys, *alias.projected]
    columns = [each for each in kept if isinstance(each, Column) and not is_text(each.type)]
    normalised = any(each.type.id in FLOATS for each in keys)
    if alias.conditions or normalised or len(columns) < len(kept):
        return None
    return tuple(each.name for each in columns)


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array; mostly it is one."""
    return column.chunk(0) if column.num_chunks == 1 else texts.whole(column)


def ops_of_side(alias: int, diffs: Diffs, kind: int, side: Side) -> Words:
    """Write the ops of rows that all come, or all go."""
    numbers = numbers_of(diffs)
    felt = numbers if len(side.numbers) == len(numbers) else numbers[side.numbers]
    return ops_alike(alias, felt, kind, side.words)


def numbers_of(diffs: Diffs) -> Words:
    """Number base diffs one by one."""
    if len(diffs) == 1 and diffs[0].start == 0:
        return first_numbers(diffs[0].stop)
    spans = [np.arange(each.start, each.stop) for each in diffs]
    return spans[0] if len(spans) == 1 else np.concatenate(spans)


def first_numbers(count: int) -> Words:
    """Return the numbers below one; mostly they are written already, and stay so."""
    return NUMBERS[:count] if count <= MANY else np.arange(count)


def alike(entries: Sequence[Entry], apart: Container[str]) -> Iterator[tuple[Entry, Diffs]]:
    """Put entries of one operation and table together, and say which base diffs they are.

    The entries of tables named `apart` stay as they are: each may depend on the one before.
    """
    groups: dict[tuple[str, str, int], list[Entry]] = {}
    diffs: dict[tuple[str, str, int], list[range]] = {}
    first = 0
    for place, entry in enumerate(entries):
        group = (entry.operation, entry.table, place if entry.table in apart else -1)
        groups.setdefault(group, []).append(entry)
        diffs.setdefault(group, []).append(range(first, first + entry.length))
        first += entry.length
    for group, members in groups.items():
        yield one_entry(members), diffs[group]


def one_entry(entries: Sequence[Entry]) -> Entry:
    """Put the rows of entries of one operation and table one after the other."""
    if len(entries) == 1:
        return entries[0]
    operation, table = entries[0].operation, entries[0].table
    pre = [each.pre for each in entries if each.pre is not None]
    post = [each.post for each in entries if each.post is not None]
    sides = [pa.concat_tables(side) if side else None for side in (pre, post)]
    return Entry(operation, table, *sides)


def refusals(feed: Feed, admitted: npt.NDArray[np.bool_]) -> list[Refused]:
    """Name the base diffs that were not admitted by their entry and row."""
    missing = np.unique(np.append(feed.ops[~admitted, O_DIFF], np.array(feed.lost, np.int64)))
    ends = np.cumsum(feed.lengths)
    entries = np.searchsorted(ends, missing, side="right")
    starts = np.concatenate([[0], ends])[entries]
    pairs = zip(entries.tolist(), (missing - starts).tolist(), strict=True)
    return [Refused(entry, row) for entry, row in pairs]
