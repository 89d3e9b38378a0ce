"""What the campaigns found, written down beside what was found before: benchmarks/results.

{"runs": [{"found": "1000 kills ...", "machine", "python", "commit", "date"}, ...]}
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.origin import origin


def add_option(parser: argparse.ArgumentParser) -> None:
    """Let a campaign be told where to write down what it found."""
    parser.add_argument("--save", type=Path, help="add what is found to this file")


def record(path: Path | None, found: Sequence[str]) -> None:
    """Add what a campaign found to a file, if one is named; what is in it stays."""
    if path is not None:
        known = json.loads(path.read_text()) if path.exists() else {"runs": []}
        known["runs"] += [{"found": each, **origin()} for each in found]
        path.write_text(json.dumps(known, indent=1) + "\n")
