"""A full scan lends its blocks to Arrow: what was read stays as it is, however long it is kept."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import joingraph as jg
from joingraph.graph.compiled.memory.blocks import Blocks

TABLES = {
    "a": "CREATE TABLE a (k BIGINT, x BIGINT)",
    "b": "CREATE TABLE b (k BIGINT, y BIGINT)",
}
SQL = "SELECT a.x, b.y FROM a JOIN b ON a.k = b.k"


def test_batches_that_are_kept_are_those_that_were_read() -> None:
    graph = jg.JoinGraph(jg.View(SQL, TABLES), engine="compiled")
    graph.load({"a": [(0, x) for x in range(300)], "b": [(0, y) for y in range(500)]})
    sums = [(sum_of(batch, "x"), sum_of(batch, "y")) for batch in graph.scan()]
    kept = list(graph.scan())
    graph.load({"a": [(1, 7)], "b": [(1, 8)]})
    assert [(sum_of(batch, "x"), sum_of(batch, "y")) for batch in kept] == sums
    assert sum(x for x, _ in sums) == 500 * sum(range(300))
    assert sum(y for _, y in sums) == 300 * sum(range(500))


def test_workers_that_share_a_scan_read_each_value_once() -> None:
    graph = jg.JoinGraph(jg.View(SQL, TABLES), engine="compiled")
    values, fans = np.arange(2_000), 300  # several ranges, and more rows than two blocks have
    graph.load({"a": pa.table({"k": values, "x": values})})
    graph.load(
        {"b": pa.table({"k": np.repeat(values, fans), "y": np.tile(np.arange(fans), 2_000)})}
    )
    found = graph.to_arrow()
    assert (np.bincount(found["x"].to_numpy()) == fans).all()
    assert (np.bincount(found["y"].to_numpy()) == len(values)).all()


def test_the_last_leaves_order_is_no_part_of_the_view() -> None:
    for many, few in (("a", "b"), ("b", "a")):
        graph = jg.JoinGraph(jg.View(SQL, TABLES), engine="compiled")
        graph.load({many: [(0, n) for n in range(40)], few: [(0, 1), (0, None)]})
        rows = [tuple(row.values()) for row in graph.scan().read_all().to_pylist()]
        pairs = [(n, other) for n in range(40) for other in (1, None)]
        wanted = pairs if many == "a" else [(other, n) for n, other in pairs]
        assert sorted(map(repr, rows)) == sorted(map(repr, wanted))


def test_a_block_comes_back_when_the_last_view_of_it_is_gone() -> None:
    blocks = Blocks(columns=1, kept=1)
    first = blocks.take()
    words = blocks.lend(first)
    part = words[:8]
    del words
    assert blocks.take() is not first
    del part
    assert blocks.take() is first


def test_blocks_that_come_back_late_are_given_up() -> None:
    blocks = Blocks(columns=1, kept=1)
    words = blocks.lend(blocks.take())
    blocks.close()
    del words
    assert not blocks.free


def sum_of(batch: pa.RecordBatch, name: str) -> int:
    """Add up a column."""
    return int(np.sum(batch[name].to_numpy()))
