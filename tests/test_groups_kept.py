"""Views that group in folders: reopened by either engine, followed, divided, dumped, remade."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.cli.main import main
from joingraph.pipeline.offsets import Position
from joingraph.pipeline.open_graph import Options, Outbox, open_outbox
from joingraph.pipeline.sinks.merge import merge_of
from joingraph.storage.disk import disk
from tests import ENGINES
from tests.bags import bag

TABLES = {
    "fan": "CREATE TABLE fan (author INT, at DOUBLE, name STRING)",
    "post": "CREATE TABLE post (author INT, id INT, score BIGINT, PRIMARY KEY (id))",
}
JOINED = "FROM fan F JOIN post P ON F.author = P.author"
SQL = {
    "keyed": f"SELECT F.at, F.name, COUNT(*) AS n, AVG(P.score) AS mean, MAX(P.id) AS last,"
    f" sort_array(collect_list(P.score)) AS scores {JOINED} GROUP BY F.at, F.name",
    "crossing": f"SELECT F.name, SUM(P.id) AS n {JOINED} GROUP BY F.name HAVING COUNT(*) > 2",
    "hidden": f"SELECT COUNT(*) AS n, MAX(P.id) AS last {JOINED} GROUP BY F.name",
    "distinct": f"SELECT DISTINCT F.at, P.id {JOINED}",
    "whole": f"SELECT COUNT(*) AS n, SUM(P.score) AS total, MAX(P.id) AS last {JOINED}",
}
FANS = [(1, 0.5, "a"), (1, None, None), (1, math.nan, "b"), (2, -0.0, "a"), (2, 0.0, "a")]
POSTS = [(1, 10, 3), (3, 30, 1), (1, 11, None), (2, 20, 5), (2, 21, 7)]
SINKS = ("one", "two")


@pytest.fixture(params=SQL)
def view(request: pytest.FixtureRequest) -> jg.View:
    return jg.View(SQL[request.param], TABLES)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def other(engine: str) -> str:
    return next(each for each in ENGINES if each != engine)


def changed(graph: jg.JoinGraph) -> None:
    """Change the rows of a graph in several batches."""
    graph.load({"fan": FANS})
    graph.insert("post", POSTS)
    graph.update("post", POSTS[:1], [(1, 10, 4)])
    graph.delete("fan", [FANS[3]])


def rows(found: pa.Table) -> Any:
    return bag(tuple(row.values()) for row in found.to_pylist())


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_folder_of_either_engine_is_opened_by_the_other(
    tmp_path: Path, view: jg.View, engine: str, snapshot: bool
) -> None:
    with jg.JoinGraph(view, tmp_path / "g", engine=engine) as graph:
        changed(graph)
        if snapshot:
            graph.snapshot()
        graph.expire("post", "id = 11")
        expected = rows(graph.to_arrow())
    with jg.JoinGraph(view, tmp_path / "g", engine=other(engine)) as graph:
        assert rows(graph.to_arrow()) == expected
        graph.check()
        graph.insert("post", [(1, 11, None)])
        graph.expire("post", "id = 11")
        assert rows(graph.to_arrow()) == expected


def test_a_reader_follows_the_groups_of_a_writer(tmp_path: Path, view: jg.View) -> None:
    with jg.JoinGraph(view, tmp_path / "g", engine="reference") as graph:
        changed(graph)
        with jg.open(tmp_path / "g", readonly=True) as reader:
            for batch in ([(2, 40, 9)], [(1, 41, 2), (1, 42, 2)]):
                assert rows(reader.to_arrow()) == rows(graph.to_arrow())
                graph.insert("post", batch)
                reader.refresh()
            graph.snapshot()
            graph.delete("fan", FANS[:1])
            reader.refresh()
            assert rows(reader.to_arrow()) == rows(graph.to_arrow())


def test_a_subscriber_who_comes_back_is_told_all_that_became_of_the_groups(
    tmp_path: Path, view: jg.View, engine: str
) -> None:
    copy = jg.JoinGraph(view, engine="reference").to_arrow()
    with jg.JoinGraph(view, tmp_path / "g", engine=engine) as graph:
        graph.subscribe("copy")
        graph.insert("fan", FANS)
        graph.insert("post", POSTS)
        graph.delete("fan", FANS[:2])
        expected = rows(graph.to_arrow())
    held = rows(copy)
    with jg.JoinGraph(view, tmp_path / "g", engine=other(engine)) as graph:
        for diff in graph.subscribe("copy"):
            for kind, row, count in diff.rows():
                held[repr(row)] += count if kind in ("insert", "update_postimage") else -count
                assert held[repr(row)] >= 0
    assert +held == expected


def test_parts_of_a_folder_are_its_groups_each_once(tmp_path: Path, view: jg.View) -> None:
    with jg.JoinGraph(view, tmp_path / "g") as graph:
        changed(graph)
        parts = pickle.loads(pickle.dumps(graph.partitions(3)))
        assert rows(pa.concat_tables(part.read().read_all() for part in parts)) == rows(
            graph.to_arrow()
        )


def test_the_commands_take_a_folder_of_groups(
    tmp_path: Path, view: jg.View, capsys: pytest.CaptureFixture[str]
) -> None:
    with jg.JoinGraph(view, tmp_path / "g", engine="reference") as graph:
        changed(graph)
        expected, count = rows(graph.to_arrow()), graph.count()
    paths = {name: str(tmp_path / name) for name in ("g", "files", "copy")}
    for command in (
        ["inspect", paths["g"]],
        ["verify", paths["g"]],
        ["snapshot", paths["g"]],
        ["dump", paths["g"], paths["files"]],
        ["load", paths["files"], paths["copy"]],
    ):
        assert main(command) == 0
    assert f"{count} rows in the view" in capsys.readouterr().out
    with jg.open(tmp_path / "copy") as graph:
        assert rows(graph.to_arrow()) == expected


def test_a_folder_goes_on_with_another_grouping(tmp_path: Path, engine: str) -> None:
    views = {name: jg.View(sql, TABLES) for name, sql in SQL.items()}
    with jg.JoinGraph(views["keyed"], tmp_path / "g", engine=engine) as graph:
        changed(graph)
        for name in ("crossing", "hidden"):
            graph.rebuild(views[name])
    with jg.open(tmp_path / "g") as graph:
        fresh = jg.JoinGraph(views["hidden"], engine="reference")
        changed(fresh)
        assert rows(graph.to_arrow()) == rows(fresh.to_arrow())
        graph.check()


def outbox_of(home: Path, view: jg.View, engine: str, *, by_row: bool) -> Outbox:
    """Open a pipeline's graph."""
    found = open_outbox(view, Options(home, engine, by_row=by_row), SINKS)
    found.graph.load({"fan": FANS}, source="load fan", position=1)
    return found


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize(
    "snapshots", ["none", "small", pytest.param("beside", marks=pytest.mark.nightly)]
)
def test_groups_that_no_sink_took_come_again_after_a_crash(
    tmp_path: Path, view: jg.View, snapshots: str, by_row: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "SMALL_BYTES", 0 if snapshots == "beside" else disk.SMALL_BYTES)
    engine, outbox = "reference", outbox_of(tmp_path, view, "reference", by_row=by_row)
    for number, row in enumerate(POSTS):
        for sink in SINKS:
            for diff in outbox.waiting(sink):
                outbox.acknowledge(sink, diff.seq)
        made = outbox.apply([("insert", "post", [row])], Position("q", number))
    for _ in range(2):
        if snapshots != "none":
            outbox.graph.snapshot()
        outbox.graph.close()
        engine = other(engine)
        outbox = outbox_of(tmp_path, view, engine, by_row=by_row)
        (again,) = outbox.waiting("two")
        assert again.seq == made.seq
        one, two = (list(map(repr, each.rows())) for each in (made, again))
        assert one == two if by_row else sorted(one) == sorted(two)
        first, second = (merge_of(each, view.definition) for each in (made, again))
        assert first[1:] == second[1:]
        assert rows(first.rows) == rows(second.rows)
    fresh = jg.JoinGraph(view, engine="reference")
    fresh.load({"fan": FANS, "post": POSTS})
    assert rows(outbox.graph.to_arrow()) == rows(fresh.to_arrow())
    outbox.graph.close()
