"""Brings a graph to where its folder says it is: the snapshot, then the log, record by record.

Replay is deterministic: a record holds the batch as it was checked, and what to do with rows that
are missing; nothing of it depends on when or where it is carried out.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import NamedTuple

import pyarrow as pa

from joingraph.common.errors import JoinGraphError, StoreError
from joingraph.common.progress import shown_progress
from joingraph.common.unreadable import UNREADABLE
from joingraph.engines.contract import Engine
from joingraph.engines.missing_rows import Quarantined, set_aside
from joingraph.graph.blocks import Block
from joingraph.plan.view import View
from joingraph.reads.expire import bind_expiry
from joingraph.reads.requests import indexable
from joingraph.storage.disk.disk import Disk
from joingraph.storage.disk.log_reader import Step
from joingraph.storage.journal import EVERY_NUMBER, Journal
from joingraph.storage.record import HEAD, Record, decode, encode
from joingraph.tables.batch import Entry, Refused, find_table
from joingraph.tables.table import Table
from joingraph.view_diffs.view_diff import DiffRows

PROGRESS_EVERY_S = 1.0
ASIDE = "aside"  # the block of diffs that were set aside
log = logging.getLogger("joingraph")


def restore(disk: Disk, engine: Engine, journal: Journal) -> list[Quarantined]:
    """Bring an empty graph to its folder's snapshot; gives the diffs that were set aside."""
    try:
        engine.restore(disk.found)
    except MemoryError as error:
        raise StoreError(f"{disk.found.path} needs more memory than there is") from error
    for column in journal.state.indexes:
        engine.index(indexable(disk.owner.view, column))
    return read_aside(disk.found[ASIDE]) if ASIDE in disk.found else []


def blocks_of(engine: Engine, quarantined: Sequence[Quarantined], view: View) -> Iterator[Block]:
    """Write a graph as a snapshot's blocks."""
    if quarantined:
        yield Block(ASIDE, encode(Record("aside", 0, {}, entries_aside(quarantined, view)), 1, 0))
    yield from engine.dump()
    yield from engine.arrays()


def entries_aside(quarantined: Sequence[Quarantined], view: View) -> list[Entry]:
    """Write diffs that were set aside as entries again."""
    found = []
    for each in quarantined:
        table = find_table(each.table, view.tables)
        fields = [table.schema.field(name) for name in each.pre]
        pre = pa.Table.from_pylist([each.pre], pa.schema(fields))
        post = None if each.post is None else pa.Table.from_pylist([each.post], table.schema)
        found.append(Entry(each.operation, table.name, pre, post))
    return found


def read_aside(block: memoryview) -> list[Quarantined]:
    """Read the diffs that were set aside."""
    entries = decode(block[HEAD.size :]).entries
    return [set_aside(entries, Refused(place, 0)) for place in range(len(entries))]


def replay_all(
    disk: Disk,
    engine: Engine,
    journal: Journal,
    quarantined: list[Quarantined],
    *,
    upto: int = EVERY_NUMBER,
) -> None:
    """Carry out what the log has beyond the graph; add the diffs that were set aside to a list.

    What the log has from before the snapshot is there for subscribers only. Where it raises, the
    next call goes on behind the last record that was carried out: `with_last_remade` reads ahead.
    """
    done = disk.reader.place
    steps = takewhile(lambda step: step.number <= upto, with_progress(disk.steps(), disk))
    try:
        for step, is_last in with_last_remade(steps):
            if step.number <= disk.found.number:
                journal.tell(step.record, step.number)
            else:
                quarantined += carry_out(step, disk, engine, journal, generate=is_last)
                journal.note(step.record, step.number)
            done = step.end
            journal.is_carrying = False
    except BaseException:
        disk.reader.place = done
        raise
    if disk.reader.torn and disk.lock is not None:
        log.warning(
            "%s: the last %d bytes, behind record %d, are torn or damaged and were left out",
            disk.folder.path, disk.reader.torn, disk.reader.number,
        )  # fmt: skip


def carry_out(
    step: Step, disk: Disk, engine: Engine, journal: Journal, *, generate: bool
) -> list[Quarantined]:
    """Carry out a record of the log; return the diffs that it set aside."""
    owner = disk.owner
    engine.keep()
    journal.is_carrying = True
    try:
        checks = partial(checked, tables=owner.view.tables, key_index=owner.key_index)
        entries = map(checks, entries_of(step.record, owner.view))
        record = step.record._replace(entries=list(entries), rows=None)
        replayed = replay(record, engine, owner.view, generate=generate)
    except JoinGraphError as error:
        engine.undo()
        journal.is_carrying = False
        where = disk.folder.segment(step.first)
        raise StoreError(f"{where}: record {step.number} cannot be replayed: {error}") from error
    if generate and replayed.changes is not None:
        disk.keep(step.number, replayed.changes.table)
    return replayed.aside


def entries_of(record: Record, view: View) -> Sequence[Entry]:
    """Return a record's entries; few rows are read as the view declares their tables."""
    if record.rows is None:
        return record.entries
    try:
        return record.rows.entries(view.tables)
    except UNREADABLE as error:
        raise StoreError(f"its rows are none of the view's tables: {error!r:.200}") from error


def with_progress(steps: Iterator[Step], disk: Disk) -> Iterator[Step]:
    """Yield steps, and show every second how far a long replay has come."""
    last, total = time.monotonic(), 0
    show, before = shown_progress(f"{disk.folder.path}: KiB of the log replayed"), disk.behind
    for step in steps:
        yield step
        now = time.monotonic()
        if now - last > PROGRESS_EVERY_S:
            total = total or disk.log_bytes() // 1024
            done = min((disk.behind - before) // 1024, total)
            log.info("%s: replayed %d of %d KiB of the log", disk.folder.path, done, total)
            show(done, total)
            last = now
    if total:
        show(total, total)


class Replayed(NamedTuple):
    """What a record did: diffs it set aside, and the view diffs of a batch, if they were wanted."""

    aside: list[Quarantined]
    changes: DiffRows | None


def with_last_remade(steps: Iterable[Step]) -> Iterator[tuple[Step, bool]]:
    """Mark the last batch whose view diffs are not in the log: those of earlier ones are taken."""
    held: list[Step] = []  # such a batch, and what came after it
    for step in steps:
        if step.record.is_remade:
            yield from ((each, False) for each in held)
            held = []
        if held or step.record.is_remade:
            held.append(step)
        else:
            yield step, False
    yield from ((step, at == 0) for at, step in enumerate(held))


def replay(record: Record, engine: Engine, view: View, *, generate: bool) -> Replayed:
    """Do once more what a record says was done."""
    said = record.said
    match record.kind:
        case "batch":
            entries = record.entries
            applied = engine.apply(entries, skip=bool(said["skip"]), generate=generate)
            if applied.refused and not said["skip"]:
                raise StoreError("it removes rows that are not there")
            aside = applied.refused if said["quarantine"] else []
            return Replayed([set_aside(entries, each) for each in aside], applied.changes)
        case "load":
            # Earlier versions logged loads that would be refused today; their folders still open.
            engine.load(record.entries, check=False)
        case "expire":
            table = find_table(said["table"], view.tables)
            engine.expire(bind_expiry(view, table, said["where"]), generate=False)
        case "index":
            engine.index(indexable(view, said["column"]))
        case "subscribe" | "ack" | "drop" | "rotate" | "close":
            pass
        case _:
            raise StoreError(f"it is of an unknown kind, {record.kind!r:.100}")
    return Replayed([], None)


def checked(entry: Entry, tables: Mapping[str, Table], key_index: Sequence[str]) -> Entry:
    """Refuse an entry that does not fit its table."""
    table = find_table(entry.table, tables)
    for side, rows in (("pre", entry.pre), ("post", entry.post)):
        fits = rows is None or has_columns(rows, table)
        by_key = side == "pre" and table.name in key_index
        if not fits and not (by_key and has_columns(rows, table.key_alone())):
            raise StoreError(f"its rows of {table.name} have other columns")
    if entry.pre is not None and entry.post is not None and len(entry.pre) != len(entry.post):
        raise StoreError(f"its update of {table.name} has sides of two lengths")
    return entry


def has_columns(rows: pa.Table, table: Table) -> bool:
    """True if rows are of a table's columns, whether or not they say which may be NULL."""
    return bool(rows.schema.equals(table.nullable) or rows.schema.equals(table.schema))
