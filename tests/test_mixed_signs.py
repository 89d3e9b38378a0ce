"""UBIGINT beside signed integers: DECIMAL(20,0) holds both, and the answers are DuckDB's."""

from __future__ import annotations

from collections import Counter
from random import Random

import duckdb
import pyarrow as pa
import pytest

import joingraph as jg

SIGNED = pa.schema([("k", pa.int64()), ("i", pa.int32())])
UNSIGNED = pa.schema([("k", pa.uint64()), ("n", pa.int32())])
TABLES = {"s": SIGNED, "u": UNSIGNED}
KEYS_S = [None, -(2**63), -5, -1, 0, 1, 7, 2**53 + 1, 2**63 - 1]
KEYS_U = [None, 0, 1, 7, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
ENGINES = ("reference", "compiled")


def database(rows: dict[str, list[tuple[object, ...]]]) -> duckdb.DuckDBPyConnection:
    db = duckdb.connect()
    db.execute("CREATE TABLE s (k BIGINT, i INT); CREATE TABLE u (k UBIGINT, n INT)")
    for table, listed in rows.items():
        db.executemany(f"INSERT INTO {table} VALUES (?, ?)", listed)
    return db


@pytest.mark.parametrize(
    "text",
    [
        "s.k = u.k",
        "s.k < u.k",
        "s.k >= u.k",
        "s.i <> u.k",
        "s.k IS NOT DISTINCT FROM u.k",
        "s.k IN (u.k, 1)",
        "u.k IN (s.k, -1, 7)",
        "u.k = -1",
        "u.k > -1",
        "s.k BETWEEN u.k AND 9223372036854775807",
        "COALESCE(s.k, u.k)",
        "CASE WHEN s.i > 0 THEN s.k ELSE u.k END",
        "GREATEST(s.k, u.k)",
        "NULLIF(s.k, u.k)",
        "s.k + u.k",
        "s.k - u.k",
        "s.i * u.k",
        "CASE WHEN u.k <> 0 THEN s.i % u.k END",
        "u.k % s.i",
        "s.k / u.k",
        "u.k / 3 - s.k",
        "(s.k + u.k) * 2 - s.i",
        "CAST(COALESCE(u.k, s.k) AS VARCHAR)",
        "COALESCE(s.k, u.k) + 0.5",
    ],
)
def test_an_expression_of_both_is_what_duckdb_says(text: str) -> None:
    rows: dict[str, list[tuple[object, ...]]] = {
        "s": [(k, 3) for k in KEYS_S],
        "u": [(k, 1) for k in KEYS_U],
    }
    db = database(rows)
    expected = db.execute(f"SELECT {text} FROM s CROSS JOIN u").fetchall()
    view = jg.View(f"SELECT {text} AS q FROM s CROSS JOIN u", TABLES, dialect="duckdb")
    for engine in ENGINES:
        graph = jg.JoinGraph(view, engine=engine)
        graph.load(rows)
        found = graph.to_arrow()["q"].to_pylist()
        assert Counter(map(str, found)) == Counter(str(each) for (each,) in expected)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s.k, s.i, u.k AS other, u.n FROM s JOIN u ON s.k = u.k",
        "SELECT k, i, n FROM s JOIN u USING (k)",
        "SELECT a.k, u.n, b.i FROM s a JOIN u ON a.k = u.k JOIN s b ON b.k = u.k AND b.i < a.k",
        "SELECT s.i, u.n FROM s JOIN u ON s.i = u.k WHERE u.k IN (1, 7, -1) OR s.k = 0",
    ],
)
def test_a_join_of_both_is_kept_up_to_date_as_duckdb_joins(sql: str, engine: str) -> None:
    random = Random(5)
    graph = jg.JoinGraph(jg.View(sql, TABLES, dialect="duckdb"), engine=engine)
    rows: dict[str, list[tuple[object, ...]]] = {"s": [], "u": []}
    folded: Counter[tuple[object, ...]] = Counter()
    for _ in range(8):
        batch: list[tuple[object, ...]] = []
        for table, keys in (("s", KEYS_S), ("u", KEYS_U)):
            kept = rows[table]
            gone = [kept.pop(random.randrange(len(kept))) for _ in kept[:2]]
            come = [(random.choice(keys), random.choice([None, -1, 1, 7])) for _ in range(5)]
            kept += come
            batch += [("delete", table, gone), ("insert", table, come)]
        for change, row, count in graph.apply(batch).rows():
            folded[row] += count if change == "insert" else -count
        expected = Counter(database(rows).execute(sql).fetchall())
        assert +folded == expected
        assert Counter(tuple(row.values()) for row in graph.to_arrow().to_pylist()) == expected
    assert sum(folded.values()) > 0
    graph.check()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("s.k * u.k", "may need more than 38 digits"),
        ("COALESCE(u.k, 1, CAST(s.i AS UTINYINT))", "order of constants"),
    ],
)
def test_what_only_hugeint_could_hold_is_refused(text: str, why: str) -> None:
    with pytest.raises(jg.ViewError, match=why):
        jg.View(f"SELECT {text} AS q FROM s CROSS JOIN u", TABLES, dialect="duckdb")


def test_what_has_no_common_type_is_said_as_it_is() -> None:
    """SQLite has no integers of 64 bits without a sign; 38 digits are asked of decimals only."""
    with pytest.raises(jg.ViewError, match=r"BIGINT and UBIGINT have no common type; write CAST"):
        jg.View("SELECT s.k FROM s JOIN u ON s.k = u.k", TABLES, dialect="sqlite")
    wide = {"t": pa.schema([("a", pa.decimal128(38, 0)), ("b", pa.decimal128(38, 38))])}
    with pytest.raises(jg.ViewError, match=r"have no common type of at most 38 digits"):
        jg.View("SELECT a FROM t WHERE a = b", wide, dialect="duckdb")
