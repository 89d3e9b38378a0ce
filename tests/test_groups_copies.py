"""Copies of views that group in databases: i-diffs find the row of each group, NULL or not."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pytest

import joingraph as jg
from joingraph.view_diffs.idiffs import IDiffs
from tests.bags import bag
from tests.test_pipeline_merging import DOUBLES, MEASURED, SEEN, as_spark, measured, rows_of

VIEWS = (
    f"SELECT at, name, COUNT(*) AS n, MAX(x) AS most {SEEN} GROUP BY at, name",
    f"SELECT at, SUM(n) AS n {SEEN} GROUP BY at HAVING COUNT(*) > 1",
    f"SELECT DISTINCT at, name {SEEN}",
    f"SELECT MAX(x) AS most, SUM(n) AS n {SEEN} GROUP BY at, name",
    f"SELECT COUNT(*) AS n, MAX(x) AS most {SEEN}",
)
TYPES = {"at": "DOUBLE", "name": "VARCHAR", "n": "BIGINT", "most": "DOUBLE"}
Apply = Callable[[Any, IDiffs], object]


def applied(connection: Any, idiffs: IDiffs) -> None:
    jg.apply_idiffs(connection, idiffs, "copy")


def executed(connection: Any, idiffs: IDiffs) -> None:
    """Execute the statements for PostgreSQL; DuckDB reads the same but for a row's name."""
    for sql, parameters in idiffs.sql("copy"):
        for row in parameters:
            connection.execute(sql.replace("ctid", "rowid"), row)


@pytest.mark.parametrize("sql", VIEWS)
@pytest.mark.parametrize(
    ("library", "apply", "doubles"),
    [
        (duckdb, applied, DOUBLES),
        (duckdb, executed, DOUBLES),
        (sqlite3, applied, DOUBLES[:-1]),
    ],
)
def test_a_copy_of_groups_in_a_database_is_the_view(
    library: Any, apply: Apply, doubles: Sequence[float | None], sql: str
) -> None:
    view, rng = jg.View(sql, MEASURED), random.Random(7)
    graph, rows = jg.JoinGraph(view, engine="reference"), {"place": list[Any](), "seen": []}
    connection = library.connect(":memory:")
    columns = ", ".join(f'"{name}" {TYPES[name]}' for name in view.schema.names)
    connection.execute(f"CREATE TABLE copy ({columns})")
    for row in graph.to_arrow().to_pylist():
        marks = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO copy VALUES ({marks})", list(row.values()))
    for _ in range(60):
        apply(connection, graph.apply(measured(rng, rows, doubles)).idiffs())
        found = connection.execute("SELECT * FROM copy").fetchall()
        assert bag(tuple(map(as_spark, row)) for row in found) == bag(rows_of(graph))
    connection.close()


def test_only_keys_with_a_null_are_compared_as_nulls_are() -> None:
    graph = jg.JoinGraph(jg.View("SELECT DISTINCT name, id FROM place", MEASURED))
    graph.load({"place": [(1, None, "a"), (2, None, None)]})
    whole, null = graph.delete("place", [(1, None, "a"), (2, None, None)]).idiffs().sql("copy")
    assert whole == ('DELETE FROM "copy" WHERE "name" = $1 AND "id" = $2', [("a", 1)])
    same = "IS NOT DISTINCT FROM"
    assert null == (
        f'DELETE FROM "copy" WHERE "name" {same} $1 AND "id" {same} $2', [(None, 2)],
    )  # fmt: skip


def test_a_key_that_sqlite_cannot_hold_is_refused() -> None:
    graph = jg.JoinGraph(jg.View("SELECT DISTINCT at FROM place", MEASURED))
    idiffs = graph.insert("place", [(1, float("nan"), "a")]).idiffs()
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE copy (at DOUBLE)")
    with pytest.raises(jg.DiffError, match=r'a NaN in "at".*SQLite keeps NaN as NULL'):
        jg.apply_idiffs(connection, idiffs, "copy")
    connection.close()
