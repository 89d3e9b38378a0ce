"""Arrow columns that an alias keeps as they are: sliced, in chunks, with NULLs, of any number."""

from __future__ import annotations

import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.op_rows import SHARED, bit_of, kinds_of
from tests.bags import bag

TABLES = {
    "a": "CREATE TABLE a (k BIGINT, n BIGINT, i INT, d DECIMAL(30, 2), t TIMESTAMP, b BOOLEAN)",
    "b": "CREATE TABLE b (k BIGINT, x DOUBLE, s STRING)",
}
VIEW = jg.View("SELECT a.n, a.i, a.d, a.t, a.b, b.x FROM a JOIN b ON a.k = b.k", TABLES)
TYPES = [pa.int64(), pa.int64(), pa.int32(), pa.decimal128(30, 2), pa.timestamp("us"), pa.bool_()]


def arrow(seed: int, *, key_nulls: bool, chunks: int) -> pa.Table:
    """Make rows of the table a, a slice of more of them, in so many chunks."""
    chance, length = random.Random(seed), 200
    makers = [
        lambda: chance.randrange(9) if not key_nulls or chance.random() < 0.8 else None,
        lambda: chance.choice([None, 2**63 - 1, -(2**63), chance.randrange(99)]),
        lambda: chance.choice([None, -1, 5]),
        lambda: chance.choice([None, Decimal("-0.01"), Decimal(10**27)]),
        lambda: chance.choice([None, chance.randrange(10**15)]),
        lambda: chance.choice([None, True, False]),
    ]
    parts = [
        [
            pa.array([make() for _ in range(length)], kind)
            for make, kind in zip(makers, TYPES, strict=True)
        ]
        for _ in range(chunks)
    ]
    tables = [pa.table(part, names=["k", "n", "i", "d", "t", "b"]) for part in parts]
    return pa.concat_tables(tables).slice(7, length * chunks - 30)


@pytest.mark.parametrize("chunks", [1, 3])
@pytest.mark.parametrize("key_nulls", [False, True])
def test_columns_as_they_are_make_the_rows_of_the_reference(
    *, key_nulls: bool, chunks: int
) -> None:
    graphs = [jg.JoinGraph(VIEW, engine=engine) for engine in ("compiled", "reference")]
    one, two = (arrow(seed, key_nulls=key_nulls, chunks=chunks) for seed in (1, 2))
    partners = [(k, x, "s") for k in range(9) for x in (None, 0.5)]
    for batch in (
        [("insert", "b", partners), ("insert", "a", one)],
        [("update", "a", one, two)],
        [("insert", "a", one), ("delete", "a", two.slice(0, 50)), ("insert", "a", two)],
        [("delete", "a", one)],
    ):
        found, wanted = (bag(graph.apply(batch).net()) for graph in graphs)
        assert found == wanted
    graphs[0].check()
    one_view, other = (sorted(map(str, graph.to_arrow().to_pylist())) for graph in graphs)
    assert one_view == other


def test_which_aliases_keep_columns_as_they_are() -> None:
    def plain(sql: str) -> list[tuple[str, ...] | None]:
        engine = jg.JoinGraph(jg.View(sql, TABLES), engine="compiled").engine
        assert isinstance(engine, CompiledEngine)
        return engine.feeder.plain

    join = "SELECT a.n, b.x FROM a JOIN b ON a.k = b.k"
    assert plain(join) == [("k", "n"), ("k", "x")]
    assert plain(f"{join} WHERE a.i > 1") == [None, ("k", "x")]
    assert plain("SELECT a.n + 1, b.s FROM a JOIN b ON a.k = b.k") == [None, None]
    assert plain("SELECT a.n, b.k FROM a JOIN b ON a.k = b.x") == [None, None]


def test_kinds_are_the_bits_of_all_ops() -> None:
    def ops(*given: tuple[int, int]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        found = np.zeros((len(given), f.OP_WORDS), np.int64)
        found[:, f.O_DIFF] = [diff for diff, _ in given]
        found[:, f.O_KIND] = [kind for _, kind in given]
        return found

    assert kinds_of(ops()) == 0
    assert kinds_of(ops((0, f.INSERT), (3, f.INSERT))) == bit_of(f.INSERT)
    mixed = ops((0, f.DELETE), (1, f.UPDATE), (2, f.MOVE), (4, f.NOTHING))
    assert kinds_of(mixed) == bit_of(f.DELETE) | bit_of(f.UPDATE) | bit_of(f.MOVE) | 1
    assert kinds_of(ops((2, f.INSERT), (2, f.INSERT))) == SHARED | bit_of(f.INSERT)
