"""The clock around batches, the same for joingraph and for rivals.

    prepared batches -> [start | apply and consume, batch by batch | end] -> Timed -> fields of Run
    a run under SHORT_S is repeated, from fresh tables -> the middle run, and the speeds of all

A consumer reads every value that comes out, inside the timing.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple, TypeVar

from benchmarks.harness.checksum import Tally
from benchmarks.harness.record import Run, rate
from benchmarks.workloads.catalogue import Entry

Batch = TypeVar("Batch")
SHORT_S = 0.1  # a run this short says little alone: one late page of memory may take 4 ms
RUNS_MAX = 300


class Timed(NamedTuple):
    """What applying the diffs gave: seconds after each batch, diffs in each, view rows in all."""

    seconds: list[float]
    diffs: list[int]
    tally: Tally


def seconds(task: Callable[[], object]) -> float:
    """Return how long a task takes."""
    start = perf_counter()
    task()
    return perf_counter() - start


def repeated(once: Callable[[], Run], least_s: float) -> Run:
    """Return the middle one of runs that take `least_s` in all, with the speeds of all.

    A run that is not short is not repeated: the turns of the systems are enough for it.
    """
    gc.collect()
    gc.freeze()  # or Python looks through all it has imported, once in a while
    runs = [once()]
    if _seconds_of(runs[0]) < SHORT_S:
        while sum(map(_seconds_of, runs)) < least_s and len(runs) < RUNS_MAX:
            runs.append(once())
    gc.unfreeze()  # or what is there now is never collected, and at exit libraries complain of it
    middle = sorted(runs, key=_seconds_of)[len(runs) // 2]
    return replace(middle, speeds=[run.diffs_per_s for run in runs if run.diffs_per_s])


def _seconds_of(run: Run) -> float:
    return run.seconds or 0.0


def diffs_in(batch: Sequence[Entry]) -> int:
    """Return the number of diffs in a batch."""
    return sum(len(entry.rows) for entry in batch)


def apply_all(
    batches: Sequence[list[Entry]],
    prepare: Callable[[list[Entry]], Batch],
    apply: Callable[[Batch], Tally],
    *,
    enough: Callable[[int, float], bool] = lambda _, __: False,
) -> Timed:
    """Apply batches, the clock running from before the first to after the last was consumed.

    All are prepared before; what is `enough` is asked after each of them.
    """
    ends, total, done = list[float](), Tally(), 0
    prepared, diffs = [prepare(batch) for batch in batches], [diffs_in(batch) for batch in batches]
    gc.collect()
    start = perf_counter()
    for batch, count in zip(prepared, diffs, strict=True):
        total += apply(batch)
        ends.append(perf_counter() - start)
        done += count
        if enough(done, ends[-1]):
            break
    return Timed(ends, diffs[: len(ends)], total)


def with_figures(run: Run, timed: Timed, *, base_rows: int, load_s: float) -> Run:
    """Add to a run what the clock gave."""
    diffs, whole_s = sum(timed.diffs), timed.seconds[-1] if timed.seconds else 0.0
    first, last = _tenths(timed)
    return replace(
        run,
        diffs=diffs,
        seconds=round(whole_s, 6),
        diffs_per_s=rate(diffs, whole_s),
        tuples=timed.tally.tuples,
        tuples_per_s=rate(timed.tally.tuples, whole_s),
        checksum=str(timed.tally.checksum),
        base_rows=base_rows,
        load_s=round(load_s, 6),
        load_rows_per_s=rate(base_rows, load_s),
        first_tenth_per_s=first,
        last_tenth_per_s=last,
    )


def _tenths(timed: Timed) -> tuple[float | None, float | None]:
    """Return the rates of the first and the last tenth of the batches, if there are ten."""
    tenth = len(timed.seconds) // 10
    if not tenth:
        return None, None
    last_s = timed.seconds[-1] - timed.seconds[-tenth - 1]
    first = rate(sum(timed.diffs[:tenth]), timed.seconds[tenth - 1])
    return first, rate(sum(timed.diffs[-tenth:]), last_s)
