"""`python -m benchmarks --pipeline`: a Spark pipeline beside PySpark written by hand, in one run.

    for each workload, micro-batch and size of the base tables:
        rounds to warm up, then rounds of  empty | hand | ours  (systems.py)
    own time = a system's median micro-batch - that of `empty` in the same rounds

Base tables are loaded before; the diffs come as files, one of each changing table a micro-batch.
`--batch 1000` and `--size small` or `large` (base tables ten times as large) measure one part.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa

from benchmarks.harness.checksum import Tally
from benchmarks.harness.origin import save_lines
from benchmarks.harness.runner import Options
from benchmarks.pipelines.systems import SYSTEMS, Feed, Measured, write_files
from benchmarks.workloads.catalogue import Inputs, find_join, prepare, read
from benchmarks.workloads.model import Size
from joingraph.common.errors import JoinGraphError

WORKLOADS = ("fanout_10", "q3")
COUNTED = {1_000: 10, 50_000: 3}  # diffs in a micro-batch -> how many of them are timed in a round
GROWN = {"small": 1, "large": 10}  # --size -> how large base tables are
WARM_UP = 6  # rounds: until then much of what takes time is Java that is not compiled yet
Line = dict[str, Any]  # what a system did in one case


class Case(NamedTuple):
    """One thing that is measured."""

    workload: str
    batch: int
    counted: int
    size: Size

    @property
    def name(self) -> str:
        """Name its data."""
        return f"{self.workload}-{self.batch}-{self.size.users}"


def compare(options: Options) -> None:
    """Measure everything, print a table or lines, and save them."""
    lines = []
    for case in cases(options.workloads or WORKLOADS, options.batch, options.size):
        with TemporaryDirectory() as folder:
            data = (options.data or Path(folder)) / case.name
            for line in measure(case, data, Path(folder) / "diffs", rounds=options.repeat):
                print(json.dumps(line) if options.json else shown(line), flush=True)
                lines.append(line)
    if options.save:
        path = save_lines(lines, options.save, "pipeline")
        print(f"saved as {path}")


def cases(workloads: Sequence[str], batch: int | None, size: str | None) -> list[Case]:
    """List what is measured; base tables that have grown change nothing else."""
    if batch not in (None, *COUNTED) or size not in (None, *GROWN):
        raise JoinGraphError(
            f"--pipeline measures --batch {' or '.join(map(str, COUNTED))} and --size "
            f"{' or '.join(GROWN)}, found {batch} and {size}"
        )
    return [
        Case(workload, diffs, counted, size_for(times, diffs * (counted + 1)))
        for workload in workloads
        for diffs, counted in COUNTED.items() if batch in (None, diffs)
        for name, times in GROWN.items() if size in (None, name)
    ]  # fmt: skip


def size_for(times: int, diffs: int) -> Size:
    """Size the data: ten thousand users and a million followers, or so many times as much."""
    return Size(
        10_000 * times, 1_000_000 * times, 60_000 * times + diffs, 70_000 * times + diffs, diffs
    )


def measure(case: Case, data: Path, diffs: Path, *, rounds: int) -> list[Line]:
    """Measure one case; systems whose rows differ are an error."""
    prepare(case.workload, data, case.size)
    inputs, join = read(case.workload, data), find_join(case.workload)
    write_files(diffs, list(micro_batches(inputs, case)))
    measured = Measured(Feed(join.declared(), join, inputs.tables, diffs))
    seconds: dict[str, list[float]] = {}
    tallies: dict[str, Tally] = {}
    try:
        for number, (system, found) in enumerate(measured.rounds(WARM_UP + rounds)):
            tallies[system] = found.tally
            if number >= WARM_UP * len(SYSTEMS):
                seconds.setdefault(system, []).extend(found.seconds)
    finally:
        measured.close()
    if tallies["hand"] != tallies["ours"]:
        raise JoinGraphError(
            f"{case.workload}: {tallies['hand']} by hand, {tallies['ours']} by joingraph"
        )
    return [line(case, system, seconds, (tallies[system], inputs.base_rows)) for system in seconds]


def micro_batches(inputs: Inputs, case: Case) -> Iterator[Mapping[str, pa.Table]]:
    """Cut the diffs: of each changing table an equal part a micro-batch."""
    diffs: dict[str, list[pa.Table]] = {name: [] for name in inputs.tables}
    for entry in inputs.diffs:
        diffs[entry.table].append(entry.rows)
    whole = {name: pa.concat_tables(rows) for name, rows in diffs.items() if rows}
    share = case.batch // len(whole)
    for number in range(case.counted + 1):
        changed = {name: rows.slice(number * share, share) for name, rows in whole.items()}
        yield {name: rows.slice(0, 0) for name, rows in inputs.tables.items()} | changed


def line(
    case: Case, system: str, seconds: Mapping[str, list[float]], found: tuple[Tally, int]
) -> Line:
    """Sum up what a system did in one case; `own_ms` is what it took beyond `empty`."""
    tally, base_rows = found
    batch_s, empty_s = median(seconds[system]), median(seconds["empty"])
    own_s = batch_s - empty_s
    return {
        "workload": case.workload,
        "mode": "pipeline",
        "system": system,
        "batch": case.batch,
        "base_rows": base_rows,
        "batch_ms": round(1000 * batch_s, 1),
        "own_ms": round(1000 * own_s, 1),
        "own_diffs_per_s": round(case.batch / own_s) if own_s > 0 else None,
        "micro_batches": len(seconds[system]),
        "tuples": tally.tuples,
        "checksum": str(tally.checksum),
    }


def shown(line: Line) -> str:
    """Write a line for people."""
    return (
        "{workload:10} {batch:>6,} diffs, {base_rows:>10,} base rows, "
        "{system:5}: {batch_ms:8,.1f} ms a micro-batch, {own_ms:8,.1f} its own".format(**line)
    )
