"""Runs every benchmark of docs/benchmarks.md, saves the results and draws the figures.

python -m benchmarks.everything [options of `python -m benchmarks`, for all runs]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks import plots
from benchmarks.harness.cli import main as measure
from benchmarks.workloads.catalogue import ANSWERED

RESULTS = Path(__file__).parent / "results"
CHAINS = tuple(f"chain{letter}_{joins}" for letter in "FR" for joins in (2, 3, 4, 5))
FANOUTS = ("fanout_1", "fanout_10", "fanout_30", "fanout_100")
COUNTING = ("q1agg", "q2agg", "q3agg")
RUNS: tuple[tuple[str, ...], ...] = (
    ("--mode", "each", "--rivals", "hand,divm"),
    ("--mode", "stream", "--rivals", "hand"),
    ("churn", "--mode", "each", "--rivals", "hand,divm"),
    (*CHAINS, "--mode", "each", "--lookahead", "none,local,global,exact"),
    (*FANOUTS, "chainR_3", "q3", "--mode", "batch", "--rivals", "hand,dd,dd_delta,duckdb"),
    (*FANOUTS, *CHAINS[:4], "--mode", "warehouse"),
    ("fanout_100", "--mode", "scan"),
    ("q1", "q2", "q3", "--mode", "kinds"),
    (*COUNTING, "q3", "--mode", "each", "--rivals", "hand,maps,views"),
    (*COUNTING, "--mode", "batch", "--rivals", "hand,maps,views,dd,dd_delta,duckdb"),
    (*COUNTING, "--mode", "warehouse"),
    (*ANSWERED, "--mode", "each"),
    ("q1", "--mode", "call"),
)


def main() -> int:
    """Run all, go on after a failure, and tell whether there was one."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        data = () if "--data" in sys.argv else ("--data", folder)
        for run in RUNS:
            failed |= measure([*run, *data, "--save", str(RESULTS), *sys.argv[1:]])
    sys.argv[1:] = []
    plots.main()
    return failed


if __name__ == "__main__":
    sys.exit(main())
