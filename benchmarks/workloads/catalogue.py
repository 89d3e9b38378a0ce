"""The workloads: for each name a view, the base tables to load and the diffs to apply.

    inputs = read("q3", folder)          inputs.tables   {"follower": Arrow table, ...}, loaded
                                         inputs.diffs    [Entry("insert", "tweet", rows), ...]
    for batch in batches(inputs.diffs, 1000): ...

The folder is one that `prepare` filled, or any with the same columns (model.py). The q workloads
hold back the last tweets and retweets by date: as many as the chains have diffs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.workloads import bsma, outer, views
from benchmarks.workloads.churn import CHURN_TABLES, DELETE, INSERT, UPDATE_PRE, write_churn
from benchmarks.workloads.model import (
    SIZES,
    Column,
    Size,
    column_names,
    read_columns,
    write_base,
    write_fanout,
    write_long,
)
from benchmarks.workloads.views import TABLES, JoinView, Query
from joingraph.common.errors import JoinGraphError

FANOUTS = (1, 10, 30, 50, 70, 100)
JOINS = (2, 3, 4, 5)
LONG = 20  # so many times the diffs of the other workloads: more than a processor's cache holds
KINDS = ("IPT", "DPT", "IJT", "DJT")  # insert or delete of a projected tuple or a join tuple
CHANGES = ("deletes", "updates")  # of a chain, beside its inserts
QUERIES = ("q1", "q2", "q3", "q1agg", "q2agg", "q3agg")  # those that have the kinds
LEFT = {"q3agg_left": views.LeftView(views.counted(views.q3()))}
FIRST_KIND_ID = 3 * 10**8
OPERATIONS = {INSERT: "insert", DELETE: "delete", UPDATE_PRE: "update"}


class Entry(NamedTuple):
    """Diffs of one table and one operation; an update has a row after for each row before."""

    operation: str
    table: str
    rows: pa.Table
    post: pa.Table | None = None


class Inputs(NamedTuple):
    """What a run needs: tables to load, untimed, then diffs in order."""

    tables: Mapping[str, pa.Table]
    diffs: list[Entry]

    @property
    def base_rows(self) -> int:
        """The number of rows to load."""
        return sum(len(rows) for rows in self.tables.values())


@dataclass(frozen=True)
class Workload:
    """A view and where its inputs come from."""

    name: str
    view: Query
    read: Callable[[Query, Path], Inputs]


class UnknownWorkload(JoinGraphError):
    """A workload that is not there."""


def find(name: str) -> Workload:
    """Look a workload up by its name."""
    if name not in WORKLOADS:
        raise UnknownWorkload(f"no workload {name}; there are {', '.join(WORKLOADS)}")
    return WORKLOADS[name]


def find_join(name: str) -> JoinView:
    """Look up the view of a workload as data, which other systems need."""
    view = find(name).view
    if not isinstance(view, JoinView):
        raise UnknownWorkload(f"workload {name} has a view in SQL, which only joingraph runs")
    return view


def read(name: str, folder: Path, *, max_diffs: int | None = None) -> Inputs:
    """Read a workload's inputs, or those of its first diffs only."""
    workload = find(name)
    inputs = workload.read(workload.view, folder)
    if max_diffs is None:
        return inputs
    return inputs._replace(diffs=next(batches(inputs.diffs, max_diffs), []))


def prepare(name: str, folder: Path, size: Size | None = None) -> None:
    """Write what the workload needs and the folder lacks; a size must agree with what is there."""
    if name in bsma.QUERIES:
        bsma.prepare(folder / "bsma", size)
        return
    if not (folder / "user" / "columns.txt").exists():
        write_base(folder, size or SIZES["small"])
    users = column_names(folder / "user")[1]
    if size and size.users != users:
        raise JoinGraphError(
            f"{folder} holds data for {users} users, {size.users} were asked for by --size; "
            f"leave --size out, or give --data another folder"
        )
    diffs = diffs_in(folder)
    if name == "churn" and not (folder / "churn" / "columns.txt").exists():
        write_churn(folder, diffs)
    if (folder / name / "tweet" / "columns.txt").exists():
        return
    if name.startswith("fanout_"):
        write_fanout(folder / name, int(name.removeprefix("fanout_")), diffs)
    if name == "q2_long":
        write_long(folder / name, users, LONG * diffs)


def diffs_in(folder: Path) -> int:
    """Return how many diffs the workloads of a folder have."""
    return column_names(folder / "chainF")[1]


def batches(diffs: list[Entry], limit: int) -> Iterator[list[Entry]]:
    """Cut the diffs, in order, into batches of `limit`; the last may be smaller."""
    batch: list[Entry] = []
    room = limit
    for entry in diffs:
        start = 0
        while start < len(entry.rows):
            part = _part(entry, start, room)
            batch.append(part)
            start += len(part.rows)
            room -= len(part.rows)
            if room == 0:
                yield batch
                batch, room = [], limit
    if batch:
        yield batch


def _part(entry: Entry, start: int, length: int) -> Entry:
    post = None if entry.post is None else entry.post.slice(start, length)
    return entry._replace(rows=entry.rows.slice(start, length), post=post)


def _table(folder: Path) -> pa.Table:
    return pa.table(read_columns(folder))


def _stacked(above: pa.Table, below: pa.Table) -> pa.Table:
    return pa.concat_tables([above, below]).combine_chunks()


def _base(view: Query, folder: Path) -> dict[str, pa.Table]:
    """Read the base tables; the planted users live in a folder of their own."""
    base = {table: _table(folder / table) for table in view.tables}
    if "user" in base:
        base["user"] = _stacked(base["user"], _table(folder / "user_plants"))
    return base


def _read_fanout(view: Query, folder: Path, *, name: str) -> Inputs:
    base = _base(view, folder)
    base["follower"] = _stacked(base["follower"], _table(folder / name / "follower"))
    return Inputs(base, [Entry("insert", "tweet", _table(folder / name / "tweet"))])


def _read_inserts(view: Query, folder: Path, *, sources: Mapping[str, str]) -> Inputs:
    """Read one folder of new rows after another, each with the table it is for."""
    diffs = [Entry("insert", table, _table(folder / name)) for name, table in sources.items()]
    return Inputs(_base(view, folder), diffs)


def _read_changes(view: Query, folder: Path, *, sources: Mapping[str, str], kind: str) -> Inputs:
    """Load what a workload inserts; let all of it go, or let its ids change."""
    inputs = _read_inserts(view, folder, sources=sources)
    [(_, table, rows, _)] = inputs.diffs
    base = {**inputs.tables, table: _stacked(inputs.tables[table], rows)}
    if kind == "deletes":
        return Inputs(base, [Entry("delete", table, rows)])
    return Inputs(base, [Entry("update", table, rows, outer.changed_ids(table, rows))])


def _read_last(view: Query, folder: Path) -> Inputs:
    """Hold back the last tweets and retweets; they come in order of date, tweets first in a tie."""
    base = _base(view, folder)
    count = diffs_in(folder)
    streams = [table for table in ("tweet", "retweet") if table in base]
    events: list[tuple[Column, Column, Column]] = []
    for number, table in enumerate(streams):
        date = base[table]["tweetDate"].to_numpy()
        places = np.argsort(date, kind="stable")[-count:]
        events.append((date[places], np.full(len(places), number), places))
    dates, numbers, places = (np.concatenate(parts) for parts in zip(*events, strict=True))
    order = np.lexsort((places, numbers, dates))
    diffs: list[Entry] = []
    for run in _runs(numbers[order]):
        table = streams[int(numbers[order][run.start])]
        diffs.append(Entry("insert", table, base[table].take(places[order][run])))
    for number, table in enumerate(streams):
        held = places[numbers == number]
        base[table] = base[table].take(np.delete(np.arange(len(base[table])), held))
    return Inputs(base, diffs)


def _read_churn(view: Query, folder: Path) -> Inputs:
    rows = read_columns(folder / "churn")
    operation = np.minimum(rows["op"], UPDATE_PRE)
    diffs: list[Entry] = []
    for run in _runs(operation * len(CHURN_TABLES) + rows["table"]):
        table = CHURN_TABLES[int(rows["table"][run.start])]
        part = {name: rows[f"c{place}"][run] for place, name in enumerate(TABLES[table])}
        if operation[run.start] == UPDATE_PRE:
            pre = pa.table({name: values[::2] for name, values in part.items()})
            post = pa.table({name: values[1::2] for name, values in part.items()})
            diffs.append(Entry("update", table, pre, post))
        else:
            diffs.append(Entry(OPERATIONS[int(operation[run.start])], table, pa.table(part)))
    return Inputs(_base(view, folder), diffs)


def _read_kind(view: Query, folder: Path, *, kind: str) -> Inputs:
    """Make diffs that touch a projected tuple only (PT), or a whole join tuple (JT).

    Insert and delete of a kind mirror each other: what one inserts, the other deletes.
    """
    base = _base(view, folder)
    table, key = ("retweet", "retweetTweetId") if "retweet" in base else ("tweet", "userId")
    count = diffs_in(folder)
    rng = np.random.default_rng(5)
    keys = base[table][key].to_numpy()
    if kind.endswith("PT"):
        diffs = base[table].take(rng.integers(len(keys), size=count))
        place = diffs.column_names.index("tweetId")
        diffs = diffs.set_column(place, "tweetId", pa.array(FIRST_KIND_ID + np.arange(count)))
    else:
        values, first = np.unique(keys, return_index=True)
        chosen = rng.permutation(len(values))[: min(count, len(values) // 2)]
        diffs = base[table].take(first[chosen])
        base[table] = base[table].filter(~np.isin(keys, values[chosen]))
    if kind.startswith("D"):
        base[table] = _stacked(base[table], diffs)
        return Inputs(base, [Entry("delete", table, diffs)])
    return Inputs(base, [Entry("insert", table, diffs)])


def _read_bsma(view: Query, folder: Path) -> Inputs:
    base, diffs = bsma.read_bsma(view.tables, folder / "bsma")
    return Inputs(base, [Entry(*diff) for diff in diffs])


def _runs(values: Column) -> Iterator[slice]:
    """Yield the longest slices within which a value does not change."""
    bounds = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    for start, stop in pairwise(bounds):
        yield slice(start, stop)


def _all() -> Iterator[Workload]:
    for fanout in FANOUTS:
        name = f"fanout_{fanout}"
        yield Workload(name, views.fanout(), partial(_read_fanout, name=name))
    for joins in JOINS:
        read_tweets = partial(_read_inserts, sources={"chainF": "tweet"})
        yield Workload(f"chainF_{joins}", views.follower_chain(joins), read_tweets)
    for joins in JOINS:
        read_followers = partial(_read_inserts, sources={"chainR": "follower"})
        yield Workload(f"chainR_{joins}", views.retweet_chain(joins), read_followers)
    joined = (views.q1(), views.q2(), views.q3())
    queries = dict(zip(QUERIES, (*joined, *map(views.counted, joined)), strict=True))
    for name, view in queries.items():
        yield Workload(name, view, _read_last)
    long = {f"q2_long/{table}": table for table in ("tweet", "retweet")}
    yield Workload("q2_long", views.q2(), partial(_read_inserts, sources=long))
    yield Workload("churn", views.q3(), _read_churn)
    for name, left in LEFT.items():
        yield Workload(name, left, _read_last)
    for name, query in bsma.QUERIES.items():
        yield Workload(name, query, _read_bsma)
    yield from _outer()
    for name, view in queries.items():
        for kind in KINDS:
            yield Workload(f"{name}_{kind}", view, partial(_read_kind, kind=kind))


def _outer() -> Iterator[Workload]:
    """Yield chains whose last join is a LEFT JOIN, beside inner ones; and what asks for rows."""
    for name, view in (*outer.CHAINS.items(), *outer.LEFT_CHAINS.items()):
        table = "tweet" if "chainF" in name else "follower"
        sources = {name.removeprefix("left_").split("_")[0]: table}
        if name in outer.LEFT_CHAINS:
            yield Workload(name, view, partial(_read_inserts, sources=sources))
        for kind in CHANGES:
            read_changes = partial(_read_changes, sources=sources, kind=kind)
            yield Workload(f"{name}_{kind}", view, read_changes)
    for name, query in {"left_q3": outer.LEFT_Q3, **outer.ASKED}.items():
        yield Workload(name, query, _read_last)


ANSWERED = (*LEFT, *bsma.QUERIES)  # compared with DuckDB's answer (answers.py): no rival has them
WORKLOADS: Mapping[str, Workload] = {workload.name: workload for workload in _all()}
OUTER = tuple(each.name for each in _outer())  # outer joins, what asks for rows, and beside them
