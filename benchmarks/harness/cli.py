"""`python -m benchmarks`: its options, and the order of work."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness.record import Run
from benchmarks.harness.report import save, table
from benchmarks.harness.runner import (
    MODES,
    RIVAL_MODES,
    Options,
    compare,
    middle,
    run_all,
    workloads_of,
)
from benchmarks.rivals.launch import RIVALS
from benchmarks.rivals.launch import prepare as prepare_rivals
from benchmarks.workloads.catalogue import ANSWERED, KINDS, OUTER, QUERIES, WORKLOADS, prepare
from benchmarks.workloads.model import SIZES
from joingraph.common.errors import JoinGraphError

DEFAULT_WORKLOADS = {
    "each": tuple(
        name
        for name in WORKLOADS
        if not name.endswith(("churn", *KINDS, *ANSWERED)) and name not in OUTER
    ),
    "kinds": QUERIES,
    "warehouse": tuple(name for name in WORKLOADS if name.startswith("fanout_")),
    "scan": ("fanout_100",),
}
LOOKAHEADS = ("auto", "none", "local", "global", "exact")

DESCRIPTION = """Measure joingraph, alone or beside rivals, on the workloads of docs/benchmarks.md.
Every run is a process of its own; systems take turns; checksums are compared, and one that
differs is an error. Without --data the data are made in a folder that is removed afterwards."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure a pipeline, or the graph alone; return the exit code."""
    options = parser().parse_args(argv, Options())
    try:
        return bench_pipeline(options) if options.pipeline else bench_graph(options)
    except JoinGraphError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    """Describe the options; their defaults are those of `Options`."""
    found = argparse.ArgumentParser(prog="python -m benchmarks", description=DESCRIPTION)
    add = found.add_argument
    add("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    add("--mode", choices=MODES, help="how the diffs enter (each)")
    add("--engine", type=_names, help="compiled,reference,unprefetched")
    add("--lookahead", type=_names, help=",".join(LOOKAHEADS))
    add("--rivals", type=_names, help=",".join(RIVALS))
    add("--size", choices=SIZES, help="of data made by this run (small)")
    add("--data", type=Path, metavar="DIR", help="raw columns; missing ones made")
    add("--batch", type=int, help="diffs a call, instead of the mode's own number")
    add("--repeat", type=int, help="turns of each system (5)")
    add("--least-s", type=float, help="short runs are repeated for, in all turns (1)")
    add("--budget-s", type=float, help="a rival stops after (10)")
    add("--save", type=Path, metavar="DIR", help="also write a file of JSON lines")
    add("--pipeline", action="store_true", help="a Spark pipeline, beside PySpark")
    add("--json", action="store_true", help="print one JSON line a run")
    return found


def bench_pipeline(options: Options) -> int:
    """Import what needs pyspark, and run it."""
    if find_spec("pyspark") is None:
        raise JoinGraphError(
            "--pipeline needs pyspark, which is not installed; run: pip install 'joingraph[spark]'"
        )
    import_module("benchmarks.pipelines.comparison").compare(options)
    return 0


def bench_graph(options: Options) -> int:
    """Run all asked for; return 1 where checksums differ or joingraph itself failed."""
    mode = options.mode
    default = DEFAULT_WORKLOADS.get(mode, DEFAULT_WORKLOADS["each"])
    options.workloads = workloads_of(options.workloads or default, mode)
    if options.rivals and mode not in RIVAL_MODES:
        raise JoinGraphError(
            f"mode {mode} has no rivals, --rivals asks for {', '.join(options.rivals)}; "
            f"modes with rivals: {', '.join(RIVAL_MODES)}"
        )
    prepare_rivals(options.rivals)
    with ExitStack() as stack:
        options.data = options.data or Path(stack.enter_context(TemporaryDirectory()))
        options.data = options.data.absolute()
        for name in options.workloads:
            prepare(name, options.data, SIZES[options.size] if options.size else None)
        runs = run_all(options, _print_line if options.json else _print_progress)
        complaints = compare(options, runs)
    if not options.json:
        print(table(middle(runs)))
    if options.save:
        print(f"saved as {save(runs, options.save)}", file=sys.stderr)
    complaints += _failures(runs)
    for complaint in complaints:
        print(f"benchmarks: {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def _failures(runs: Sequence[Run]) -> list[str]:
    failed = [run for run in runs if run.system == "joingraph" and run.status != "ok"]
    return [f"{run.workload}, {run.mode}: {run.name} {run.status}" for run in failed]


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _print_line(run: Run) -> None:
    print(run.line(), flush=True)


def _print_progress(run: Run) -> None:
    speed = run.status if run.diffs_per_s is None else f"{run.diffs_per_s:,.0f} diffs/s"
    print(f"{run.workload} {run.mode} {run.name}: {speed}", file=sys.stderr, flush=True)
