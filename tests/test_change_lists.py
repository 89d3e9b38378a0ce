"""Deltas of graphs that keep no groups: both forms tell the same, whatever changes and however."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.engines.compiled.groups.listing import ListedGroups
from joingraph.plan.groups.totals import told_totals
from joingraph.plan.keys.distinct import is_listed_once
from tests import first
from tests.test_deltas import assert_factorised, bag_of
from tests.test_groups import rows_in

COLUMNS = {
    "f": "a BIGINT, fan VARCHAR, w BIGINT",
    "t": "id BIGINT, a BIGINT, s BIGINT, d DECIMAL(30,2)",
    "r": "rid BIGINT, id BIGINT, n INT",
}
KEYS = {"f": "a, fan", "t": "id", "r": "rid"}
KEYED = {
    name: f"CREATE TABLE {name} ({of}, PRIMARY KEY ({KEYS[name]}))" for name, of in COLUMNS.items()
}
BARE = {name: f"CREATE TABLE {name} ({of})" for name, of in COLUMNS.items()}
SOURCES = {
    "f JOIN t ON f.a = t.a": "ft",
    "f JOIN t ON f.a = t.a JOIN r ON r.id = t.id": "ftr",
    "t JOIN r ON r.id = t.id JOIN t AS u ON u.a = t.a": "tr",
    "f JOIN t ON f.a = t.a JOIN f AS g ON g.a = t.a": "ft",
    "f JOIN t ON f.a = t.a JOIN r ON r.id = f.w": "ftr",
    "t": "t",
}
GROUPED = {"f": ("f.fan", "f.a", "f.w", "f.w"), "t": ("t.a", "t.s", "t.d", "t.id"), "r": ("r.n",)}
ADDED = {"f": ("f.w",), "t": ("t.s", "t.d"), "r": ("r.n",)}
DRAWN: dict[str, Callable[[Random], tuple[Any, ...]]] = {
    "f": lambda c: (c.randrange(4), c.choice("vwxyz"), c.choice((None, 1, 2, 3))),
    "t": lambda c: (c.randrange(9), c.choice((None, 0, 1, 2, 3)), c.choice((None, 1, 2, -3)),
                    c.choice((None, Decimal("0.5"), Decimal("9" * 27)))),
    "r": lambda c: (c.randrange(30), c.randrange(9), c.choice((None, 5, -5))),
}  # fmt: skip


def drawn_sql(chance: Random, source: str) -> str:
    """Draw a view of sums by columns of the tables, or of all rows."""
    tables = SOURCES[source]
    keys = chance.sample([key for t in tables for key in GROUPED[t]], chance.choice((0, 1, 1, 2)))
    uses = ["COUNT(*)"] * chance.randrange(2)
    for _ in range(chance.randrange(3)):
        of = chance.choice([each for t in tables for each in ADDED[t]])
        use = chance.choice(("SUM({0})", "COUNT({0})", "AVG({0})")).format(of)
        where = " FILTER (WHERE t.s > 1)" if "t" in tables and chance.random() < 0.3 else ""
        uses.append(use + where)
    named = [f"{each} AS c{at}" for at, each in enumerate((*keys, *(uses or ["COUNT(*)"])))]
    having = " HAVING MAX(t.s) > 1" if "t" in tables and chance.random() < 0.2 else ""
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join(named)} FROM {source}{by}{having if by else ''}"


class Feed:
    """Random batches over tables whose keys hold, if they have some."""

    def __init__(self, chance: Random, tables: str, *, is_keyed: bool) -> None:
        self.chance, self.is_keyed = chance, is_keyed
        self.held: dict[str, list[tuple[Any, ...]]] = {each: [] for each in tables}

    def row(self, table: str) -> tuple[Any, ...] | None:
        """Draw a row whose key is free."""
        row, width = DRAWN[table](self.chance), 2 if table == "f" else 1
        known = [each[:width] for each in self.held[table]]
        return None if self.is_keyed and row[:width] in known else row

    def batch(self) -> list[tuple[Any, ...]]:
        """Draw inserts, deletes and updates; many of these change a row in place."""
        found: list[tuple[Any, ...]] = []
        for _ in range(self.chance.choice((1, 2, 6))):
            table = self.chance.choice(list(self.held))
            held, row = self.held[table], self.row(table)
            if not held or self.chance.random() < 0.5:
                if row is not None:
                    held.append(row)
                    found.append(("insert", table, [row]))
                continue
            old = held.pop(self.chance.randrange(len(held)))
            if self.chance.random() < 0.3:
                found.append(("delete", table, [old]))
                continue
            drawn, width = DRAWN[table](self.chance), 2
            new = (
                (*old[:width], *drawn[width:]) if row is None or self.chance.random() < 0.6 else row
            )
            held.append(new)
            found.append(("update", table, [old], [new]))
        return found


def expired(graph: jg.JoinGraph) -> pa.Table | None:
    """Delete what meets a condition, if the graph keeps what that is over."""
    try:
        return graph.expire("t", where="a < 2").deltas().table.drop_columns("_diff")
    except (jg.ViewError, jg.DiffError):
        return None


def is_in_order(numbers: list[int]) -> bool:
    return numbers == sorted(numbers)


def refuse(graph: jg.JoinGraph, batch: list[tuple[Any, ...]], form: str) -> None:
    """Apply a batch that misses a row at its end."""
    with pytest.raises(jg.DiffError, match="not"):
        graph.apply([*batch, ("delete", "t", [(77, 7, 7, None)])], form=form)


def check_case(seed: int, *, is_compiled: bool) -> str:
    """Follow a random view in both forms, batch by batch."""
    chance = Random(seed)
    is_keyed = chance.random() < 0.5
    source = chance.choice(list(SOURCES))
    sql = drawn_sql(chance, source)
    view = jg.View(sql, KEYED if is_keyed else BARE, dialect="duckdb")
    limit = 1 << 30 if chance.random() < 0.2 else None
    plain = jg.JoinGraph(view, engine="reference", keep_groups=False)
    graph = jg.JoinGraph(view, engine="compiled", keep_groups=False, memory_limit=limit)
    assert isinstance(graph.engine, ListedGroups) == (
        told_totals(view.plan, view.definition) is not None
    )
    if is_compiled:
        graph.compile()
    feed = Feed(chance, SOURCES[source], is_keyed=is_keyed)
    for step in range(8):
        batch, form = feed.batch(), chance.choice(("deltas", "factorised"))
        where = (seed, step, sql, is_keyed, batch)
        tried = graph.what_if(batch, form=form).deltas().table if chance.random() < 0.3 else None
        if chance.random() < 0.2 and source != "t":  # of which a view may keep a count alone
            refuse(graph, batch, form)
        if chance.random() < 0.1:
            for each in (plain, graph):
                each.maintain_only = True
                each.apply(batch, form=form)
                each.maintain_only = False
            continue
        mine, theirs = graph.apply(batch, form=form), plain.apply(batch, form="deltas")
        assert bag_of(mine.deltas().table) == bag_of(theirs.deltas().table), where
        assert tried is None or bag_of(tried) == bag_of(mine.deltas().table), where
        assert mine.deltas().table.schema == theirs.deltas().table.schema
        assert_factorised(mine, where)
        assert is_in_order(mine.deltas().table.column("_diff").to_pylist()), where
        graph.check()
    gone, went = expired(graph), expired(plain)
    assert (gone is None) == (went is None)
    assert gone is None or went is None or bag_of(gone) == bag_of(went), (seed, sql)
    assert bag_of(graph.to_arrow()) == bag_of(plain.to_arrow())
    return sql


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("part", first(4, range(16)))
def test_both_forms_tell_the_same_deltas(part: int, *, is_compiled: bool) -> None:
    count = 2 if is_compiled else 10
    for seed in range(part * 10, part * 10 + count):
        check_case(1000 * is_compiled + seed, is_compiled=is_compiled)


def test_both_forms_tell_the_same_deltas_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joingraph.engines.compiled.groups.listing.KEYS", 2)
    monkeypatch.setattr("joingraph.graph.compiled.groups.list_memory.KEYS", 2)
    for seed in range(2000, 2020):
        check_case(seed, is_compiled=False)


def test_where_sums_may_be_too_wide_deltas_are_those_of_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for bits in (4, 12, 100):
        monkeypatch.setattr("joingraph.engines.compiled.groups.telling.WIDE_BITS", bits)
        for seed in range(3000, 3010):
            check_case(seed, is_compiled=False)


FANS = "SELECT f.fan, COUNT(*) AS n, SUM(t.s) AS s FROM f JOIN t ON f.a = t.a GROUP BY f.fan"
SHARED = FANS.replace("GROUP BY", "JOIN r ON r.id = t.id GROUP BY")
LOADED = {
    "f": [(a, fan, a) for a in (1, 2) for fan in "vwxyz"],
    "t": [(1, 1, 4, None), (2, 2, 4, None)],
}


def graph_of(
    sql: str, tables: dict[str, str] = KEYED, memory_limit: int | None = None
) -> jg.JoinGraph:
    view = jg.View(sql, tables)
    graph = jg.JoinGraph(view, keep_groups=False, memory_limit=memory_limit)
    graph.compile()
    graph.load(LOADED)
    return graph


def changes_of(diff: Any) -> Counter[tuple[Any, ...]]:
    """Count the changes of a factorised delta, and how many groups they go to."""
    rows = diff.factorised().tables["groups"].to_pylist()
    return Counter((*list(row.values())[:-1], len(row["_groups"])) for row in rows)


def test_a_change_is_told_once_and_its_groups_are_neither_looked_for_nor_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, wide = graph_of(FANS), graph_of(FANS, BARE)

    def refused(*_: object) -> None:
        raise AssertionError("keys say that no group is told twice")

    more = [("insert", "t", [(3, 1, 5, None), (4, 2, None, None)])]
    there = [
        ("update", "t", [(3, 1, 5, None)], [(3, 1, 9, None)]),
        ("delete", "t", [(4, 2, None, None)]),
    ]
    monkeypatch.setattr("joingraph.generators.compiled.groups.listed_deltas.folded", refused)
    assert changes_of(wide.apply(more, form="factorised")).total() == 2
    monkeypatch.setattr("joingraph.generators.compiled.groups.listed_deltas.all_distinct", refused)
    assert changes_of(graph.apply(more, form="factorised")) == {
        (0, 1, 5, 1, 5): 1,
        (1, 1, 0, 0, 5): 1,
    }
    assert changes_of(graph.apply(there, form="factorised")) == {
        (0, 0, 4, 0, 5): 1,
        (1, -1, 0, 0, 5): 1,
    }
    nothing = [("update", "t", [(3, 1, 9, None)], [(3, 1, 9, Decimal(1))])]
    assert changes_of(graph.apply(nothing, form="factorised")) == {}
    stats = graph.stats()
    assert stats["groups"] == stats["group_bytes"] == 0 < stats["message_bytes"]


def test_a_row_that_comes_to_a_value_on_several_ways_lists_its_groups_once() -> None:
    for tables in (KEYED, BARE):
        graph = graph_of(SHARED, tables)
        graph.insert("t", [(each, 1, 1, None) for each in range(10, 60)], form="deltas")
        plain = jg.JoinGraph(jg.View(SHARED, tables), engine="reference", keep_groups=False)
        plain.load({**LOADED, "t": [*LOADED["t"], *((each, 1, 1, None) for each in range(10, 60))]})
        alike = SHARED.replace("r.id = t.id", "r.n = t.s").replace(", SUM(t.s) AS s", "")
        several = graph_of(alike, tables)
        several.insert("t", [(each, 1, 7, None) for each in range(10, 60)], form="deltas")
        one = several.insert("r", [(1, 1, 7)], form="factorised")
        assert changes_of(one) == {(0, 50, 5): 1}
        both = several.insert("t", [(60, 2, 7, None)], form="factorised")
        assert changes_of(both) == {(0, 1, 5): 1}
        two = several.insert("r", [(2, 1, 7)], form="factorised")
        assert changes_of(two) == {(0, 51, 5): 1}  # of either author
        rows = [
            graph_.insert("r", [(1, 10, 3)], form="deltas").deltas().table
            for graph_ in (graph, plain)
        ]
        assert bag_of(rows[0]) == bag_of(rows[1])


def test_a_group_that_several_lists_have_is_told_once_a_base_diff() -> None:
    graph = graph_of(FANS)
    moved = graph.update("t", [(1, 1, 4, None)], [(1, 2, 6, None)], form="factorised")
    assert changes_of(moved) == {(0, 0, 2, 0, 5): 1}
    graph.insert("f", [(2, "u", 1)], form="deltas")
    back = graph.update("t", [(1, 2, 6, None)], [(1, 1, 6, None)], form="factorised")
    assert changes_of(back) == {(0, -1, -6, -1, 1): 1}
    total = graph_of("SELECT COUNT(*) AS n FROM f JOIN t ON f.a = t.a")
    assert rows_in(total.insert("t", [(8, 1, 1, None)], form="deltas").deltas().table) == [(0, 5)]


def test_long_lists_are_copied_whole() -> None:
    sql = "SELECT f.w, f.fan, COUNT(*) AS n FROM f JOIN t ON f.a = t.a GROUP BY f.w, f.fan"
    for count in (3, 4, 8, 21):
        fans = [(1, f"fan {each}", None if each == 5 else each) for each in range(count)]
        graph = jg.JoinGraph(jg.View(sql, KEYED), keep_groups=False)
        graph.load({"f": fans})
        told = graph.insert("t", [(1, 1, 1, None)], form="factorised")
        assert changes_of(told) == {(0, 1, count): 1}
        rows = rows_in(told.deltas().table)
        assert sorted(map(repr, rows)) == sorted(repr((w, fan, 0, 1)) for _, fan, w in fans)


def test_zeros_are_one_group_and_two_rows_of_one_list() -> None:
    tables = {"f": "CREATE TABLE f (a BIGINT, w DOUBLE)", "t": KEYED["t"]}
    view = jg.View("SELECT f.w, COUNT(*) AS n FROM f JOIN t ON f.a = t.a GROUP BY f.w", tables)
    graph = jg.JoinGraph(view, keep_groups=False)
    graph.load({"f": [(1, 0.0), (1, -0.0), (1, float("nan"))]})
    told = graph.insert("t", [(1, 1, 1, None)], form="deltas").deltas().table
    assert sorted(map(repr, rows_in(told))) == ["(0.0, 0, 2)", "(nan, 0, 1)"]
    one = graph.insert("f", [(1, -0.0)], form="factorised")
    assert repr(rows_in(one.deltas().table)) == "[(0.0, 0, 1)]"


def test_a_row_that_is_listed_and_lists_the_same_value_is_told_in_order() -> None:
    sql = FANS.replace("GROUP", "JOIN f AS g ON g.a = t.a GROUP").replace(", SUM(t.s) AS s", "")
    for is_compiled in (False, True):
        graphs = [
            jg.JoinGraph(jg.View(sql, KEYED), engine=engine, keep_groups=False)
            for engine in ("reference", "compiled")
        ]
        for graph in graphs:
            graph.load({"f": LOADED["f"]})
            if is_compiled:
                graph.compile()
        for batch in (
            [("insert", "t", [(1, 1, 1, None), (2, 2, 1, None)])],
            [("insert", "t", [(3, 1, 1, None)]), ("insert", "f", [(1, "a", 1), (1, "b", 1)])],
            [("update", "f", [(1, "a", 1)], [(1, "c", 1)]), ("delete", "f", [(1, "b", 1)])],
        ):
            one, other = (graph.apply(batch, form="deltas").deltas().table for graph in graphs)
            assert bag_of(one) == bag_of(other), batch


def test_keys_that_do_not_hold_list_a_group_twice_and_its_changes_add_up() -> None:
    graph = graph_of(FANS)
    graph.insert("f", [(1, "v", 1)], form="deltas")
    deltas = graph.insert("t", [(5, 1, 7, None)], form="deltas").deltas()
    assert Counter(row[0] for row in rows_in(deltas.table))["v"] == 2
    assert [row[1:] for row in rows_in(deltas.net()) if row[0] == "v"] == [(2, 14, 2)]


@pytest.mark.parametrize(
    ("sql", "start", "is_once"),
    [
        (FANS, "t", True),
        (FANS, "f", True),
        (FANS.replace("f.fan", "f.w"), "t", False),
        (SHARED, "r", True),
        (FANS.replace("t.a ", "t.a JOIN t AS u ON u.a = t.a "), "u", False),
        (FANS.replace("f.fan", "f.a"), "t", True),
    ],
)
def test_keys_say_whether_a_list_has_a_group_once(sql: str, start: str, *, is_once: bool) -> None:
    view = jg.View(sql, KEYED)
    told = told_totals(view.plan, view.definition)
    assert told is not None
    (alias,) = [each.index for each in view.plan.aliases if each.name == start]
    assert is_listed_once(view.plan, told.messages, alias) is is_once


def test_a_batch_of_deltas_may_be_refused_for_what_messages_take() -> None:
    graph = graph_of(SHARED, memory_limit=1 << 16)
    graph.insert("r", [(1, 1, 1)], form="deltas")
    tweets = [(each, each, 1, None) for each in range(100, 5_000)]
    with pytest.raises(jg.LimitError, match=r"this batch takes .* more; nothing was changed"):
        graph.insert("t", tweets, form="deltas")
    assert graph.seq == 1
    graph.check()
    graph.insert("t", tweets[:20], form="deltas")
