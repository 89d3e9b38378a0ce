"""What a reader sees: a table, JSON lines, and result files that say where they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks.harness.origin import save_lines
from benchmarks.harness.record import MIB, Run

HEADINGS = (
    *("workload", "mode", "system", "diffs/s", "p10", "p90", "runs"),
    *("tuples/s", "graph MiB", "peak MiB", "load/s"),
)


def table(runs: Sequence[Run]) -> str:
    """Write runs as an aligned table, and how far joingraph is ahead of each rival."""
    rows = [HEADINGS, *(_cells(run) for run in runs)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    lines = [
        "  ".join(
            cell.ljust(width) if place < 3 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, *ratios(runs)])


def ratios(runs: Sequence[Run]) -> Iterator[str]:
    """Say, for each of our settings and each rival, the ratios of diffs/s and their mean."""
    ours = [run for run in runs if run.system == "joingraph"]
    others = [run for run in runs if run.system != "joingraph"]
    for mine in dict.fromkeys(run.name for run in ours):
        for other in dict.fromkeys(run.name for run in others):
            found = {
                run.workload: run.diffs_per_s / rival.diffs_per_s
                for run in ours
                for rival in others
                if (run.workload, run.mode) == (rival.workload, rival.mode)
                and (run.name, rival.name) == (mine, other)
                and run.diffs_per_s
                and rival.diffs_per_s
            }
            if found:
                mean = exp(fmean(log(ratio) for ratio in found.values()))
                parts = ", ".join(f"{name} {ratio:.3g}x" for name, ratio in found.items())
                yield f"{mine} against {other}: {parts}; geometric mean {mean:.3g}x"


def save(runs: Sequence[Run], folder: Path) -> Path:
    """Write runs as a new file of JSON lines, each with machine, commit and date."""
    return save_lines([run.known() for run in runs], folder, runs[0].mode)


def _cells(run: Run) -> tuple[str, ...]:
    if run.status != "ok":
        return (run.workload, run.mode, run.name, run.status.split(":")[0], *[""] * 7)
    graph = None if run.bytes is None else run.bytes / MIB
    p10, p90 = np.percentile(run.speeds, (10, 90)) if run.speeds else (None, None)
    mark = "" if run.complete else f" (of {run.diffs:,} diffs)"
    return (
        run.workload,
        run.mode,
        run.name + mark,
        *(_number(value) for value in (run.diffs_per_s, p10, p90, len(run.speeds))),
        *(_number(value) for value in (run.tuples_per_s, graph)),
        *(_number(value) for value in (run.peak_rss_mib, run.load_rows_per_s)),
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
