"""Views of outer joins, EXISTS and IN, random feeds for them, and DuckDB as their judge."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import duckdb
import pyarrow as pa

import joingraph as jg

TABLES = {
    "a": "CREATE TABLE a (i INT NOT NULL PRIMARY KEY, k INT, x INT)",
    "b": "CREATE TABLE b (i INT NOT NULL PRIMARY KEY, k INT, x INT)",
    "c": "CREATE TABLE c (i INT NOT NULL PRIMARY KEY, k INT, x INT)",
    "d": "CREATE TABLE d (i INT NOT NULL PRIMARY KEY, k INT, x INT)",
}
READ = r"(FROM|JOIN) \(?%s\b"  # by a view
ALL_SHOWN = "a.i AS ai, a.k AS ak, a.x AS ax, b.i AS bi, b.k AS bk, b.x AS bx"
VIEWS = {
    "left": f"SELECT {ALL_SHOWN} FROM a LEFT JOIN b ON a.k = b.k",
    "left, few columns": "SELECT a.x, b.x AS y FROM a LEFT JOIN b ON a.k = b.k",
    "left by two columns": f"SELECT {ALL_SHOWN} FROM a LEFT JOIN b ON a.k = b.k AND a.k = b.x",
    "left, gated": f"SELECT {ALL_SHOWN} FROM a LEFT JOIN b ON a.k = b.k AND a.x > 0 AND b.x < 2",
    "left, null safe": f"SELECT {ALL_SHOWN} FROM a LEFT JOIN b ON a.k <=> b.k",
    "left, then asked": "SELECT a.i, b.k FROM a LEFT JOIN b ON a.k = b.k"
    " WHERE COALESCE(b.x, 0) > 0 OR a.x = 2",
    "left, asked and not shown": "SELECT a.i, a.x FROM a LEFT JOIN b ON a.k = b.k"
    " WHERE COALESCE(b.x, 0) < 2",
    "left, asked, not shown, never of NULLs": "SELECT a.i, a.x FROM a LEFT JOIN b ON a.k = b.k"
    " WHERE COALESCE(b.x, 0) > 1",
    "left, null safe and computed": "SELECT a.i, COALESCE(b.k, 0) AS y, b.x"
    " FROM a LEFT JOIN b ON a.k <=> b.k",
    "left, computed": "SELECT a.i AS ai, COALESCE(b.x, 7) AS y, a.x + b.x AS z"
    " FROM a LEFT JOIN b ON a.k = b.k",
    "chain": "SELECT a.i AS ai, b.i AS bi, c.i AS ci, c.x"
    " FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.x = c.k",
    "star": "SELECT a.i AS ai, b.i AS bi, c.i AS ci"
    " FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON a.x = c.k",
    "block": "SELECT a.i AS ai, a.x AS ax, b.i AS bi, c.i AS ci, c.x AS cx"
    " FROM a LEFT JOIN (b JOIN c ON b.x = c.k) ON a.k = b.k",
    "inner and left": "SELECT a.i AS ai, b.i AS bi, c.i AS ci, c.x"
    " FROM a JOIN b ON a.x = b.x LEFT JOIN c ON c.k = a.k",
    "right": "SELECT a.i AS ai, b.i AS bi, b.x FROM a RIGHT JOIN b ON a.k = b.k",
    "full": f"SELECT {ALL_SHOWN} FROM a FULL JOIN b ON a.k = b.k",
    "full, coalesced": "SELECT COALESCE(a.k, b.k) AS k, a.x, b.x AS y"
    " FROM a FULL JOIN b ON a.k = b.k",
    "full and left": "SELECT a.i AS ai, b.i AS bi, c.i AS ci"
    " FROM a FULL JOIN b ON a.k = b.k LEFT JOIN c ON b.x = c.k",
    "semi": "SELECT a.i, a.x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "anti": "SELECT a.i, a.x FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "semi of a chain": "SELECT a.i, a.x FROM a"
    " WHERE EXISTS (SELECT 1 FROM b JOIN c ON b.x = c.k WHERE b.k = a.k)",
    "anti of a chain": "SELECT a.i, d.i AS di FROM d JOIN a ON d.k = a.x"
    " WHERE NOT EXISTS (SELECT 1 FROM b JOIN c ON b.x = c.k WHERE b.k = a.k)",
    "in": "SELECT a.i, a.x FROM a WHERE a.k IN (SELECT b.k FROM b WHERE b.x > 0)",
    "not in": "SELECT a.i, a.x FROM a WHERE a.k NOT IN (SELECT b.k FROM b)",
    "mark": "SELECT a.i, EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AS has FROM a",
    "or of exists": "SELECT a.i FROM a WHERE a.x = 1"
    " OR EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "not exists of a nullable": "SELECT a.i AS ai, b.i AS bi FROM a LEFT JOIN b ON a.k = b.k"
    " WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.k = b.x)",
    "self": "SELECT p.i AS pi, q.i AS qi, q.x FROM a p LEFT JOIN a q ON p.k = q.x",
    "self, anti": "SELECT p.i, p.k FROM a p WHERE NOT EXISTS (SELECT 1 FROM a q WHERE q.x = p.k)",
    "self, full": "SELECT p.i AS pi, q.i AS qi FROM a p FULL JOIN a q ON p.k = q.x",
    "left, unequal": f"SELECT {ALL_SHOWN} FROM a LEFT JOIN b ON a.k = b.k AND a.x < b.x",
    "left, by a sum": "SELECT a.i AS ai, b.i AS bi, b.x FROM a LEFT JOIN b ON a.x + b.x = 2",
    "left, unequal or NULL": "SELECT a.i AS ai, b.i AS bi, b.x"
    " FROM a LEFT JOIN b ON a.k = b.k AND (a.x < b.x OR b.x IS NULL)",
    "full, unequal": f"SELECT {ALL_SHOWN} FROM a FULL JOIN b ON a.k = b.k AND a.x < b.x",
    "semi, unequal": "SELECT a.i, a.x FROM a"
    " WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.x > a.x)",
    "anti, unequal": "SELECT a.i AS ai, d.i AS di FROM d JOIN a ON d.k = a.x"
    " WHERE NOT EXISTS (SELECT 1 FROM b JOIN c ON b.x = c.k WHERE b.k = a.k AND b.i <> a.x)",
    "mark, unequal": "SELECT a.i, EXISTS (SELECT 1 FROM b WHERE b.x > a.x) AS above FROM a",
    "block, unequal": "SELECT a.i AS ai, b.i AS bi, c.i AS ci"
    " FROM a LEFT JOIN (b JOIN c ON b.k = c.k) ON a.x < b.x LEFT JOIN d ON c.x <> d.x",
    "self, unequal": "SELECT p.i AS pi, q.i AS qi"
    " FROM a p LEFT JOIN a q ON p.k = q.k AND p.x < q.x",
    "self, full, unequal": "SELECT p.i AS pi, q.i AS qi"
    " FROM a p FULL JOIN a q ON p.k = q.k AND p.x < q.x",
    "deep anti": "SELECT a.i AS ai, c.i AS ci, d.i AS di FROM a JOIN c ON a.k = c.k"
    " JOIN d ON c.x = d.k WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = d.x)",
}  # fmt: skip

Row = tuple[int | None, ...]
Batch = list[tuple[Any, ...]]


def view_of(name: str) -> jg.View:
    """Make one of the views."""
    sql = VIEWS.get(name, name)
    return jg.View(sql, {table: TABLES[table] for table in TABLES if re.search(READ % table, sql)})


class Feed:
    """Random batches over the base tables, whose rows it knows; DuckDB says what a view holds."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rows: dict[str, dict[int, Row]] = {table: {} for table in TABLES}
        self.judge = duckdb.connect()
        for declared in TABLES.values():
            self.judge.execute(declared)

    def row(self, i: int) -> Row:
        """Make a row of few values, some of them NULL."""
        return (i, *(self.random.choice([None, 0, 1, 2, 2]) for _ in range(2)))

    def batch(self, tables: Iterable[str], size: int) -> Batch:
        """Make a batch of inserts, deletes and updates of some tables."""
        names, found = list(tables), Batch()
        for _ in range(size):
            table = self.random.choice(names)
            rows, i = self.rows[table], self.random.randrange(6)
            new = self.row(i)
            if i not in rows:
                found.append(("insert", table, new))
                self.judge.execute(f"INSERT INTO {table} VALUES (?, ?, ?)", new)
                rows[i] = new
            elif self.random.random() < 0.5:
                found.append(("delete", table, rows.pop(i)))
                self.judge.execute(f"DELETE FROM {table} WHERE i = ?", [i])
            else:
                found.append(("update", table, rows[i], new))
                self.judge.execute(f"UPDATE {table} SET k = ?, x = ? WHERE i = ?", [*new[1:], i])
                rows[i] = new
        return found

    def batches(self, view: jg.View, count: int) -> Iterator[Batch]:
        """Yield batches of the tables that a view reads."""
        for _ in range(count):
            yield self.batch(view.tables, self.random.choice([1, 1, 2, 4]))

    def answer(self, view: jg.View, where: str = "TRUE") -> Counter[Row]:
        """Return the rows of a view that meet a condition, as DuckDB has them."""
        sql = view.sql.replace("<=>", "IS NOT DISTINCT FROM")
        return Counter(self.judge.execute(f"SELECT * FROM ({sql}) WHERE {where}").fetchall())


def rows_of(batches: Iterable[pa.RecordBatch]) -> Counter[Row]:
    """Count the rows of a reader."""
    found: Counter[Row] = Counter()
    for batch in batches:
        found.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return found


def table_of(held: Counter[Row], view: jg.View) -> pa.Table:
    """Write rows of a view as a table."""
    columns = zip(*held.elements(), strict=True) if held else [()] * len(view.schema)
    pairs = zip(columns, view.schema, strict=True)
    arrays = [pa.array(values, field.type) for values, field in pairs]
    return pa.table(arrays, schema=view.schema)


def fold(held: Counter[Row], diff: jg.ViewDiff) -> None:
    """Bring a view's rows up to date by a view diff, which never removes what is not there."""
    changes = diff.changes()
    signs = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
    columns = [each.to_pylist() for each in changes.columns]
    names = changes.column_names
    kinds, counts = columns[names.index("_change_type")], columns[names.index("_count")]
    shown = [c for c, name in zip(columns, names, strict=True) if not name.startswith("_")]
    rows = zip(*shown, strict=True) if shown else [()] * len(kinds)
    for row, kind, count in zip(rows, kinds, counts, strict=True):
        held[row] += signs[kind] * count
    for row in [row for row, times in held.items() if not times]:
        del held[row]
    assert all(times > 0 for times in held.values()), held
