"""Batches of few Python rows, carried out by one compiled call: the same answers to the letter."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import joingraph as jg
from benchmarks import calls as benchmark
from joingraph.engines.calls import calls
from joingraph.engines.calls.view_rows import WordsDiff
from joingraph.engines.calls.word_columns import READERS, with_nulls
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.graph.compiled.fields import NULL_WORD
from joingraph.storage.journal import Journal
from joingraph.storage.record import HEAD, Record, decode, encode
from joingraph.storage.recovery import entries_of
from joingraph.tables.rows_in import to_table
from tests.crash.interrupting import stepped
from tests.few_rows import SHAPES, Batch, Feed, bag, by_column, kept, outcome, spelled


def compare(name: str, seed: int, steps: int, *, with_reference: bool) -> int:
    """Carry the same batches out by calls, by blocks, by column and by the reference form."""
    shape, view = SHAPES[name], SHAPES[name].view
    feed = Feed(shape, seed)
    look = feed.chance.choice(("auto", "none", "local", "global"))
    graph, blocks, columns = (jg.JoinGraph(view, lookahead=look) for _ in range(3))
    plain = jg.JoinGraph(view, lookahead=look, engine="reference") if with_reference else None
    called = 0
    for step in range(steps):
        batch = [feed.entry() for _ in range(feed.chance.choice((1, 1, 1, 3)))]
        where = (name, seed, step, batch)
        calls: list[jg.ViewDiff] = []
        found = outcome(partial(kept, graph.apply, spelled(batch, feed.chance), calls))
        expected = outcome(lambda batch=batch: blocks.apply(Batch(batch)))
        assert found[:2] == expected[:2], where
        if not found[2]:
            # A limit is the compiled form's; a row without an answer is named in any order.
            if plain is not None and expected[0].startswith("DiffError"):
                assert outcome(lambda batch=batch: plain.apply(batch))[0] == found[0], where
            continue
        assert repr(found[2][0].to_pylist()) == repr(expected[2][0].to_pylist()), where
        assert found[2][1] == expected[2][1], where
        told = outcome(partial(kept, columns.apply, by_column(batch, view), calls))
        # A batch that is refused may leave lists in another order, and this graph sees none.
        assert (told[0], sorted(told[1])) == (found[0], sorted(found[1])), where
        assert told[2][1] == found[2][1], where
        if plain is not None:
            assert sorted(map(repr, plain.apply(batch).rows())) == sorted(found[1]), where
        called += sum(isinstance(each, WordsDiff) for each in calls)
        feed.note(batch)
    for each in (graph, blocks, columns):
        each.check()
        assert (each.count(), each.seq) == (graph.count(), graph.seq)
    assert bag(graph) == bag(blocks) == bag(columns)
    return called


@pytest.mark.parametrize("name", SHAPES)
def test_few_rows_do_what_they_do_by_blocks_and_in_the_reference_form(name: str) -> None:
    called = sum(compare(name, seed, 40, with_reference=True) for seed in range(3))
    assert called > 20


@pytest.mark.parametrize("name", SHAPES)
def test_many_view_rows_of_columns_are_told_as_columns(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "FOLDED_BY_COLUMN", 2)
    compare(name, 7, 40, with_reference=False)


def test_columns_go_by_a_call_if_they_are_the_declared_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shape = SHAPES["conditions on texts"]
    engine = CompiledEngine(shape.view.plan, "exact")
    read, table = engine.calls(shape.view.tables).read, shape.view.tables["y"]
    rows = to_table([("a", 1, "text"), (None, 3, None), ("ü", 4, "a")], table, "rows")
    words = read([("insert", "y", rows)])
    for each in (words, read([("insert", "y", rows.to_pylist())])):
        assert each is not None
        (entry,) = each.entries(shape.view.tables)
        assert entry.post is not None and entry.post.equals(rows)
    assert words == read([("insert", "y", rows.to_batches()[0])])
    assert words == read(
        [("insert", "y", pa.concat_tables([rows] * 3).combine_chunks().slice(3, 3))]
    )
    others = [
        rows.select(["b", "a", "c"]),
        rows.drop_columns(["c"]),
        rows.cast(pa.schema([("a", pa.large_string()), ("b", pa.int64()), ("c", pa.string())])),
        pa.concat_tables([rows, rows]),
        rows.slice(0, 0),
    ]
    assert [read([("insert", "y", each)]) for each in others] == [None] * 5
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    broken = pa.table([bad, pa.array([1]), pa.array(["a"])], schema=table.nullable)
    assert read([("insert", "y", broken)]) is None


def test_rows_by_name_and_by_place_are_not_mixed() -> None:
    view = SHAPES["integers"].view
    named, placed = {"a": 1, "b": 2}, (1, 2)
    for rows in ([named, placed], [placed, named], [[1, 2], named]):
        errors = list[str]()
        for graph, batch in (
            (jg.JoinGraph(view), [("insert", "x", rows)]),
            (jg.JoinGraph(view), Batch([("insert", "x", rows)])),
            (jg.JoinGraph(view, engine="reference"), [("insert", "x", rows)]),
        ):
            with pytest.raises(jg.DiffError) as caught:
                graph.apply(batch)
            errors.append(str(caught.value))
        assert errors[0] == errors[1] == errors[2]
    graph = jg.JoinGraph(view)
    assert len(graph.insert("x", [placed, [1, 3]])) == 0
    assert graph.stats()["aliases"]["X"]["rows"] == 2


def test_there_is_room_for_each_text_of_a_column() -> None:
    """Where there is none, looking for a place in the pool never ends."""
    view, chance = SHAPES["three tables"].view, Random(2)
    graph, schema = jg.JoinGraph(view), view.tables["x"].schema
    for count in (1, 100, 1_000):
        keys = pa.array([chance.randrange(500) for _ in range(count)], pa.int32())
        texts = [f"t{chance.randrange(10**6)}" * 17 for _ in range(count)]
        graph.insert("x", pa.table([keys, texts], schema=schema))
    graph.check()
    assert graph.stats()["aliases"]["X"]["rows"] == 1_101


def test_view_diffs_of_few_rows_are_kept_for_subscribers_and_sources(tmp_path: Path) -> None:
    shape = SHAPES["conditions on texts"]
    feed, path = Feed(shape, 7), tmp_path / "graph"
    graphs = jg.JoinGraph(shape.view, path), jg.JoinGraph(shape.view)
    subscriptions = [each.subscribe("s") for each in graphs]
    for position in range(20):
        batch = [feed.entry()]
        found = outcome(partial(graphs[0].apply, batch, source="a", position=position))
        expected = outcome(partial(graphs[1].apply, Batch(batch), source="a", position=position))
        assert found[:2] == expected[:2]
        if found[2]:
            feed.note(batch)
            again = graphs[0].apply(batch, source="a", position=position)
            assert list(map(repr, again.rows())) == found[1]
            told = [each.next(0) for each in subscriptions]
            assert all(each is not None and each.rows() == again.rows() for each in told)
            for each in subscriptions:
                each.ack(again.seq)
    graphs[0].close()
    with jg.open(path) as graph:
        assert (bag(graph), graph.positions()) == (bag(graphs[1]), graphs[1].positions())


@pytest.mark.parametrize("durability", ["os", "none", "fsync"])
@pytest.mark.parametrize("name", ["all types", "computed keys and projected values"])
def test_a_log_of_rows_as_words_and_as_columns_opens(
    name: str, durability: str, tmp_path: Path
) -> None:
    shape, path = SHAPES[name], tmp_path / "graph"
    feed, mirror = Feed(shape, 3), jg.JoinGraph(shape.view)
    for _ in range(3):
        with jg.JoinGraph(shape.view, path, durability=durability) as graph:
            for step in range(10):
                batch = [feed.entry() for _ in range(1 + step % 2)]
                given = Batch(batch) if step % 3 == 0 else batch
                found = outcome(lambda given=given: graph.apply(given))
                assert found[:2] == outcome(lambda batch=batch: mirror.apply(Batch(batch)))[:2]
                if found[2]:
                    feed.note(batch)
        with jg.open(path) as graph:
            graph.check()
            assert (bag(graph), graph.seq) == (bag(mirror), mirror.seq)


def test_a_record_of_few_rows_that_is_damaged_is_refused_by_name() -> None:
    shape = SHAPES["conditions on texts"]
    view = shape.view
    calls = CompiledEngine(view.plan, "exact").calls(view.tables)
    rows = calls.read([("insert", "y", [("a", 1, "text"), ("b", 2, None)])])
    assert rows is not None
    said = {"skip": False, "quarantine": True, "source": "s", "position": [1]}
    record = Record("batch", 7, said, rows=rows)
    (written,) = encode(record, 1, 0)
    whole = written[HEAD.size :]
    assert decode(memoryview(whole)) == record
    chance = Random(5)
    for _ in range(300):
        data = bytearray(whole[: chance.choice((len(whole), chance.randrange(9, len(whole))))])
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(8, len(data))] = chance.randrange(256)
        with suppress(jg.StoreError):
            entries_of(decode(memoryview(bytes(data))), view)


def test_few_rows_are_many_when_memory_for_them_ends() -> None:
    shape = SHAPES["integers"]
    graph, blocks = jg.JoinGraph(shape.view), jg.JoinGraph(shape.view)
    for count in (1, 40, 2000, 1, 70_000):
        rows = [(1 if count > 2000 else each % 3, each) for each in range(count)]
        found = [each.insert("x", rows).rows() for each in (graph,)]
        assert found == [blocks.apply(Batch([("insert", "x", rows)])).rows()]
        one = graph.insert("y", [(1, count)])
        assert one.rows() == blocks.apply(Batch([("insert", "y", [(1, count)])])).rows()
    assert isinstance(graph.insert("y", [(2, 7)]), WordsDiff)
    assert not isinstance(graph.insert("y", [(1, 7)]), WordsDiff)
    graph.check()


def test_a_row_that_is_missed_behind_many_view_rows_is_named() -> None:
    shape = SHAPES["integers"]
    graph = jg.JoinGraph(shape.view)
    graph.load({"x": [(1, each) for each in range(70_000)]})
    batch = [("insert", "y", [(1, 1), (1, 2), (1, 3)]), ("delete", "y", [(1, 99)])]
    with pytest.raises(jg.DiffError, match=r"delete from y, row 0: there is no row \(a=1, b=99\)"):
        graph.apply(batch)
    assert (graph.count(), graph.seq) == (0, 0)
    graph.check()


def test_rows_of_much_text_are_kept_and_told() -> None:
    shape = SHAPES["conditions on texts"]
    graph, blocks = jg.JoinGraph(shape.view), jg.JoinGraph(shape.view)
    rows = [("a", 5, "a" * (1 << 10 + size)) for size in range(8)]
    for batch in ([("insert", "x", [("a", each) for each in range(9)])], [("insert", "y", rows)]):
        assert graph.apply(batch).rows() == blocks.apply(Batch(batch)).rows()
    diff = graph.delete("y", rows[:1])
    graph.insert("y", [("b", 5, "another text, and none of the one that went, with an a")])
    assert {row[1] for _, row, _ in diff.rows()} == {rows[0][2]}


def test_texts_that_many_rows_share_are_told_as_by_blocks() -> None:
    shape = SHAPES["conditions on texts"]
    graph, blocks = jg.JoinGraph(shape.view), jg.JoinGraph(shape.view)
    batch = [("insert", "x", [("a", each) for each in range(600)])]
    batch += [("insert", "y", [("a", 5, "a" * 200_000)])]
    diffs = graph.apply(batch), blocks.apply(Batch(batch))
    assert not isinstance(diffs[0], WordsDiff), "120 MB of text"
    assert diffs[0].to_arrow().equals(diffs[1].to_arrow())
    assert isinstance(graph.insert("y", [("b", 5, "an a")]), WordsDiff)
    graph.check()


@pytest.mark.parametrize("kind", READERS, ids=str)
def test_a_column_of_view_rows_may_have_no_value_at_all(kind: pa.DataType) -> None:
    assert with_nulls([NULL_WORD] * 2, b"", READERS[kind]) == [None, None]


def test_a_table_with_an_index_takes_rows_as_any_other() -> None:
    shape = SHAPES["integers"]
    graph = jg.JoinGraph(shape.view)
    graph.insert("x", [(1, 2)])
    assert isinstance(graph.insert("y", [(1, 2)]), WordsDiff)
    graph.index("c")
    for table in ("y", "x"):
        assert isinstance(graph.insert(table, [(1, 3)]), WordsDiff)
        assert graph.count("c = 3") == len(graph.scan("c = 3").read_all())
    assert graph.count("c = 3") == 2
    graph.check()


def test_few_rows_have_room_where_they_have_it_by_blocks() -> None:
    shape = SHAPES["conditions on texts"]
    graph, blocks = (jg.JoinGraph(shape.view, memory_limit=250_000) for _ in range(2))
    feed, refused, called = Feed(shape, 11), 0, 0
    for number in range(400):
        rows = [(chr(97 + number % 7), number, f"a text of {number}" * (100 + number % 9))]
        batch = [("insert", "y", rows)] if number % 3 else [feed.entry()]
        calls: list[jg.ViewDiff] = []
        found = outcome(partial(kept, graph.apply, batch, calls))
        assert found[:2] == outcome(partial(blocks.apply, Batch(batch)))[:2]
        called += any(isinstance(each, WordsDiff) for each in calls)
        refused += found[0].startswith("LimitError")
        if found[2]:
            feed.note(batch)
    assert refused > 10
    assert called > 100
    graph.check()


@pytest.mark.parametrize("is_arrow", [False, True], ids=["tuples", "Arrow"])
@pytest.mark.parametrize("is_durable", [True, False], ids=["in a folder", "in memory"])
@pytest.mark.parametrize("name", ["conditions on texts", "residual predicate and computed column"])
def test_a_call_interrupted_at_any_step_is_there_whole_or_not_at_all(
    name: str, is_durable: bool, is_arrow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After another one, which stays. In a folder, at any step from the commit on."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    view = SHAPES[name].view
    row = ("a", 5, "a text") if name.startswith("conditions") else (1, 5, "a text")
    partners = [(row[0], each) for each in (1, 3, 4)]
    given: list[Any] = [("insert", "y", [row])]
    batch = by_column(given, view) if is_arrow else given
    since = Journal.commit.__code__ if is_durable else None
    seen, at, came = set[tuple[int, int]](), 0, 1
    while came:
        folder = tmp_path / str(at) if is_durable else None
        graph = jg.JoinGraph(view, folder, durability="os")
        graph.load({"x": partners})
        assert len(graph.apply(given)) == 3
        came, _ = stepped(partial(graph.apply, batch), [at], since=since)
        found = graph.seq, graph.count()
        graph.check()
        assert found in {(1, 3), (2, 6)}, f"at step {at}"
        assert len(graph.update("x", partners[:1], [(row[0], 4)])) == 2
        assert graph.seq == found[0] + 1
        graph.close()
        if folder is not None:
            with jg.open(folder) as graph:
                assert (graph.seq, graph.count()) == (found[0] + 1, found[1])
        seen.add(found)
        at += 1
    assert seen == {(1, 3), (2, 6)}


def test_the_benchmark_profiles_a_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "CALLS", 100)
    monkeypatch.setattr(benchmark, "WARM", 0)
    benchmark.main("--profile")
    printed = capsys.readouterr().out
    for function in ("BaseRows.enter", "Texts.enter", "builtins.len", "others", "without it"):
        assert function in printed


def test_an_interrupted_call_leaves_the_last_one_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may come while room is made, and nothing is there yet that could be undone."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    rows = [("a", 6, f"another text {each}" * 200) for each in range(70)]
    at, came, seen = 0, 1, set[int]()
    while came:
        graph = jg.JoinGraph(SHAPES["conditions on texts"].view)
        graph.load({"x": [("a", each) for each in (1, 3, 4)]})
        graph.insert("y", [("a", 5, "a text")])
        came, _ = stepped(partial(graph.insert, "y", rows), [at])
        assert graph.count() == (213 if graph.seq == 2 else 3), f"at step {at}"
        assert len(graph.delete("y", [("a", 5, "a text")])) == 3
        graph.check()
        seen.add(graph.seq)
        at += 3
    assert seen == {2, 3}
