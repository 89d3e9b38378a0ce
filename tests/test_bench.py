"""Benchmarks are right before they are fast: data, workloads, checksums, the tool's verdicts.

Nothing here looks at a clock.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import joingraph as jg
from benchmarks.harness.checksum import Tally, tally
from benchmarks.harness.cli import main
from benchmarks.harness.compiled_consumer import consume_each
from benchmarks.harness.one_run import WARM_UP_BATCHES, run, warm_up_batches
from benchmarks.harness.record import Run, Spec, parse
from benchmarks.harness.report import save, table
from benchmarks.harness.runner import MODES, Options, compare, middle, workloads_of
from benchmarks.harness.timing import RUNS_MAX, diffs_in, repeated
from benchmarks.rivals.launch import RIVALS
from benchmarks.rivals.launch import prepare as prepare_rivals
from benchmarks.workloads.catalogue import KINDS, WORKLOADS, Inputs, batches, find, prepare, read
from benchmarks.workloads.churn import DELETE, INSERT, STEPS
from benchmarks.workloads.model import SIZES, read_columns, write_base, write_fanout
from benchmarks.workloads.views import KEYS, TABLES
from joingraph.common.errors import JoinGraphError
from tests import first

ROOT = Path(__file__).parent.parent
TINY = SIZES["tiny"]
# Of the bytes that the model has given since results were first compared with those of others.
FINGERPRINT = "ace96dbbbc926793b96791fed25ba628e824f9708ff31e0eecd8ef5a3ac5b21c"

# A command of which the results count, and not how fast they are: no run is repeated.
ONCE = ("--repeat", "1", "--least-s", "0")

# Workloads of which the view has rows; tests/test_bench_groups.py is of those that group.
ROWS = [name for name, workload in WORKLOADS.items() if workload.view.keys is None]

Bags = dict[str, Counter[tuple[int, ...]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bench")
    for name in WORKLOADS:
        prepare(name, made, TINY)
    return made


def run_tiny(name: str, folder: Path, mode: str = "each", batch: int = 50) -> Run:
    return run(Spec(name, mode, "reference", "auto", str(folder), batch))


def rows_of(rows: pa.Table) -> list[tuple[int, ...]]:
    return list(zip(*rows.to_pydict().values(), strict=True))


def bags_before(inputs: Inputs) -> Bags:
    return {name: Counter(rows_of(rows)) for name, rows in inputs.tables.items()}


def bags_after(inputs: Inputs) -> Bags:
    bags = bags_before(inputs)
    for entry in inputs.diffs:
        if entry.operation == "insert":
            bags[entry.table].update(rows_of(entry.rows))
        else:
            bags[entry.table].subtract(rows_of(entry.rows))
        if entry.post is not None:
            bags[entry.table].update(rows_of(entry.post))
    return bags


def view_checksum(name: str, bags: Bags) -> int:
    """Compute the view from scratch, in DuckDB, and give its checksum."""
    database = duckdb.connect()
    for table_name, bag in bags.items():
        columns = [pa.array(values, pa.int64()) for values in zip(*bag.elements(), strict=True)]
        database.register("rows", pa.table(columns, names=list(TABLES[table_name])))
        database.execute(f'CREATE TABLE "{table_name}" AS SELECT * FROM rows')
    sql = find(name).view.sql().replace(" user U", ' "user" U')
    return tally(database.sql(sql).to_arrow_table()).checksum


def test_the_model_gives_the_bytes_that_published_checksums_stand_for(tmp_path: Path) -> None:
    write_base(tmp_path, TINY)
    write_fanout(tmp_path / "fanout_10", 10, TINY.diffs)
    digest = hashlib.sha256()
    for path in sorted(tmp_path.rglob("*.i64")):
        digest.update(path.relative_to(tmp_path).as_posix().encode() + path.read_bytes())
    assert digest.hexdigest() == FINGERPRINT


@pytest.mark.parametrize("name", ROWS)
def test_a_workloads_view_diffs_are_what_its_diffs_do_to_the_view(name: str, folder: Path) -> None:
    inputs = read(name, folder)
    before, after = (view_checksum(name, bags(inputs)) for bags in (bags_before, bags_after))
    result = run_tiny(name, folder)
    assert result.checksum == str((after - before) % 2**64)
    assert result.tuples
    assert result.diffs == sum(len(entry.rows) for entry in inputs.diffs)


@pytest.mark.parametrize("name", ["fanout_10", "q3", "churn"])
def test_every_mode_gives_the_checksum_of_what_it_consumes(name: str, folder: Path) -> None:
    each = run_tiny(name, folder).checksum
    assert run_tiny(name, folder, "batch").checksum == each
    assert run_tiny(name, folder, "call", 1).checksum == each
    view = str(view_checksum(name, bags_after(read(name, folder))))
    assert run_tiny(name, folder, "warehouse").checksum == view
    assert run_tiny(name, folder, "scan").checksum == view


@pytest.mark.parametrize("query", ["q1", "q2", "q3"])
@pytest.mark.parametrize("tuples", ["PT", "JT"])
def test_inserts_and_deletes_of_a_kind_mirror_each_other(
    query: str, tuples: str, folder: Path
) -> None:
    inserted, deleted = (run_tiny(f"{query}_{way}{tuples}", folder) for way in "ID")
    assert (int(str(inserted.checksum)) + int(str(deleted.checksum))) % 2**64 == 0
    assert inserted.tuples == deleted.tuples


@pytest.mark.parametrize("query", ["q1", "q2", "q3"])
def test_kinds_touch_a_join_tuple_only_where_their_name_says_so(query: str, folder: Path) -> None:
    for kind in KINDS:
        inputs = read(f"{query}_{kind}", folder)
        [entry] = inputs.diffs
        key = "userId" if entry.table == "tweet" else "retweetTweetId"
        present = Counter(inputs.tables[entry.table][key].to_pylist())
        touched = Counter(entry.rows[key].to_pylist())
        if kind.startswith("D"):
            present -= touched
        stays = [value in present for value in touched]
        assert all(stays) if kind.endswith("PT") else not any(stays)


def test_churn_keeps_its_shares_and_its_keys(folder: Path) -> None:
    kinds = {INSERT: "inserts", DELETE: "deletes"}
    joined = {("follower", 0), ("tweet", 0), ("retweet", 3)}
    shares = Counter[str]()
    for op, table_name, column, share in STEPS:
        update = "join updates" if (table_name, column) in joined else "other updates"
        shares[kinds.get(op, update)] += round(1000 * share)
    wanted = {"inserts": 400, "deletes": 300, "join updates": 150, "other updates": 150}
    assert shares == wanted
    inputs = read("churn", folder)
    for name, bag in bags_after(inputs).items():
        places = [TABLES[name].index(column) for column in KEYS[name]]
        keys = Counter(tuple(row[place] for place in places) for row in bag.elements())
        assert min(bag.values()) >= 0, "only rows that are there are deleted"
        assert max(keys.values()) == 1


@pytest.mark.parametrize("limit", [1, 7, 50, 10_000])
def test_batches_hold_all_diffs_in_order(limit: int, folder: Path) -> None:
    diffs = read("churn", folder).diffs
    cut = list(batches(diffs, limit))
    sizes = [sum(len(entry.rows) for entry in batch) for batch in cut]
    assert set(sizes[:-1]) <= {limit}
    assert 0 < sizes[-1] <= limit

    def listed(entries: list[tuple[object, ...]]) -> list[object]:
        return [
            (entry[0], entry[1], side, row)
            for entry in entries
            for side in (2, 3)
            if entry[side] is not None
            for row in rows_of(entry[side])
        ]

    whole = [entry for batch in cut for entry in batch]
    assert Counter(listed([*whole])) == Counter(listed([*diffs]))
    first = [row for entry in whole for row in rows_of(entry.rows)]
    assert first == [row for entry in diffs for row in rows_of(entry.rows)]


def test_a_checksum_weighs_columns_counts_and_signs_mod_two_to_the_64() -> None:
    data = {"a": [2**62, -5, 7], "b": [2**62, 11, 0]}
    plain = sum(a + 2 * b for a, b in zip(data["a"], data["b"], strict=True))
    assert tally(pa.table(data)) == Tally(3, plain % 2**64)
    types = pa.array(["insert", "delete", "update_preimage"]).dictionary_encode()
    signed = pa.table(data | {"_change_type": types, "_count": [1, 3, 2]})
    wanted = (3 * 2**62 - 3 * (-5 + 22) - 2 * 7) % 2**64
    assert tally(signed) == Tally(6, wanted)
    [block] = signed.to_batches()
    assert tally(block) == Tally(6, wanted)
    assert tally(signed.slice(0, 0)) == Tally()


def test_results_that_differ_are_named() -> None:
    options = Options(workloads=("q3",), data=Path())
    ours = Run(workload="q3", mode="each", system="joingraph", engine="compiled", checksum="1")
    same = Run(workload="q3", mode="batch", system="hand", checksum="1")
    other = Run(workload="q3", mode="each", system="duckdb", checksum="2")
    assert compare(options, [ours, same]) == []
    [complaint] = compare(options, [ours, same, other])
    assert "q3" in complaint
    assert "duckdb 2" in complaint


def timed(speed: float | None, seconds: float = 1.0, status: str = "ok") -> Run:
    """Make a run of `hand`; one that failed has no speed."""
    speeds = [] if speed is None else [speed]
    return Run(workload="q1", mode="each", system="hand", seconds=seconds, status=status,
               diffs_per_s=speed, speeds=speeds)  # fmt: skip


def test_the_median_of_all_runs_counts_and_a_failed_one_only_alone() -> None:
    slow, fast, failed = timed(1.0), timed(3.0), timed(None, status="out of memory")
    [found] = middle([slow, failed, fast, timed(8.0)])
    assert found == replace(fast, speeds=[1.0, 3.0, 8.0])
    assert middle([failed]) == [failed]


def test_a_short_run_is_repeated_until_all_have_taken_long_enough() -> None:
    runs = [timed(4.0, 0.05), timed(2.0, 0.1), timed(3.0, 0.07), timed(9.0, 0.01)]
    found = repeated(iter(runs).__next__, 0.2)
    assert found == replace(runs[2], speeds=[4.0, 2.0, 3.0])
    assert repeated(iter([timed(4.0, 0.2)]).__next__, 9.0).speeds == [4.0]
    assert len(repeated(lambda: timed(4.0, 0.0), 9.0).speeds) == RUNS_MAX


def test_repeated_runs_find_fresh_tables(folder: Path) -> None:
    spec = Spec("churn", "each", "compiled", "auto", str(folder), 50)
    once, often = run(spec), run(spec._replace(least_s=0.02))
    assert len(once.speeds) == 1 < len(often.speeds)
    assert (often.checksum, often.bytes) == (once.checksum, once.bytes)


@pytest.mark.parametrize("name", ["q2", "q2_DPT", "churn"])
def test_the_warm_up_has_a_mixed_batch_and_batches_of_the_real_size(
    name: str, folder: Path
) -> None:
    inputs = read(name, folder)
    found = list(warm_up_batches(inputs, 20))
    kinds = {entry.operation for entry in inputs.diffs} | {"insert"}
    tables = {entry.table for entry in inputs.diffs}
    assert all({entry.table for entry in batch} == tables for batch in found[: len(kinds)])
    for operation in kinds:
        sizes = [diffs_in(batch) for batch in found if batch[0].operation == operation]
        assert sizes[1:] == [20] * min(WARM_UP_BATCHES, len(sizes) - 1) != []


def test_a_table_shows_rates_failures_and_ratios() -> None:
    ours = Run(
        workload="q1", mode="each", system="joingraph", engine="compiled",
        diffs_per_s=6e6, speeds=[5e6, 6e6, 7e6],
    )  # fmt: skip
    hand = Run(workload="q1", mode="each", system="hand", diffs_per_s=2e6)
    dead = Run(workload="q1", mode="each", system="dbsp", status="out of memory")
    text = table([ours, hand, dead])
    assert "6,000,000  5,200,000  6,800,000     3" in text
    assert "out of memory" in text
    assert "joingraph/compiled against hand: q1 3x; geometric mean 3x" in text


def test_a_result_file_says_where_it_comes_from(tmp_path: Path, folder: Path) -> None:
    result = run_tiny("q2", folder)
    [line] = save([result], tmp_path).read_text().splitlines()
    assert parse(line) == result
    assert {"machine", "commit", "date", "python"} <= set(json.loads(line))


def test_the_command_prints_a_line_a_run_and_compares_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("q3", "--engine", "reference", "--lookahead", "none,exact", "--json")
    assert main([*words, "--data", str(folder), "--rivals", "divm", *ONCE]) == 0
    runs = [parse(line) for line in capsys.readouterr().out.splitlines()]
    found = {(run.workload, run.system, run.lookahead) for run in runs}
    assert len(runs) == len(found) == 3
    assert len({run.checksum for run in runs}) == 1
    ours = next(run for run in runs if run.system == "joingraph")
    assert ours.bytes and ours.peak_rss_mib and ours.load_rows_per_s and ours.tuples_per_s


def test_a_rival_that_ran_out_of_time_is_compared_over_the_diffs_it_did(folder: Path) -> None:
    part = run(Spec("q3", "each", "reference", "auto", str(folder), 50, max_diffs=70))
    stopped = Run(
        workload="q3",
        mode="each",
        system="duckdb",
        complete=False,
        diffs=part.diffs,
        checksum=part.checksum,
    )
    options = Options(workloads=("q3",), data=folder, engine=("reference",))
    assert part.diffs == 70
    assert compare(options, [stopped]) == []


def test_a_run_that_fails_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["q2", "--engine", "steam", "--data", str(folder), *ONCE]) == 1
    assert "engine='steam' is not known" in capsys.readouterr().err


def test_what_cannot_be_run_is_refused_by_name(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(JoinGraphError, match=r"no workload q9; there are fanout_1"):
        workloads_of(["q9"], "each")
    with pytest.raises(JoinGraphError, match=r"no rival postgres; there are hand"):
        prepare_rivals(["postgres"])
    assert main(["fanout_1", "--mode", "scan", "--rivals", "divm", "--data", str(folder)]) == 2
    assert "benchmarks: mode scan has no rivals" in capsys.readouterr().err
    with pytest.raises(JoinGraphError, match=r"data for 100 users, 10000 were asked for"):
        prepare("q1", folder, SIZES["small"])
    with pytest.raises(JoinGraphError, match=r"no columns\.txt"):
        read_columns(tmp_path)


def test_a_truncated_column_is_refused(tmp_path: Path) -> None:
    write_fanout(tmp_path, 1, 10)
    np.arange(9).tofile(tmp_path / "tweet" / "tweetId.i64")
    with pytest.raises(JoinGraphError, match=r"tweetId\.i64 has 9 rows, columns\.txt says 10"):
        read_columns(tmp_path / "tweet")


def test_mode_kinds_turns_a_query_into_its_four_kinds() -> None:
    assert workloads_of(["q1", "q3_DJT"], "kinds") == (
        "q3_DJT",
        *(f"q1_{kind}" for kind in KINDS),
    )


def documented() -> list[list[str]]:
    """The commands that docs/benchmarks.md shows."""
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    return [
        shlex.split(words)
        for words in re.findall(r'^\$ make bench ARGS="(.+)"$', page, re.MULTILINE)
    ]


@pytest.mark.parametrize("words", first(1, documented()), ids=" ".join)
def test_every_command_of_the_page_runs(words: list[str], folder: Path) -> None:
    assert main([*words, "--data", str(folder), "--engine", "reference", *ONCE]) == 0


def test_every_workload_rival_mode_and_field_is_on_the_page() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    families = r"^(fanout|chainF|chainR|left_chainF|left_chainR)_.*"
    names = {re.sub(families, r"\1_", name) for name in WORKLOADS}
    wanted = {name for name in names if not name.endswith(KINDS)} | {*RIVALS, *MODES}
    assert [name for name in sorted(wanted) if f"`{name}" not in page] == []


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib draws the figures")
def test_figures_are_drawn_from_result_files(tmp_path: Path, folder: Path) -> None:
    runs = [run_tiny(name, folder) for name in ("fanout_1", "fanout_10")]
    spec = Spec("chainR_2", "each", "reference", "exact", str(folder), 50)
    runs += [run(spec), run(spec._replace(lookahead="none"))]
    save(runs, tmp_path)
    draw = [sys.executable, "-m", "benchmarks.plots", "--results", str(tmp_path)]
    subprocess.run([*draw, "--figures", str(tmp_path)], cwd=ROOT, check=True)
    assert {path.stem for path in tmp_path.glob("*.svg")} == {"fanout", "lookahead"}


@pytest.mark.parametrize("fans", (131_073, 300_000))
def test_a_compiled_consumer_sees_every_row(fans: int) -> None:
    made = jg.JoinGraph(
        jg.View(
            "SELECT F.fan, T.id FROM follower F JOIN tweet T ON F.author = T.author",
            {
                "follower": "CREATE TABLE follower (author BIGINT, fan BIGINT)",
                "tweet": "CREATE TABLE tweet (author BIGINT, id BIGINT)",
            },
        )
    )
    rows = pa.table({"author": pa.repeat(pa.scalar(1), fans), "fan": pa.array(range(fans))})
    made.load({"follower": rows})
    batch = [("insert", "tweet", [(1, 5)]), ("update", "tweet", [(1, 5)], [(1, 6)])]
    assert consume_each(made, batch).tuples == 3 * fans
    made.compile()
    back = [("insert", "tweet", [(1, 5)]), ("delete", "tweet", [(1, 5)])]
    assert consume_each(made, back).tuples == 2 * fans
    assert made.count() == fans
