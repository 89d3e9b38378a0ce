"""python -m tests.oracle: compare random views and feeds with a recomputation from scratch.

    python -m tests.oracle --cases 2000 --seed 0 --jobs 2 --json benchmarks/results/oracle.json
    python -m tests.oracle --replay 1234

A step is one batch, compared in full on every form of the graph in every look-ahead mode.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.oracle.search import BATCHES_MAX, Found, machine, replay, search

CHUNK = 50


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked; 1 if any case disagrees."""
    asked = read_arguments(arguments)
    if asked.replay is not None:
        told = replay(asked.replay, asked.batches)
        print(told or f"seed {asked.replay}: no disagreement")
        return 1 if told else 0
    start = time.perf_counter()
    steps, wrong = 0, []
    chunks = list(chunked(asked.seed, asked.cases))
    job = partial(search, batches_max=asked.batches, together=asked.together)
    for done, found in enumerate(in_jobs(job, chunks, asked.jobs), 1):
        steps += found.steps
        wrong += found.failures
        for failure in found.failures:
            print(f"\n{failure}")
        show_progress(steps, time.perf_counter() - start, done / len(chunks))
    seconds = time.perf_counter() - start
    print(f"\n{asked.cases} cases, {steps} steps, {len(wrong)} disagreements in {seconds:.0f} s")
    if asked.json:
        write_result(asked, steps, len(wrong), seconds)
    return 1 if wrong else 0


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.oracle",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cases", type=int, default=1000, help="how many views with their feeds")
    parser.add_argument("--seed", type=int, default=0, help="the first case's seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--batches", type=int, default=BATCHES_MAX, help="the longest feed")
    parser.add_argument(
        "--together", action="store_true", help="all look-ahead modes on one graph: faster"
    )
    parser.add_argument("--json", type=Path, help="write the result to this file")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run and shrink one case")
    return parser.parse_args(arguments)


def chunked(seed: int, cases: int) -> Iterator[range]:
    """Cut the seeds into pieces of work."""
    for first in range(seed, seed + cases, CHUNK):
        yield range(first, min(first + CHUNK, seed + cases))


def in_jobs(job: Callable[[range], Found], chunks: list[range], jobs: int) -> Iterator[Found]:
    """Search all pieces, in one process or several."""
    if jobs == 1:
        yield from map(job, chunks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(job, chunks)


def show_progress(steps: int, seconds: float, done: float) -> None:
    """Say how far it is, on one line that overwrites itself."""
    left = seconds / done - seconds
    rate = steps / seconds
    print(f"\r{steps} steps, {rate:.0f} steps/s, {left:.0f} s left   ", end="", flush=True)


def write_result(asked: argparse.Namespace, steps: int, wrong: int, seconds: float) -> None:
    """Record the run with where, of what and when it was."""
    result = {
        "cases": asked.cases,
        "seeds": [asked.seed, asked.seed + asked.cases - 1],
        "batches_max": asked.batches,
        "together": asked.together,
        "steps": steps,
        "disagreements": wrong,
        "seconds": round(seconds, 1),
        "jobs": asked.jobs,
        **machine(),
    }
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
