"""Groups of outer joins, EXISTS and IN kept by messages: random views, every batch, both forms."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import joingraph as jg
from tests import first
from tests.judged import CREATE
from tests.message_modes import MISSING, agrees

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("seed", range(60))
def test_messages_of_modes_give_the_groups_that_the_joined_rows_give(seed: int) -> None:
    agrees(seed)


@pytest.mark.parametrize("source", MISSING, ids=lambda source: " by ".join(source[:2]))
def test_groups_of_a_table_that_may_be_missing_are_told_of_its_rows_of_nulls(
    source: tuple[str, ...],
) -> None:
    for seed in range(4):
        agrees(seed, source=source)


@pytest.mark.parametrize("seed", first(1, [60, 61, 62]))
def test_a_views_own_kernels_tell_the_same(seed: int) -> None:
    agrees(seed, own_kernels=True)


@pytest.mark.parametrize("number", first(2, range(100, 600, 25)))
def test_own_kernels_tell_the_same_as_plain_python(number: int) -> None:
    command = [sys.executable, "-m", "tests.message_modes", str(number), str(number + 25)]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


LEFT = "SELECT a.x, COUNT(*) AS n, SUM(b.y) AS s FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.x"
ROWS = {"a": [(1, 1, 1), (None, 2, 2)], "b": [(1, 5, 5)]}


def test_groups_of_modes_follow_from_the_rows_of_a_folder(tmp_path: Path) -> None:
    graph = jg.JoinGraph(jg.View(LEFT, CREATE), tmp_path)
    graph.load(ROWS)
    graph.close()
    graph = jg.JoinGraph(jg.View(LEFT, CREATE), tmp_path)
    assert sorted(map(str, graph.scan().read_all().to_pylist())) == [
        "{'x': 1, 'n': 1, 's': 5}",
        "{'x': 2, 'n': 1, 's': None}",
    ]
    assert graph.delete("b", [(1, 5, 5)]).rows() == [
        ("update_preimage", (1, 1, 5), 1),
        ("update_postimage", (1, 1, None), 1),
    ]
    graph.check()
    graph.close()


def test_the_fan_out_of_a_batch_is_that_of_the_groups_it_touches() -> None:
    graph = jg.JoinGraph(jg.View(LEFT, CREATE))
    graph.load(ROWS)
    batch = [("insert", "b", [(1, 0, 7), (9, 0, 7)]), ("insert", "a", [(1, 1, 1), (1, 3, 3)])]
    assert graph.fanout(batch) == (2 * 3, False)
    graph.check()
    assert len(graph.apply(batch).rows()) == 5
    assert graph.fanout([("delete", "b", [(9, 0, 7)])]) == (0, True)


def test_a_memory_limit_holds_for_groups_of_modes() -> None:
    graph = jg.JoinGraph(jg.View(LEFT, CREATE), memory_limit=1 << 20)
    graph.load(ROWS)
    with pytest.raises(jg.LimitError, match="memory_limit=1,048,576"):
        graph.insert("a", [(number, number, 0) for number in range(100_000)])
    graph.check()
    assert graph.count() == 2
