"""Shrinks a failing case: drop what can be dropped while it still fails.

Batches first, then rows, then parts of the view. A candidate that deletes a row it no longer has
is no case; one that the view's own checks refuse does not fail in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from tests.oracle.case import Batch, Case, Entry, Grouping, View
from tests.oracle.joins import OuterView
from tests.oracle.shrink_joins import smaller_outer_views

Fails = Callable[[Case], bool]
T = TypeVar("T")


def shrink(case: Case, fails: Fails, rounds_max: int = 400) -> Case:
    """Find a smaller case that fails, trying at most `rounds_max` candidates."""
    for _ in range(rounds_max):
        smaller = next((each for each in candidates(case) if fails(each)), None)
        if smaller is None:
            return case
        case = smaller
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Yield cases with one thing less."""
    if case.last is not None:
        yield replace(case, last=None)
    for i in reversed(range(len(case.batches))):
        yield replace(case, batches=case.batches[:i])
        yield replace(case, batches=without(case.batches, i))
    for i in range(len(case.load)):
        yield replace(case, load=without(case.load, i))
    for i, batch in enumerate(case.batches):
        for smaller in smaller_batches(batch):
            yield replace(case, batches=put(case.batches, i, smaller))
    for i, entry in enumerate(case.load):
        for less in smaller_entries(entry):
            yield replace(case, load=put(case.load, i, less))
    yield from without_a_row(case)
    views = smaller_outer_views(case.view) if isinstance(case.view, OuterView) else ()
    for view in (*views, *smaller_views(case.view)):
        yield replace(case, view=view)
    for i, table in enumerate(case.tables):
        if table.name not in case.view.tables_read:
            yield without_table(case, i)


def without_a_row(case: Case) -> Iterator[Case]:
    """Drop a row where it is loaded or inserted, and all that becomes of it later."""
    for i, entry in enumerate(case.load):
        for at, row in enumerate(entry.rows):
            load = put(case.load, i, replace(entry, rows=without(entry.rows, at)))
            yield replace(case, load=load, batches=unused(case.batches, entry.table, row))


def without_table(case: Case, at: int) -> Case:
    """Drop a table that the view does not read."""
    name = case.tables[at].name
    assert case.last is None or case.last.entries[0].table != name
    load = tuple(each for each in case.load if each.table != name)
    batches = tuple(
        replace(batch, entries=tuple(each for each in batch.entries if each.table != name))
        for batch in case.batches
    )
    return replace(case, tables=without(case.tables, at), load=load, batches=batches)


def unused(batches: tuple[Batch, ...], table: str, row: object) -> tuple[Batch, ...]:
    """Drop the first delete or update of a row from batches."""
    for i, batch in enumerate(batches):
        for j, entry in enumerate(batch.entries):
            if entry.table == table and entry.kind != "insert" and row in entry.rows:
                at = entry.rows.index(row)
                entries = put(batch.entries, j, cut(entry, at))
                return put(batches, i, replace(batch, entries=entries))
    return batches


def smaller_batches(batch: Batch) -> Iterator[Batch]:
    """Drop an entry, or a row of one."""
    if batch.missing is not None:
        yield replace(batch, missing=None)
    if batch.poison:
        yield replace(batch, poison=())
    for i, entry in enumerate(batch.entries):
        at = batch.at - (i < batch.at)
        yield replace(batch, entries=without(batch.entries, i), at=at)
        for smaller in smaller_entries(entry):
            yield replace(batch, entries=put(batch.entries, i, smaller))


def smaller_entries(entry: Entry) -> Iterator[Entry]:
    """Drop a row, or the pair of one."""
    for i in range(len(entry.rows)):
        yield cut(entry, i)


def cut(entry: Entry, at: int) -> Entry:
    """Drop one row of an entry, or one pair."""
    return replace(entry, rows=without(entry.rows, at), post=without(entry.post, at))


def smaller_views(view: View) -> Iterator[View]:
    """Drop a condition, an output column, what groups have, or a source that nothing reads."""
    for i in range(len(view.conditions)):
        yield replace(view, conditions=without(view.conditions, i))
    if view.grouping is not None:
        for grouping in smaller_groupings(view.grouping):
            yield replace(view, grouping=grouping)
    columns = len(view.outputs) + (len(view.grouping.uses) if view.grouping else 0)
    for i in range(len(view.outputs) if columns > 1 else 0):
        yield replace(view, outputs=without(view.outputs, i))
    read = view.aliases_read
    for i, source in enumerate(view.sources):
        if view.style in ("comma", "on") and source.alias not in read and len(view.sources) > 1:
            yield replace(view, sources=without(view.sources, i))


def smaller_groupings(grouping: Grouping) -> Iterator[Grouping]:
    """Drop what is hidden, a condition, the order, an aggregate."""
    for i in range(len(grouping.hidden)):
        yield replace(grouping, hidden=without(grouping.hidden, i))
    for i in range(len(grouping.having)):
        yield replace(grouping, having=without(grouping.having, i))
    if grouping.order:
        yield replace(grouping, order=())
    for i in range(len(grouping.uses) if len(grouping.uses) > 1 and not grouping.order else 0):
        yield replace(grouping, uses=without(grouping.uses, i))


def without(items: tuple[T, ...], at: int) -> tuple[T, ...]:
    """Give a tuple without one of its items."""
    return items[:at] + items[at + 1 :]


def put(items: tuple[T, ...], at: int, item: T) -> tuple[T, ...]:
    """Give a tuple with one of its items replaced."""
    return (*items[:at], item, *items[at + 1 :])
