"""Compiles the kernels that all views share, once for this version of joingraph on a machine.

    first graph on a machine    half a minute, said so; the machine code is kept in numba's cache
    every later process         finds it there

Whether it is there is told by a file beside the cache; if it lies, numba compiles after all.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.engines.compiled.groups.absorbing import AbsorbingEngine
from joingraph.engines.compiled.groups.listing import ListedGroups, ListingEngine
from joingraph.engines.compiled.groups.telling import TellingEngine
from joingraph.engines.compiled.maintain import run
from joingraph.generators.compiled.groups.folded_groups import interleave
from joingraph.graph.compiled.machine.kernel import SHARED
from joingraph.graph.compiled.machine.stamps import stamp_of
from joingraph.graph.compiled.memory.reserved import INTERPRETED
from joingraph.maintainers.compiled.groups.group_table import note_now
from joingraph.plan.groups.joined_rows import plan_of_joined
from joingraph.plan.groups.messages import messages_of
from joingraph.plan.groups.totals import told_totals
from joingraph.plan.view import View
from joingraph.reads.requests import Reading, Touched
from joingraph.tables.batch import read_batch
from joingraph.tables.row_batch import RowBatch

TABLES = {
    "a": "CREATE TABLE a (k INT, v STRING)",
    "b": "CREATE TABLE b (k INT, m INT)",
    "c": "CREATE TABLE c (m INT, n INT, w INT, PRIMARY KEY (m))",
    "d": "CREATE TABLE d (n INT)",
}
SQL = """SELECT a.v, c.w, d.n FROM a JOIN b ON a.k = b.k JOIN c ON b.m = c.m JOIN d ON c.n = d.n"""
GROUPED = """SELECT a.v, COUNT(*) AS n, SUM(b.m) AS s, MAX(b.m) AS best, COUNT(DISTINCT a.v) AS d,
    MEDIAN(a.k) AS m, MIN_BY(a.v, a.k) AS y,
    SORT_ARRAY(COLLECT_LIST(a.v)) AS l
    FROM a JOIN b ON a.k = b.k GROUP BY a.v"""
TOTALS = "SELECT a.k, COUNT(*) AS n, SUM(b.m) AS s FROM a JOIN b ON a.k = b.k GROUP BY a.k"
ROWS: dict[str, list[tuple[object, ...]]] = {
    "a": [(1, "x"), (1, "y"), (2, None)],
    "b": [(1, 1), (2, 1), (2, 2)],
    "c": [(1, 1, 5), (2, 1, 6)],
    "d": [(1,), (1,)],
}


def marker() -> Path | None:
    """Name the file that says that the kernels were compiled; none where they are not kept."""
    if INTERPRETED:
        return None
    dispatcher: Any = run
    folder = dispatcher._cache.cache_path
    return None if folder is None else Path(folder) / f"joingraph-{stamp_of(*SHARED)}.compiled"


@cache
def ensure_compiled() -> None:
    """Compile the kernels if that was never done on this machine, and say so; once a process."""
    told = marker()
    if told is None or os.path.exists(told):
        return
    logging.getLogger("joingraph").warning(
        "compiling joingraph's kernels, once for this version on this machine: about half a minute"
    )
    use_every_kernel()
    with suppress(OSError):  # the cache itself has said why
        told.touch()


def not_asked(batch: RowBatch, changes: pa.Table) -> NoReturn:
    """Make no i-diffs."""
    raise AssertionError("the view diff is dropped")


def use_every_kernel() -> None:
    """Do with a small graph all that graphs do."""
    view = View(SQL, TABLES)
    for key_index in ((), ("c",)):
        graph = CompiledEngine(view.plan, "exact", key_index)
        graph.load(read_batch([("insert", *each) for each in ROWS.items()], view.tables))
        changes = [
            ("update", "c", [(1, 1, 5)], [(1, 2, 5)]),
            ("update", "a", [(1, "x")], [(1, "z")]),
            ("delete", "b", [(2, 2)]),
            ("delete", "a", [(2, None)]),
        ]
        graph.apply(read_batch(changes, view.tables), skip=True, generate=True)
    calls = CompiledEngine(view.plan, "exact", ("c",)).calls(view.tables)
    assert calls is not None, "a graph of inner joins takes calls"
    few = calls.read([("insert", *each) for each in ROWS.items()])
    assert few is not None, "a call takes such rows"
    calls.carry_out(few, not_asked, 1)
    list(graph.scan())
    list(graph.read(Reading(), Touched()))
    graph.cores.paths([range(0)], 1)
    graph.count()
    graph.check()
    groups = View(GROUPED, TABLES)
    assert groups.definition.grouping is not None, "a view that groups"
    messages = messages_of(groups.plan, groups.definition.grouping)
    assert messages is not None, "of sums, and of best values"
    telling = TellingEngine(groups.definition, groups.plan, messages, "exact")
    telling.know_groups()
    joined = plan_of_joined(groups.definition.grouping)
    assert joined is not None, "the same of joined rows"
    rows = CompiledEngine(groups.plan, "exact")
    absorbing = AbsorbingEngine(groups.definition, rows, joined, keep_groups=True)
    some = read_batch([("insert", *each) for each in ROWS.items()], groups.tables)
    for each in (telling, absorbing):
        each.apply(some, skip=True, generate=True)
    assert telling.groups is not None, "they are known"
    note_now(telling.groups.gd, 0)
    interleave(0, 0, 0, 0)
    list_changes()


def list_changes() -> None:
    """Tell of totals, where no groups are kept."""
    totals = View(TOTALS, TABLES)
    some = read_batch([("insert", *each) for each in ROWS.items()], totals.tables)
    told = told_totals(totals.plan, totals.definition)
    assert told is not None, "of sums alone"
    listing = ListingEngine(totals.definition, totals.plan, told.messages, "exact")
    listed = ListedGroups(totals.definition, listing, None, told.reads)
    for _ in range(2):  # a group is told twice in one base diff
        listed.factorise([*some, *some], skip=True)
    listed.add_up(some, skip=True)
