"""Makes view diffs as nested lists: Algorithm 5 of the thesis, its branches not multiplied.

    Change(T <7> ('hi',), +1)   ->   T's tuple, [partners in F], [partners in R]

In: changes of the join graph while it is as they found it. Out: a Factorised. A change is walked by
a program whose steps attach a list for each branch (plan/branches.py); a path is dropped where a
branch has nothing. What ties a moved tuple's own change to other aliases is left to rows.

Of an outer join, the list of a side that is missing is empty. As its first row comes, the rows
around its value go: these are records of an alias there, with that list empty (`flipped`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.generators.diffs import Effect, effects
from joingraph.generators.paths import Path, Step, begin, keep_true, output_column
from joingraph.generators.rows import to_rows
from joingraph.generators.walk import Walker
from joingraph.graph.join_graph import Change, Flip, Graph, LookAhead, Move
from joingraph.plan import program
from joingraph.plan.branches import columns_of, lists_program, tying, unread
from joingraph.plan.kept_columns import kept_parts
from joingraph.plan.model import Plan
from joingraph.view_diffs.factorised import Factorised, in_parts, one_array, put_together


class Record(NamedTuple):
    """What one change did to the view: its own path before and after, and the path with lists."""

    diff: int
    kind: str
    pre: Path | None
    post: Path | None
    whole: Path


class Factoriser:
    """Collects the records of a batch, by alias, and the effects that are told by rows."""

    def __init__(self, graph: Graph, look: LookAhead) -> None:
        self.graph, self.look, self.plan = graph, look, graph.plan
        self.records: dict[int, list[Record]] = {}
        self.effects: list[tuple[int, Effect]] = []

    def add(self, diff: int, changes: Sequence[Change | Move | Flip], *, paired: bool) -> None:
        """Take what an alias felt of a base diff; `paired`: rows of several aliases may pair up."""
        for change in changes:
            is_by_rows = paired or bool(self.plan.marks)
            if is_by_rows or (isinstance(change, Move) and is_tied(self.plan, change)):
                found = effects(self.graph, self.look, change)
                self.effects += [(diff, effect) for effect in found]
            elif isinstance(change, Flip):
                self.flipped(diff, change)
            elif self.plan.aliases[change.tuple.alias].is_silent:
                continue
            elif isinstance(change, Change) or is_read(self.plan, change):
                records = self.records.setdefault(change.tuple.alias, [])
                records.extend(self.record(diff, change))

    def flipped(self, diff: int, flip: Flip) -> None:
        """Take the rows around a value as one of its seats is no longer empty, or is.

        They are told of an alias that stands there in all of them.
        """
        plan, value = self.plan, flip.value
        at = plan.vertices[value.vertex]
        others = [
            (mode == "opt", seat)
            for seat, (alias, mode) in enumerate(zip(at.aliases, at.modes, strict=True))
            if seat != flip.seat and not plan.aliases[alias].is_silent
        ]
        if not others:
            return
        _, seat = min(others)
        near, far = at.aliases[seat], at.aliases[flip.seat]
        entry = plan.aliases[near].vertices.index(value.vertex)
        program = plan.program(lists_program, near, far)
        walker = Walker(self.graph, self.look)
        begun = [
            begin(plan, Step(found, row), times)
            for found in value.tuples[seat]
            if self.look.is_open(found, entry)
            for row, times in found.rows.items()
        ]
        comes = flip.is_up == (at.modes[flip.seat] == "semi")
        for path in walker.walk(keep_true(plan, begun, program.tests), program.steps):
            records = self.records.setdefault(near, [])
            records.append(
                Record(diff, "insert", None, path, path)
                if comes
                else Record(diff, "delete", path, None, path)
            )

    def record(self, diff: int, change: Change | Move) -> Iterator[Record]:
        """Yield the record of one change, if the view feels it."""
        at = change.tuple
        row = change.row if isinstance(change, Change) else change.pre
        walker = Walker(self.graph, self.look)
        program = self.plan.program(lists_program, at.alias)
        for path in walker.through(Step(at, row), program):
            if isinstance(change, Move):
                post = begin(self.plan, Step(at, change.post))
                yield Record(diff, "update", path, post, path)
                continue
            whole = path._replace(times=path.times * abs(change.times))
            if change.times > 0:
                yield Record(diff, "insert", None, path, whole)
            else:
                yield Record(diff, "delete", path, None, whole)

    def made(self) -> Factorised:
        """Compute the columns of everything collected."""
        tables = {
            self.plan.aliases[alias].name: put_together(
                list(in_parts(partial(self.table, alias, records), 0, len(records)))
            )
            for alias, records in self.records.items()
            if records
        }
        return Factorised(tables, to_rows(self.plan, self.effects))

    def table(self, alias: int, records: Sequence[Record], first: int, end: int) -> pa.Table:
        """Write some records of one alias."""
        return to_table(self.plan, alias, records[first:end])


def is_tied(plan: Plan, move: Move) -> bool:
    """True if a move changes a value that is computed with, or compared to, other aliases'."""
    slots = [plan.slots[part] for wanted in tying(plan) for part in kept_parts(plan, wanted)]
    return any(
        move.pre[slot.position] != move.post[slot.position]
        for slot in slots
        if slot.alias == move.tuple.alias and slot.vertex is None
    )


def is_read(plan: Plan, move: Move) -> bool:
    """True if a move changes a value which the view or a predicate reads."""
    hidden = unread(plan, move.tuple.alias)
    pairs = enumerate(zip(move.pre, move.post, strict=True))
    return any(old != new and position not in hidden for position, (old, new) in pairs)


def to_table(plan: Plan, alias: int, records: Sequence[Record]) -> pa.Table:
    """Write the records of one alias."""
    columns = {
        "_change_type": pa.array([each.kind for each in records], pa.string()),
        "_count": pa.array([each.whole.times for each in records], pa.int64()),
        "_diff": pa.array([each.diff for each in records], pa.int64()),
    }
    shown = columns_of(plan, alias)
    if shown:
        columns["pre"] = images(plan, shown, [(each.pre, each.post) for each in records])
        columns["post"] = images(plan, shown, [(each.post, each.pre) for each in records])
    steps = plan.program(lists_program, alias).steps
    return pa.table(columns | attached(plan, steps, [each.whole for each in records]))


def images(
    plan: Plan, shown: Sequence[int], paths: Sequence[tuple[Path | None, Path | None]]
) -> pa.StructArray:
    """Write one side of records; where there is none the other lends its values under a NULL."""
    some = [path or other for path, other in paths]
    missing = pa.array([path is None for path, _ in paths])
    return values(plan, shown, [path for path in some if path], missing)


def values(
    plan: Plan, shown: Sequence[int], paths: Sequence[Path], missing: pa.Array | None = None
) -> pa.StructArray:
    """Compute columns of the view."""
    fields = [plan.definition.schema.field(at) for at in shown]
    wanted = [plan.definition.output[at].value for at in shown]
    arrays = [one_array(output_column(plan, paths, each)) for each in wanted]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=missing)


def attached(
    plan: Plan, steps: Sequence[program.Step], paths: Sequence[Path]
) -> dict[str, pa.Array]:
    """Write the lists that steps have attached to paths."""
    lists = {}
    for place, step in enumerate(each for each in steps if isinstance(each, program.List)):
        found = [partners(plan, step, path.lists[place]) for path in paths]
        offsets = pa.array(np.concatenate([[0], np.cumsum([*map(len, found)])]), pa.int32())
        inner = list(chain.from_iterable(found))
        lists[step.name] = pa.ListArray.from_arrays(offsets, structs(plan, step, inner))
    return {"branches": pa.StructArray.from_arrays(lists.values(), lists.keys())} if lists else {}


def partners(plan: Plan, step: program.List, paths: list[Path]) -> list[Path]:
    """Return the paths of a list, none if they show of a missing side what it has: only NULLs."""
    return [] if len(paths) == 1 and shows_nothing(plan, step, paths[0]) else paths


def shows_nothing(plan: Plan, side: program.List, path: Path) -> bool:
    """True if what a path entered on a side is missing, and all columns there are NULL."""
    entered = (path.steps[each.alias] for each in side.steps if isinstance(each, program.Enter))
    if not all(each is not None and each.tuple.is_null for each in entered):
        return False
    columns = (plan.definition.output[at].value for at in side.columns)
    if any(output_column(plan, [path], each).null_count == 0 for each in columns):
        return False
    beyond = [each for each in side.steps if isinstance(each, program.List)]
    pairs = zip(beyond, path.lists, strict=True)
    return all(not partners(plan, each, found) for each, found in pairs)


def structs(plan: Plan, step: program.List, paths: Sequence[Path]) -> pa.StructArray:
    """Write the paths of lists one after the other."""
    parts = {"count": pa.array([each.times for each in paths], pa.int64())}
    if step.columns:
        parts = {"values": values(plan, step.columns, paths), **parts}
    parts |= attached(plan, step.steps, paths)
    return pa.StructArray.from_arrays(list(parts.values()), list(parts))
