"""python -m tests.oracle: compare random views and feeds with a recomputation from scratch.

    python -m tests.oracle --cases 2000 --seed 0 --jobs 2 --json benchmarks/results/oracle.json
    python -m tests.oracle --forms --cases 2000 --batches 60 --json forms.json
    python -m tests.oracle --only groups --cases 500
    python -m tests.oracle --replay 1234

A step is one batch, compared in full on every form of the graph in every look-ahead mode, and given
singly (each base diff a batch of its own), as tuples, as Arrow tables and as a mixture: each engine
gets it in all four, each mode in one of them, dealt anew by the seed. What is printed at the end
says how many batches were given in which form, and how many one compiled call carried out. With
--graphs together all modes walk on one graph of the reference form; with --graphs two there is one
graph of each form, in a mode that the seed deals: long runs go furthest so. With
--forms in every form of view diffs, and every way of reading, on one form of the graph.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests import ENGINES
from tests.oracle.forms_search import search_forms
from tests.oracle.generate import ONLY
from tests.oracle.run import GRAPHS
from tests.oracle.search import BATCHES_MAX, Found, machine, search

CHUNK = 10


class Run(NamedTuple):
    """What a run has done so far."""

    cases: int
    steps: int
    wrong: int
    seconds: float
    inputs: Counter[str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked; 1 if any case disagrees."""
    asked = read_arguments(arguments)
    if asked.replay is not None:
        found = search_of(asked)([asked.replay])
        print("\n\n".join(found.failures) or f"seed {asked.replay}: no disagreement")
        return 1 if found.failures else 0
    run, start, where = Run(0, 0, 0, 0.0, Counter()), time.perf_counter(), machine()
    chunks = list(chunked(asked.seed, asked.cases))
    for chunk, found in zip(chunks, in_jobs(search_of(asked), chunks, asked.jobs), strict=True):
        for failure in found.failures:
            print(f"\n{failure}")
        wrong, seconds = run.wrong + len(found.failures), time.perf_counter() - start
        inputs = run.inputs + found.inputs
        run = Run(run.cases + len(chunk), run.steps + found.steps, wrong, seconds, inputs)
        show_progress(run.steps, seconds, run.cases / asked.cases)
        if asked.json:
            write_result(asked, run, where)
    print(
        f"\n{run.cases} cases, {run.steps} steps, {run.wrong} disagreements in {run.seconds:.0f} s"
    )
    for form, count in sorted(run.inputs.items()):
        print(f"given {form}: {count:,} batches")
    return 1 if run.wrong else 0


def search_of(asked: argparse.Namespace) -> Callable[[Iterable[int]], Found]:
    """Choose what is searched."""
    if asked.forms:
        return partial(
            search_forms, batches_max=asked.batches, engine=asked.engine, only=asked.only
        )
    return partial(search, batches_max=asked.batches, graphs=asked.graphs, only=asked.only)


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
        "--graphs", choices=GRAPHS, default="all", help="in every mode, or fewer: faster"
    )
    parser.add_argument(
        "--only", choices=ONLY, help="only views of rows, that group, or of outer joins"
    )
    parser.add_argument(
        "--forms", action="store_true", help="every form of view diffs, and every way of reading"
    )
    parser.add_argument("--engine", choices=ENGINES, default="compiled", help="with --forms")
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


def write_result(asked: argparse.Namespace, run: Run, where: Mapping[str, str]) -> None:
    """Record the run so far with where, of what and when it was."""
    result = {
        "cases": run.cases,
        "seeds": [asked.seed, asked.seed + run.cases - 1],
        "batches_max": asked.batches,
        **({"only": asked.only} if asked.only else {}),
        **({"forms": True} if asked.forms else {"graphs": asked.graphs}),
        "steps": run.steps,
        **({} if asked.forms else {"inputs": run.inputs}),
        "disagreements": run.wrong,
        "seconds": round(run.seconds, 1),
        "jobs": asked.jobs,
        **where,
        **({"engines": asked.engine} if asked.forms else {}),
    }
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
