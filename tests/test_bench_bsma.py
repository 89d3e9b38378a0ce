"""BSMA's tables are what they say, and its standing views end as DuckDB answers its queries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.harness import runner
from benchmarks.harness.checksum import Tally, tally
from benchmarks.harness.cli import main
from benchmarks.harness.one_run import run
from benchmarks.harness.record import Spec
from benchmarks.harness.runner import Options, compare
from benchmarks.rivals.launch import RIVALS
from benchmarks.workloads import bsma
from benchmarks.workloads.answers import answer
from benchmarks.workloads.catalogue import find_join, prepare, read
from benchmarks.workloads.model import SIZES, read_columns
from joingraph.common.errors import JoinGraphError
from tests.group_counts import told_of_groups

TINY = bsma.SIZES[SIZES["tiny"]]
KEYS = {"friendList": 2, "microblog": 1, "event": 2, "mention": 2, "retweet": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bsma")
    prepare("bsma_q1", made, SIZES["tiny"])
    return made


@pytest.mark.parametrize("table", bsma.TABLES)
def test_keys_are_keys_and_a_seed_gives_the_same_rows(
    table: str, folder: Path, tmp_path: Path
) -> None:
    columns = read_columns(folder / "bsma" / table)
    keys = np.column_stack(list(columns.values())[: KEYS[table]])
    assert len(np.unique(keys, axis=0)) == len(keys) > 0
    assert (
        list(columns)
        == [part.split()[0] for part in bsma.TABLES[table].split(", ")][: len(columns)]
    )
    bsma.write_bsma(tmp_path, TINY)
    again = read_columns(tmp_path / table)
    assert all((columns[name] == again[name]).all() for name in columns)


def test_posts_are_numbered_by_time_and_a_repost_is_one_step_further(folder: Path) -> None:
    post, repost = (read_columns(folder / "bsma" / name) for name in ("microblog", "retweet"))
    assert (np.diff(post["time"]) >= 0).all()
    assert (repost["remid"] < repost["mid"]).all() and len(repost["mid"]) == TINY.posts // 5
    length = dict(zip(repost["mid"].tolist(), repost["path"].tolist(), strict=True))
    pairs = zip(repost["mid"].tolist(), repost["remid"].tolist(), strict=True)
    assert all(length[own] == length.get(target, 0) + 1 for own, target in pairs)
    assert max(length.values()) > 1


def test_some_follows_are_returned(folder: Path) -> None:
    columns = read_columns(folder / "bsma" / "friendList")
    pairs = set(zip(columns["uid"].tolist(), columns["friendId"].tolist(), strict=True))
    returned = sum((friend, uid) in pairs for uid, friend in pairs)
    assert 0.1 < returned / len(pairs) < 0.6


def test_what_comes_was_not_there_and_a_fifth_of_it_goes_again(folder: Path) -> None:
    inputs = read("bsma_q15", folder)
    for table in ("microblog", "event"):
        whole = pa.table(read_columns(folder / "bsma" / table))
        come, gone = (
            pa.concat_tables(
                each.rows
                for each in inputs.diffs
                if (each.operation, each.table) == (operation, table)
            )
            for operation in ("insert", "delete")
        )
        assert pa.concat_tables([inputs.tables[table], come]).sort_by("mid").equals(whole)
        assert set(gone["mid"].to_pylist()) == {
            mid for mid in come["mid"].to_pylist() if mid % bsma.WITHDRAWN == 0
        }


@pytest.mark.parametrize(
    ("name", "mode"),
    [*((name, "each") for name in bsma.QUERIES), ("bsma_q4", "batch"), ("bsma_q1", "warehouse")],
)
def test_a_standing_view_ends_as_duckdb_answers_its_query(
    name: str, mode: str, folder: Path
) -> None:
    found = run(Spec(name, mode, "reference", "auto", str(folder), 50))
    wanted = answer(name, folder)
    assert found.view_checksum == str(tally(wanted).checksum)
    assert len(wanted) > 5
    assert compare(Options(workloads=(name,), data=folder), [found]) == []


@pytest.mark.parametrize("name", bsma.QUERIES)
def test_batches_tell_the_groups_that_they_change(name: str, folder: Path) -> None:
    found = run(Spec(name, "batch", "compiled", "auto", str(folder), 20))
    told = told_of_groups(name, folder, 20)
    assert Tally(found.tuples or 0, int(str(found.checksum))) == told
    assert told.tuples > 5


def test_the_command_compares_the_view_with_duckdbs_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bsma_q4", "--data", str(folder), "--engine", "reference", "--repeat", "1"]
    assert main([*words, "--least-s", "0"]) == 0
    monkeypatch.setattr(runner, "answer", lambda name, data: answer("bsma_q7", data))
    assert main([*words, "--least-s", "0"]) == 1
    assert "bsma_q4: joingraph/reference/auto has view" in capsys.readouterr().err


def test_a_view_in_sql_is_not_asked_of_rivals(folder: Path) -> None:
    assert not any(rival.takes("bsma_q4") for rival in RIVALS.values())
    with pytest.raises(JoinGraphError, match="workload bsma_q4 has a view in SQL"):
        find_join("bsma_q4")
    with pytest.raises(JoinGraphError, match="holds 300 posts, 20000 were asked for"):
        prepare("bsma_q4", folder, SIZES["small"])


def test_a_left_join_that_counts_ends_as_duckdb_answers_it(tmp_path: Path) -> None:
    prepare("q3agg_left", tmp_path, SIZES["tiny"])
    found = run(Spec("q3agg_left", "each", "compiled", "auto", str(tmp_path), 50))
    wanted = answer("q3agg_left", tmp_path)
    assert found.view_checksum == str(tally(wanted).checksum)
    assert len(wanted) > 5
