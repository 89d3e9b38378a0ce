"""Flattened views against DuckDB and SQLite: the same text gives the same columns and rows.

The definition is computed in the plainest way: all choices of rows, one for each alias, that meet
all conditions.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from itertools import product

import duckdb
import pyarrow as pa
import pytest

from joingraph.expressions.evaluate import evaluate, holds
from joingraph.expressions.tree import Column, Expression, columns_of
from joingraph.sql import define
from joingraph.sql.ddl.tables import declare_all
from joingraph.sql.definition import Definition

CREATE = {
    "a": "CREATE TABLE a (y INTEGER, x INTEGER)",
    "b": "CREATE TABLE b (z INTEGER, x INTEGER)",
    "c": "CREATE TABLE c (x INTEGER, z INTEGER, w INTEGER)",
}
VIEWS = [
    "SELECT * FROM a",
    "SELECT a.* FROM a, b WHERE a.x = b.x",
    "SELECT * FROM a JOIN b USING (x)",
    "SELECT * FROM a JOIN b USING (x) JOIN c USING (z, x)",
    "SELECT * FROM a NATURAL JOIN b NATURAL JOIN c",
    "SELECT x, y FROM a NATURAL JOIN b",
    "SELECT b.*, a.y FROM a JOIN b USING (x)",
    "SELECT l.x, r.y FROM a l JOIN a r ON l.x = r.y",
    "SELECT a.y FROM a CROSS JOIN b JOIN c ON c.x = a.x AND c.z < b.z",
    "SELECT w FROM a JOIN (b JOIN c USING (x)) USING (x)",
    "SELECT s.k, b.z FROM (SELECT x + 1 AS k FROM a WHERE y > 1) s JOIN b ON b.x = s.k",
    "SELECT s.k FROM (SELECT x + z AS k FROM a JOIN b USING (x)) s WHERE s.k > 2",
    "WITH r AS (SELECT x, y FROM a WHERE x > 0) SELECT p.y, q.y AS v FROM r p JOIN r q USING (x)",
    "WITH r(k) AS (SELECT x FROM a), s AS (SELECT k FROM r WHERE k < 3) SELECT k, w FROM s, c",
    "SELECT * FROM (SELECT x AS p FROM a) s, (SELECT x AS q FROM a) t WHERE p <= q",
    "SELECT y FROM a WHERE x = 1 OR y = 2 AND x = 0",
    "SELECT y FROM a WHERE NOT (x = 1 OR y = 2)",
    "SELECT y FROM a WHERE x IS NULL",
    "SELECT a.y FROM a JOIN b ON a.x = b.x AND (a.y = 1 OR b.z IN (1, 2))",
    "SELECT y, z FROM a, b WHERE a.x = b.x AND a.y BETWEEN b.z AND 3",
    "SELECT s.x FROM (SELECT * FROM (SELECT * FROM a WHERE x > 0) r WHERE y > 0) s",
    'SELECT Y AS "Y y", x + y AS t FROM A WHERE X = Y',
]
# What SQLite does not write in this way.
DUCKDB_VIEWS = [
    "SELECT j.* FROM (a JOIN b USING (x)) j",
    "SELECT s.* FROM (SELECT x, y FROM a) AS s(p, q)",
    "SELECT * FROM a AS s(p, q), b WHERE s.p = b.x",
    "SELECT a.y, z FROM a, b NATURAL JOIN c",
    "FROM a SELECT y",
]
Row = tuple[object, ...]


def rows_of(seed: int) -> dict[str, list[Row]]:
    """Make a few rows for every table: duplicates and NULLs among them."""
    pick = random.Random(seed)
    width = {"a": 2, "b": 2, "c": 3}
    return {
        name: [tuple(pick.choice((None, 0, 1, 1, 2, 3)) for _ in range(n)) for _ in range(6)]
        for name, n in width.items()
    }


def compute(view: Definition, rows: dict[str, list[Row]]) -> Counter[Row]:
    """Compute a view from its definition, by trying all choices of rows."""
    chosen = list(product(*(rows[alias.table] for alias in view.aliases)))
    known: dict[Expression, pa.Array] = {}
    expressions = [*view.conditions, *(each.value for each in view.output)]
    for column in {column for each in expressions for column in columns_of(each)}:
        known[column] = pa.array(
            [choice[place(view, column)[0]][place(view, column)[1]] for choice in chosen],
            column.type,
        )
    kept = [True] * len(chosen)
    for condition in view.conditions:
        met = holds(condition, known, len(chosen)).to_pylist()
        kept = [one and two for one, two in zip(kept, met, strict=True)]
    columns = [evaluate(each.value, known, len(chosen)).to_pylist() for each in view.output]
    return Counter(row for row, keep in zip(zip(*columns, strict=True), kept, strict=True) if keep)


def place(view: Definition, column: Column) -> tuple[int, int]:
    """Find which table of a choice, and which of its columns, a column is."""
    names = [alias.name for alias in view.aliases]
    alias = names.index(column.alias)
    table = view.tables[view.aliases[alias].table]
    return alias, table.schema.get_field_index(column.name)


def compare(sql: str, dialect: str, seed: int) -> None:
    """Compute a view in two ways and compare columns and rows."""
    rows = rows_of(seed)
    engine = duckdb.connect() if dialect == "duckdb" else sqlite3.connect(":memory:")
    for name, text in CREATE.items():
        engine.execute(text)
        marks = ", ".join("?" for _ in rows[name][0])
        engine.executemany(f"INSERT INTO {name} VALUES ({marks})", rows[name])
    result = engine.execute(sql)
    names = [each[0] for each in result.description]
    expected = Counter(result.fetchall())
    engine.close()
    view = define(sql, declare_all(CREATE, dialect), dialect)
    assert [each.name.lower() for each in view.output] == [name.lower() for name in names]
    assert compute(view, rows) == expected


@pytest.mark.parametrize("sql", VIEWS + DUCKDB_VIEWS)
def test_a_flattened_view_has_the_rows_of_duckdb(sql: str) -> None:
    for seed in range(3):
        compare(sql, "duckdb", seed)


@pytest.mark.parametrize("sql", VIEWS)
def test_a_flattened_view_has_the_rows_of_sqlite(sql: str) -> None:
    for seed in range(3):
        compare(sql, "sqlite", seed)
