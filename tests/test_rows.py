"""Rows as callers hand them become Arrow tables of exactly the declared types, or DiffError."""

from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.common.errors import DiffError
from joingraph.sql.ddl.tables import declare
from joingraph.tables.rows_in import to_table
from tests import ENGINES

UTC = dt.UTC
TWEET = declare("tweet", "CREATE TABLE tweet (tweetId BIGINT NOT NULL, text STRING)")
TYPES = {
    "i": pa.int32(),
    "u": pa.uint8(),
    "f": pa.float32(),
    "d": pa.float64(),
    "m": pa.decimal128(10, 2),
    "s": pa.string(),
    "y": pa.binary(),
    "b": pa.bool_(),
    "day": pa.date32(),
    "at": pa.timestamp("us"),
    "zoned": pa.timestamp("us", "UTC"),
}


class Frame:
    """What frames of other libraries are to Arrow: something that can stream."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Stream the frame's columns."""
        return self.table.__arrow_c_stream__(requested_schema)


def read(rows: object) -> list[tuple[object, ...]]:
    """Read rows of `tweet` and give them back as tuples."""
    return [tuple(row.values()) for row in to_table(rows, TWEET, "insert into tweet").to_pylist()]


def refusal(rows: object) -> str:
    """Give what is said of rows of `tweet` that are not taken."""
    with pytest.raises(DiffError) as caught:
        to_table(rows, TWEET, "insert into tweet")
    return str(caught.value)


def one(name: str, value: object) -> object:
    """Read one value of a column of `TYPES`, behind a NULL, and give it back."""
    table = declare("t", pa.schema([(name, TYPES[name])]))
    return to_table([(None,), (value,)], table, "insert into t").column(0)[1].as_py()


def cast(name: str, column: pa.Array) -> list[object]:
    """Read an Arrow column as a column of `TYPES` and give its values back."""
    table = declare("t", pa.schema([(name, TYPES[name])]))
    read = to_table(pa.table({name: column}), table, "insert into t")
    assert read.schema == table.schema
    values: list[object] = read.column(0).to_pylist()
    return values


def test_tuples_lists_and_dicts_are_rows() -> None:
    expected = [(7, "x"), (8, None)]
    assert read([(7, "x"), [8, None]]) == expected
    assert read([{"text": "x", "tweetId": 7}, {"TWEETID": 8, "Text": None}]) == expected
    assert read(iter(expected)) == expected
    assert read([]) == []


class Tweet(NamedTuple):
    """A row with names, as other libraries give them."""

    id: int
    text: str


def test_one_bare_tuple_or_dict_is_one_row() -> None:
    assert read((7, "x")) == read(Tweet(7, "x")) == read({"text": "x", "TWEETID": 7}) == [(7, "x")]
    assert read((7, None)) == [(7, None)]
    assert read(((7, "x"), [8, "y"])) == [(7, "x"), (8, "y")]
    assert read(({"tweetId": 7, "text": "x"},)) == [(7, "x")]
    assert read(()) == []
    assert refusal({"tweetId": 1}) == (
        "insert into tweet, row 0: column \"text\" is missing; found ['tweetId']"
    )
    assert refusal((1,)) == (
        "insert into tweet, row 0: tweet has 2 columns (tweetId, text), found 1 values"
    )
    assert refusal((1, (2, "x"))) == (
        "insert into tweet: a tuple is one row of values, or rows; this one holds both:"
        " (1, (2, 'x')); put rows into a list"
    )


def test_a_bare_tuple_is_one_row_of_a_table_of_one_column_too() -> None:
    table = declare("t", pa.schema([("s", pa.string())]))
    for rows in (("x",), {"s": "x"}, (("x",),), [("x",)]):
        assert to_table(rows, table, "insert into t").to_pylist() == [{"s": "x"}]
    with pytest.raises(DiffError) as caught:
        to_table(("x", "y"), table, "insert into t")
    assert str(caught.value) == (
        "insert into t: a bare tuple is one row, and t has 1 column (s), found ('x', 'y');"
        " several rows are a list of tuples: [(value,), ...]"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_one_row_is_taken_wherever_rows_are(engine: str) -> None:
    table = "CREATE TABLE t (id BIGINT PRIMARY KEY, s STRING)"
    graph = jg.JoinGraph(jg.View("SELECT id, s FROM t", {"t": table}), None, engine=engine)
    graph.load({"t": (1, "a")})
    assert graph.insert("t", {"s": "b", "id": 2}).rows() == [("insert", (2, "b"), 1)]
    graph.update("t", (1, "a"), (1, "c"))
    assert graph.fanout([("delete", "t", (1, "c"))]) == (1, True)
    assert graph.what_if([("delete", "t", {"id": 2, "s": "b"})]).rows()[0][1] == (2, "b")
    assert [block.num_rows for block in graph.stream([("insert", "t", (3, "d"))])] == [1]
    graph.apply([("update", "t", {"id": 3, "s": "d"}, (3, "e"))])
    assert graph.delete("t", (2, "b")).rows() == [("delete", (2, "b"), 1)]
    assert graph.to_arrow().to_pylist() == [{"id": 1, "s": "c"}, {"id": 3, "s": "e"}]


@pytest.mark.parametrize("engine", ENGINES)
def test_one_bare_dict_may_be_a_key_alone(engine: str) -> None:
    view = jg.View("SELECT s FROM t", {"t": "CREATE TABLE t (id BIGINT PRIMARY KEY, s STRING)"})
    graph = jg.JoinGraph(view, None, engine=engine, key_index=["t"])
    graph.insert("t", (1, "a"))
    assert graph.delete("t", {"ID": 1}).rows() == [("delete", ("a",), 1)]


def test_arrow_columns_are_found_by_name_in_any_order() -> None:
    table = pa.table(
        {"TEXT": pa.array(["x"], pa.large_string()), "tweetId": pa.array([7], pa.int32())}
    )
    assert read(table) == [(7, "x")]
    assert read(table.to_batches()[0]) == [(7, "x")]
    assert read(table.to_reader()) == [(7, "x")]
    assert read(Frame(table)) == [(7, "x")]


def test_a_table_that_fits_is_not_copied() -> None:
    table = pa.table({"tweetId": [1, 2], "text": ["x", "y"]})
    assert to_table(table, TWEET, "load") is table


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("i", 3, 3),
        ("i", np.int64(3), 3),
        ("u", 255, 255),
        ("f", 0.1, float(np.float32(0.1))),
        ("f", float("inf"), float("inf")),
        ("d", 2**60, float(2**60)),
        ("d", np.float32(0.5), 0.5),
        ("m", Decimal("1.2000"), Decimal("1.20")),
        ("m", 5, Decimal("5.00")),
        ("s", "", ""),
        ("y", b"\xff", b"\xff"),
        ("b", np.bool_(True), True),
        ("day", dt.date(2020, 1, 1), dt.date(2020, 1, 1)),
        ("at", dt.datetime(2020, 1, 1, 0, 0, 0, 7), dt.datetime(2020, 1, 1, 0, 0, 0, 7)),
        (
            "zoned",
            dt.datetime(2020, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))),
            dt.datetime(2020, 1, 1, tzinfo=UTC),
        ),
    ],
)
def test_a_value_of_the_declared_type_is_kept(name: str, value: object, kept: object) -> None:
    assert one(name, value) == kept


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("i", True),
        ("i", 1.0),
        ("i", "1"),
        ("i", Decimal(1)),
        ("i", np.float64(1)),
        ("i", np.datetime64(1, "ns")),
        ("i", 2**31),
        ("u", -1),
        ("f", 1e300),
        ("f", 2**24 + 1),
        ("d", 2**53 + 1),
        ("d", 10**400),
        ("d", Decimal(1)),
        ("d", False),
        ("m", 1.5),
        ("m", Decimal("1.234")),
        ("m", Decimal("NaN")),
        ("m", 10**8),
        ("s", b"x"),
        ("s", 3),
        ("s", "\ud800"),
        ("y", "x"),
        ("b", 1),
        ("day", dt.datetime(2020, 1, 1)),
        ("day", "2020-01-01"),
        ("at", dt.date(2020, 1, 1)),
        ("at", dt.datetime(2020, 1, 1, tzinfo=UTC)),
        ("zoned", dt.datetime(2020, 1, 1)),
        ("i", [1]),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_row(name: str, value: object) -> None:
    with pytest.raises(DiffError, match=f'insert into t, row 1: column "{name}" is .*, found '):
        one(name, value)


def test_a_float_may_be_nan() -> None:
    assert repr(one("d", float("nan"))) == "nan"
    assert repr(cast("f", pa.array([float("nan")]))) == "[nan]"


@pytest.mark.parametrize(
    ("name", "column", "kept"),
    [
        ("i", pa.array([1, None], pa.int64()), [1, None]),
        ("i", pa.array([None, None]), [None, None]),
        ("s", pa.array(["x", None]).dictionary_encode(), ["x", None]),
        ("s", pa.array(["x"], pa.string_view()), ["x"]),
        ("y", pa.array([b"xy"], pa.binary(2)), [b"xy"]),
        ("d", pa.array([0.1], pa.float32()), [float(np.float32(0.1))]),
        ("d", pa.array([3], pa.int64()), [3.0]),
        ("f", pa.array([0.5, None]), [0.5, None]),
        ("m", pa.array([5], pa.int64()), [Decimal("5.00")]),
        ("m", pa.array([Decimal("1.500")]), [Decimal("1.50")]),
        ("day", pa.array([86_400_000], pa.date64()), [dt.date(1970, 1, 2)]),
        ("at", pa.array([1_000], pa.timestamp("ns")), [dt.datetime(1970, 1, 1, 0, 0, 0, 1)]),
        (
            "zoned",
            pa.array([1], pa.timestamp("s", "Asia/Tokyo")),
            [dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)],
        ),
    ],
)
def test_an_arrow_column_is_cast_where_nothing_is_lost(
    name: str, column: pa.Array, kept: list[object]
) -> None:
    assert cast(name, column) == kept


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("i", pa.array([1, 2**31], pa.int64())),
        ("u", pa.array([0, -1])),
        ("d", pa.array([0, 2**53 + 1])),
        ("f", pa.array([0.5, 0.1])),
        ("m", pa.array([1, 10**8])),
        ("m", pa.array([Decimal("1.000"), Decimal("1.001")])),
        ("at", pa.array([1_000, 1_001], pa.timestamp("ns"))),
        ("day", pa.array([0, 1], pa.date64())),
    ],
)
def test_an_arrow_value_that_would_change_is_refused_with_its_row(
    name: str, column: pa.Array
) -> None:
    with pytest.raises(DiffError, match=f'insert into t, row 1: column "{name}" is .*, found '):
        cast(name, column)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("i", pa.array([1.0])),
        ("i", pa.array([True])),
        ("i", pa.array(["1"])),
        ("b", pa.array([1])),
        ("s", pa.array([b"x"])),
        ("y", pa.array(["x"])),
        ("at", pa.array([1], pa.timestamp("us", "UTC"))),
        ("zoned", pa.array([1], pa.timestamp("us"))),
        ("at", pa.array([1], pa.date32())),
        ("s", pa.array([["x"]])),
    ],
)
def test_an_arrow_column_of_another_type_is_refused(name: str, column: pa.Array) -> None:
    with pytest.raises(DiffError, match=f'insert into t: column "{name}" is .*, found a column of'):
        cast(name, column)


def test_a_value_beyond_a_float_is_found_beside_an_infinite_one() -> None:
    table = declare("t", pa.schema([("f", pa.float32())]))
    with pytest.raises(DiffError, match=r"row 2: column .f. is FLOAT, found 1e\+300 \(float\)"):
        to_table([(float("inf"),), (None,), (1e300,)], table, "insert into t")


def test_a_null_where_none_may_be_is_refused_with_its_row() -> None:
    said = 'insert into tweet, row 1: column "tweetId" is NOT NULL, found NULL'
    assert refusal([(1, "x"), (None, "x")]) == said
    assert refusal(pa.table({"tweetId": [1, None], "text": ["x", "y"]})) == said


def test_columns_that_do_not_fit_are_named() -> None:
    known = 'tweet has no column "tweet_id"; did you mean "tweetId"?'
    assert known in refusal([{"tweet_id": 1, "text": "x"}])
    assert known in refusal(pa.table({"tweet_id": [1], "text": ["x"]}))
    assert refusal([(1, "x"), (1,)]) == (
        "insert into tweet, row 1: tweet has 2 columns (tweetId, text), found 1 values"
    )
    missing = "column \"text\" is missing; found ['tweetId']"
    assert refusal([{"tweetId": 1}]) == f"insert into tweet, row 0: {missing}"
    assert refusal(pa.table({"tweetId": [1]})) == f"insert into tweet: {missing}"
    assert "two columns" in refusal([{"tweetId": 1, "TWEETID": 1, "text": "x"}])
    assert "two columns" in refusal(
        pa.table([[1], [1], ["x"]], names=["tweetId", "tweetId", "text"])
    )


def test_what_is_no_list_of_rows_is_refused() -> None:
    assert refusal("text").endswith("a list of tuples or dicts, found str")
    assert refusal(3).endswith("found int")
    assert refusal([1]) == "insert into tweet, row 0: a row is a tuple of 2 values, found 1 (int)"
    assert "row 1: a row is a tuple of 2 values" in refusal([(1, "x"), "xy"])
    assert "row 1: the rows before are dicts" in refusal([{"tweetId": 1, "text": "x"}, (1, "x")])
    assert "columns are named by strings" in refusal([{1: 1, "text": "x"}])


def test_the_row_is_found_also_at_the_end_of_many() -> None:
    rows: list[tuple[object, ...]] = [(number, "x") for number in range(100_000)]
    start = time.process_time()
    assert len(read(rows)) == 100_000
    rows.append(("x", "x"))
    assert refusal(rows).startswith('insert into tweet, row 100000: column "tweetId" is BIGINT')
    assert time.process_time() - start < 5


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([b"ok", b"\xff"]).view(pa.string()), "STRING"),
        (pa.array([b"ok", b"\xed\xa0\x80"]).view(pa.string()).cast(pa.large_string()), "STRING"),
        (pa.array([b"\1" * 16] * 2, pa.binary(16)).view(pa.decimal128(10, 2)), "DECIMAL(10, 2)"),
    ],
)
def test_bytes_that_are_no_value_of_their_type_are_refused(
    engine: str, column: pa.Array, kind: str, tmp_path: Path
) -> None:
    view = jg.View("SELECT s FROM t", {"t": f"CREATE TABLE t (s {kind})"})
    rows = pa.table({"s": column})
    with jg.JoinGraph(view, tmp_path / "g", engine=engine) as graph:
        for refused in (
            lambda: graph.insert("t", rows),
            lambda: graph.load({"t": rows}),
            lambda: graph.insert("t", rows.to_batches()[0]),
        ):
            with pytest.raises(DiffError, match=r'row [01]: column "s" holds what is no value'):
                refused()
        assert (graph.seq, graph.count()) == (0, 0)
    jg.open(tmp_path / "g").close()
