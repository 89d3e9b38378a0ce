"""Workloads that count by group: what changes of groups is told, and how consumers sum it up."""

from __future__ import annotations

from ctypes import CFUNCTYPE, c_int64
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import joingraph as jg
from benchmarks import unmade_rows
from benchmarks.harness.checksum import REMOVALS, Tally, tally_folded_groups, tally_groups
from benchmarks.harness.compiled_consumer import SUM, TUPLES, Draining, consume
from benchmarks.harness.one_run import run
from benchmarks.harness.record import Run, Spec
from benchmarks.harness.runner import Options, compare
from benchmarks.workloads.catalogue import KINDS, QUERIES, find, prepare
from benchmarks.workloads.model import SIZES
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.engines.grouping import GroupingEngine
from joingraph.graph.compiled import fields as f
from joingraph.tables.batch import Entry as TableEntry
from tests.group_counts import groups_after, told_of_groups

COUNTING = [name for name in QUERIES if name.endswith("agg")]
KINDS_COUNTING = [f"{name}_{kind}" for name in COUNTING for kind in KINDS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("groups")
    prepare("q1", made, SIZES["tiny"])
    return made


def run_tiny(name: str, folder: Path, mode: str = "each", batch: int = 50) -> Run:
    return run(Spec(name, mode, "reference", "auto", str(folder), batch))


def outcome(run: Run) -> Tally:
    return Tally(run.tuples or 0, int(str(run.checksum)))


@pytest.mark.parametrize("name", [*COUNTING, *KINDS_COUNTING])
def test_each_diff_tells_the_groups_that_it_changes(name: str, folder: Path) -> None:
    found = run_tiny(name, folder)
    assert outcome(found) == told_of_groups(name, folder, 1)
    assert found.tuples


@pytest.mark.parametrize("name", ["q3agg", "q1agg_DJT"])
def test_every_mode_sums_up_the_groups_that_it_consumes(name: str, folder: Path) -> None:
    each = outcome(run_tiny(name, folder))
    assert outcome(run_tiny(name, folder, "stream")) == each
    assert outcome(run_tiny(name, folder, "call", 1)) == each
    assert outcome(run_tiny(name, folder, "batch", 20)) == told_of_groups(name, folder, 20)
    *_, groups = groups_after(name, folder, 50)
    view = sum(group + 2 * count for (group,), (count,) in groups.items()) % 2**64
    for mode in ("warehouse", "scan"):
        assert run_tiny(name, folder, mode).checksum == str(view)


def images(*rows: tuple[str, int, int, int]) -> pa.Table:
    kinds, *columns = zip(*rows, strict=True)
    named = dict(zip(("a", "b", "n"), map(list, columns), strict=True))
    return pa.table(named | {"_change_type": pa.array(kinds).dictionary_encode()})


def test_a_changed_group_is_its_words_and_both_states() -> None:
    told = images(
        ("update_preimage", 5, 7, 1),
        ("update_postimage", 5, 7, 2),
        ("delete", 2**62, -1, 3),
        ("insert", 2**62, -1, 4),
    )
    pair, gone, new = 5 + 14 + 3 + 8, 2**62 - 2 + 9, 2**62 - 2 + 16
    assert tally_groups(told, 2) == Tally(3, (pair + gone + new) % 2**64)
    assert tally_groups(told.slice(0, 0), 2) == Tally()


def test_a_folded_batch_has_a_changed_group_where_it_deletes_and_inserts_one() -> None:
    told = images(
        ("delete", 5, 7, 1), ("delete", 5, 8, 1), ("insert", 6, 7, 4), ("insert", 5, 7, 2)
    )
    pair, gone, new = 5 + 14 + 3 + 8, 5 + 16 + 3, 6 + 14 + 16
    assert tally_folded_groups(told, 2) == Tally(3, pair + gone + new)
    assert tally_folded_groups(told.slice(0, 0), 2) == Tally()


def test_compiled_code_reads_a_block_of_groups() -> None:
    stride, state = 8, np.zeros(256, np.int64)
    block = np.zeros((3, stride), np.int64)
    block[:, :2] = [[11, 12], [0, 5], [1, 7]]  # groups, counts before, counts after
    segments = np.array([0, 0, 1], np.int64)
    state[[f.OUT, f.STRIDE, f.ROWS, f.COLUMN_COUNT]] = block.ctypes.data, stride, 2, 3
    state[[f.SEGMENTS, f.SEGMENT_COUNT]] = segments.ctypes.data, 1
    consume.ctypes(state.ctypes.data, 0, 0)
    rows = [("insert", 11, 1), ("update_preimage", 12, 5), ("update_postimage", 12, 7)]
    told = pa.table(dict(zip(("_change_type", "a", "n"), zip(*rows, strict=True), strict=True)))
    assert tally_groups(told, 1) == Tally(int(state[TUPLES]), int(state[SUM]))


def test_an_engine_that_calls_compiled_code_is_told_by_what_it_has() -> None:
    view = find("q1").view.declared()
    assert isinstance(jg.JoinGraph(view, engine="compiled").engine, Draining)
    assert not isinstance(jg.JoinGraph(view, engine="reference").engine, Draining)


def test_groups_of_batches_are_compared_with_those_of_equal_batches() -> None:
    def made(system: str, batch: int, checksum: str, mode: str = "batch") -> Run:
        return Run(workload="q1agg", mode=mode, system=system, batch=batch, checksum=checksum)

    options = Options(workloads=("q1agg",), data=Path())
    ours = [made("joingraph", 1_000, "1"), made("joingraph", 20_000, "2", "each")]
    assert compare(options, [*ours, made("hand", 1_000, "1"), made("hand", 1, "2", "each")]) == []
    [complaint] = compare(options, [*ours, made("hand", 1_000, "2")])
    assert "batches of 1000" in complaint


def test_a_rival_that_stopped_among_batches_is_compared_with_as_many(folder: Path) -> None:
    part = run(Spec("q3agg", "batch", "reference", "auto", str(folder), 20, max_diffs=60))
    stopped = Run(workload="q3agg", mode="batch", system="duckdb", batch=20, complete=False,
                  diffs=part.diffs, checksum=part.checksum)  # fmt: skip
    options = Options(workloads=("q3agg",), data=folder, engine=("reference",), mode="batch")
    assert compare(options, [stopped]) == []


def drain_by_hand(engine: GroupingEngine, entries: list[TableEntry], consumer: int) -> None:
    """Lay the groups that each base diff changes in a block, and call compiled code with it."""
    assert isinstance(engine.rows, CompiledEngine)
    state, call = engine.rows.memory.words, CFUNCTYPE(c_int64, c_int64, c_int64, c_int64)(consumer)
    fields = [f.OUT, f.STRIDE, f.ROWS, f.COLUMN_COUNT, f.SEGMENTS, f.SEGMENT_COUNT]
    segments = np.array([0, 0, 1], np.int64)
    for entry in entries:
        assert entry.post is not None, "the workload inserts"
        for at in range(entry.length):
            part = entry._replace(post=entry.post.slice(at, 1))
            rows = engine.apply([part], skip=False, generate=True).changes.rows.to_pylist()
            counts = dict[int, list[int]]()
            for row in rows:
                is_old = row["_change_type"] in REMOVALS
                counts.setdefault(row["F_followerId"], [0, 0])[not is_old] = row["n"]
            block = np.array([[group, *both] for group, both in counts.items()], np.int64)
            columns = np.ascontiguousarray(block.reshape(-1, 3).T)
            own = state[fields].copy()
            state[fields] = [columns.ctypes.data, len(counts), len(counts), 3,
                             segments.ctypes.data, 1]  # fmt: skip
            call(engine.rows.memory.st, 0, 0)
            state[fields] = own


def test_an_engine_that_drains_groups_is_read_by_compiled_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GroupingEngine, "drain", drain_by_hand, raising=False)
    rows_memory = property(lambda engine: engine.rows.memory)
    monkeypatch.setattr(GroupingEngine, "memory", rows_memory, raising=False)
    monkeypatch.setattr(jg.JoinGraph, "stream", None)  # the fall-back is not taken
    drained = run(Spec("q3agg", "each", "compiled", "auto", str(folder), 50))
    assert outcome(drained) == told_of_groups("q3agg", folder, 1)


def test_rows_that_are_not_made_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unmade_rows.main(
        ["--data", str(tmp_path), "--size", "tiny", "--diffs", "200", "--followers", "20"]
    )
    assert "followers go" in capsys.readouterr().out
