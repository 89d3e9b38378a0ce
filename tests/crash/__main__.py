"""Kills a process many times: `python -m tests.crash --kills 1000`."""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from pathlib import Path

from tests.crash import feed
from tests.crash.record import add_option, record
from tests.crash.run import run


def main() -> None:
    """Run two campaigns, one with a subscriber; tell what they found, or what promise broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", default="reference", help="reference or compiled")
    parser.add_argument("--groups", action="store_true", help="of a view that groups")
    add_option(parser)
    arguments = parser.parse_args()
    logging.disable()
    feed.SQL = feed.GROUPED if arguments.groups else feed.SQL
    began = time.monotonic()
    lives = arguments.kills // 2, arguments.kills - arguments.kills // 2
    found = []
    for kills, seed in zip(lives, (arguments.seed, arguments.seed + 1), strict=True):
        with tempfile.TemporaryDirectory() as folder:
            found.append(run(Path(folder) / "graph", kills, seed, arguments.engine))
    applied, _, acked, saved, cut = map(sum, zip(*found, strict=True))
    told = (
        f"{arguments.kills} kills ({arguments.engine}) in {time.monotonic() - began:.0f} s:"
        f" {applied} batches applied, none lost, none twice; view diffs of {acked} batches without"
        f" gap or repeat; {saved} snapshots asked for, {cut} cut short"
    )
    print(told)
    record(arguments.save, [told])


if __name__ == "__main__":
    main()
