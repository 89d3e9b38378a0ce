"""Own kernels where rows may be missing or are asked for do what the plain form does."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import joingraph as jg
from benchmarks.harness.checksum import tally
from benchmarks.harness.compiled_consumer import consume_each
from joingraph.graph.compiled import fields as f
from tests.outer import TABLES, Batch, Row, view_of

pytestmark = pytest.mark.kernels

# Of each kind of alias, seat and step: leaves, counts, edges and nodes that may be missing, flips
# of them, sides that are summed up, gates that are shut by rows, marks, both sides missing.
CHOSEN = (
    "left",
    "left, asked and not shown",
    "chain",
    "block",
    "full and left",
    "semi of a chain",
    "anti of a chain",
    "or of exists",
    "self",
    "SELECT a.x, c.x AS cx FROM a LEFT JOIN (b JOIN c ON b.x = c.k) ON a.k = b.k",
)


class Rows:
    """Makes batches of many rows or few, and knows what is held."""

    def __init__(self, view: jg.View, seed: int) -> None:
        self.random, self.next = random.Random(seed), 0
        self.held: dict[str, dict[int, Row]] = {table: {} for table in view.tables}

    def row(self, i: int) -> Row:
        """Make a row of few values, some of them NULL."""
        return (i, *(self.random.choice([None, 0, 1, 2, 2, 3, 4]) for _ in range(2)))

    def batch(self) -> Batch:
        """Make inserts, deletes and updates; a run of forty inserts prefetches."""
        found = Batch()
        for _ in range(self.random.choice([1, 3, 8])):
            table = self.random.choice(list(self.held))
            rows, chance = self.held[table], self.random.random()
            if chance < 0.4 or not rows:
                ids = range(self.next, self.next + self.random.choice([1, 2, 40]))
                self.next = ids.stop
                found.append(("insert", table, [self.row(i) for i in ids]))
                rows |= {row[0]: row for row in found[-1][2]}
            elif chance < 0.8:
                ids = self.random.sample(list(rows), min(len(rows), self.random.choice([1, 5, 60])))
                found.append(("delete", table, [rows.pop(i) for i in ids]))
            else:
                i = self.random.choice(list(rows))
                new = self.row(i)
                found.append(("update", table, [rows[i]], [new]))
                rows[i] = new
        return found


def compiled(view: jg.View) -> jg.JoinGraph:
    """Make a graph that has its own kernels from the beginning."""
    graph = jg.JoinGraph(view)
    graph.compile()
    return graph


def bag(diff: jg.ViewDiff) -> Counter[str]:
    return Counter(map(repr, diff.rows()))


@pytest.mark.parametrize("name", CHOSEN)
def test_own_kernels_do_what_the_plain_form_does(name: str) -> None:
    view = view_of(name)
    graph, plain = compiled(view), jg.JoinGraph(view, engine="reference")
    rows = Rows(view, 3)
    for _ in range(20):
        batch = rows.batch()
        assert bag(graph.apply(batch)) == bag(plain.apply(batch))
        graph.check()


def test_every_seat_that_flips_has_kernels_of_its_own() -> None:
    view = view_of("or of exists")
    graph = compiled(view)
    layout, memory = graph.engine.layout, graph.engine.memory  # type: ignore[attr-defined]
    assert {each.told for each in layout.arounds} == {True, False}
    for around in layout.arounds:
        link = memory.link(around.alias, around.vertex)
        assert link[f.L_PLUG] and link[f.L_PLUG_NOT]
        assert memory.alias(around.alias)[f.A_INSERT]
        assert not memory.alias(around.alias)[f.A_PLUG], "what is only asked for has no paths"


LEFT = "SELECT a.x, b.x AS y FROM a LEFT JOIN b ON a.k = b.k"
MANY = 100_000  # two flips fill a block


NONE = "SELECT a.x FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)"


@pytest.mark.parametrize("sql", (LEFT, NONE))
def test_flips_larger_than_a_block_go_on_in_the_next(sql: str) -> None:
    graph = compiled(jg.View(sql, {table: TABLES[table] for table in "ab"}))
    graph.load({"a": [(at, at % 2, at) for at in range(2 * MANY)]})
    wanted = 1 if sql == NONE else 2
    diff = graph.insert("b", [(0, 0, 7), (1, 1, 8), (2, 1, 9)])
    assert len(diff) == wanted * 2 * MANY + (wanted - 1) * MANY
    assert len(diff.net()) == len(diff)
    assert len(graph.delete("b", [(1, 1, 8)])) == (wanted - 1) * MANY
    graph.check()


def test_a_consumer_of_every_diff_reads_all_rows_of_its_flips() -> None:
    view = jg.View(LEFT, {table: TABLES[table] for table in "ab"})
    drained, told = compiled(view), compiled(view)
    for graph in (drained, told):
        graph.load({"a": [(at, at % 3, at) for at in range(3 * MANY)]})
    come = [("insert", "b", [(at, at % 3, at) for at in range(6)])]
    gone = [("delete", "b", [(at, at % 3, at) for at in range(5)])]
    for batch in (come, gone):
        assert consume_each(drained, batch) == tally(told.apply(batch).to_arrow())
    drained.check()
