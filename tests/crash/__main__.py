"""Kills a process many times: `python -m tests.crash --kills 1000`."""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from pathlib import Path

from tests.crash.run import run


def main() -> None:
    """Run one campaign and tell what it found: nothing, or the first broken promise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", default="reference", help="reference or compiled")
    arguments = parser.parse_args()
    logging.disable()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        seen = run(Path(folder) / "graph", arguments.kills, arguments.seed, arguments.engine)
    print(
        f"{arguments.kills} kills in {time.monotonic() - began:.0f} s: {seen.applied} batches"
        " applied, none lost, none twice; view diffs without gap or repeat"
        f" up to batch {seen.acked}"
    )


if __name__ == "__main__":
    main()
