"""Views that group, against DuckDB: their rows and their view diffs after every batch."""

from __future__ import annotations

import math
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

import joingraph as jg
from tests import ENGINES
from tests.crash.interrupting import stepped

TABLES = {
    "f": "CREATE TABLE f (a BIGINT, fan VARCHAR, w DOUBLE)",
    "t": "CREATE TABLE t (a BIGINT, id BIGINT, s BIGINT, d DECIMAL(9,2), x DOUBLE, txt VARCHAR)",
    "r": "CREATE TABLE r (id BIGINT, n INT)",
}
SOURCES = {
    "f JOIN t ON f.a = t.a": ("f", "t"),
    "f JOIN t ON f.a = t.a JOIN r ON r.id = t.id": ("f", "t", "r"),
    "f JOIN t ON f.a = t.a AND f.w < t.x": ("f", "t"),
    "t": ("t",),
    "t JOIN r ON r.id = t.id JOIN t AS u ON u.a = t.a": ("t", "r"),
}
KEYS = {
    "f": ("f.fan", "f.a", "f.w"),
    "t": ("t.txt", "t.a + 1", "t.d", "t.x", "t.s % 2"),
    "r": ("r.n",),
}
ARGUMENTS = {"f": ("f.w",), "t": ("t.s", "t.d", "t.x", "t.s + 1"), "r": ("r.n",)}
PLAIN = ("COUNT({0})", "SUM({0})", "MIN({0})", "MAX({0})", "AVG({0})", "COUNT(DISTINCT {0})")
RARE = (
    *(
        "SUM(DISTINCT {0})",
        "VAR_SAMP({0})",
        "STDDEV_POP({0})",
        "MEDIAN({0})",
        "REGR_COUNT({0}, t.s)",
    ),
    *("MAX_BY({0}, {0})", "BOOL_AND({0} > 1)", "ARRAY_AGG({0} ORDER BY {0})", "COUNT_IF({0} > 1)"),
    *("STRING_AGG(t.txt, ',' ORDER BY t.txt, t.id)", "QUANTILE_CONT({0}, 0.25)"),
)
EXACT = 1e-9


def drawn_sql(chance: Random) -> tuple[str, tuple[str, ...]]:
    """Draw a view that groups, and the tables it reads."""
    source = chance.choice(list(SOURCES))
    tables = SOURCES[source]
    keys = chance.sample([k for t in tables for k in KEYS[t]], chance.choice((0, 1, 1, 2)))
    arguments = [x for t in tables for x in ARGUMENTS[t]]
    uses = ["COUNT(*)"] * chance.randrange(2)
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        form = chance.choice(RARE if chance.random() < 0.3 and "t" in tables else PLAIN)
        use = form.format(chance.choice(arguments))
        if chance.random() < 0.2:
            use += f" FILTER (WHERE {chance.choice(arguments)} > 2)"
        uses.append(use)
    if not keys and not uses:
        uses = ["COUNT(*)"]
    columns = [f"{each} AS c{at}" for at, each in enumerate((*keys, *uses))]
    sql = f"SELECT {', '.join(columns)} FROM {source}"
    if not uses and chance.random() < 0.5:
        return sql.replace("SELECT", "SELECT DISTINCT", 1), tables
    if keys:
        sql += f" GROUP BY {', '.join(keys)}"
    if chance.random() < 0.3:
        sql += f" HAVING {chance.choice(('COUNT(*) > 2', 'COUNT(*) < 4', 'SUM(t.s) > 3'))}"
    return sql, tables


def drawn_row(chance: Random, table: str) -> tuple[Any, ...]:
    def null(value: Any) -> Any:
        return None if chance.random() < 0.12 else value

    number, real = chance.randrange(4), chance.choice((0.0, -0.0, 0.1, 0.5, 3.0, 1e17))
    if table == "f":
        return null(number), null(chance.choice("abc")), null(real)
    if table == "r":
        return null(number), null(chance.randrange(5))
    money = Decimal(chance.randrange(500)) / 100
    others = null(chance.randrange(9)), null(money), null(real), null(chance.choice("xyz"))
    return null(number), null(chance.randrange(4)), *others


def plain(value: Any) -> Any:
    """Return a value by which rows of both systems are put side by side."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return tuple(map(plain, value)) if isinstance(value, list) else value


def assert_alike(mine: Iterable[Any], theirs: Iterable[Any], where: object) -> None:
    """Compare bags of rows; doubles may differ in their last places, as DuckDB rounds each step."""
    sides = [
        sorted((tuple(map(plain, row)) for row in rows), key=order_of) for rows in (mine, theirs)
    ]
    assert len(sides[0]) == len(sides[1]), (where, *sides)
    for one, other in zip(*sides, strict=True):
        for a, b in zip(one, other, strict=True):
            assert is_close(a, b), (where, one, other)


def order_of(row: tuple[Any, ...]) -> list[Any]:
    return [round(x, 6) if isinstance(x, float) else repr(x) for x in row if x is not None] and [
        repr(float(f"{x:.6g}")) if isinstance(x, (int, float)) else repr(x) for x in row
    ]


def is_close(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(is_close, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or abs(a - b) <= EXACT * max(abs(a), abs(b), 1e-3)
    return bool(a == b)


class Judge:
    """DuckDB over the same base tables."""

    def __init__(self, sql: str) -> None:
        self.sql, self.database = sql, duckdb.connect()
        for each in TABLES.values():
            self.database.execute(each)

    def apply(self, rows: dict[str, list[Any]]) -> list[Any]:
        for table, held in rows.items():
            self.database.execute(f"DELETE FROM {table}")
            if held:
                marks = ", ".join("?" * len(held[0]))
                self.database.executemany(f"INSERT INTO {table} VALUES ({marks})", held)
        return self.database.execute(self.sql).fetchall()


def drawn_batch(chance: Random, held: dict[str, list[Any]]) -> list[Any]:
    batch = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        table, count = chance.choice(list(held)), chance.choice((1, 1, 2, 5))
        mine = held[table]
        if mine and chance.random() < 0.45:
            places = chance.sample(range(len(mine)), min(count, len(mine)))
            old = [mine[at] for at in places]
            mine[:] = [each for at, each in enumerate(mine) if at not in places]
            if chance.random() < 0.5:
                batch.append(("delete", table, old))
                continue
            new = [drawn_row(chance, table) for _ in old]
            batch.append(("update", table, old, new))
        else:
            new = [drawn_row(chance, table) for _ in range(count)]
            batch.append(("insert", table, new))
        mine += new
    return batch


def check_case(seed: int, engine: str, steps: int = 12) -> str:
    """Follow a random view through random batches."""
    chance = Random(seed)
    sql, tables = drawn_sql(chance)
    view = jg.View(sql, TABLES, dialect="duckdb")
    graph, judge = jg.JoinGraph(view, engine=engine), Judge(sql)
    held: dict[str, list[Any]] = {table: [] for table in tables}
    copy = graph.to_arrow()
    bag = Counter(map(repr, rows_of(graph)))
    for step in range(steps):
        batch = drawn_batch(chance, held)
        where = (seed, step, sql, batch)
        tried = graph.what_if(batch).rows() if chance.random() < 0.3 else None
        diff = graph.apply(batch)
        assert tried is None or sorted(map(repr, tried)) == sorted(map(repr, diff.rows())), where
        copy = diff.idiffs().apply_idiffs(copy)
        assert Counter(map(repr, rows_in(copy))) == Counter(map(repr, rows_of(graph))), where
        assert_alike(rows_of(graph), judge.apply(held), where)
        for rows in (diff.rows(), diff.net()):
            after = Counter(bag)
            for kind, row, count in rows:
                after[repr(row)] += count if kind in ("insert", "update_postimage") else -count
                assert after[repr(row)] >= 0, (where, rows)
            assert +after == Counter(map(repr, rows_of(graph))), (where, rows)
        bag = +after
    graph.check()
    return sql


def rows_of(graph: jg.JoinGraph) -> list[tuple[Any, ...]]:
    return rows_in(graph.to_arrow())


def rows_in(table: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("engine", ENGINES)
def test_random_views_that_group_say_what_duckdb_says(engine: str) -> None:
    seen = " ".join(check_case(seed, engine) for seed in range(60))
    assert all(word in seen for word in ("HAVING", "DISTINCT", "FILTER", "GROUP BY", "u ON"))


SUMS = "SELECT f.fan, COUNT(*) AS n, SUM(t.s) AS total FROM f JOIN t ON f.a = t.a GROUP BY f.fan"
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "f": [(1, "ann", 0.5), (1, "bob", 0.5), (2, "bob", 1.0)],
    "t": [(1, 7, 10, None, None, "x"), (2, 8, 5, None, None, "y")],
}
AFTER = [("ann", 1, 10), ("bob", 2, 15)]


@pytest.fixture(params=ENGINES)
def graph(request: pytest.FixtureRequest) -> jg.JoinGraph:
    made = jg.JoinGraph(jg.View(SUMS, TABLES, dialect="duckdb"), engine=request.param)
    made.load(ROWS)
    return made


def view_of(sql: str, dialect: str = "duckdb") -> jg.View:
    return jg.View(sql, TABLES, dialect=dialect)


def sorted_rows(graph: jg.JoinGraph) -> list[tuple[Any, ...]]:
    return sorted((a, n, int(total)) for a, n, total in rows_of(graph))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_folder_keeps_groups_subscribers_and_snapshots(engine: str, tmp_path: Path) -> None:
    view = jg.View(SUMS, TABLES, dialect="duckdb")
    with jg.JoinGraph(view, tmp_path / "g", engine=engine) as graph:
        graph.load(ROWS)
        feed = graph.subscribe("s")
        graph.insert("t", [(1, 9, 1, None, None, "z")])
        graph.snapshot()
        graph.delete("f", [(1, "ann", 0.5)])
        told = [feed.next(0).rows(), None]  # type: ignore[union-attr]
        expected = sorted_rows(graph)
    assert [kind for kind, _, _ in told[0] or []] == ["update_preimage", "update_postimage"] * 2
    with jg.open(tmp_path / "g") as graph:
        assert sorted_rows(graph) == expected == [("bob", 3, 16)]
        graph.check()
        assert graph.insert("f", [(2, "ann", 0.0)]).rows() == [
            ("insert", ("ann", 1, Decimal(5)), 1)
        ]


def test_groups_are_read_in_parts_and_explain_themselves(graph: jg.JoinGraph) -> None:
    assert sorted_rows(graph) == AFTER
    parts = [row for part in graph.partitions(3) for row in part.read().read_all().to_pylist()]
    assert sorted(row["fan"] for row in parts) == ["ann", "bob"]
    assert graph.count("n > 1") == 1
    found = graph.scan(where="fan <> 'zoe'", order_by="total DESC", limit=1).read_all()
    assert found.to_pylist() == [{"fan": "bob", "n": 2, "total": Decimal(15)}]
    how = graph.explain(where="n > 1 AND fan <> 'zoe'", order_by="total DESC", limit=1)
    assert str(how).splitlines() == [
        "read of view",
        "start    all groups",
        "         where COUNT(*) > 1",
        "         where f.fan <> 'zoe'",
        "order    SUM(t.s) DESC NULLS LAST: all groups sorted",
        "limit    1",
    ]
    assert how.read().read_all().num_rows == 1
    assert len(graph.why(("bob", 2, 15))) == 2
    assert "the group is there, with fan = 'bob', n = 2" in str(graph.why_not(("bob", 3, 15)))
    assert "no row of f with fan = 'zoe'" in str(graph.why_not(("zoe", 3, 15)))
    assert graph.stats()["groups"] == 2
    with pytest.raises(jg.ViewError, match="are groups, which have no index"):
        graph.index("fan")


@pytest.mark.parametrize(
    "sql", ["SELECT DISTINCT COUNT(*) AS n FROM t", "SELECT MAX(s) AS n FROM t GROUP BY ALL"]
)
def test_a_view_that_groups_by_nothing_has_one_row_also_over_nothing(sql: str) -> None:
    graph, judge = jg.JoinGraph(jg.View(sql, TABLES, dialect="duckdb")), Judge(sql)
    assert rows_of(graph) == judge.apply({"t": []})
    graph.load({"t": ROWS["t"]})
    assert rows_of(graph) == judge.apply({"t": ROWS["t"]})


@pytest.mark.parametrize("database", [duckdb, sqlite3])
def test_a_group_of_null_is_named_in_a_stored_copy(database: Any) -> None:
    graph = jg.JoinGraph(jg.View("SELECT fan, COUNT(*) AS n FROM f GROUP BY fan", TABLES))
    copy = database.connect(":memory:")
    copy.execute("CREATE TABLE v (fan VARCHAR, n BIGINT)")
    unnamed = (1, None, 0.5)
    for diff in (
        graph.insert("f", [unnamed]),
        graph.insert("f", [unnamed, (1, "ann", 0.5)]),
        graph.delete("f", [unnamed]),
    ):
        diff.idiffs().apply_idiffs(copy, "v")
    assert copy.execute("SELECT * FROM v ORDER BY n, fan").fetchall() in (
        [(None, 1), ("ann", 1)],
        [("ann", 1), (None, 1)],
    )
    idiffs = graph.delete("f", [unnamed]).idiffs()
    assert idiffs.sql("v")[0].sql == 'DELETE FROM "v" WHERE "fan" IS NOT DISTINCT FROM $1'
    idiffs.apply_idiffs(copy, "v")
    assert copy.execute("SELECT * FROM v").fetchall() == [("ann", 1)]
    known = graph.delete("f", [(1, "ann", 0.5)]).idiffs()
    assert known.sql("v")[0].sql == 'DELETE FROM "v" WHERE "fan" = $1'


@pytest.mark.parametrize("engine", ENGINES)
def test_a_group_that_shows_a_list_is_asked_about(engine: str) -> None:
    sql = "SELECT fan, LIST(id ORDER BY id) AS ids FROM f JOIN t ON f.a = t.a GROUP BY fan"
    graph = jg.JoinGraph(jg.View(sql, TABLES, dialect="duckdb"), engine=engine)
    graph.load(ROWS)
    assert rows_of(graph) == [("ann", [7]), ("bob", [7, 8])]
    assert len(graph.why(("bob", [7, 8]))) == 2 and graph.why(("bob", [7])) == []
    assert graph.why_not(("bob", [7, 8])) == []
    assert "the group is there, with fan = 'bob', ids = [7, 8]" in str(graph.why_not(("bob", [7])))
    with pytest.raises(jg.DiffError, match="found 7"):
        graph.why(("bob", 7))


def test_a_batch_that_is_refused_leaves_no_trace(graph: jg.JoinGraph) -> None:
    view = jg.View("SELECT a, SUM(s) AS s FROM t GROUP BY a", TABLES)
    small = jg.JoinGraph(view)
    row = (1, 7, (1 << 63) - 1, None, None, "x")
    small.insert("t", [row])
    with pytest.raises(jg.DiffError, match=r"SUM\(s\) of the group a = 1 is 9223372036854775808"):
        small.insert("t", [(2, 1, 1, None, None, ""), (1, 7, 1, None, None, "")])
    with pytest.raises(jg.DiffError, match="SUM"):
        small.load({"t": [(1, 7, 1, None, None, "")]})
    assert rows_of(small) == [(1, (1 << 63) - 1)]
    small.check()
    with pytest.raises(jg.DiffError):
        graph.delete("t", [(1, 7, 99, None, None, "x")])
    assert sorted_rows(graph) == AFTER
    graph.check()


def test_maintain_only_keeps_no_groups_and_reads_them_all_the_same(graph: jg.JoinGraph) -> None:
    graph.maintain_only = True
    assert graph.insert("t", [(1, 9, 1, None, None, "z")]).rows() == []
    assert sorted_rows(graph) == [("ann", 2, 11), ("bob", 3, 16)]
    graph.maintain_only = False
    assert len(graph.expire("t", "s = 1").rows()) == 4
    assert sorted_rows(graph) == AFTER


def test_a_graph_is_rebuilt_into_groups_and_back(tmp_path: Path) -> None:
    rows = jg.View("SELECT f.fan, t.s FROM f JOIN t ON f.a = t.a", TABLES, dialect="duckdb")
    with jg.JoinGraph(rows, tmp_path / "g") as graph:
        graph.load(ROWS)
        graph.rebuild(jg.View(SUMS, TABLES, dialect="duckdb"))
        assert sorted_rows(graph) == AFTER
        graph.rebuild(rows)
        assert graph.count() == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch_interrupted_at_any_step_leaves_groups_before_or_after(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    view, at, came, seen = jg.View(SUMS, TABLES, dialect="duckdb"), 0, 1, set[int]()
    while came:
        graph = jg.JoinGraph(view, engine=engine)
        graph.load(ROWS)
        came, _ = stepped(partial(graph.insert, "t", [(1, 9, 1, None, None, "z")]), [at])
        found = sorted_rows(graph)
        assert found in (AFTER, [("ann", 2, 11), ("bob", 3, 16)]), f"at step {at}"
        seen.add(graph.seq)
        graph.check()
        assert len(graph.delete("f", [(1, "ann", 0.5)])) == 1
        at += 11
    assert seen == {1, 2} or seen == {0, 1}


def test_a_batch_is_at_most_as_large_as_the_groups_it_touches() -> None:
    one = jg.JoinGraph(view_of("SELECT COUNT(*) AS n FROM f JOIN t ON f.a = t.a"))
    two = jg.JoinGraph(view_of(SUMS))
    for graph in one, two:
        graph.load({"f": ROWS["f"] * 10, "t": ROWS["t"] * 10})
    new = (1, 9, 1, None, None, "z")
    assert one.fanout([("insert", "t", [new])]) == (2, False)
    assert one.fanout([("insert", "t", [(7, *new[1:])])]) == (0, True)
    assert two.fanout([("insert", "t", [new])]) == (40, False)
    assert two.fanout([("delete", "t", [ROWS["t"][0]])]) == (4, False)
    assert two.stats()["groups"] == 2 and two.stats()["group_bytes"] > 500


def test_a_read_that_finds_no_value_does_not_speak_of_a_batch() -> None:
    small = jg.JoinGraph(jg.View("SELECT SUM(s) AS s FROM t", TABLES), engine="reference")
    small.maintain_only = True
    small.insert("t", [(1, 1, (1 << 63) - 1, None, None, ""), (1, 1, 1, None, None, "")])
    with pytest.raises(jg.DiffError, match=r"^SUM\(s\) is 9223372036854775808, .* not hold$"):
        small.to_arrow()
