"""Machine, commit and date: a number without them is hearsay."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent


def origin() -> dict[str, str]:
    """Return what names the place and time of a measurement."""
    commit = _output(["git", "describe", "--always", "--dirty"]) or "not a checkout"
    return {
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "commit": commit,
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def save_lines(lines: Sequence[Mapping[str, Any]], folder: Path, mode: str) -> Path:
    """Write a new file of JSON lines, each with its origin."""
    where = origin()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{where['date'].replace(':', '')}-{mode}.jsonl"
    path.write_text("".join(f"{json.dumps(dict(line) | where)}\n" for line in lines))
    return path


def save_figures(figures: Mapping[str, Any], path: Path | None) -> None:
    """Write one JSON object with its origin, if a file is named."""
    if path is not None:
        path.write_text(json.dumps(origin() | dict(figures), indent=1) + "\n")


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
