"""The figures of a pipeline while it runs: a small file, replaced after every micro-batch."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from joingraph.common.atomic_file import write_shared
from joingraph.common.errors import StoreError
from joingraph.pipeline.model import Progress
from joingraph.pipeline.report.eta import Estimate

RECENT_SHARE = 0.2  # how much the last micro-batch counts in a rate


class Status:
    """Keeps the figures of a run and writes them to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.figures: dict[str, Any] = {}

    def started(self, name: str) -> None:
        """Begin a run."""
        self.figures = {
            "pipeline": name,
            "state": "running",
            "pid": os.getpid(),
            "started": time.time(),
            "batches": 0,
            "diffs": 0,
            "view_diffs": 0,
            "dead_letters": 0,
            "diffs_per_s": 0.0,
            "by_table": {},
            "sources": {},
            "error": None,
        }
        self._write()

    def advanced(self, progress: Progress, took_s: float, estimate: Estimate | None = None) -> None:
        """Count a micro-batch."""
        now = self.figures
        now["batches"] += 1
        now["batch"] = progress.batch
        now["diffs"] += progress.diffs
        now["view_diffs"] += progress.view_diffs
        now["dead_letters"] += progress.dead
        for table, rows in progress.by_table.items():
            now["by_table"][table] = now["by_table"].get(table, 0) + rows
        for table, (place, lag_s) in progress.places.items():
            now["sources"][table] = {"place": place, "lag_s": lag_s}
        rate = progress.diffs / max(took_s, 1e-6)
        share = RECENT_SHARE if now["batches"] > 1 else 1.0
        now["diffs_per_s"] = (1 - share) * now["diffs_per_s"] + share * rate
        now["batch_ms"] = round(1000 * took_s, 1)
        now["own_ms"] = round(1000 * progress.own_s, 1)
        now["sinks_ms"] = round(1000 * progress.sinks_s, 1)
        now["backlog"] = estimate and estimate._asdict()
        self._write()

    def failed(self, error: str) -> None:
        """Note what went wrong."""
        self.figures |= {"state": "failed", "error": error[:2000]}
        self._write()

    def stopped(self) -> None:
        """End a run."""
        if self.figures.get("state") == "running":
            self.figures["state"] = "stopped"
        self._write()

    def _write(self) -> None:
        self.figures["updated"] = time.time()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_shared(self.path, json.dumps(self.figures, indent=1).encode())


def read_status(path: Path) -> dict[str, Any]:
    """Read the figures that a pipeline wrote."""
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(f"{path} is not there: this pipeline has never run") from None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is not a pipeline's status: {error}") from error
    if not isinstance(figures, dict):
        raise StoreError(f"{path} is not a pipeline's status: found {type(figures).__name__}")
    return figures
