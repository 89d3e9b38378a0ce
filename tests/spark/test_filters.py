"""The filter in Spark lets through what the filter in Python does, where it takes a view's part."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.filters.images import images
from joingraph.spark.filters import pruned, wanted
from joingraph.spark.types import spark_schema

pytestmark = pytest.mark.spark

DECLARED = (
    "CREATE TABLE t (id BIGINT, k INT, x BIGINT, s STRING, f DOUBLE, g FLOAT, m DECIMAL(10, 2), "
    "d DATE, b BOOLEAN, `odd ``name` BIGINT, y TINYINT)"
)
NAN, INF = float("nan"), float("inf")
VALUES: dict[str, list[Any]] = {
    "k": [1, None, -(2**31), 2**31 - 1],
    "x": [5, 6, None, -(2**63), 2**63 - 1, 0],
    "s": ["", "a", "A", "it's", "é", "\u0000", "a\nb", None, "\U0001f600"],
    "f": [0.0, -0.0, NAN, INF, -INF, 1.5, None],
    "g": [0.5, NAN, None, -0.0, INF],
    "m": [Decimal("1.50"), Decimal("-0.01"), None, Decimal("99999999.99")],
    "d": [dt.date(2020, 1, 1), dt.date(1, 1, 1), None, dt.date(9999, 12, 31)],
    "b": [True, False, None],
    "odd `name": [7, None],
    "y": [-128, 127, 0, None],
}
CONDITIONS = [
    "x > 5", "x <= 5 OR x IS NULL", "NOT (x = 5)", "x <> 5 AND s <> 'a'", "x BETWEEN 0 AND 6",
    "x IN (5, 6)", "x NOT IN (5, 6)", "x <=> 5", "NOT (x <=> NULL)", 's = "it\'s"', "s < 'a'",
    "s >= 'é'", "s IN ('A', '')", "s IS NOT NULL AND s > 'A'", "f > 1", "f = 0", "f <> f", "f >= f",
    "f < 1.5 OR b", "g = f", "g < 1", "m > 1.5", "m <= -0.01", "m = 1.50", "d > DATE '2020-01-01'",
    "d <= DATE '2020-01-01'", "b", "NOT b", "b IS TRUE", "b IS NOT FALSE", "b = (x > 5)",
    "`odd ``name` = 7", "k = x", "k < x OR b", "y = 127", "y > k", "s LIKE 'a%' AND x > 5",
    "x > 5 AND s LIKE 'a%'", "length(s) = 1 AND x > 5", "x / 2 > 1", "y + 1 > 6 AND k = 1",
    "CASE WHEN b THEN x ELSE 0 END > 5", "(x > 5) IS NULL", "s = s", "x = 5 AND s = 'a' OR b",
]  # fmt: skip


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Make rows in which every value meets values of every other column."""
    length = 360
    columns: dict[str, Any] = {"id": list(range(length))}
    for step, (name, values) in enumerate(VALUES.items(), 1):
        columns[name] = [values[(row // step + row) % len(values)] for row in range(length)]
    schema = jg.View("SELECT id FROM t", tables={"t": DECLARED}).tables["t"].schema
    return pa.table({name: pa.array(columns[name], schema.field(name).type)
                     for name in schema.names})  # fmt: skip


@pytest.fixture(scope="module")
def frame(spark: Any, table: pa.Table) -> Any:
    return spark.createDataFrame(table, spark_schema(table.schema)).cache()


@pytest.mark.parametrize("condition", CONDITIONS)
def test_spark_keeps_what_python_keeps(frame: Any, table: pa.Table, condition: str) -> None:
    sql = f"SELECT A.id, B.x FROM t A JOIN t B ON A.k = B.x WHERE {on('A', condition)}"
    view = jg.View(sql, tables={"t": DECLARED})
    alias = view.plan.aliases[0]
    kept = {at for at, image in enumerate(images(alias, table)) if image is not None}
    single = jg.View(f"SELECT id FROM t WHERE {condition}", tables={"t": DECLARED})
    alone = {at for at, image in enumerate(images(single.plan.aliases[0], table)) if image}
    matters = wanted([single], single.tables["t"])
    in_spark = set(range(len(table))) if matters is None else ids(frame.filter(matters))
    assert alone <= in_spark
    if exactly(condition):
        assert in_spark == alone
    both = wanted([view], view.tables["t"])
    assert both is None or kept <= ids(frame.filter(both))


def exactly(condition: str) -> bool:
    """Hold if the whole condition is one that Spark takes."""
    return not any(word in condition for word in ("LIKE", "length", "/", "+", "CASE"))


def on(alias: str, condition: str) -> str:
    """Say a condition of one alias."""
    parts = []
    for word in condition.replace("(", "( ").replace(")", " )").replace(",", " ,").split(" "):
        parts.append(f"{alias}.{word}" if word in VALUES or word.startswith("`odd") else word)
    return " ".join(parts)


def ids(frame: Any) -> set[int]:
    return set(frame.select("id").toArrow()["id"].to_pylist())


def test_only_what_a_view_reads_is_read() -> None:
    view = jg.View("SELECT A.id FROM t A JOIN t B ON A.k = B.x WHERE B.s = 'a'", tables={
        "t": DECLARED})  # fmt: skip
    assert pruned(view).tables["t"].schema.names == ["id", "k", "x", "s"]
    everything = jg.View("SELECT * FROM t", tables={"t": DECLARED})
    assert pruned(everything).tables["t"].schema == everything.tables["t"].schema


def test_only_what_an_outer_join_or_exists_reads_is_read() -> None:
    sql = (
        "SELECT A.id FROM t A LEFT JOIN t B ON A.k = B.x AND B.s = 'a'"
        " WHERE NOT EXISTS (SELECT 1 FROM t C WHERE C.y = A.k)"
    )
    view = pruned(jg.View(sql, tables={"t": DECLARED}))
    assert view.tables["t"].schema.names == ["id", "k", "x", "s", "y"]


def test_rows_that_need_no_partner_are_kept_though_their_key_is_null(
    frame: Any, table: pa.Table
) -> None:
    declared = {"t": DECLARED, "u": DECLARED.replace("TABLE t", "TABLE u")}
    sql = "SELECT t.id, u.id AS uid FROM t {} JOIN u ON t.y = u.y"
    known = 360 - table["y"].null_count
    assert known < 360
    cases = (("LEFT", 360, known), ("FULL", 360, 360), ("INNER", known, known))
    for join, t_kept, u_kept in cases:
        view = jg.View(sql.format(join), tables=declared)
        found = [wanted([view], view.tables[name]) for name in "tu"]
        counts = [360 if each is None else frame.filter(each).count() for each in found]
        assert counts == [t_kept, u_kept]


def test_a_name_or_constant_is_never_code(spark: Any) -> None:
    name = "x` OR 1=1 --'\""
    declared = pa.schema([(name, pa.string())])
    written = "`" + name.replace("`", "``") + "`"
    view = jg.View(f"SELECT 1 AS one FROM t WHERE {written} = '; DROP TABLE t --'", tables={
        "t": declared})  # fmt: skip
    matters = wanted([view], view.tables["t"])
    assert matters is not None
    rows = pa.table({name: ["; DROP TABLE t --", "a", None]})
    assert spark.createDataFrame(rows).filter(matters).count() == 1
