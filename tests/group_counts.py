"""A workload's view that groups after each batch, by DuckDB, and what changed between two."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import duckdb

from benchmarks.harness.checksum import Tally
from benchmarks.workloads.catalogue import batches, find, read

State = tuple[int, ...]
Groups = dict[State, State]  # what a view groups by -> what it shows besides


def groups_after(name: str, folder: Path, limit: int) -> Iterator[Groups]:
    """Query the view before the first batch and after each."""
    database, inputs = duckdb.connect(), read(name, folder)
    view = find(name).view
    assert view.keys is not None, "the view groups"
    for table, rows in inputs.tables.items():
        database.register("rows", rows)
        database.execute(f"CREATE TABLE {table} AS SELECT * FROM rows")
    for batch in [[], *batches(inputs.diffs, limit)]:
        for entry in batch:
            database.register("rows", entry.rows)
            names = ", ".join(entry.rows.column_names)
            database.execute(
                f"INSERT INTO {entry.table} SELECT * FROM rows"
                if entry.operation == "insert"
                else f"DELETE FROM {entry.table} WHERE ({names}) IN (SELECT ({names}) FROM rows)"
            )
        found = database.sql(view.sql()).fetchall()
        yield {row[: view.keys]: row[view.keys :] for row in found}


def changed(before: Groups, after: Groups) -> Tally:
    """Sum up the groups that differ: their words, state before, state after; 0 for no state."""
    width = len(next(iter([*before.values(), *after.values()]), ()))
    none, count, total = (0,) * width, 0, 0
    for group in before.keys() | after.keys():
        if before.get(group) != after.get(group):
            row = (*group, *before.get(group, none), *after.get(group, none))
            count += 1
            total += sum(weight * value for weight, value in enumerate(row, start=1))
    return Tally(count, total % 2**64)


def told_of_groups(name: str, folder: Path, limit: int) -> Tally:
    """Sum up what changes in all batches of a workload."""
    return sum((changed(*pair) for pair in pairwise(groups_after(name, folder, limit))), Tally())
