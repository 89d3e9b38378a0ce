"""Rows as they arrive of one source in one micro-batch -> images of base rows, in order.

    _lane   _a _b _n   _op  _bad   _raw     the table's columns
    part-1  17  0  0    0   NULL   NULL     1, "a"                 an insert
    part-1  17  0  1    0   text   {"x…     NULL, NULL             a record that cannot be read

Rows are ordered by (_a, _lane, _b, _n): time or version, file or partition, place, number; rows
that are equal in these stay as they came, and they came in the order of their file. Where `_lane`
is NULL throughout, the source has no positions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.python_values import python_value, shown
from joingraph.expressions.texts import Numbers
from joingraph.pipeline.changes import Images, Marks, by_commit
from joingraph.pipeline.dead_letters import Dead
from joingraph.pipeline.debezium import read_events
from joingraph.pipeline.model import WATCHED, Source
from joingraph.pipeline.offsets import Places, in_turn
from joingraph.tables.table import Table

META: Final = {
    "_lane": pa.string(),
    "_a": pa.int64(),
    "_b": pa.int64(),
    "_n": pa.int64(),
    "_op": pa.int8(),
    "_bad": pa.string(),
    "_raw": pa.string(),
}


class File(NamedTuple):
    """A file as Spark names it, and when it was last changed."""

    name: str
    changed_us: int


class SourceRows(NamedTuple):
    """The rows of a source in one micro-batch: images, where each stands, what was unreadable."""

    images: Images
    places: Places
    dead: list[Dead]

    def only(self, mask: Marks) -> SourceRows:
        """Keep the marked images."""
        if mask.all():
            return self
        at = np.flatnonzero(mask)
        rows, codes, follows = self.images
        beside = np.diff(at, prepend=-2) == 1
        images = Images(texts.take_rows(rows, at), codes[at], follows[at] & beside)
        return SourceRows(images, places_at(self.places, at), self.dead)


def read_source(rows: pa.Table, source: Source, table: Table) -> SourceRows:
    """Read the rows of one source."""
    rows = with_coded_lanes(rows)
    rows = texts.take_rows(rows, source_order(rows))
    if "_bad" in silent(source):
        rows = null_here(rows, table)
    is_bad = np.asarray(rows["_bad"].is_valid())
    dead = dead_letters(rows.filter(pa.array(is_bad)), source) if is_bad.any() else []
    rows = rows.filter(pa.array(~is_bad)) if is_bad.any() else rows
    if source.debezium:
        return event_rows(rows, source, table, dead)
    places = places_of(rows)
    kept = own_columns(rows, table)
    codes = rows["_op"].to_numpy().astype(np.int8)
    if source.format == "delta":
        order, follows = by_commit(table, kept, places.a, codes)
        images = Images(texts.take_rows(kept, order), codes[order], follows)
        return SourceRows(images, places_at(places, order), dead)
    return SourceRows(Images(kept, codes, following(rows, source)), places, dead)


def silent(source: Source) -> set[str]:
    """Return the columns of META that a source lacks: 0 or NULL in every row, or known otherwise.

    They cost more than the rows' own columns, most of all the texts and the number of a row in its
    Parquet file, which only tells halves of a pair apart: inserts have none. The lane of a row from
    a file is the file's name, of which a number travels (`of_files`), and tells its time as well.
    A row that Parquet inserts can be wrong in one way only, which `null_here` finds.
    """
    found = {"_lane", "_a"} if source.format in WATCHED else set[str]()
    if source.format != "parquet" or source.debezium:
        return found
    found.add("_b")
    return found if source.operation else found | {"_n", "_op", "_bad", "_raw"}


def of_files(numbers: pa.ChunkedArray, files: Mapping[int, File]) -> dict[str, pa.Array]:
    """Write names and times of files for their numbers."""
    coded = numbers.combine_chunks().dictionary_encode()
    found = [files[number] for number in coded.dictionary.to_pylist()]
    names = pa.array([file.name for file in found], pa.string())
    times = np.array([file.changed_us for file in found], np.int64)
    return {
        "_lane": pa.DictionaryArray.from_arrays(coded.indices, names),
        "_a": pa.array(times[coded.indices.to_numpy()]),
    }


def nothing(name: str, length: int) -> pa.Array:
    """Make a column of META that says nothing."""
    type = META[name]
    return pa.nulls(length, type) if type == pa.string() else pa.array(np.zeros(length), type)


def null_here(rows: pa.Table, table: Table) -> pa.Table:
    """Mark as bad the rows, not judged by Spark, that are NULL where they must not be."""
    wrong = [
        field.name for field in table.schema if not field.nullable and rows[field.name].null_count
    ]
    if not wrong:
        return rows
    bad: list[str | None] = [None] * len(rows)
    for name in reversed(wrong):
        for at in np.flatnonzero(rows[name].is_null()).tolist():
            bad[at] = found_null(name)
    raw = [None if reason is None else row_text(rows, table, at) for at, reason in enumerate(bad)]
    for name, column in (("_bad", bad), ("_raw", raw)):
        rows = rows.set_column(
            rows.schema.get_field_index(name), name, pa.array(column, pa.string())
        )
    return rows


def found_null(name: str) -> str:
    """Return what is wrong with a row."""
    return f'column "{name}" is NOT NULL, found NULL'


def row_text(rows: pa.Table, table: Table, at: int) -> str:
    """Write a row as JSON, without what is NULL, as Spark does."""
    values = {name: python_value(rows[name][at]) for name in table.schema.names}
    known = {name: value for name, value in values.items() if value is not None}
    return json.dumps(known, ensure_ascii=False, separators=(",", ":"), default=shown)


def with_coded_lanes(rows: pa.Table) -> pa.Table:
    """Write each lane once: it is compared in several places, and is long."""
    lanes = rows["_lane"].combine_chunks()
    if not pa.types.is_dictionary(lanes.type):
        lanes = lanes.dictionary_encode()
    return rows.set_column(rows.schema.get_field_index("_lane"), "_lane", lanes)


def source_order(rows: pa.Table) -> Numbers:
    """Number the rows in the order of their source."""
    lanes = rows["_lane"].combine_chunks()
    names = lanes.dictionary.to_pylist()
    rank = np.empty(len(names) + 1, np.int64)
    rank[np.argsort(np.array(names, dtype=object), kind="stable")] = np.arange(len(names))
    rank[-1] = -1
    lane = rank[lanes.indices.fill_null(-1).to_numpy()]
    a, b, n = (rows[name].to_numpy() for name in ("_a", "_b", "_n"))
    return in_turn(a, lane, b, n)


def places_of(rows: pa.Table) -> Places:
    """Read where rows stand."""
    lanes = rows["_lane"].combine_chunks()
    known = lanes if len(lanes) == 0 or lanes.null_count < len(lanes) else None
    return Places(known, rows["_a"].to_numpy(), rows["_b"].to_numpy())


def places_at(places: Places, at: Numbers) -> Places:
    """Return the numbered places."""
    lanes = None if places.lanes is None else places.lanes.take(pa.array(at))
    return Places(lanes, places.a[at], places.b[at])


def following(rows: pa.Table, source: Source) -> Marks:
    """Mark the rows that come right after the one before, in their source too.

    Only rows of Parquet files are numbered; of the others, no half of a pair has been dropped.
    """
    lane = rows["_lane"].combine_chunks().indices.fill_null(-1).to_numpy()
    next_one = np.diff(lane, prepend=-2) == 0
    if source.format == "parquet":
        next_one &= np.diff(rows["_n"].to_numpy(), prepend=-2) == 1
    return np.asarray(next_one)


def own_columns(rows: pa.Table, table: Table) -> pa.Table:
    """Return a table's columns, unsigned ones in their own type: Spark brings them as decimals."""
    columns = [
        rows[field.name].cast(field.type)
        if pa.types.is_decimal(rows[field.name].type) and pa.types.is_integer(field.type)
        else rows[field.name]
        for field in table.schema
    ]
    return pa.table(columns, names=table.schema.names)


def event_rows(rows: pa.Table, source: Source, table: Table, dead: list[Dead]) -> SourceRows:
    """Read records of Debezium."""
    records = rows["_raw"].to_pylist()
    read = read_events(records, table, by_key=source.by_key)
    at = np.array(read.record_of, np.int64)
    for number, reason in read.bad:
        dead.append(Dead(source.table, reason, origin(rows, number), records[number] or ""))
    return SourceRows(read.images, places_at(places_of(rows), at), dead)


def dead_letters(rows: pa.Table, source: Source) -> list[Dead]:
    """Return the records that could not be read."""
    reasons, records = rows["_bad"].to_pylist(), rows["_raw"].to_pylist()
    return [
        Dead(source.table, reason, origin(rows, number), record or "")
        for number, (reason, record) in enumerate(zip(reasons, records, strict=True))
    ]


def origin(rows: pa.Table, number: int) -> str:
    """Return where a record comes from."""
    lane, a, b, n = (rows[name][number].as_py() for name in ("_lane", "_a", "_b", "_n"))
    return f"{lane or 'stream'} at {a}-{b}-{n}"
