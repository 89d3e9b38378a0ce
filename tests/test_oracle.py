"""Random views and feeds agree with a recomputation from scratch, and the oracle can fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from joingraph import JoinGraph, ViewDiff
from tests import ENGINES, LOOKAHEADS, first
from tests.bags import bag
from tests.oracle.__main__ import main
from tests.oracle.case import Entry
from tests.oracle.generate import case, drawn, drawn_groups
from tests.oracle.run import BY_CALL, TOGETHER, Disagreement, Runner
from tests.oracle.run_groups import GroupsRunner
from tests.oracle.search import search

CASES = 2000
CHUNK = 50


@pytest.mark.parametrize("seed", first(5, range(0, CASES, CHUNK)))
def test_random_views_and_feeds_agree_with_a_recomputation(seed: int) -> None:
    """Of 3 to 6 batches each: the plain graph walks in all modes, the compiled in one."""
    failures = search(range(seed, seed + CHUNK), graphs="together").failures
    assert not failures, "\n\n".join(failures[:3])


@pytest.mark.parametrize("seed", first(3, range(0, 1000, 25)))
def test_random_views_that_group_agree_with_a_recomputation(seed: int) -> None:
    found = search(range(seed, seed + 25), graphs="together", only="groups")
    assert not found.failures, "\n\n".join(found.failures[:3])


def test_some_batches_leave_a_group_without_a_value() -> None:
    """Else nothing would hold that they are refused, and leave no trace."""
    inputs = search(range(2000, 2030), graphs="together", only="groups").inputs
    assert inputs["poison, refused"] > inputs["poison"] / 3 > 5, inputs


@pytest.mark.parametrize("only", ["rows", "groups"])
@pytest.mark.parametrize("seed", first(1, range(7000, 7100, 25)))
def test_random_views_run_their_own_kernels_as_plain_python(seed: int, only: str) -> None:
    """Compiling them takes seconds a view; without numba's compiler the text is run at once.

    Plain Python looks whether memory that is read or written is the graph's.
    """
    case = ["--cases", "25", "--seed", str(seed), "--graphs", "together", "--only", only]
    command = [sys.executable, "-m", "tests.oracle", *case]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0 and "0 disagreements" in run.stdout, run.stdout + run.stderr


@pytest.mark.parametrize("examples", first(1, [40, 400]))
def test_cases_that_hypothesis_builds_agree_too(examples: int) -> None:
    """Hypothesis makes every choice of the case, so it can make a failing one small."""
    slow = [HealthCheck.too_slow, HealthCheck.large_base_example]

    @settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=slow)
    @given(st.randoms(use_true_random=False))
    def agrees(random: Random) -> None:
        Runner(drawn(random, seed=0)).run()
        GroupsRunner(drawn_groups(random, seed=0), graphs="together").run()

    agrees()


@pytest.mark.parametrize("graphs", ["all", "together"])
def test_every_engine_is_given_each_batch_in_every_form(
    graphs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its graphs see it: singly, as tuples and as Arrow tables; in time in every mode."""
    taken, apply = defaultdict[JoinGraph, list[list[Any]]](list), JoinGraph.apply

    def seen(graph: JoinGraph, batch: list[Any]) -> ViewDiff:
        taken[graph].append(batch)
        return apply(graph, batch)

    monkeypatch.setattr(JoinGraph, "apply", seen)
    found = Counter[tuple[str, str, str]]()
    for seed in range(8):
        feed = case(seed, 20)
        runner = Runner(replace(feed, batches=(), last=None), graphs=graphs)
        runner.run()
        for number, batch in enumerate(feed.batches):
            taken.clear()
            runner.step(number, replace(batch, missing=None))
            if sum(len(entry.rows) for entry in batch.entries) > 1:
                given = {key: form_of(taken[graph]) for key, graph in runner.graphs.items()}
                found.update((*key, form) for key, form in given.items())
                for engine in ENGINES[1:] if graphs == "together" else ENGINES:
                    assert set(FORMS) <= {form for key, form in given.items() if key[0] == engine}
    seen_of = {(engine, mode) for engine, mode, _ in found}
    reference = TOGETHER if graphs == "together" else "reference"
    assert {engine for engine, _ in seen_of} == {reference, "compiled"}
    assert {mode for engine, mode in seen_of if engine == "compiled"} == set(LOOKAHEADS)
    assert all(found[engine, mode, form] for engine, mode in seen_of for form in FORMS), found


FORMS = ("singly", "tuples", "arrow")


def form_of(batches: list[list[Any]]) -> str:
    """Name the form of input of what one batch of several diffs was given as."""
    sides = [side for batch in batches for _, _, *sides in batch for side in sides]
    if all(isinstance(side, pa.Table) for side in sides):
        return "arrow"
    if not all(type(row) is tuple for side in sides for row in side):
        return "mixed"
    is_cut = all(len(batch) == 1 for batch in batches) and all(len(side) == 1 for side in sides)
    return "singly" if is_cut else "tuples" if len(batches) == 1 else "neither"


@pytest.mark.parametrize(("graphs", "compiled"), [("all", 1 / 2), ("together", 4 / 5)])
def test_tuples_are_carried_out_by_compiled_calls(graphs: str, compiled: float) -> None:
    """All but few of those that the compiled graphs are given; else calls would go untested."""
    inputs = search(range(20), graphs=graphs, only="rows").inputs
    for form in ("singly", "tuples"):
        assert inputs[form + BY_CALL] > 0.8 * compiled * inputs[form] > 50, inputs
    assert inputs["mixed"] > inputs["mixed" + BY_CALL] > 0, inputs
    assert inputs["arrow"] > 50


def test_a_seed_always_gives_the_same_case() -> None:
    """Else a failure could not be replayed."""
    assert case(7) == case(7)
    assert case(7).view.sql == case(7).view.sql


def test_the_oracle_notices_a_row_that_only_the_judges_see() -> None:
    """A runner that cannot fail holds nothing: tell the judges of one insert more."""
    seed = next(n for n in range(1000) if widest(n))
    runner = Runner(replace(case(seed), load=(), batches=(), last=None))
    table = runner.case.tables[0]
    row = tuple(column.kind.values[0] for column in table.columns)
    runner.model.apply([Entry("insert", table.name, (row,))])
    runner.expected = runner.model.view()
    with pytest.raises(Disagreement, match="scan"):
        runner.step(0, replace(case(seed).batches[0], entries=(), missing=None))


def widest(seed: int) -> bool:
    """Tell whether a case shows every row of its one table."""
    view = case(seed).view
    return len(view.sources) == 1 and not view.conditions and view.sources[0].sql == "t0"


def test_judges_tell_minus_zero_from_zero() -> None:
    """Rows are compared by repr, so a view that loses the sign of zero is wrong."""
    assert bag([(0.0,)]) != bag([(-0.0,)]) and bag([(1,)]) != bag([(True,)])
    assert bag([(float("nan"),)]) == bag([(float("nan"),)])


def test_a_run_is_recorded_with_what_it_was_of(tmp_path: Path) -> None:
    """The record in benchmarks/results names seeds, steps, machine, commit and date."""
    path = tmp_path / "oracle.json"
    assert main(["--cases", "3", "--seed", "5", "--json", str(path)]) == 0
    result = json.loads(path.read_text())
    assert result["seeds"] == [5, 7] and result["disagreements"] == 0
    assert result["steps"] == sum(case(seed).steps for seed in (5, 6, 7))
    assert {"machine", "commit", "date", "seconds", "lookaheads"} <= result.keys()


def test_a_failing_case_is_told_small_and_with_its_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the comparison: what is told is one line to replay it and a script of few lines."""
    monkeypatch.setattr(JoinGraph, "count", lambda graph: -1)
    (told,) = search([11]).failures
    assert "python -m tests.oracle --replay 11" in told
    assert told.count("> batch") <= 1 and "CREATE VIEW" in told
