"""How far a pipeline has come: what is known again, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import joingraph as jg
from joingraph.common.errors import StoreError
from joingraph.pipeline import offsets
from joingraph.pipeline.acks import write_note
from joingraph.pipeline.dead_letters import Dead, put_away
from joingraph.pipeline.micro_batch import Driver, Line, Turn
from joingraph.pipeline.model import Source
from joingraph.pipeline.offsets import (
    Places,
    Position,
    Reached,
    check_turn,
    fresh,
    is_done,
    reached,
    read_position,
)
from joingraph.pipeline.open_graph import Options, open_outbox
from joingraph.pipeline.sinks.contract import Memory
from tests.test_pipeline_changes import arrived

NUMBERED = "CREATE TABLE t (id BIGINT, text STRING)"


def at(*marks: tuple[str, int, int]) -> Places:
    lanes, a, b = zip(*marks, strict=True)
    return Places(pa.array(lanes), np.array(a), np.array(b))


def is_fresh(kept: Reached, places: Places, *, replaced: bool = True) -> list[bool]:
    return [bool(each) for each in fresh(kept, places, "t", replaced=replaced)]


def test_a_position_is_read_as_it_was_written() -> None:
    said = Position("q", 7, {"t": Reached({"file:/ä": (1, 2)}, 5), "s": Reached()}, replaced=True)
    assert read_position(said.write()) == said
    assert read_position(None) == Position()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"query": 1, "batch": 2, "tables": 3}'])
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(StoreError, match="not the position of a pipeline"):
        read_position(text)


def test_rows_up_to_the_mark_of_their_lane_are_known() -> None:
    kept = reached(Reached(), at(("x", 3, 1), ("x", 2, 9), ("y", 1, 1)))
    assert kept.lanes == {"x": (3, 1), "y": (1, 1)}
    rows = at(("x", 2, 10), ("x", 3, 1), ("x", 3, 2), ("y", 2, 0), ("z", 0, 0))
    assert is_fresh(kept, rows) == [False, False, True, True, True]


def test_marks_never_move_back() -> None:
    assert reached(Reached({"x": (9, 9)}), at(("x", 1, 1))).lanes == {"x": (9, 9)}


def test_forgotten_files_are_not_taken_for_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets, "LANES_MAX", 2)
    kept = reached(Reached(), at(("a", 1, 0), ("b", 2, 0), ("c", 3, 0)))
    assert (set(kept.lanes), kept.horizon) == ({"b", "c"}, 1)
    assert is_fresh(kept, at(("a", 1, 0)), replaced=False) == [True]
    with pytest.raises(StoreError, match="so old that the graph has forgotten"):
        is_fresh(kept, at(("a", 1, 0)))


def test_a_source_without_positions_cannot_be_read_again() -> None:
    places = Places(None, np.zeros(2, np.int64), np.zeros(2, np.int64))
    kept = reached(Reached(), places)
    assert is_fresh(kept, places, replaced=False) == [True, True]
    with pytest.raises(StoreError, match="has no positions"):
        is_fresh(kept, places)


def test_a_micro_batch_comes_in_its_turn() -> None:
    kept = Position("q", 4)
    check_turn(kept, "q", 5)
    assert is_done(kept, "q", 4)
    assert not is_done(kept, "q", 5)
    check_turn(kept, "new", 0)
    with pytest.raises(StoreError, match="older than the checkpoint: micro-batch 6 is next"):
        check_turn(kept, "q", 6)
    with pytest.raises(StoreError, match="has never seen it"):
        check_turn(kept, "new", 3)


def read_dead(folder: Path) -> list[Dead]:
    """Read all dead letters back."""
    return [
        Dead(**json.loads(line))
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def driver(home: Path | None, sinks: dict[str, Memory]) -> Driver:
    view = jg.View("SELECT id, text FROM t", tables={"t": NUMBERED})
    source = Source("t", "parquet")
    line = Line(open_outbox(view, Options(home, "reference"), list(sinks)), sinks)
    return Driver({"t": source}, {"t": view.tables["t"]}, [line], None)


def take(run: Driver, turn: Turn, ids: Sequence[int]) -> None:
    rows = arrived([(0, each, "") for each in ids])
    places = pa.array(ids, pa.int64())
    run.take(turn, {"t": rows.set_column(1, "_a", places)})


@pytest.mark.parametrize("is_durable", [False, True])
def test_a_repeated_micro_batch_is_applied_once(tmp_path: Path, is_durable: bool) -> None:
    sink = Memory()
    run = driver(tmp_path if is_durable else None, {"memory": sink})
    run.open()
    take(run, Turn("q", 0), [1, 2])
    take(run, Turn("q", 0), [1, 2])
    take(run, Turn("q", 1), [3])
    take(run, Turn("other", 0), [1])
    take(run, Turn("other", 1), [2, 3, 4])
    assert sorted(sink.to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]


def test_what_a_sink_has_not_taken_comes_after_a_restart_with_its_number(tmp_path: Path) -> None:
    class Dying(Memory):
        def write(self, diff: jg.ViewDiff) -> None:
            raise OSError("gone")

    run = driver(tmp_path, {"memory": Dying()})
    run.open()
    with pytest.raises(OSError, match="gone"):
        take(run, Turn("q", 0), [1])
    run.lines[0].outbox.graph.close()
    sink = Memory()
    again = driver(tmp_path, {"memory": sink})
    again.open()
    take(again, Turn("q", 0), [1])
    assert {seq: table.num_rows for seq, table in sink.batches.items()} == {1: 1}
    again.lines[0].outbox.graph.close()


@pytest.mark.parametrize(
    ("harm", "said"),
    [(Path.unlink, "No such file"), (lambda path: path.write_text("{}"), "is damaged")],
)
def test_a_lost_or_damaged_position_stops_by_name(tmp_path: Path, harm: object, said: str) -> None:
    run = driver(tmp_path, {"memory": Memory()})
    take(run, Turn("q", 0), [1])
    run.lines[0].outbox.graph.close()
    (path,) = tmp_path.rglob("position-*.json")
    assert callable(harm)
    harm(path)
    with pytest.raises(StoreError, match=said):
        driver(tmp_path, {"memory": Memory()})


def test_dead_letters_of_a_repeated_micro_batch_are_there_once(tmp_path: Path) -> None:
    dead = [Dead("t", "is malformed", "f at 0-0-1", "{ä")]
    put_away(tmp_path, "q-0", dead)
    put_away(tmp_path, "q-0", dead)
    put_away(tmp_path, "q-1", [])
    assert read_dead(tmp_path) == dead
    with pytest.raises(jg.DiffError, match="t: is malformed"):
        put_away(None, "q-0", dead)


def test_a_sink_that_another_graph_has_filled_is_refused(tmp_path: Path) -> None:
    sink = Memory()
    run = driver(None, {"memory": sink})
    run.open()
    take(run, Turn("q", 0), [1])
    with pytest.raises(StoreError, match="holds batch 1 already, and its graph has come to 0"):
        driver(None, {"memory": sink}).open()


def test_a_pipeline_lets_go_of_what_a_reader_is_done_with(tmp_path: Path) -> None:
    run = driver(tmp_path, {"memory": Memory()})
    run.open()
    graph = run.lines[0].outbox.graph
    waiting = graph.subscribe("spark/../é")
    take(run, Turn("q", 0), [1])
    take(run, Turn("q", 1), [2])
    (folder,) = tmp_path.rglob("graph")
    write_note(folder, "spark/../é", 2)
    assert waiting.waiting_bytes() > 0
    take(run, Turn("q", 2), [3])
    assert [diff.seq for diff in graph.subscribe("spark/../é")] == [3]
    graph.close()
