"""What the rivals in Python share: options, reading, the clock, the JSON line.

    load tables -> prepare all batches (not timed) -> apply and consume each (timed) -> one line
    ^---- again, if that was short (timing.py) ----'

What is prepared is what the rival would be handed by its caller: rows as Python tuples, or as
Arrow tables. An update is a delete and an insert to all of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

import pyarrow as pa

from benchmarks.harness.checksum import Tally
from benchmarks.harness.record import Run, peak_rss_mib
from benchmarks.harness.timing import apply_all, repeated, seconds, with_figures
from benchmarks.workloads.catalogue import Entry, Inputs, batches, find_join, read
from benchmarks.workloads.views import JoinView

Row = tuple[int, ...]
Batch = TypeVar("Batch")
LEAST_DIFFS = 2_000  # a slow rival does at least as many, whatever its budget


class Change(NamedTuple):
    """One row that comes (+1) or goes (-1)."""

    sign: int
    table: str
    row: Row


class Rival(Protocol[Batch]):
    """A system that keeps one view."""

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Take the base tables as they are before the first diff."""

    def prepare(self, batch: list[Entry]) -> Batch:
        """Bring diffs into the form in which the system takes them."""
        ...

    def apply(self, batch: Batch) -> Tally:
        """Apply a batch, and consume the view rows that come and go."""
        ...


class ByRow:
    """What rivals have in common that take one tuple after the other."""

    def prepare(self, batch: list[Entry]) -> list[Change]:
        """List diffs row by row."""
        return [
            Change(sign, table, row) for sign, table, rows in signed(batch) for row in rows_of(rows)
        ]


def signed(batch: list[Entry]) -> Iterator[tuple[int, str, pa.Table]]:
    """Take updates apart, row by row: their order is part of what they say."""
    for entry in batch:
        if entry.post is None:
            yield (1 if entry.operation == "insert" else -1), entry.table, entry.rows
            continue
        for place in range(len(entry.rows)):
            yield -1, entry.table, entry.rows.slice(place, 1)
            yield 1, entry.table, entry.post.slice(place, 1)


def rows_of(table: pa.Table) -> list[Row]:
    """List a table's rows as tuples."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def tally_rows(rows: Sequence[Row], sign: int = 1) -> Tally:
    """Read all values of view rows, as benchmarks.harness.checksum does for Arrow."""
    columns = enumerate(zip(*rows, strict=True), start=1)
    total = sum(weight * sum(values) for weight, values in columns)
    return Tally(len(rows), sign * total % 2**64)


def run(make: Callable[[JoinView], Rival[Batch]], arguments: argparse.Namespace) -> Run:
    """Run one workload and report it."""
    inputs = read(arguments.workload, arguments.data, max_diffs=arguments.max_diffs)
    result = repeated(lambda: _once(make, arguments, inputs), arguments.least_s)
    return replace(result, peak_rss_mib=peak_rss_mib())


def _once(
    make: Callable[[JoinView], Rival[Batch]], arguments: argparse.Namespace, inputs: Inputs
) -> Run:
    """Load a new rival and apply the diffs."""
    name: str = arguments.workload
    rival = make(find_join(name))
    load_s = seconds(lambda: rival.load(inputs.tables))
    parts = list(batches(inputs.diffs, arguments.batch))
    timed = apply_all(
        parts,
        rival.prepare,
        rival.apply,
        enough=lambda done, took: done >= LEAST_DIFFS and took > arguments.budget_s,
    )
    complete = len(timed.diffs) == len(parts)
    wanted = Run(workload=name, mode="each", system="", batch=arguments.batch, complete=complete)
    return with_figures(wanted, timed, base_rows=inputs.base_rows, load_s=load_s)
