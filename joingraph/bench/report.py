"""What a reader sees: a table, JSON lines, and result files that say where they come from."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import exp, log
from pathlib import Path
from statistics import fmean

from joingraph.bench.record import MIB, Run
from joingraph.bench.rivals import ROOT

HEADINGS = ("workload", "mode", "system", "diffs/s", "tuples/s", "graph MiB", "peak MiB", "load/s")


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


def origin() -> dict[str, str]:
    """Tell machine, commit and date: a number without them is hearsay."""
    commit = _output(["git", "describe", "--always", "--dirty"]) or "not a checkout"
    return {
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "commit": commit,
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def save(runs: Sequence[Run], folder: Path) -> Path:
    """Write runs as a new file of JSON lines, each with machine, commit and date."""
    where = origin()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{where['date'].replace(':', '')}-{runs[0].mode}.jsonl"
    lines = [json.dumps(json.loads(run.line()) | where) for run in runs]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def _cells(run: Run) -> tuple[str, ...]:
    if run.status != "ok":
        return (run.workload, run.mode, run.name, run.status.split(":")[0], "", "", "", "")
    graph = None if run.bytes is None else run.bytes / MIB
    mark = "" if run.complete else f" (of {run.diffs:,} diffs)"
    return (
        run.workload,
        run.mode,
        run.name + mark,
        *(_number(value) for value in (run.diffs_per_s, run.tuples_per_s, graph)),
        *(_number(value) for value in (run.peak_rss_mib, run.load_rows_per_s)),
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _processor() -> str:
    """Name the processor; Linux tells it in /proc, elsewhere Python must do."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
