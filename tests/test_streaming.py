"""A batch's view diffs in blocks: the same rows, however many there are, and the graph after it."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.generators.reads.scan import BLOCK
from joingraph.graph.compiled import fields
from joingraph.view_diffs.view_diff import ViewRow, listed
from tests import ENGINES

TABLES = {
    "follower": "CREATE TABLE follower (author INT, fan INT)",
    "tweet": "CREATE TABLE tweet (author INT, id INT, text STRING)",
    "retweet": "CREATE TABLE retweet (id INT, by INT)",
}
SQL = """SELECT F.fan, T.id, T.text, R.by FROM follower F
JOIN tweet T ON F.author = T.author JOIN retweet R ON R.id = T.id"""
BATCH = [
    ("insert", "tweet", [(a, 100 + a, "new") for a in range(5)]),
    ("insert", "retweet", [(100 + a % 5, a) for a in range(40)]),
    ("update", "tweet", [(1, 1, "old")], [(1, 1, "edited")]),
    ("delete", "retweet", [(2, 0), (3, 0)]),
    ("delete", "follower", [(4, fan) for fan in range(20)]),
]


def graph(engine: str) -> jg.JoinGraph:
    """Five authors with 20 fans and 20 retweets each."""
    made = jg.JoinGraph(jg.View(SQL, TABLES), engine=engine)
    made.load(
        {
            "follower": [(a, fan) for a in range(5) for fan in range(20)],
            "tweet": [(a, a, "old") for a in range(5)],
            "retweet": [(a, by) for a in range(5) for by in range(20)],
        }
    )
    return made


def rows_of(blocks: list[pa.RecordBatch]) -> list[ViewRow]:
    """List the rows of blocks as `rows()` lists those of a batch."""
    return listed(pa.Table.from_batches(blocks), blocks[0].num_columns - 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_blocks_of_a_stream_are_the_rows_of_the_batch(engine: str) -> None:
    whole, streamed = graph(engine), graph(engine)
    expected = whole.apply(BATCH).rows()
    assert Counter(rows_of(list(streamed.stream(BATCH)))) == Counter(expected)
    assert bag(streamed) == bag(whole)
    streamed.check()


def test_a_base_diff_is_not_cut_where_a_block_ends() -> None:
    """Blocks of ten rows: each base diff is still folded as a whole, updates in pairs."""
    whole, streamed = graph("compiled"), graph("compiled")
    assert isinstance(streamed.engine, CompiledEngine)
    streamed.engine.memory.words[fields.LIMIT] = 10
    blocks = list(streamed.stream(BATCH))
    assert len(blocks) > 20
    assert rows_of(blocks) == whole.apply(BATCH).rows()


@pytest.mark.parametrize("shown", ("F.author, F.fan, T.id", "F.fan, T.id", "F.fan, T.text"))
def test_a_view_diff_is_the_same_however_many_blocks_it_came_in(shown: str) -> None:
    """Of keys that are all shown, that follow from others, and that rows do not tell."""
    tables = {
        "follower": "CREATE TABLE follower (author INT, fan INT, PRIMARY KEY (author, fan))",
        "tweet": "CREATE TABLE tweet (id INT, author INT, text STRING, PRIMARY KEY (id))",
    }
    sql = f"SELECT {shown} FROM follower F JOIN tweet T ON F.author = T.author"
    reference, compiled = (
        jg.JoinGraph(jg.View(sql, tables=tables), engine=engine) for engine in ENGINES
    )
    assert isinstance(compiled.engine, CompiledEngine)
    compiled.engine.memory.words[fields.LIMIT] = 10
    tweets = [(id, id % 5, "abc"[id % 3]) for id in range(60)]
    moved = [(id, (author + 1) % 5, text) for id, author, text in tweets]
    for batch in (
        [("insert", "follower", [(author, fan) for author in range(5) for fan in range(7)])],
        [("insert", "tweet", tweets)],
        [("update", "tweet", tweets[:30], moved[:30])],
        [("delete", "tweet", tweets[30:])],
    ):
        expected = reference.apply(batch).rows()
        assert Counter(compiled.apply(batch).rows()) == Counter(expected)
    assert compiled.count() == 30 * 7


def test_view_diffs_over_lent_blocks_stay_what_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joingraph.graph.compiled.memory.blocks.WORTH_LENDING_ROWS", 1)
    tables = {
        "follower": "CREATE TABLE follower (author INT, fan INT, PRIMARY KEY (author, fan))",
        "tweet": "CREATE TABLE tweet (id INT, author INT, at BIGINT, PRIMARY KEY (id))",
    }
    sql = "SELECT F.fan, T.id, T.at FROM follower F JOIN tweet T ON F.author = T.author"
    told = {}
    for engine in ENGINES:
        made = jg.JoinGraph(jg.View(sql, tables=tables), engine=engine)
        if isinstance(made.engine, CompiledEngine):
            made.engine.memory.words[fields.LIMIT] = 10
        made.load({"follower": [(author, fan) for author in range(5) for fan in range(7)]})
        # The last batch has the only NULL, of tweet 0.
        kept = [
            made.insert("tweet", [(id, id % 5, id or None) for id in range(at, at + 20)])
            for at in range(100, -20, -20)
        ]
        told[engine] = [Counter(map(str, each.to_arrow(positions=True).to_pylist()))
                        for each in kept]  # fmt: skip
    assert told["compiled"] == told["reference"]
    assert any("None" in row for row in told["compiled"][-1])


@pytest.mark.parametrize("kind", ("insert", "delete", "update"))
def test_a_base_diff_larger_than_a_block_comes_in_parts(kind: str) -> None:
    made = graph("compiled")
    side = 450
    assert side * side > fields.BLOCK_ROWS
    rows: dict[str, object] = {"tweet": [] if kind == "insert" else [(9, 9, "one")]}
    rows["follower"] = [(9, fan) for fan in range(side)]
    rows["retweet"] = [(9, by) for by in range(side)]
    made.load(rows)
    before = made.count()
    images = [[(9, 9, "one")], [(9, 9, "two")]] if kind == "update" else [[(9, 9, "one")]]
    blocks = list(made.stream([(kind, "tweet", *images)]))
    assert len(blocks) > 1 and max(block.num_rows for block in blocks) <= BLOCK
    signs = Counter(pa.Table.from_batches(blocks)["_change_type"].to_pylist())
    came, went = signs["insert"], signs["delete"]
    assert (came, went) == (side * side * (kind != "delete"), side * side * (kind != "insert"))
    assert made.count() == before + came - went
    made.check()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("taken", (0, 1))
def test_closing_a_stream_early_finishes_the_batch(engine: str, taken: int) -> None:
    whole, streamed = graph(engine), graph(engine)
    whole.apply(BATCH)
    with streamed.stream(BATCH) as blocks:
        for _ in range(taken):
            next(blocks)
    assert bag(streamed) == bag(whole)
    assert streamed.insert("follower", [(0, 99)]).seq == 2


def test_until_its_end_a_stream_has_the_graph_for_itself() -> None:
    made = graph("compiled")
    blocks = made.stream(BATCH)
    with pytest.raises(jg.StoreError, match="a stream of view diffs is open"):
        made.count()
    del blocks
    assert made.count() > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_batch_is_refused_for_is_known_before_the_first_block(engine: str) -> None:
    made = graph(engine)
    before = bag(made)
    with pytest.raises(jg.DiffError, match="delete from follower"):
        made.stream([*BATCH, ("delete", "follower", [(77, 77)])])
    assert bag(made) == before


def bag(made: jg.JoinGraph) -> Counter[object]:
    """Count the rows of the view."""
    return Counter(tuple(row.values()) for row in made.to_arrow().to_pylist())
