"""The systems we measure against give the right answer, else beating them would say nothing."""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks.harness import one_run
from benchmarks.harness.checksum import Tally
from benchmarks.harness.record import Run, Spec
from benchmarks.rivals.__main__ import RIVALS as PYTHON
from benchmarks.rivals.in_python import Row, run, tally_rows
from benchmarks.rivals.launch import RIVALS, RUST, run_rival
from benchmarks.rivals.ojt import OuterJoin
from benchmarks.workloads.catalogue import WORKLOADS, Entry, prepare
from benchmarks.workloads.model import SIZES
from benchmarks.workloads.outer import ASKED
from benchmarks.workloads.views import TABLES, JoinView, fanout

# Every form of view and of diff; the full outer join table of a longer chain is too large.
CHOSEN = ("fanout_10", "chainF_2", "chainR_4", "q1", "q2", "q3", "churn", "q1_IJT", "q3_DPT")
CHAINS = tuple(f"chain{way}_{joins}" for way in "FR" for joins in (2, 3, 4, 5))
RUST_CHOSEN = ("fanout_1", "fanout_10", *CHAINS, "q1", "q2", "q2_long", "q3", "churn", *ASKED)

OUTER = (*ASKED, "left_chainF_2", "left_chainR_3", "left_chainF_2_deletes", "left_q3")

COUNTING = ("q1agg", "q2agg", "q3agg")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rivals")
    for name in WORKLOADS:
        prepare(name, made, SIZES["tiny"])
    return made


@pytest.fixture(scope="module")
def wanted(folder: Path) -> Callable[[str], Run]:
    """What joingraph gives for a workload."""
    return cache(lambda name: one_run.run(Spec(name, "each", "reference", "auto", str(folder), 50)))


def groups_told(name: str, batch: int, folder: Path) -> Run:
    """What joingraph tells of groups: after each diff, or of folded batches."""
    mode = "each" if batch == 1 else "batch"
    return one_run.run(Spec(name, mode, "reference", "auto", str(folder), batch))


def outcome(run: Run) -> tuple[int, int | None, str | None]:
    # joingraph folds what one diff both takes and gives; churn has a few such rows.
    tuples = None if run.workload == "churn" else run.tuples
    return run.diffs, tuples, run.checksum


@pytest.mark.parametrize("batch", [1, 50])
@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("rival", PYTHON)
def test_a_rival_in_python_gives_what_joingraph_gives(
    rival: str, name: str, batch: int, folder: Path, wanted: Callable[[str], Run]
) -> None:
    arguments = argparse.Namespace(
        workload=name, data=folder, batch=batch, max_diffs=None, budget_s=60.0, least_s=0.0
    )
    assert outcome(run(PYTHON[rival], arguments)) == outcome(wanted(name))


@pytest.mark.parametrize("batch", [1, 20])
@pytest.mark.parametrize("name", OUTER)
def test_duckdb_gives_what_joingraph_gives_where_rows_may_be_missing(
    name: str, batch: int, folder: Path, wanted: Callable[[str], Run]
) -> None:
    arguments = argparse.Namespace(
        workload=name, data=folder, batch=batch, max_diffs=None, budget_s=60.0, least_s=0.0
    )
    found, told = run(PYTHON["duckdb"], arguments), wanted(name)
    assert (found.diffs, found.checksum) == (told.diffs, told.checksum)


@pytest.mark.parametrize("batch", [1, 20])
@pytest.mark.parametrize("name", [*COUNTING, "q1agg_DJT", "q3agg_IPT"])
@pytest.mark.parametrize("rival", ["duckdb", "duckdb_indexed"])
def test_a_rival_in_python_tells_the_groups_that_joingraph_tells(
    rival: str, name: str, batch: int, folder: Path
) -> None:
    arguments = argparse.Namespace(
        workload=name, data=folder, batch=batch, max_diffs=None, budget_s=60.0, least_s=0.0
    )
    assert outcome(run(PYTHON[rival], arguments)) == outcome(groups_told(name, batch, folder))


@pytest.fixture(scope="module")
def hand() -> None:
    """Build the Rust rivals that need few crates, where that can be done."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not there to build the Rust rivals")
    build = ["cargo", "build", "--release", "--locked", "-p", "hand", "-p", "stored"]
    done = subprocess.run(build, cwd=RUST, capture_output=True, text=True, check=False)
    if done.returncode and "failed to download" in done.stderr:
        pytest.skip("the crates of the Rust rivals cannot be downloaded")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("batch", ["1", "50"])
@pytest.mark.parametrize("name", RUST_CHOSEN)
def test_the_rust_written_by_hand_gives_what_joingraph_gives(
    name: str, batch: str, folder: Path, wanted: Callable[[str], Run], hand: None
) -> None:
    asked = Run(workload=name, mode="each", system="hand")
    arguments = [name, "--data", str(folder), "--batch", batch]
    once = run_rival(RIVALS["hand"], arguments, asked)
    often = run_rival(RIVALS["hand"], [*arguments, "--least-s", "0.09"], asked)
    assert outcome(once) == outcome(often) == outcome(wanted(name))
    assert len(once.speeds) == 1 < len(often.speeds)


@pytest.mark.parametrize("batch", [1, 20])
@pytest.mark.parametrize("name", [*COUNTING, "q3"])
def test_rivals_in_rust_tell_the_groups_that_joingraph_tells(
    name: str, batch: int, folder: Path, hand: None
) -> None:
    arguments = [name, "--data", str(folder), "--batch", str(batch)]
    told = outcome(groups_told(name, batch, folder))
    for rival in ("hand", "maps", "views"):
        asked = Run(workload=name, mode="each", system=rival)
        assert outcome(run_rival(RIVALS[rival], arguments, asked)) == told, rival


def test_a_rival_is_not_asked_for_what_it_is_not_written_for() -> None:
    refused = [("divm", "q1agg"), ("hand", "q1_IPT"), ("dd", "churn"), ("maps", "q1")]
    for rival, name in refused:
        asked = Run(workload=name, mode="each", system=rival)
        assert run_rival(RIVALS[rival], [], asked).status == "does not have it"
    assert RIVALS["duckdb"].takes("q1agg_IPT") and RIVALS["maps"].takes("q3")


def followers_of_followers() -> JoinView:
    aliases = {"A": "follower", "B": "follower"}
    columns = ("A.userId", "B.userId", "B.followerId")
    return JoinView(aliases, ("A.followerId = B.userId",), columns)


def follower_diffs(seed: int, count: int) -> Iterator[tuple[int, Row]]:
    """Draw inserts and deletes of a few users; some follow themselves."""
    draw = random.Random(seed)
    there: set[Row] = set()
    for _ in range(count):
        row = (draw.randrange(4), draw.randrange(4))
        yield (-1 if row in there else 1), row
        there ^= {row}


def follower_table(*rows: Row) -> pa.Table:
    columns = [pa.array(values, pa.int64()) for values in zip(*rows, strict=True)]
    columns = columns or [pa.array([], pa.int64())] * 2
    return pa.table(columns, names=list(TABLES["follower"]))


def paths(there: set[Row]) -> Tally:
    pairs = product(there, there)
    return tally_rows([(a[0], b[0], b[1]) for a, b in pairs if a[1] == b[0]])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rival", PYTHON)
def test_a_row_that_joins_itself_is_met_once(rival: str, seed: int) -> None:
    system = PYTHON[rival](followers_of_followers())
    system.load({"follower": follower_table()})
    there: set[Row] = set()
    total = Tally()
    for sign, row in follower_diffs(seed, 60):
        entry = Entry("insert" if sign > 0 else "delete", "follower", follower_table(row))
        total += system.apply(system.prepare([entry]))
        there ^= {row}
        assert total.checksum == paths(there).checksum


def test_the_full_outer_join_table_is_that_of_the_thesis() -> None:
    joe, bob, alice, cathy = range(1, 5)
    pairs = [(joe, bob), (joe, alice), (joe, cathy), (cathy, bob), (bob, alice), (cathy, alice)]
    system = OuterJoin(fanout())
    tweets = pa.table({"userId": [joe, joe], "tweetId": [1, 9], "tweetDate": [0, 0]})
    system.load({"tweet": tweets, "follower": follower_table(*pairs)})
    held = {path for index in system.paths.values() for found in index.values() for path in found}
    full = Counter(None not in path for path in held)
    assert full == {True: 6, False: 3}
    new = pa.table({"userId": [joe], "tweetId": [10], "tweetDate": [0]})
    assert system.apply(system.prepare([Entry("insert", "tweet", new)])).tuples == 3
