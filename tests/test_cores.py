"""Paths walked by several threads at once: the same view diffs, in the same order, as by one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from random import Random

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.engines.compiled import cores
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.graph.compiled import fields as f
from tests import LOOKAHEADS
from tests.crash.interrupting import stepped

TABLES = {
    "a": "CREATE TABLE a (k INT, v STRING)",
    "b": "CREATE TABLE b (k INT, m INT, w INT)",
    "c": "CREATE TABLE c (m INT, n INT)",
}
CHAIN = "SELECT a.v, b.w, c.n FROM a JOIN b ON a.k = b.k JOIN c ON b.m = c.m"
VIEWS = {
    "chain": CHAIN,
    "counted": "SELECT b.w FROM a JOIN b ON a.k = b.k JOIN c ON b.m = c.m",
    "left": CHAIN.replace("JOIN c", "LEFT JOIN c"),
    "residual": f"{CHAIN} WHERE b.w + c.n > 4",
    "computed": "SELECT a.v, b.w * c.n AS p FROM a JOIN b ON a.k = b.k JOIN c ON b.m = c.m",
    "itself": "SELECT x.v, y.v AS other FROM a AS x JOIN a AS y ON x.k = y.k",
}
Diffs = list[tuple[object, ...]]
Rows = list[tuple[str, tuple[object, ...], int]]


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = pa.cpu_count()
    yield
    pa.set_cpu_count(before)


@pytest.fixture
def waves(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pieces each wave had."""
    seen: list[int] = []
    walk = cores.Wave.walk

    def counted(self: cores.Wave, states: list[cores.WalkState]) -> list[cores.Paths]:
        seen.append(len(states))
        return walk(self, states)

    monkeypatch.setattr(cores.Wave, "walk", counted)
    return seen


def small_blocks(sql: str, lookahead: str = "exact", *, compiled: bool = True) -> jg.JoinGraph:
    """Make a graph whose blocks are full after a few rows."""
    graph = jg.JoinGraph(jg.View(sql, TABLES), lookahead=lookahead)
    if compiled:
        graph.compile()
    memory(graph).words[f.LIMIT] = 8
    return graph


def memory(graph: jg.JoinGraph) -> cores.GraphMemory:
    """Return the graph's memory."""
    assert isinstance(graph.engine, CompiledEngine)
    return graph.engine.memory


def batches(seed: int) -> Iterator[Diffs]:
    """Draw batches of many inserts, some of them taken away or changed again."""
    random = Random(seed)
    rows: dict[str, list[tuple[object, ...]]] = {"a": [], "b": [], "c": []}
    for _ in range(6):
        table = random.choice("abc")
        new = [row(random, table) for _ in range(random.randrange(1, 60))]
        batch: Diffs = [("insert", table, new)]
        rows[table] += new
        other = random.choice("abc")
        gone = [rows[other].pop() for _ in range(min(len(rows[other]), random.randrange(5)))]
        if gone:
            batch.append(("delete", other, gone))
        yield batch


def row(random: Random, table: str) -> tuple[object, ...]:
    """Draw a row, often equal to another."""
    number = random.randrange
    if table == "a":
        return number(4), random.choice(["x", "y", None])
    return (number(4), number(4), number(6)) if table == "b" else (number(4), number(6))


@pytest.mark.parametrize("lookahead", LOOKAHEADS)
@pytest.mark.parametrize("name", VIEWS)
def test_threads_change_nothing(name: str, lookahead: str, waves: list[int]) -> None:
    for seed in range(4):
        one, many = (
            small_blocks(VIEWS[name], lookahead, compiled=bool(seed % 2)) for _ in range(2)
        )
        for batch in batches(seed):
            pa.set_cpu_count(1)
            expected = one.apply(batch)
            pa.set_cpu_count(3)
            found = many.apply(batch)
            assert found.rows() == expected.rows()
            assert found.net() == expected.net()
        many.check()
        assert sorted(map(repr, many.scan())) == sorted(map(repr, one.scan()))
    is_exact = lookahead != "global" or name == "left"  # which has no other look-ahead
    alone = name == "itself" or not is_exact
    assert bool(waves) is not alone
    assert alone or max(waves) == 3


def fanned_out() -> jg.JoinGraph:
    """Return a graph in which a row of c makes four view rows, each three times."""
    graph = small_blocks(CHAIN)
    graph.load({"a": [(1, "x")] * 3, "b": [(1, 1, n) for n in range(4)]})
    pa.set_cpu_count(3)
    return graph


STRIDE = 31  # of the steps at which a call is interrupted
MANY = [(1, n) for n in range(200)]


def test_blocks_that_fill_up_amid_a_piece_are_all_kept(waves: list[int]) -> None:
    graph = fanned_out()
    rows = graph.insert("c", MANY).rows()
    assert sorted(rows) == [("insert", ("x", w, n), 3) for w in range(4) for n in range(200)]
    assert [n for _, (_, _, n), _ in rows] == [n for n in range(200) for _ in range(4)]
    assert waves


@pytest.mark.parametrize("failing", [0, 1, -1])
def test_what_a_walker_raises_leaves_the_graph_as_it_was(
    failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk_piece = cores.Wave.walk_piece

    def fail(self: cores.Wave, state: cores.WalkState, number: int, ops: range) -> None:
        walk_piece(self, state, number, ops)
        if number == failing % len(self.found):
            raise MemoryError("no room for a block")

    monkeypatch.setattr(cores.Wave, "walk_piece", fail)
    graph = fanned_out()
    for _ in range(10):  # in one thread or another
        with pytest.raises(MemoryError, match="no room"):
            graph.insert("c", MANY)
        assert graph.count() == 0
        graph.check()
    monkeypatch.undo()
    assert len(graph.insert("c", MANY)) == 800


def test_an_interrupt_leaves_the_graph_before_or_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # of finalizers that it has hit
    at, is_over = 0, False
    while not is_over:
        graph = fanned_out()
        came, _ = stepped(partial(graph.insert, "c", MANY), [at])
        is_over = not came
        assert graph.count() in (0, 2400)
        graph.check()
        assert len(graph.insert("c", MANY)) == 800
        at += STRIDE


def test_a_stream_has_one_block_at_a_time(waves: list[int]) -> None:
    graph = fanned_out()
    assert sum(map(len, graph.stream([("insert", "c", MANY)]))) == 800
    assert not waves
