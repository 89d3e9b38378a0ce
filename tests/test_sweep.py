"""Texts that no row has any more are forgotten, and nothing else is."""

from __future__ import annotations

import random

from joingraph import JoinGraph, View
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.graph.compiled.values.string_pool import COUNT

TABLES = {
    "person": "CREATE TABLE person (name STRING, city STRING, PRIMARY KEY (name))",
    "message": "CREATE TABLE message (author STRING, text STRING, n BIGINT)",
}
SQL = """SELECT p.name, p.city, m.text, m.n FROM person p JOIN message m ON p.name = m.author"""


def engine_of(graph: JoinGraph) -> CompiledEngine:
    assert isinstance(graph.engine, CompiledEngine)
    return graph.engine


def test_texts_that_come_and_go_take_bounded_memory() -> None:
    graph = JoinGraph(View(SQL, tables=TABLES))
    graph.insert("person", [("ann", "Bern"), ("bob", "Rome")])
    engine, sizes = engine_of(graph), []
    engine.sweeper.fewest_bytes = 50_000
    for batch in range(60):
        rows = [("ann", f"message {batch} {row} {'x' * 40}", row) for row in range(100)]
        graph.insert("message", rows)
        graph.delete("message", rows)
        sizes.append(engine.interner.bytes)
    assert max(sizes[30:]) <= max(sizes[:30])
    assert graph.insert("message", [("bob", "still here", 1)]).rows() == [
        ("insert", ("bob", "Rome", "still here", 1), 1)
    ]


def test_a_sweep_between_batches_is_not_noticed() -> None:
    draw, view = random.Random(5), View(SQL, tables=TABLES)
    options = {"key_index": ["person"]}
    swept, plain = JoinGraph(view, **options), JoinGraph(view, engine="reference", **options)
    for graph in (swept, plain):
        graph.index("text")
    people: dict[str, str] = {}
    messages: list[tuple[str, str, int]] = []
    for step in range(120):
        batch = change(draw, step, people, messages)
        engine = engine_of(swept)
        engine.sweeper.sweep(engine.indexes.values())
        assert sorted(swept.apply(batch).rows()) == sorted(plain.apply(batch).rows())
        where = f"text >= 't{draw.randrange(40)}'"
        found, wanted = swept.scan(where=where).read_all(), plain.scan(where=where).read_all()
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, wanted.to_pylist()))
        swept.check()
    assert engine_of(swept).interner.state[COUNT] < 100  # ids: freed ones are given again


def change(
    draw: random.Random, step: int, people: dict[str, str], messages: list[tuple[str, str, int]]
) -> list[tuple[object, ...]]:
    """Draw a batch: somebody moves, leaves by key or comes; messages come, change and go."""
    batch: list[tuple[object, ...]] = []
    name = f"name {draw.randrange(6)}"
    if name not in people:
        people[name] = f"city {step}"
        batch.append(("insert", "person", [(name, people[name])]))
    elif draw.random() < 0.5:
        batch.append(("delete", "person", [{"name": name}]))
        del people[name]
    else:
        old, people[name] = people[name], f"city {step}"
        batch.append(("update", "person", [(name, old)], [(name, people[name])]))
    for _ in range(draw.randrange(3)):
        messages.append((f"name {draw.randrange(8)}", f"t{draw.randrange(40)} {step}", step))
        batch.append(("insert", "message", [messages[-1]]))
    if len(messages) > 10:
        gone = messages.pop(draw.randrange(len(messages)))
        batch.append(("delete", "message", [gone]))
        post = (gone[0], f"changed {step}", gone[2])
        pre = messages[draw.randrange(len(messages))]
        messages[messages.index(pre)] = post
        batch.append(("update", "message", [pre], [post]))
    return batch
