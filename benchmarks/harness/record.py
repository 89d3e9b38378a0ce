"""What one run is asked for and what it reports: a JSON line, the same for every system."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any, NamedTuple

MIB = 2**20


class Spec(NamedTuple):
    """What to run: options of `python -m benchmarks`, settled."""

    workload: str
    mode: str
    engine: str
    lookahead: str
    folder: str
    batch: int
    max_diffs: int | None = None
    least_s: float = 0.0  # short runs are repeated for so long in all

    def run(self) -> Run:
        """Return the run of which nothing is measured yet."""
        return Run(
            workload=self.workload,
            mode=self.mode,
            system="joingraph",
            engine=self.engine,
            lookahead=self.lookahead,
            batch=self.batch,
        )


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run; what a system cannot tell, or a mode does not measure, is None."""

    workload: str
    mode: str
    system: str
    engine: str | None = None
    lookahead: str | None = None
    batch: int | None = None
    status: str = "ok"
    diffs: int = 0
    complete: bool = True  # False: stopped after its time budget; rates are of the diffs done
    seconds: float | None = None
    diffs_per_s: float | None = None  # the median, where a short run was repeated
    speeds: Sequence[float] = ()  # diffs/s of every run, in order
    tuples: int | None = None
    tuples_per_s: float | None = None
    checksum: str | None = None  # decimal text: it does not fit what JSON readers call a number
    bytes: int | None = None
    bytes_loaded: int | None = None
    base_rows: int | None = None
    peak_rss_mib: float | None = None
    load_s: float | None = None
    load_rows_per_s: float | None = None
    first_tenth_per_s: float | None = None
    last_tenth_per_s: float | None = None
    view_tuples: int | None = None
    view_checksum: str | None = None  # of the view in the end, where DuckDB's answer is compared
    scan_s: float | None = None
    read_s: float | None = None
    copy_s: float | None = None
    copy_fresh_s: float | None = None
    compared: str | None = None  # what the seconds of a scan are those of

    @property
    def name(self) -> str:
        """Return the system as tables show it: a rival's name, or how joingraph was set."""
        if self.engine is None:
            return self.system
        return "/".join(part for part in (self.system, self.engine, self.lookahead) if part)

    def known(self) -> dict[str, Any]:
        """Return the fields that are known."""
        return {name: value for name, value in asdict(self).items() if value not in (None, ())}

    def line(self) -> str:
        """Write the run as JSON."""
        return json.dumps(self.known())


def parse(line: str) -> Run:
    """Read a line of `Run.line`; fields that a later version may add are passed over."""
    values: dict[str, Any] = json.loads(line)
    names = {field.name for field in fields(Run)}
    return Run(**{name: value for name, value in values.items() if name in names})


def rate(count: int, seconds: float) -> float:
    """Divide, to one decimal; a clock that did not move gives no infinity."""
    return round(count / max(seconds, 1e-9), 1)


def peak_rss_mib() -> float:
    """Return the most memory this process has had."""
    status = Path("/proc/self/status")
    if status.exists():
        # The kernel's ru_maxrss begins with what the parent had when it started us.
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return round(int(peak.split()[1]) / 1024, 1)
    unit = MIB if sys.platform == "darwin" else 1024
    return round(getrusage(RUSAGE_SELF).ru_maxrss / unit, 1)
