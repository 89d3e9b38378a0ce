"""A source and a pipeline as their owner describes them; nothing is opened or read here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from joingraph.tables.table import Table

FORMATS: Final = {
    "parquet": "a folder of Parquet files",
    "csv": "a folder of CSV files",
    "json": "a folder of files with a JSON object a line",
    "delta": "a Delta table's change feed",
    "redis": "a Redis stream",
    "generator": "made-up data of a social network, at a given rate",
    "kafka": "a Kafka topic of JSON objects (its jar must be in spark.jars)",
}
FILES: Final = ("parquet", "csv", "json", "delta")  # of which the path is a folder
WATCHED: Final = ("parquet", "csv", "json")  # of which the lanes are files
ON_ERROR: Final = ("stop", "dead_letter")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the diffs of one base table come from, and how they are written there.

    `operation` names the column that says what a row is; without it every row is an insert.
    `debezium`: each record is one envelope of Debezium. `before` is "key" where rows that go are
    named by the table's declared key alone.
    """

    table: str
    format: str
    path: str = ""
    operation: str = ""
    debezium: bool = False
    before: str = "full"
    # The source's words -> ours (changes.WORDS).
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    options: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def by_key(self) -> bool:
        """True if rows that go may be named by their key."""
        return self.before == "key"

    def columns(self, table: Table) -> list[str]:
        """Return the names of the columns that its rows have."""
        return [*table.schema.names, *([self.operation] if self.operation else [])]


class SourceLag(NamedTuple):
    """Where a source stands, and its lag where places are times."""

    place: str
    lag_s: float | None


class Progress(NamedTuple):
    """What one micro-batch did, as callers and `status` see it."""

    batch: int
    diffs: int
    view_diffs: int
    dead: int
    own_s: float  # from the arrival of the rows to the last sink
    sinks_s: float
    by_table: Mapping[str, int]
    places: Mapping[str, SourceLag]  # of the sources that brought rows
