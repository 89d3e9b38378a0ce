"""The compiled form does what the reference form does, on every template of its kernels."""

from __future__ import annotations

import pytest

import joingraph as jg
from joingraph.common.errors import DiffError
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.graph.compiled import fields
from joingraph.plan.view import View
from joingraph.tables.batch import read_batch
from joingraph.tables.table import Table
from tests import LOOKAHEADS
from tests.kernel_twins import Feed, Twins, bag
from tests.shapes import SHAPES, TABLES

pytestmark = pytest.mark.kernels


def feed(twins: Twins, seed: int) -> Feed:
    """Make a feed whose values meet often, but in a long chain only now and then."""
    tables: dict[str, Table] = dict(twins.view.tables)
    return Feed(seed, 4 if len(twins.view.plan.aliases) < 10 else 20, tables)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_does_the_same_compiled(name: str) -> None:
    """Each view with its own kernels, exact look-ahead."""
    twins = Twins(SHAPES[name], "exact")
    batches = feed(twins, 1)
    twins.load(batches.inserts(8))
    for size in (1, 5, 9):
        twins.apply(batches.batch(size))


@pytest.mark.parametrize("name", ("leaf and leaf", "key of two words", "chain of nodes", "product"))
def test_many_inserts_in_a_row_do_the_same(name: str) -> None:
    """Own kernels look ahead only in runs of inserts that are long enough."""
    twins = Twins(SHAPES[name], "exact")
    batches = Feed(4, 12, dict(twins.view.tables))
    for size in (60, 20):
        twins.apply(batches.inserts(size))
        twins.apply(batches.batch(8))


LISTS = ("leaf and leaf", "wide leaf", "edge between leaves", "chain of two edges")
NODES = ("node of two links", "node of three links and a column")


@pytest.mark.parametrize("name", LISTS + NODES)
def test_rows_are_removed_from_indexed_lists(name: str) -> None:
    """Lists of a few rows count as long: rows come, change and go, equal ones among them."""
    twins = Twins(SHAPES[name], "exact", own_kernels=False)
    twins.compiled.memory.words[fields.LONG] = 4
    batches = Feed(7, 2, dict(twins.view.tables))
    twins.load(batches.inserts(20))
    most = 0
    for size in (12, 3, 12):
        twins.apply(batches.batch(size))
        most = max(most, int(twins.compiled.memory.words[fields.PLACE_COUNT]))
    assert most > 8, "some list was indexed"
    for table, rows in batches.held.items():
        twins.apply(read_batch([("delete", table, rows)], twins.view.tables))
    assert int(twins.compiled.memory.words[fields.PLACE_COUNT]) == 0


@pytest.mark.parametrize("lookahead", LOOKAHEADS)
@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_does_the_same_by_the_odometer(name: str, lookahead: str) -> None:
    """The plan-looping form in every look-ahead mode."""
    twins = Twins(SHAPES[name], lookahead, own_kernels=False)
    batches = feed(twins, 2)
    for size in (6, 1, 6):
        twins.apply(batches.batch(size))


@pytest.mark.parametrize("lookahead", LOOKAHEADS)
@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_that_was_loaded_at_once_does_the_same(name: str, lookahead: str) -> None:
    """Laid out by counting, then changed; a second load finds rows, and goes row by row."""
    twins = Twins(SHAPES[name], lookahead, own_kernels=False)
    batches = feed(twins, 9)
    for load, size in ((7, 3), (2, 2), (12, 1)):
        twins.load(batches.inserts(load))
        twins.apply(batches.batch(size))


@pytest.mark.parametrize("lookahead", [each for each in LOOKAHEADS if each != "exact"])
@pytest.mark.parametrize("name", ("node of four links", "counts on a chain", "triangle"))
def test_own_kernels_without_exact_counts(name: str, lookahead: str) -> None:
    """The traversals that skip nothing, look one step ahead, or flag dead ends."""
    twins = Twins(SHAPES[name], lookahead)
    batches = feed(twins, 3)
    for size in (9, 4):
        twins.apply(batches.batch(size))


@pytest.mark.parametrize("own_kernels", (False, True))
def test_a_diff_larger_than_a_block_goes_on_in_the_next(own_kernels: bool) -> None:
    """One insert makes more rows than a block holds: none is lost, none is written twice."""
    twins = Twins(SHAPES["edge between leaves"], "exact", own_kernels=own_kernels)
    side = 400
    assert side * side > fields.BLOCK_ROWS, "the diff must not fit"
    many = [(1, n, n, 0) for n in range(side)] + [(0, 2, 0, n) for n in range(side)]
    twins.compiled.load(read_batch([("insert", "r", many)], twins.view.tables))
    before = twins.compiled.count()
    batch = read_batch([("insert", "r", [(1, 2, 7, 7)])], twins.view.tables)
    applied = twins.compiled.apply(batch, skip=False, generate=True)
    assert sum(applied.changes.rows["_count"].to_pylist()) == twins.compiled.count() - before
    assert twins.compiled.count() - before > side * side


def test_replaying_the_same_batches_gives_the_same_memory() -> None:
    """Nothing in the graph depends on time, addresses or chance."""
    heaps = []
    for _ in range(2):
        twins = Twins(SHAPES["node of three links and a column"], "exact")
        batches = feed(twins, 5)
        for size in (9, 9):
            twins.apply(batches.batch(size))
        words = twins.compiled.memory.words
        heaps.append(twins.compiled.memory.heap.words[: int(words[fields.TOP])].copy())
    assert (heaps[0] == heaps[1]).all()


def test_freed_space_is_used_again() -> None:
    """The same rows come and go a hundred times: the heap is as large as after the first time."""
    twins = Twins(SHAPES["node of three links"], "exact")
    rows = [(n % 5, n % 7, n % 3, n) for n in range(60)]
    tops = []
    for _ in range(20):
        for kind in ("insert", "delete"):
            batch = read_batch([(kind, "r", rows)], twins.view.tables)
            twins.compiled.apply(batch, skip=False, generate=False)
        tops.append(int(twins.compiled.memory.words[fields.TOP]))
    assert len(set(tops)) == 1
    assert twins.compiled.stats()["vertices"].popitem()[1]["values"] == 0


def test_a_batch_that_fails_while_its_rows_are_computed_leaves_no_trace() -> None:
    """An expression over two aliases overflows on the last row: all that was linked is undone."""
    sql = "SELECT CAST(x.b + y.b AS TINYINT) AS total FROM r x JOIN r y ON x.a = y.a"
    twins = Twins(sql, "exact")
    twins.compiled = CompiledEngine(View(sql, TABLES, "duckdb").plan, "exact")
    rows = [("insert", "r", [(1, 2, 0, 0), (2, 3, 0, 0)])]
    twins.load(read_batch(rows, twins.view.tables))
    bad = [
        ("update", "r", [(2, 3, 0, 0)], [(1, 4, 0, 0)]),
        ("delete", "r", [(1, 2, 0, 0)]),
        ("insert", "r", [(1, 100, 0, 0)]),
    ]
    with pytest.raises(DiffError):
        twins.compiled.apply(read_batch(bad, twins.view.tables), skip=False, generate=True)
    twins.compiled.undo()
    twins.agree()


def test_a_batch_that_is_undone_gives_its_view_diffs_and_leaves_no_trace() -> None:
    """What `what_if` needs; the first entries may be silent."""
    twins = Twins(SHAPES["node of two links"], "exact")
    batches = feed(twins, 6)
    twins.load(batches.inserts(9))
    batch = batches.batch(9)
    for silent in (0, 4):
        asked = {"skip": True, "generate": True, "silent": silent}
        found, expected = (
            bag(engine.apply(batch, **asked)) for engine in (twins.compiled, twins.reference)
        )
        assert found == expected
        twins.compiled.undo()
        twins.reference.undo()
        twins.agree()


def dead_entries(engine: CompiledEngine) -> int:
    """Count the entries that look-ahead keeps from being met."""
    dead = 0
    for number, vertex in enumerate(engine.layout.vertices):
        used = int(engine.memory.vertex(number)[fields.V_NEXT]) * vertex.stride
        records = engine.memory.records[number].words[:used].reshape(-1, vertex.stride)
        for seat in vertex.seats:
            if seat.kind >= fields.EDGE:
                lengths = records[:, seat.length] & fields.LENGTH
                dead += int((lengths - records[:, seat.live]).sum())
    return dead


@pytest.mark.parametrize("own_kernels", (False, True))
def test_what_was_found_dead_comes_alive_when_its_witness_does(own_kernels: bool) -> None:
    """R-S-T-U: R finds S dead; then T and U come, and a second R must meet S (global)."""
    sql = (
        "SELECT x.c AS xc, y.c AS yc, z.c AS zc, w.c AS wc FROM r x, r y, r z, r w"
        " WHERE x.d = 1 AND y.d = 2 AND z.d = 3 AND w.d = 4"
        " AND x.b = y.a AND y.b = z.a AND z.b = w.a"
    )
    twins = Twins(sql, "global", own_kernels=own_kernels)
    dead, rows = [], []
    for alias in (2, 1, 3, 4, 1):
        batch = read_batch([("insert", "r", [(alias - 1, alias, 9, alias)])], twins.view.tables)
        rows.append(twins.compiled.apply(batch, skip=False, generate=True).changes.rows.num_rows)
        twins.compiled.check()
        dead.append(dead_entries(twins.compiled))
    assert rows == [0, 0, 0, 1, 1]
    assert dead == [0, 1, 0, 0, 0]


@pytest.mark.parametrize("own_kernels", (False, True))
def test_a_move_meets_the_same_paths_twice_though_some_end_dead(own_kernels: bool) -> None:
    """Laying an entry dead changes the order of a list, and a move pairs paths by their order."""
    twins = Twins(SHAPES["node of two links"], "global", own_kernels=own_kernels)
    rows = [(n, n % 7, n, n) for n in range(40)] + [(50, n % 3, n, n) for n in range(9)]
    twins.load(read_batch([("insert", "r", rows)], twins.view.tables))
    moved = [(a, b, c + 100, d) for a, b, c, d in rows]
    twins.apply(read_batch([("update", "r", rows, moved)], twins.view.tables))


@pytest.mark.parametrize("own_kernels", (False, True))
@pytest.mark.parametrize(
    "name", ("chain of four", "node of three links", "two edges at one vertex")
)
def test_flags_that_traversals_set_lose_no_row(name: str, own_kernels: bool) -> None:
    """The global look-ahead among values that seldom meet, so that most ends are dead."""
    twins = Twins(SHAPES[name], "global", own_kernels=own_kernels)
    batches, most = Feed(8, 9, dict(twins.view.tables)), 0
    twins.load(batches.inserts(12))
    for size in (8, 1, 8, 30, 8):
        twins.apply(batches.batch(size))
        most = max(most, dead_entries(twins.compiled))
    assert most > 0, "some entry was laid dead"


@pytest.mark.parametrize("lookahead", ["none", "local", "global", "exact"])
def test_a_side_that_sums_up_to_nothing_makes_no_row(lookahead: str) -> None:
    view = jg.View(
        "SELECT a.u AS k, b.u AS w FROM t AS a CROSS JOIN t AS b JOIN t AS c ON c.z = a.x",
        {"t": "CREATE TABLE t (z INT, u INT, x INT)"},
    )
    graph = jg.JoinGraph(view, lookahead=lookahead)
    graph.compile()
    for row in [(1, 0, 0), (0, 0, 1), (0, 0, 2)]:
        graph.insert("t", [row])
    diff = graph.update("t", [(0, 0, 2)], [(0, 1, 2)])
    assert diff.rows() == [
        ("update_preimage", (0, 0), 3),
        ("update_postimage", (0, 1), 3),
    ]
