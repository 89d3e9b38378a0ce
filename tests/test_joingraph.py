"""The public face: what people call, what they get, and what bad input does (nothing)."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from itertools import pairwise

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.engines.choice import make_engine
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.engines.plain import ReferenceEngine
from joingraph.graph.compiled import fields as f
from joingraph.maintainers.lookahead import ExactLook
from tests import ENGINES

TABLES = {
    "follower": "CREATE TABLE follower (author STRING, fan STRING)",
    "tweet": "CREATE TABLE tweet (author STRING NOT NULL, id BIGINT, text STRING)",
}
SQL = "SELECT F.fan, T.id FROM follower F JOIN tweet T ON F.author = T.author"


@pytest.fixture
def graph() -> jg.JoinGraph:
    """A timeline with two fans of ann and no tweet yet."""
    found = jg.JoinGraph(jg.View(SQL, TABLES))
    found.load({"follower": [("ann", "bob"), ("ann", "eve")]})
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_a_join_attribute_may_be_the_word_for_null(engine: str) -> None:
    """The batch was applied, so it answers in all forms."""
    word = -0x7A3F9D215C8EB461
    tables = {
        "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
        "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT)",
    }
    sql = "SELECT F.author, F.fan FROM follower F JOIN tweet T ON F.author = T.author"
    made = jg.JoinGraph(jg.View(sql, tables), engine=engine)
    made.insert("follower", [(word, 1), (7, None)])
    diff = made.insert("tweet", [(word, 5), (word, 5), (7, 6), (8, 9)])
    assert sorted(diff.net(), key=repr) == [("insert", (word, 1), 2), ("insert", (7, None), 1)]
    assert len(diff.idiffs()) == 2


def test_rows_come_in_the_order_of_the_diffs(graph: jg.JoinGraph) -> None:
    out = graph.apply(
        [
            ("insert", "tweet", [("ann", 1, "hi")]),
            ("update", "tweet", [("ann", 1, "hi")], [("ann", 2, "hi")]),
            ("delete", "tweet", [("ann", 2, "hi")]),
        ]
    )
    kinds = [kind for kind, _, _ in out.rows()]
    pair = ["update_preimage", "update_postimage"]
    assert kinds == ["insert"] * 2 + pair * 2 + ["delete"] * 2
    assert out.net() == []
    assert len(out) == 8


def test_rows_may_be_tuples_dicts_or_arrow(graph: jg.JoinGraph) -> None:
    graph.insert("tweet", [("ann", 1, "a")])
    graph.insert("tweet", [{"author": "ann", "id": 2, "text": "b"}])
    graph.insert("tweet", pa.table({"author": ["ann"], "id": [3], "text": ["c"]}))
    assert sorted(graph.to_arrow()["id"].to_pylist()) == [1, 1, 2, 2, 3, 3]


def test_each_batch_has_the_next_number(graph: jg.JoinGraph) -> None:
    assert [graph.insert("tweet", [("ann", i, "x")]).seq for i in range(3)] == [1, 2, 3]


def test_to_arrow_tells_positions_on_request(graph: jg.JoinGraph) -> None:
    out = graph.insert("tweet", [("zoe", 1, "x"), ("ann", 2, "y")])
    assert out.to_arrow().column_names == ["fan", "id", "_change_type", "_count"]
    table = out.to_arrow(positions=True)
    assert table["_seq"].to_pylist() == [1, 1]
    assert table["_diff"].to_pylist() == [1, 1]
    assert out.to_arrow(net=True)["_change_type"].to_pylist() == ["insert", "insert"]


@pytest.mark.parametrize("engine", ENGINES)
def test_positions_count_the_base_diffs_that_the_filter_drops(engine: str) -> None:
    tables = {
        "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT, PRIMARY KEY (author, fan))",
        "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT PRIMARY KEY)",
    }
    sql = "SELECT F.fan, T.author, T.id FROM follower F, tweet T WHERE F.author = T.author"
    graph = jg.JoinGraph(jg.View(f"{sql} AND T.id > 10", tables), engine=engine)
    graph.load({"follower": [(1, 7), (1, 8)]})
    out = graph.insert("tweet", [(1, 9), (1, 11), (1, 10), (1, 12)])
    found = out.to_arrow(positions=True)
    assert found["id"].to_pylist() == [11, 11, 12, 12]
    assert found["_diff"].to_pylist() == [1, 1, 3, 3]


def test_a_view_diff_stays_valid_after_later_batches(graph: jg.JoinGraph) -> None:
    out = graph.insert("tweet", [("ann", 1, "x")])
    before = out.rows()
    graph.delete("tweet", [("ann", 1, "x")])
    graph.close()
    assert out.rows() == before


def test_a_reader_that_outlives_a_change_says_so(graph: jg.JoinGraph) -> None:
    reader = graph.scan()
    graph.insert("tweet", [("ann", 1, "x")])
    with pytest.raises(jg.StoreError, match="scan again"):
        reader.read_all()


def test_maintain_only_keeps_the_graph_and_makes_no_view_diffs(graph: jg.JoinGraph) -> None:
    graph.maintain_only = True
    assert len(graph.insert("tweet", [("ann", 1, "x")])) == 0
    assert graph.count() == 2
    graph.check()


def test_a_missing_row_is_named_and_nothing_is_changed(graph: jg.JoinGraph) -> None:
    batch = [("insert", "tweet", [("ann", 1, "x")]), ("delete", "tweet", [("ann", 9, "x")])]
    with pytest.raises(jg.DiffError, match=r"delete from tweet, row 0.*author='ann', id=9"):
        graph.apply(batch)
    assert graph.count() == 0
    graph.check()


def test_a_batch_may_delete_what_it_inserted_before(graph: jg.JoinGraph) -> None:
    row = [("ann", 1, "x")]
    assert graph.apply([("insert", "tweet", row), ("delete", "tweet", row)]).net() == []
    with pytest.raises(jg.DiffError):
        graph.apply([("delete", "tweet", row), ("insert", "tweet", row)])


@pytest.mark.parametrize("choice", ["skip", "quarantine"])
def test_missing_rows_can_be_left_out(choice: str) -> None:
    graph = jg.JoinGraph(jg.View(SQL, TABLES), on_missing=choice)
    graph.load({"follower": [("ann", "bob")]})
    out = graph.apply(
        [
            ("update", "tweet", [("ann", 9, "x")], [("ann", 8, "x")]),
            ("insert", "tweet", [("ann", 1, "x")]),
        ]
    )
    assert out.rows() == [("insert", ("bob", 1), 1)]
    kept = [(each.operation, each.pre["id"], each.post) for each in graph.quarantined()]
    post = {"author": "ann", "id": 8, "text": "x"}
    assert kept == ([("update", 9, post)] if choice == "quarantine" else [])


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ([("insert", "twet", [])], 'no base table "twet"; did you mean "tweet"'),
        ([("upsert", "tweet", [])], "entry 0 of the batch is no diff"),
        ([("update", "tweet", [])], "takes pre_rows and post_rows, found 1"),
        ([("insert", "tweet", [("ann", 1)])], "row 0"),
        ([("insert", "tweet", [("ann", "one", "x")])], "id"),
        ([("insert", "tweet", [(None, 1, "x")])], "author"),
        ([("update", "tweet", [("ann", 1, "x")], [])], "1 pre rows and 0 post rows"),
        (["insert"], "entry 0 of the batch is no diff"),
    ],
)
def test_a_bad_batch_is_refused_and_changes_nothing(
    graph: jg.JoinGraph, batch: list[tuple[object, ...]], said: str
) -> None:
    with pytest.raises(jg.DiffError, match=said):
        graph.apply([*batch, ("insert", "tweet", [("ann", 7, "good")])])
    assert graph.count() == 0
    graph.check()


def test_an_arithmetic_error_on_a_path_leaves_the_graph_as_it_was() -> None:
    tables = {"r": "CREATE TABLE r (a INT, x INT)", "s": "CREATE TABLE s (a INT, y INT)"}
    graph = jg.JoinGraph(jg.View("SELECT r.x / s.y AS q FROM r JOIN s ON r.a = s.a", tables))
    graph.load({"r": [(1, 6)], "s": [(2, 2)]})
    with pytest.raises(jg.DiffError, match="division"):
        graph.apply([("insert", "s", [(1, 3)]), ("insert", "s", [(1, 0)])])
    graph.check()
    assert graph.count() == 0
    assert graph.insert("s", [(1, 3)]).rows() == [("insert", (2.0,), 1)]


def test_unknown_options_are_refused_by_name() -> None:
    view = jg.View(SQL, TABLES)
    for options in ({"engine": "fast"}, {"lookahead": "far"}, {"on_missing": "cry"}):
        with pytest.raises(ValueError, match="choose one of"):
            jg.JoinGraph(view, **options)  # type: ignore[arg-type]  # wrong on purpose


def test_auto_look_ahead_is_exact_in_both_forms() -> None:
    view = jg.View(SQL, TABLES)
    plain, compiled = (make_engine(view, engine, "auto") for engine in ENGINES)
    assert isinstance(plain, ReferenceEngine)
    assert isinstance(plain.look, ExactLook)
    assert isinstance(compiled, CompiledEngine)
    assert compiled.memory.words[f.LOOKAHEAD] == f.EXACT


def test_a_graph_in_memory_has_no_place_for_a_snapshot(graph: jg.JoinGraph) -> None:
    with pytest.raises(jg.StoreError, match="kept in memory"):
        graph.snapshot()


def test_a_closed_graph_says_that_it_is_closed(graph: jg.JoinGraph) -> None:
    with graph:
        pass
    with pytest.raises(jg.StoreError, match="the graph is closed"):
        graph.count()


def test_stats_tell_the_size_by_alias_and_vertex(graph: jg.JoinGraph) -> None:
    graph.insert("tweet", [("ann", 1, "x"), ("ann", 1, "x")])
    stats = graph.stats()
    assert stats["aliases"]["T"]["rows"] == 2
    assert stats["vertices"]["<F.author = T.author>"]["values"] == 1
    assert stats["vertices"]["<F.author = T.author>"]["heaviest"] == [(("ann",), 4)]
    assert stats["bytes"] == sum(stats["bytes_by_kind"].values()) > 0


def test_an_empty_batch_changes_nothing_and_is_numbered(graph: jg.JoinGraph) -> None:
    out = graph.apply([])
    assert (out.rows(), out.seq) == ([], 1)


def test_readers_in_other_threads_see_whole_batches_only(graph: jg.JoinGraph) -> None:
    odd: list[int] = []

    def read() -> None:
        for _ in range(100):
            count = graph.count()
            if count % 4:
                odd.append(count)

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(100):
        graph.insert("tweet", [("ann", i, "x"), ("ann", -i, "x")])
    reader.join()
    assert odd == []


def test_64_relations_are_created_loaded_and_read() -> None:
    tables = {f"t{i}": f"CREATE TABLE t{i} (a BIGINT, b BIGINT)" for i in range(64)}
    joins = " ".join(f"JOIN t{i} ON t{i - 1}.b = t{i}.a" for i in range(1, 64))
    graph = jg.JoinGraph(jg.View(f"SELECT t0.a, t63.b FROM t0 {joins}", tables))
    for i in range(64):
        graph.insert(f"t{i * 37 % 64}", [(row, row) for row in range(10)])
    assert sorted(graph.to_arrow()["a"].to_pylist()) == list(range(10))
    graph.check()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_graph_is_not_copied(graph: jg.JoinGraph, copied: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match="a graph is not copied"):
        copied(graph)
    assert graph.count() == 0


def test_a_chain_longer_than_pythons_stack_is_checked() -> None:
    names = [f"t{n}" for n in range(256)]
    joins = " ".join(f"JOIN t AS {b} ON {a}.b = {b}.a" for a, b in pairwise(names))
    sql = f"SELECT t0.a FROM t AS t0 {joins}"
    graph = jg.JoinGraph(jg.View(sql, {"t": "CREATE TABLE t (a INT, b INT)"}), engine="reference")
    graph.insert("t", [(1, 1)])
    assert graph.count() == 1
    graph.check()
