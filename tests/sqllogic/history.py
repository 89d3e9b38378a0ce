"""Base tables as they come, change and go while a file is executed.

CREATE TABLE t   ->  version 1 of t, empty
INSERT, UPDATE   ->  batches of diffs of version 1: in random order, of random sizes
a query          ->  which versions there are now, and their rows
DROP TABLE t     ->  version 1 is no more
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from random import Random

import pyarrow as pa

from tests.sqllogic.database import Database, Refused, Row, Rows

SIZES = (1, 2, 5, 20, 100, 500)
Entry = tuple[object, ...]  # as JoinGraph.apply takes it


@dataclass(frozen=True, slots=True)
class Version:
    """A base table from its CREATE to its DROP."""

    name: str
    number: int
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class Diff:
    """A change of one row: no pre-image for an insert, no post-image for a delete."""

    version: Version
    pre: Row | None
    post: Row | None

    @property
    def kind(self) -> str:
        """What `apply` calls it."""
        return "insert" if self.pre is None else "delete" if self.post is None else "update"


@dataclass(slots=True)
class Moment:
    """The base tables when a query is asked: versions, rows, and how many batches came before."""

    versions: dict[str, Version]
    rows: dict[str, Rows]
    batches: int
    refused: dict[str, str]


@dataclass(slots=True)
class History:
    """Every batch so far, the tables as they were when last looked at, and the file's views."""

    database: Database
    random: Random
    versions: dict[str, Version] = field(default_factory=dict)
    rows: dict[str, Rows] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    batches: list[list[tuple[Version, Entry]]] = field(default_factory=list)
    views: dict[str, str] = field(default_factory=dict)
    made: int = 0

    def forget(self, names: Iterable[str]) -> None:
        """Take note that tables were dropped, altered or replaced."""
        for name in names:
            for known in (self.versions, self.rows, self.refused):
                known.pop(name, None)

    def look(self) -> None:
        """Find new tables and changed rows; cut the changes into batches."""
        diffs: list[Diff] = []
        present = self.database.tables()
        self.forget(set(self.versions) - set(present))
        for name in present:
            try:
                diffs += self.changes(name)
            except Refused as reason:
                self.forget([name])
                self.refused[name] = str(reason)
        self.random.shuffle(diffs)
        while diffs:
            size = self.random.choice(SIZES)
            self.batches.append(list(entries(diffs[:size])))
            del diffs[:size]

    def changes(self, name: str) -> list[Diff]:
        """Compare a table with what it was."""
        if name in self.refused:
            return []
        if name not in self.versions:
            self.made += 1
            self.versions[name] = Version(name, self.made, self.database.schema(name))
            self.rows[name] = {}
        version, before, after = self.versions[name], self.rows[name], self.database.rows(name)
        self.rows[name] = after
        ids = sorted(before.keys() | after.keys())
        pairs = ((before.get(id), after.get(id)) for id in ids)
        return [Diff(version, pre, post) for pre, post in pairs if repr(pre) != repr(post)]

    def moment(self) -> Moment:
        """Remember the tables as they are now."""
        self.look()
        return Moment(dict(self.versions), dict(self.rows), len(self.batches), dict(self.refused))


def entries(diffs: Sequence[Diff]) -> Iterable[tuple[Version, Entry]]:
    """Write diffs as entries of a batch, neighbours of one kind and table together."""
    for (kind, number), same in groupby(diffs, key=lambda diff: (diff.kind, diff.version.number)):
        some = list(same)
        version = some[0].version
        sides = [[diff.pre for diff in some], [diff.post for diff in some]]
        tables = [arrow(version, [row for row in side if row is not None]) for side in sides]
        chosen = {"insert": tables[1:], "delete": tables[:1], "update": tables}[kind]
        assert number == version.number
        yield version, (kind, version.name, *chosen)


def arrow(version: Version, rows: Sequence[Row]) -> pa.Table:
    """Put rows in an Arrow table of the version's types."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in version.schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, version.schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=version.schema)


def loaded(moment: Moment, names: Iterable[str]) -> Mapping[str, pa.Table]:
    """Put the rows of some tables at a moment in Arrow tables."""
    return {name: arrow(moment.versions[name], list(moment.rows[name].values())) for name in names}
