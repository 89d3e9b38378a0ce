"""Random cases with declared keys: what i-diffs, nested lists and reads by key are checked with.

Every table has a column k, by which most tables declare a key, and f, with values of other k's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType

import pyarrow as pa

from tests.oracle.case import Case, Column, Entry, Row, Table, View
from tests.oracle.feeds import Feed
from tests.oracle.fragments import over, places, residual
from tests.oracle.generate import random_tables
from tests.oracle.grouped import grouped
from tests.oracle.kinds import GROUPED_KINDS, KINDS, Kind
from tests.oracle.views import random_view

KEY = Kind("BIGINT", pa.int64(), "number", tuple(range(24)), 77, sums=True)


@dataclass(frozen=True, slots=True)
class KeyedCase:
    """A case, and the key of each table that declares one."""

    case: Case
    keys: dict[str, tuple[str, ...]]

    @property
    def tables(self) -> dict[str, object]:
        """The tables as joingraph is told of them."""
        return {table.name: self.declared(table) for table in self.case.tables}

    def declared(self, table: Table) -> str:
        """Write CREATE TABLE, with the key."""
        key = self.keys.get(table.name)
        return table.create[:-1] + (f", PRIMARY KEY ({', '.join(key)}))" if key else ")")


def keyed_case(seed: int, batches_max: int = 6, *, only: str | None = None) -> KeyedCase:
    """Make tables with keys, a view over them that shows some, and a feed that respects them."""
    random, groups = Random(seed), only == "groups"
    kinds = GROUPED_KINDS if groups else KINDS
    tables = [
        Table(each.name, (Column("k", KEY), *each.columns, Column("f", KEY)))
        for each in random_tables(random, plain=random.random() < 0.3, kinds=kinds)
    ]
    keys = {
        table.name: ("k",) if random.random() < 0.9 else ("k", "f")
        for table in tables
        if random.random() < 0.85
    }
    view = tied(random, showing_keys(random, random_view(random, tables, plain=False)))
    if groups:
        view = grouped(random, view, "duckdb", plain=False)
    feed = KeyedFeed(random, tables, view)
    feed.keys = keys
    load = feed.load()
    batches = tuple(feed.batch() for _ in range(random.randint(3, batches_max)))
    case = Case(seed, tuple(tables), view, "duckdb", False, load, batches, last=None)
    return KeyedCase(case, keys)


def showing_keys(random: Random, view: View) -> View:
    """Show the key columns of some aliases besides."""
    share = random.choice((0.4, 0.8, 1.0))
    shown = [
        over(place.sql, place, bare=True)
        for place in places(view.sources)
        if place.column.name == "k" and random.random() < share
    ]
    return replace(view, outputs=(*view.outputs, *shown))


def tied(random: Random, view: View) -> View:
    """Compare and compute with columns of several aliases, in some of the cases."""
    sight = places(view.sources)
    numbers = [place for place in sight if place.kind is KEY]
    conditions, outputs = list(view.conditions), list(view.outputs)
    while len(view.sources) > 1 and random.random() < 0.3:
        found = residual(random, sight)
        conditions += [found] if found else []
    while len(view.sources) > 1 and numbers and random.random() < 0.3:
        one, other = random.choice(numbers), random.choice(numbers)
        outputs.append(over(f"{one.sql} + {other.sql}", one, other))
    return replace(view, conditions=tuple(conditions), outputs=tuple(outputs))


class KeyedFeed(Feed):
    """A feed in which no two rows of a table with a key have the same k, nor NULL in a key."""

    keys: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    def row(self, name: str) -> Row:
        """Make a row, with a k that is not there."""
        row = super().row(name)
        if name not in self.keys:
            return row
        taken = {other[0] for other in self.rows[name]}
        k = self.random.choice([value for value in KEY.values if value not in taken])
        f = self.random.choice(KEY.values) if row[-1] is None else row[-1]
        return (k, *row[1:-1], f)

    def insert(self, name: str, count: int) -> Entry:
        """Insert random rows."""
        if name not in self.keys:
            return super().insert(name, count)
        new = []
        for _ in range(count):
            new.append(self.row(name))
            self.rows[name].append(new[-1])
        return Entry("insert", name, tuple(new))
