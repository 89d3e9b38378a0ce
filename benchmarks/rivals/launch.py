"""Runs of other systems: programs of benchmarks/rivals, which print the same JSON line as ours.

python -m benchmarks.rivals divm q3 --data DIR --batch 1 --budget-s 8
benchmarks/rivals/rust/target/release/hand q3 --data DIR --batch 1 --budget-s 8
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.harness.origin import ROOT
from benchmarks.harness.record import Run, parse
from benchmarks.workloads.catalogue import ANSWERED, CHANGES, KINDS, OUTER, WORKLOADS
from benchmarks.workloads.outer import ASKED, OuterView
from joingraph.common.errors import JoinGraphError

RUST = Path(__file__).parent / "rust"
TIMEOUT_S = 600
MEMORY_BYTES = 14 * 2**30
STORED = ("q1agg", "q2agg", "q3agg", "q3")
NOT_DD = (*KINDS, *CHANGES, "churn")
LEFT_DD = ("left_chainF_2", "left_chainF_3")
GROUPING = tuple(name for name, each in WORKLOADS.items() if each.view.keys is not None)


@dataclass(frozen=True)
class Rival:
    """Another system: how it is called, and which workloads it can be asked for."""

    name: str
    package: str | None = None  # of the Rust workspace; benchmarks/rivals/__main__.py otherwise
    options: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()  # how the names of workloads end that it cannot run
    only: tuple[str, ...] = ()  # the workloads it is written for; none: all
    outer: tuple[str, ...] = ()  # those of outer joins, EXISTS and NOT EXISTS that it has

    @property
    def command(self) -> tuple[str, ...]:
        """Return the program, and what chooses this rival."""
        if self.package:
            return str(RUST / "target" / "release" / self.package), *self.options
        return sys.executable, "-m", "benchmarks.rivals", self.name

    def takes(self, workload: str) -> bool:
        """True if the workload can be asked for."""
        if workload.endswith(self.refuses) or workload in ANSWERED:
            return False
        if isinstance(WORKLOADS[workload].view, OuterView):
            return workload in self.outer
        return not self.only or workload in self.only


RIVALS = {
    rival.name: rival
    for rival in (
        Rival("hand", "hand", refuses=(*KINDS, *CHANGES), outer=tuple(ASKED)),
        Rival("dd", "dd", ("--variant", "binary"), refuses=NOT_DD, outer=(*ASKED, *LEFT_DD)),
        Rival("dd_delta", "dd", ("--variant", "delta"), refuses=NOT_DD),
        Rival("maps", "stored", ("--variant", "maps"), only=STORED),
        Rival("views", "stored", ("--variant", "views"), only=STORED),
        Rival("dbsp", "dbspx", refuses=NOT_DD),
        Rival("duckdb", outer=OUTER),
        Rival("duckdb_indexed"),
        *(Rival(name, refuses=GROUPING) for name in ("divm", "ojt", "sqlite")),
    )
}


def prepare(names: Sequence[str]) -> None:
    """Check the names of rivals, and build those that are written in Rust."""
    unknown = [name for name in names if name not in RIVALS]
    if unknown:
        raise JoinGraphError(f"no rival {unknown[0]}; there are {', '.join(RIVALS)}")
    packages = dict.fromkeys(RIVALS[name].package for name in names)
    for package in filter(None, packages):
        _build(package)


def _build(package: str) -> None:
    """Compile a Rust rival; nothing happens where it is up to date."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise JoinGraphError(
            f"rival {package} is written in Rust and there is no cargo; install Rust (rustup.rs), "
            f"or choose rivals in Python: divm, ojt, duckdb, sqlite"
        )
    command = [cargo, "build", "--release", "--locked", "-p", package]
    if subprocess.run(command, cwd=RUST, check=False).returncode:
        raise JoinGraphError(f"rival {package} does not compile: `{' '.join(command)}` in {RUST}")


def run_rival(rival: Rival, arguments: Sequence[str], wanted: Run) -> Run:
    """Run a rival; `wanted` holds the fields that are known beforehand."""
    if not rival.takes(wanted.workload):
        return replace(wanted, status="does not have it")
    return run_process([*rival.command, *arguments], wanted, limit=_limit_memory)


def run_process(
    command: Sequence[str], wanted: Run, *, limit: Callable[[], None] | None = None
) -> Run:
    """Run a program that prints a line of `Run`; what goes wrong becomes the run's status."""
    try:
        done = subprocess.run(
            list(command),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            preexec_fn=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return replace(wanted, status=f"no end after {TIMEOUT_S} s")
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return replace(wanted, status=_failure(done.stderr, done.returncode))
    run = parse(lines[-1])
    return replace(run, mode=wanted.mode, system=wanted.system)


def _limit_memory() -> None:
    """Keep a system that stores what grows without bound from taking the machine with it.

    joingraph is not limited so: it reserves address space far beyond the memory it touches.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _failure(stderr: str, code: int) -> str:
    memory = ("memory allocation of", "out of memory", "cannot allocate", "memoryerror")
    if any(sign in stderr.lower() for sign in memory):
        return "out of memory"
    last = stderr.strip().splitlines()[-1:] or ["no output"]
    return f"failed ({code}): {last[0][:200]}"
