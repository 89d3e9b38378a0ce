"""Column types: what is taken, and what two types share."""

from __future__ import annotations

import pyarrow as pa
import pytest

from joingraph.expressions.types import INTEGERS, canonical, common, join_type, sql_name


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.dictionary(pa.int32(), pa.large_string()), pa.string()),
        (pa.large_binary(), pa.binary()),
        (pa.binary(16), pa.binary()),
        (pa.date64(), pa.date32()),
        (pa.float16(), pa.float32()),
        (pa.timestamp("ns"), pa.timestamp("us")),
        (pa.timestamp("s", "Europe/Berlin"), pa.timestamp("us", "Europe/Berlin")),
        (pa.decimal128(38, 10), pa.decimal128(38, 10)),
    ],
)
def test_a_type_is_kept_in_its_canonical_form(given: pa.DataType, kept: pa.DataType) -> None:
    assert canonical(given) == kept


@pytest.mark.parametrize(
    "given",
    [
        pa.null(),
        pa.decimal256(40, 2),
        pa.decimal128(5, -2),
        pa.list_(pa.int32()),
        pa.struct([("a", pa.int32())]),
        pa.time64("us"),
        pa.duration("us"),
    ],
)
def test_other_types_are_refused_with_their_name(given: pa.DataType) -> None:
    with pytest.raises(TypeError, match="not taken"):
        canonical(given)


def test_a_join_type_holds_every_value_of_both() -> None:
    for a in INTEGERS:
        for b in INTEGERS:
            shared = join_type(a, b)
            assert shared == join_type(b, a)
            if shared is None:
                assert pa.uint64() in (a, b) and a != b
                continue
            for side in (a, b):
                signed = pa.types.is_signed_integer(side)
                bits = side.bit_width - signed
                low, high = (-(2**bits) if signed else 0), 2**bits - 1
                assert pa.array([low, high], side).cast(shared).to_pylist() == [low, high]


@pytest.mark.parametrize(
    ("a", "b", "shared"),
    [
        (pa.int32(), pa.float64(), None),
        (pa.int32(), pa.decimal128(10, 0), None),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.decimal128(10, 2), pa.decimal128(5, 4), pa.decimal128(12, 4)),
        (pa.decimal128(38, 2), pa.decimal128(5, 4), None),
        (pa.date32(), pa.timestamp("us"), pa.timestamp("us")),
        (pa.date32(), pa.timestamp("us", "UTC"), None),
        (pa.string(), pa.binary(), None),
        (pa.string(), pa.string(), pa.string()),
    ],
)
def test_columns_join_without_loss_or_not_at_all(
    a: pa.DataType, b: pa.DataType, shared: pa.DataType | None
) -> None:
    assert join_type(a, b) == shared
    assert join_type(b, a) == shared


@pytest.mark.parametrize(
    ("a", "b", "dialect", "shared"),
    [
        (pa.int32(), pa.float32(), "spark", pa.float64()),
        (pa.int32(), pa.float32(), "duckdb", pa.float32()),
        (pa.int64(), pa.decimal128(4, 2), "spark", pa.decimal128(22, 2)),
        (pa.int64(), pa.decimal128(4, 2), "duckdb", pa.decimal128(21, 2)),
        (pa.uint64(), pa.int64(), "duckdb", pa.decimal128(20, 0)),
        (pa.uint64(), pa.int64(), "spark", pa.decimal128(20, 0)),
        (pa.decimal128(38, 0), pa.decimal128(38, 2), "spark", None),
        (pa.string(), pa.int32(), "spark", None),
        (pa.null(), pa.date32(), "spark", pa.date32()),
        (pa.int8(), pa.int16(), "sqlite", pa.int64()),
    ],
)
def test_each_dialect_compares_in_its_common_type(
    a: pa.DataType, b: pa.DataType, dialect: str, shared: pa.DataType | None
) -> None:
    assert common(a, b, dialect) == shared
    assert common(b, a, dialect) == shared


def test_types_are_named_as_in_sql() -> None:
    given = [pa.int64(), pa.decimal128(10, 2), pa.timestamp("us"), pa.timestamp("us", "UTC")]
    assert [sql_name(each) for each in given] == [
        "BIGINT",
        "DECIMAL(10,2)",
        "TIMESTAMP",
        "TIMESTAMP WITH TIME ZONE",
    ]
