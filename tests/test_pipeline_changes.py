"""What sources say becomes entries of a batch, in their order."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from joingraph.common.errors import DiffError
from joingraph.pipeline.changes import DELETE, INSERT, POST, PRE, UPDATE, Diff, entries
from joingraph.pipeline.debezium import read_events
from joingraph.pipeline.model import Source
from joingraph.pipeline.read_rows import META, nothing, read_source, silent
from joingraph.tables.table import Table

TWEET = Table("t", pa.schema([("id", pa.int64()), ("text", pa.string())]), ("id",))


def arrived(rows: list[tuple[int, int, str | None]], lane: str | None = "f") -> pa.Table:
    """Make rows of (code, id, text) as they arrive, numbered."""
    columns = {
        "_lane": [lane] * len(rows), "_a": [0] * len(rows), "_b": [0] * len(rows),
        "_n": list(range(len(rows))), "_op": [code for code, *_ in rows],
        "_bad": [None] * len(rows), "_raw": [None] * len(rows),
    }  # fmt: skip
    table = pa.table({name: pa.array(columns[name], META[name]) for name in META})
    table = table.append_column("id", pa.array([row[1] for row in rows], pa.int64()))
    return table.append_column("text", pa.array([row[2] for row in rows], pa.string()))


def told(rows: pa.Table, format: str = "csv", *, by_key: bool = False) -> list[tuple[object, ...]]:
    """Read rows, and write their entries plainly."""
    source = Source("t", format, before="key" if by_key else "full")
    return plain(entries(TWEET, read_source(rows, source, TWEET).images, by_key=by_key))


def plain(found: object) -> list[tuple[object, ...]]:
    assert hasattr(found, "__iter__")
    listed: list[Diff] = list(found)
    return [(kind, *([tuple(row.values()) for row in side.to_pylist()] for side in sides))
            for kind, _, *sides in listed]  # fmt: skip


def test_runs_of_one_operation_are_one_entry() -> None:
    rows = [(INSERT, 1, "a"), (INSERT, 2, "b"), (DELETE, 1, "a"), (INSERT, 3, "c")]
    assert told(arrived(rows)) == [
        ("insert", [(1, "a"), (2, "b")]), ("delete", [(1, "a")]), ("insert", [(3, "c")]),
    ]  # fmt: skip


def test_images_side_by_side_are_an_update_and_others_stand_alone() -> None:
    rows = [(PRE, 1, "a"), (POST, 1, "b"), (PRE, 2, "c"), (PRE, 3, "d"), (POST, 3, "e"),
            (POST, 4, "f")]  # fmt: skip
    assert told(arrived(rows)) == [
        ("update", [(1, "a")], [(1, "b")]), ("delete", [(2, "c")]),
        ("update", [(3, "d")], [(3, "e")]), ("insert", [(4, "f")]),
    ]  # fmt: skip


def test_halves_of_two_updates_are_no_update_where_rows_are_numbered() -> None:
    whole = arrived([(PRE, 1, "a"), (POST, 1, "b"), (PRE, 2, "c"), (POST, 2, "d")])
    halves = whole.take(pa.array([0, 3]))
    assert told(halves, "parquet") == [("delete", [(1, "a")]), ("insert", [(2, "d")])]


def test_an_update_by_key_replaces_and_a_key_changed_twice_is_changed_twice() -> None:
    rows = [(UPDATE, 1, "a"), (UPDATE, 2, "b"), (UPDATE, 1, "c"), (DELETE, 2, None)]
    assert told(arrived(rows), by_key=True) == [
        ("delete", [(1,), (2,)]), ("insert", [(1, "a"), (2, "b")]),
        ("delete", [(1,)]), ("insert", [(1, "c")]), ("delete", [(2,)]),
    ]  # fmt: skip


def test_rows_are_put_in_the_order_of_their_source() -> None:
    rows = arrived([(INSERT, 1, "a"), (DELETE, 1, "a"), (INSERT, 2, "b")])
    assert told(rows.take(pa.array([2, 0, 1])), "parquet") == told(rows)


def test_a_commit_is_ordered_by_what_goes_first_and_paired_by_key() -> None:
    rows = [(INSERT, 9, "new"), (POST, 1, "b"), (PRE, 1, "a"), (POST, 2, "d"), (DELETE, 5, "x")]
    assert told(arrived(rows), "delta") == [
        ("update", [(1, "a")], [(1, "b")]), ("delete", [(5, "x")]),
        ("insert", [(9, "new"), (2, "d")]),
    ]  # fmt: skip


def test_unreadable_rows_are_set_aside_with_their_origin() -> None:
    rows = arrived([(INSERT, 1, "a"), (INSERT, 2, "b")])
    rows = rows.set_column(5, "_bad", pa.array([None, "is malformed"]))
    rows = rows.set_column(6, "_raw", pa.array([None, "{"]))
    found = read_source(rows, Source("t", "json"), TWEET)
    assert found.images.rows.num_rows == 1
    assert [tuple(each) for each in found.dead] == [("t", "is malformed", "f at 0-0-1", "{")]


FULL = Table(
    "t",
    pa.schema([
        pa.field("id", pa.int64(), nullable=False), ("d", pa.date32()),
        ("at", pa.timestamp("us")), ("n", pa.decimal128(10, 2)), ("b", pa.binary()),
    ]),
    ("id",),
)  # fmt: skip


def event(op: str, before: object, after: object) -> str:
    return json.dumps({"op": op, "before": before, "after": after})


def test_debezium_reads_every_type_as_its_schema_says() -> None:
    types = [
        {"field": "at", "name": "io.debezium.time.Timestamp"},
        {"field": "n", "name": "org.apache.kafka.connect.data.Decimal",
         "parameters": {"scale": "2"}},
    ]  # fmt: skip
    row = {"id": 1, "d": 1, "at": 1000, "n": "AN8=", "b": "aGk="}
    record = json.dumps({
        "schema": {"fields": [{"field": "after", "fields": types}]},
        "payload": {"op": "c", "before": None, "after": row},
    })  # fmt: skip
    (found,) = read_events([record], FULL, by_key=False).images.rows.to_pylist()
    assert [str(value) for value in found.values()] == [
        "1", "1970-01-02", "1970-01-01 00:00:01", "2.23", "b'hi'",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("{", "is not JSON"),
        ("[1]", "is list, not an event"),
        (event("x", None, None), "the operation 'x'"),
        (event("c", None, {"id": 1}), 'has no column "text"; it has id'),
        (event("c", None, {"id": "1", "text": "a"}), "column \"id\" is int64, found '1'"),
        (event("c", None, {"id": 2**70, "text": "a"}), 'column "id" is int64'),
        (event("u", None, {"id": 1, "text": "a"}), "REPLICA IDENTITY"),
        (event("d", None, None), "REPLICA IDENTITY"),
    ],
)
def test_what_debezium_cannot_mean_is_a_dead_letter(record: str, said: str) -> None:
    read = read_events([event("c", None, {"id": 7, "text": "a"}), record], TWEET, by_key=False)
    assert read.images.rows.num_rows == 1
    ((number, reason),) = read.bad
    assert number == 1
    assert said in reason


def test_debezium_ignores_tombstones_and_pairs_images() -> None:
    records = [None, "null", event("u", {"id": 1, "text": "a"}, {"id": 1, "text": "b"})]
    read = read_events(records, TWEET, by_key=False)
    found = plain(entries(TWEET, read.images, by_key=False))
    assert found == [("update", [(1, "a")], [(1, "b")])]
    assert read.record_of == [2, 2]


def test_debezium_moves_a_row_to_its_new_key() -> None:
    records = [event("u", {"id": 1}, {"id": 2, "text": "b"}), event("d", {"id": 3}, None)]
    read = read_events(records, TWEET, by_key=True)
    assert plain(entries(TWEET, read.images, by_key=True)) == [
        ("delete", [(1,)]), ("insert", [(2, "b")]), ("delete", [(3,)]),
    ]  # fmt: skip


def test_debezium_stops_at_a_truncation() -> None:
    with pytest.raises(DiffError, match="t was truncated at its source"):
        read_events([event("t", None, None)], TWEET, by_key=True)


def test_only_keeps_pairs_whole() -> None:
    found = read_source(arrived([(PRE, 1, "a"), (POST, 1, "b")]), Source("t", "csv"), TWEET)
    half = found.only(np.array([False, True]))
    assert plain(entries(TWEET, half.images, by_key=False)) == [("insert", [(1, "b")])]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (Source("t", "parquet"), {"_lane", "_a", "_b", "_n", "_op", "_bad", "_raw"}),
        (Source("t", "parquet", operation="op"), {"_lane", "_a", "_b"}),
        (Source("t", "csv"), {"_lane", "_a"}),
        (Source("t", "redis"), set()),
    ],
)
def test_columns_that_say_nothing_are_not_carried(source: Source, expected: set[str]) -> None:
    assert silent(source) == expected
    assert all(nothing(name, 2).type == META[name] for name in expected)


def test_a_parquet_row_that_is_null_where_it_must_not_be_is_told_by_the_driver() -> None:
    table = Table("t", TWEET.schema.set(0, pa.field("id", pa.int64(), nullable=False)), ())
    rows = arrived([(INSERT, 1, "a"), (INSERT, 2, "b")])
    rows = rows.set_column(rows.schema.get_field_index("id"), "id", pa.array([None, 2]))
    found = read_source(rows, Source("t", "parquet"), table)
    assert [dead[1:] for dead in found.dead] == [
        ('column "id" is NOT NULL, found NULL', "f at 0-0-0", '{"text":"a"}')
    ]
    assert found.images.rows.to_pylist() == [{"id": 2, "text": "b"}]
