"""Forks a process at random moments, whatever its threads do with its graphs just then.

    python -m tests.crash.forks --forks 1000 --seed 1

A life is a process with a graph in a folder and one in memory. Its threads apply, stream, scan,
snapshot, compile and follow a subscription; another thread forks. Each child has to read both
graphs as they were after some batch as of the fork, and to be refused by name whatever it asks to
be changed. Then it exits, with and without what Python does at an exit. A child that hangs is
made to dump its stacks. In the end the folder holds what the life has applied.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import joingraph as jg
from tests import ENGINES
from tests.bags import bag
from tests.crash.feed import view
from tests.crash.record import add_option, record
from tests.crash.run import Model

FORKS_A_LIFE = 125
LIFE_S = 600.0  # after which a life hangs
ROOT = Path(__file__).parent.parent.parent


def live(folder: Path, forks: int, seed: int, engine: str) -> Counter[str]:
    """Let a process live till its end; gives what its children were, by kind."""
    life = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.forking", str(folder), str(forks), str(seed), engine],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, err = life.communicate(timeout=LIFE_S)
    except subprocess.TimeoutExpired:
        life.send_signal(signal.SIGUSR1)
        time.sleep(1)
        os.killpg(life.pid, signal.SIGKILL)  # it and its children, who have its pipes too
        out, err = life.communicate()
        raise AssertionError(f"life {seed} ({engine}) hangs: {err[-20_000:]}") from None
    assert life.returncode == 0 and not err, f"life {seed} ({engine}): {out} {err[-20_000:]}"
    return Counter(json.loads(out))


def look(folder: Path, seed: int) -> None:
    """Compare a folder with what its life has applied."""
    with jg.JoinGraph(view(), folder, engine="reference") as graph:
        model = Model(seed)
        model.grow(graph.seq)
        rows = graph.to_arrow().to_pylist()
        assert bag(tuple(row.values()) for row in rows) == model.views[graph.seq], graph.seq
        assert graph.positions() == {"feed": graph.seq}
        graph.check()


def run(scratch: Path, forks: int, seed: int, engine: str) -> Counter[str]:
    """Fork so many times, in as many lives as it takes."""
    found = Counter[str]()
    for number, first in enumerate(range(0, forks, FORKS_A_LIFE)):
        folder, share = scratch / f"{engine}-{number}", min(FORKS_A_LIFE, forks - first)
        lived = live(folder, share, seed + number, engine)
        look(folder, seed + number)
        with jg.open(folder, readonly=True) as graph:
            assert graph.seq == lived.pop("applied"), "what was applied is there"
            found["batches"] += graph.seq
        found += lived
    return found


def main() -> None:
    """Run the campaign for each form of the graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forks", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    add_option(parser)
    arguments = parser.parse_args()
    for engine in ENGINES:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            found = run(Path(scratch), arguments.forks, arguments.seed, engine)
        told = (
            f"{arguments.forks} forks ({engine}) in {time.monotonic() - began:.0f} s, beside"
            f" {found['batches']} batches, {found['snapshots']} snapshots and {found['compiled']}"
            f" compilations: {2 * found['children'] - found['streaming']} copies read as of the"
            f" fork, {found['streaming']} amid an open stream and refused by name;"
            f" {found['refused']} changes refused by name, none made; none hung"
        )
        print(told, flush=True)
        record(arguments.save, [told])


if __name__ == "__main__":
    main()
