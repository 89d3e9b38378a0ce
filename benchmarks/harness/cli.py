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
from benchmarks.workloads.catalogue import KINDS, WORKLOADS, prepare
from benchmarks.workloads.model import SIZES
from joingraph.common.errors import JoinGraphError

DEFAULT_WORKLOADS = {
    "each": tuple(name for name in WORKLOADS if not name.endswith(("churn", *KINDS))),
    "kinds": ("q1", "q2", "q3"),
    "warehouse": tuple(name for name in WORKLOADS if name.startswith("fanout_")),
    "scan": ("fanout_100",),
}
LOOKAHEADS = ("auto", "none", "local", "global", "exact")

DESCRIPTION = """Measure joingraph, alone or beside rivals, on the workloads of docs/benchmarks.md.
Every run is a process of its own; systems take turns; checksums are compared, and one that
differs is an error. Without --data the data are made in a folder that is removed afterwards."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure a pipeline, or the graph alone; return the exit code."""
    arguments = options().parse_args(argv)
    try:
        return bench_pipeline(arguments) if arguments.pipeline else bench_graph(arguments)
    except JoinGraphError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2


def options() -> argparse.ArgumentParser:
    """Describe the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=DESCRIPTION)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--mode", choices=MODES, default="each", help="how the diffs enter")
    parser.add_argument(
        "--engine", type=_names, default=("compiled",), help="compiled,reference,unprefetched"
    )
    parser.add_argument("--lookahead", type=_names, default=("auto",), help=",".join(LOOKAHEADS))
    parser.add_argument("--rivals", type=_names, default=(), help=",".join(RIVALS))
    parser.add_argument("--size", choices=SIZES, help="of data made by this run (small)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="raw columns; missing ones made")
    parser.add_argument("--batch", type=int, help="diffs a call, instead of the mode's own number")
    parser.add_argument("--repeat", type=int, default=5, help="turns of each system (5)")
    parser.add_argument(
        "--least-s", type=float, default=1.0, help="short runs are repeated for, in all turns (1)"
    )
    parser.add_argument("--budget-s", type=float, default=10.0, help="a rival stops after (10)")
    parser.add_argument("--save", type=Path, metavar="DIR", help="also write a file of JSON lines")
    parser.add_argument("--pipeline", action="store_true", help="a Spark pipeline, beside PySpark")
    parser.add_argument("--json", action="store_true", help="print one JSON line a run")
    return parser


def bench_pipeline(arguments: argparse.Namespace) -> int:
    """Import what needs pyspark, and run it."""
    if find_spec("pyspark") is None:
        raise JoinGraphError(
            "--pipeline needs pyspark, which is not installed; run: pip install 'joingraph[spark]'"
        )
    import_module("benchmarks.pipelines.comparison").compare(arguments)
    return 0


def bench_graph(arguments: argparse.Namespace) -> int:
    """Run all asked for; return 1 where checksums differ or joingraph itself failed."""
    mode: str = arguments.mode
    names = workloads_of(arguments.workloads or _default_workloads(mode), mode)
    if arguments.rivals and mode not in RIVAL_MODES:
        raise JoinGraphError(
            f"mode {mode} has no rivals, --rivals asks for {', '.join(arguments.rivals)}; "
            f"modes with rivals: {', '.join(RIVAL_MODES)}"
        )
    rivals = prepare_rivals(arguments.rivals)
    with ExitStack() as stack:
        folder = arguments.data or Path(stack.enter_context(TemporaryDirectory()))
        for name in names:
            size = SIZES[arguments.size] if arguments.size else None
            prepare(name, folder, size)
        options = Options(
            workloads=names,
            folder=folder.absolute(),
            mode=mode,
            engines=arguments.engine,
            lookaheads=arguments.lookahead,
            rivals=tuple(rivals),
            batch=arguments.batch,
            repeat=arguments.repeat,
            least_s=arguments.least_s,
            budget_s=arguments.budget_s,
        )
        runs = run_all(options, _print_line if arguments.json else _print_progress)
        complaints = compare(options, runs)
    _conclude(arguments, runs)
    complaints += _failures(runs)
    for complaint in complaints:
        print(f"benchmarks: {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def _conclude(arguments: argparse.Namespace, runs: Sequence[Run]) -> None:
    if not arguments.json:
        print(table(middle(runs)))
    if arguments.save:
        print(f"saved as {save(runs, arguments.save)}", file=sys.stderr)


def _failures(runs: Sequence[Run]) -> list[str]:
    failed = [run for run in runs if run.system == "joingraph" and run.status != "ok"]
    return [f"{run.workload}, {run.mode}: {run.name} {run.status}" for run in failed]


def _default_workloads(mode: str) -> tuple[str, ...]:
    return DEFAULT_WORKLOADS.get(mode, DEFAULT_WORKLOADS["each"])


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _print_line(run: Run) -> None:
    print(run.line(), flush=True)


def _print_progress(run: Run) -> None:
    speed = run.status if run.diffs_per_s is None else f"{run.diffs_per_s:,.0f} diffs/s"
    print(f"{run.workload} {run.mode} {run.name}: {speed}", file=sys.stderr, flush=True)
