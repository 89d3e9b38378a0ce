"""Runs in turns: every system once, then every system once more, so that all share the weather.

    for each repeat, for each workload:  joingraph (each engine and look-ahead), then each rival
    median of all runs per (workload, system);  checksums of equal diffs must be equal

A rival that stops after its time budget has done fewer diffs: joingraph runs these again, not
timed, so that the rival's checksum is compared too. A run without that does not count.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from statistics import median

from benchmarks.harness.checksum import tally
from benchmarks.harness.record import Run, Spec
from benchmarks.rivals.launch import RIVALS, run_process, run_rival
from benchmarks.workloads.answers import answer
from benchmarks.workloads.catalogue import KINDS, QUERIES, find

MODES = ("each", "stream", "batch", "call", "warehouse", "scan", "kinds")
# Twenty thousand: churn's 200,000 diffs are ten batches, so that its tenths can be distinguished.
BATCH = {"batch": 1_000, "call": 1}
EACH_BATCH = 20_000
RIVAL_MODES = {"each": 1, "stream": 1, "kinds": 1, "batch": 1_000}


@dataclass(kw_only=True)
class Options:
    """The options of a whole command, with their defaults."""

    workloads: Sequence[str] = ()
    data: Path | None = None
    size: str | None = None
    mode: str = "each"
    engine: tuple[str, ...] = ("compiled",)
    lookahead: tuple[str, ...] = ("auto",)
    rivals: tuple[str, ...] = ()
    batch: int | None = None
    repeat: int = 5
    least_s: float = 1.0
    budget_s: float = 10.0
    save: Path | None = None
    pipeline: bool = False
    json: bool = False


def workloads_of(names: Sequence[str], mode: str) -> tuple[str, ...]:
    """Check the names; in mode `kinds`, q1 stands for its four kinds of modification."""
    for name in names:
        find(name)
    if mode != "kinds":
        return tuple(names)
    whole = [name for name in names if name.endswith(KINDS)]
    parts = [f"{name}_{kind}" for name in names if name in QUERIES for kind in KINDS]
    return (*whole, *parts)


def run_all(options: Options, report: Callable[[Run], None]) -> list[Run]:
    """Run everything in turns; `report` gets each run when it is done."""
    runs: list[Run] = []
    for _ in range(options.repeat):
        for workload in options.workloads:
            for run in _turn(options, workload):
                report(run)
                runs.append(run)
    return runs


def middle(runs: Iterable[Run]) -> list[Run]:
    """Return one run of each system and workload, with the speeds of all and their median."""
    found: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        found.setdefault((run.workload, run.mode, run.name), []).append(run)
    return [_pooled(alike) for alike in found.values()]


def _pooled(runs: Sequence[Run]) -> Run:
    """Return the middle one of runs; one that failed only if all did."""
    done = sorted((run for run in runs if run.status == "ok"), key=_speed)
    if not done:
        return runs[0]
    speeds = [speed for run in done for speed in run.speeds]
    run = done[len(done) // 2]
    return replace(run, speeds=speeds, diffs_per_s=median(speeds)) if speeds else run


def compare(options: Options, runs: Sequence[Run]) -> list[str]:
    """Return which results differ; incomplete ones are compared with a run of just their diffs.

    Where no rival has a workload, the view in the end is compared with DuckDB's answer.
    """
    known = [run for run in runs if run.status == "ok" and run.checksum is not None]
    known += [_again(options, run) for run in middle(known) if not run.complete]
    complaints = [f"{run.workload}: {run.name} {run.status}" for run in known if run.status != "ok"]

    def key(run: Run) -> tuple[str, str, int]:
        if run.mode in ("warehouse", "scan"):
            return run.workload, "view", 0
        # The sum of signed rows is one however they are batched; groups tell what a batch changes.
        is_folded = run.mode == "batch" and find(run.workload).view.keys is not None
        return run.workload, f"batches of {run.batch}" if is_folded else "diffs", run.diffs

    for (workload, what, diffs), group in groupby(sorted(known, key=key), key):
        found = {str(run.checksum): run.name for run in group}
        if len(found) > 1:
            names = ", ".join(f"{name} {checksum}" for checksum, name in found.items())
            complaints.append(f"{workload}, {what} of {diffs} diffs: checksums differ: {names}")
    return [*complaints, *_other_views(options, known)]


def _other_views(options: Options, runs: Sequence[Run]) -> Iterator[str]:
    """Yield which views are not what DuckDB answers."""
    checked = [run for run in runs if run.view_checksum is not None]
    for workload in dict.fromkeys(run.workload for run in checked):
        wanted = str(tally(answer(workload, Path(str(options.data)))).checksum)
        for run in checked:
            if run.workload == workload and run.view_checksum != wanted:
                yield f"{workload}: {run.name} has view {run.view_checksum}, DuckDB {wanted}"


def _turn(options: Options, workload: str) -> Iterator[Run]:
    # A scan repeats itself (scanning.py).
    least_s = 0.0 if options.mode == "scan" else options.least_s / options.repeat
    for engine in options.engine:
        for lookahead in options.lookahead:
            batch = options.batch or BATCH.get(options.mode, EACH_BATCH)
            folder = str(options.data)
            spec = Spec(workload, options.mode, engine, lookahead, folder, batch, least_s=least_s)
            yield run_ours(spec)
    for name in options.rivals:
        is_batched = options.mode == "batch"
        batch = (options.batch if is_batched else None) or RIVAL_MODES[options.mode]
        arguments = [workload, "--data", str(options.data), "--batch", str(batch)]
        arguments += ["--budget-s", str(options.budget_s), "--least-s", str(least_s)]
        wanted = Run(workload=workload, mode=options.mode, system=name, batch=batch)
        yield run_rival(RIVALS[name], arguments, wanted)


def run_ours(spec: Spec) -> Run:
    """Run joingraph in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.harness.one_run", json.dumps(spec._asdict())]
    return run_process(command, spec.run())


def _again(options: Options, run: Run) -> Run:
    """Run joingraph over just as many diffs as a rival did in its time."""
    engine, lookahead, folder = options.engine[0], options.lookahead[0], str(options.data)
    batch = run.batch if run.mode == "batch" and run.batch else EACH_BATCH
    spec = Spec(run.workload, run.mode, engine, lookahead, folder, batch, run.diffs)
    return replace(run_ours(spec), complete=True)


def _speed(run: Run) -> float:
    if run.mode == "scan":
        return run.tuples_per_s or 0.0
    return run.diffs_per_s or 0.0
