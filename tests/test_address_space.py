"""Address space: small graphs take little, large ones much, and its end is an error of ours."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.memory import image, regions, reserved
from joingraph.graph.compiled.memory.tables import grown, slots_of
from joingraph.graph.compiled.vertex_table import FIRST_INDEX
from tests.kernel_twins import Feed, Twins
from tests.shapes import SHAPES
from tests.test_store_arrays import VIEW, feed, rows

ROOT = Path(__file__).parent.parent
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for its mappings")


@pytest.fixture
def _tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give regions as little as they need, so that they move again and again."""
    monkeypatch.setattr(regions, "ROOMY", 1)
    monkeypatch.setattr(regions, "MOST_RESERVED_BYTES", 0)


def test_small_graphs_take_little_address_space_and_give_it_back() -> None:
    gc.collect()
    before, in_use = reserved.reserved[0], []
    for _ in range(3):
        graphs = [jg.JoinGraph(VIEW, engine="compiled") for _ in range(100)]
        assert [len(each.insert("topic", [(1, "name", 1.0)]).rows()) for each in graphs] == [
            0
        ] * 100
        assert reserved.reserved[0] - before < len(graphs) << 20
        in_use.append(int(reserved.FENCES[1]))
        graphs.clear()
        gc.collect()
        assert reserved.reserved[0] - before < 16 << 20, "but for a block that is kept"
    assert in_use[1] == in_use[2], "fences are used again"


def test_a_large_graph_moves_no_more() -> None:
    graph = jg.JoinGraph(VIEW, engine="compiled")
    engine = graph.engine
    assert isinstance(engine, CompiledEngine)
    small = engine.memory.heap.address
    numbers = range(60_000)
    topics = {"topic": numbers, "name": ["name"] * len(numbers), "score": [1.0] * len(numbers)}
    graph.load({"topic": pa.table(topics)})
    large = engine.memory.heap.address
    assert large != small
    same = {each: ["ann"] * len(numbers) for each in ("author", "text")}
    graph.load({"tweet": pa.table({"id": numbers, "topic": numbers, **same})})
    graph.load({"follower": [("ann", 7)]})
    assert engine.memory.heap.address == large
    assert graph.count() == 60_000
    graph.check()


def test_an_index_grows_as_its_bounds_say() -> None:
    """Fourfold while it is small, then twofold."""
    graph = jg.JoinGraph(VIEW, engine="compiled")
    engine = graph.engine
    assert isinstance(engine, CompiledEngine)
    memory, slots, count = engine.memory, [FIRST_INDEX], 0
    for more in (600, 100, 2_000, 40_000, 1_000, 200_000, 150_000):
        bound = grown(slots[-1], count + more)
        ids = range(count, count + more)
        topics = pa.table({"topic": ids, "name": ["x"] * more, "score": [1.0] * more})
        graph.insert("topic", topics)
        count += more
        found = [memory.vertex(number) for number in range(len(memory.layout.vertices))]
        (vertex,) = (vd for vd in found if vd[f.V_LIVE] == count)
        slots.append(slots_of(vertex))
        assert grown(slots[-2], count - 1) == slots[-1] <= bound
    assert slots == [1 << log2 for log2 in (10, 10, 12, 12, 16, 18, 19, 20)]
    graph.check()


@pytest.mark.usefixtures("_tight")
@pytest.mark.parametrize(
    "name", ("leaf and leaf", "chain of two edges", "node of three links and a column")
)
def test_a_graph_that_moves_does_the_same(name: str) -> None:
    twins = Twins(SHAPES[name], "exact", own_kernels=False)
    batches = Feed(5, 40, dict(twins.view.tables))
    twins.load(batches.inserts(60))
    places = {twins.compiled.memory.heap.address}
    for size in (30, 200, 9, 400):
        twins.apply(batches.batch(size))
        places.add(twins.compiled.memory.heap.address)
    assert len(places) > 1


@pytest.mark.usefixtures("_tight")
def test_a_batch_is_taken_back_after_a_move() -> None:
    graph = jg.JoinGraph(VIEW, engine="compiled", key_index=["tweet"])
    graph.insert("follower", [("ann", 7)])
    before = rows(graph)
    for size in (10, 3000):
        graph.what_if([("insert", "tweet", [(n, "ann", n, "x" * 50) for n in range(size)])])
        graph.check()
        assert rows(graph) == before


@pytest.mark.parametrize("writer_is_tight", [True, False])
def test_arrays_are_mapped_whatever_the_sizes_of_regions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, writer_is_tight: bool
) -> None:
    monkeypatch.setattr(image, "FEWEST_BYTES", 0)
    model = jg.JoinGraph(VIEW, engine="reference")
    roomy = regions.MOST_RESERVED_BYTES
    jg.JoinGraph(VIEW, tmp_path / "g", key_index=["tweet"]).close()
    for life, batch in enumerate(feed(seed=3, batches=4, rows=150)):
        is_tight = writer_is_tight == (life % 2 == 0)
        monkeypatch.setattr(regions, "MOST_RESERVED_BYTES", 0 if is_tight else roomy)
        monkeypatch.setattr(regions, "SMALL_GRAPH_BYTES", 0)
        with jg.open(tmp_path / "g") as graph:
            assert rows(graph) == rows(model)
            graph.apply(batch)
            model.apply(batch)
            graph.check()
            graph.snapshot()


LITTLE = """
import resource
import joingraph as jg
from tests.test_store_memory import VIEW, tweets

graph = jg.JoinGraph(VIEW)
graph.compile()
graph.insert("tweet", tweets(0, 10))
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (160 << 20), resource.RLIM_INFINITY))
taken = 10
try:
    while True:
        graph.load({"tweet": tweets(taken, 20_000, "a text of some length")})
        taken += 20_000
except jg.LimitError as error:
    assert "ulimit -v" in str(error) and "address space" in str(error), error
assert graph.stats()["aliases"]["T"]["rows"] == taken > 20_000, taken
graph.check()
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
graph.load({"tweet": tweets(taken, 20_000, "a text of some length")})
"""

MANY = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (6 << 30,) * 2)
import joingraph as jg
from tests.test_store_memory import VIEW, tweets

graphs = [jg.JoinGraph(VIEW) for _ in range(1500)]
for graph in graphs[:50]:
    graph.load({"tweet": tweets(0, 1000)})
assert len(open("/proc/self/maps").readlines()) < 5000
assert sum(graph.stats()["aliases"]["T"]["rows"] for graph in graphs) == 50_000
"""


@needs_linux
@pytest.mark.parametrize("script", [LITTLE, MANY])
def test_under_a_limit_of_address_space(script: str) -> None:
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
