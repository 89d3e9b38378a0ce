"""Makes view diffs as nested lists: Algorithm 5 of the thesis, its branches not multiplied.

    Change(T <7> ('hi',), +1)   ->   T's tuple, [partners in F], [partners in R]

In: changes of the join graph while it is as they found it. Out: a Factorised. A partner is found by
the same walk as a path, branch by branch (plan/branches.py), and dropped where a branch beyond it
has none. What ties a moved tuple's own change to other aliases is left to rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from joingraph.generators.diffs import Effect, effects
from joingraph.generators.paths import Path, Step, begin, output_column, walk
from joingraph.generators.rows import to_rows
from joingraph.graph.join_graph import Change, Graph, LookAhead, Move
from joingraph.plan.branches import Branch, branches_of, tying, unread
from joingraph.plan.kept_columns import kept_parts
from joingraph.plan.model import Plan
from joingraph.view_diffs.factorised import Factorised, in_parts, one_array, put_together


class Partner(NamedTuple):
    """One combination of a branch's aliases, and its partners in each branch beyond that shows."""

    path: Path
    times: int
    beyond: tuple[list[Partner], ...]


class Record(NamedTuple):
    """What one change did to the view."""

    diff: int
    kind: str
    pre: Path | None
    post: Path | None
    partner: Partner


class Factoriser:
    """Collects the records of a batch, by alias, and the effects that are told by rows."""

    def __init__(self, graph: Graph, look: LookAhead) -> None:
        self.graph, self.look, self.plan = graph, look, graph.plan
        self.branches: dict[int, Branch] = {}
        self.records: dict[int, list[Record]] = {}
        self.effects: list[tuple[int, Effect]] = []

    def add(self, diff: int, changes: Sequence[Change | Move], *, paired: bool) -> None:
        """Take what an alias felt of a base diff; `paired`: rows of several aliases may pair up."""
        for change in changes:
            if paired or (isinstance(change, Move) and is_tied(self.plan, change)):
                found = effects(self.graph, self.look, change)
                self.effects += [(diff, effect) for effect in found]
            elif isinstance(change, Change) or is_read(self.plan, change):
                alias = change.tuple.alias
                if alias not in self.branches:
                    self.branches[alias] = branches_of(self.plan, alias)
                self.records.setdefault(alias, []).extend(self.record(diff, change))

    def record(self, diff: int, change: Change | Move) -> Iterator[Record]:
        """Yield the record of one change, if the view feels it."""
        at, top = change.tuple, self.branches[change.tuple.alias]
        row = change.row if isinstance(change, Change) else change.pre
        path = begin(self.plan, Step(at, row))
        partner = self.completed(top, path) if self.look.is_open(at, None) else None
        if partner is None:
            return
        if isinstance(change, Move):
            yield Record(diff, "update", path, begin(self.plan, Step(at, change.post)), partner)
            return
        partner = partner._replace(times=partner.times * abs(change.times))
        if change.times > 0:
            yield Record(diff, "insert", None, path, partner)
        else:
            yield Record(diff, "delete", path, None, partner)

    def completed(self, branch: Branch, path: Path) -> Partner | None:
        """Find the partners beyond a path; None if a branch has none."""
        times, shown = path.times, []
        for each in branch.beyond:
            found = self.partners(each, path)
            if not found:
                return None
            if each.mute:
                times *= sum(partner.times for partner in found)
            else:
                shown.append(found)
        return Partner(path, times, tuple(shown))

    def partners(self, branch: Branch, path: Path) -> list[Partner]:
        """Find the partners of a path in one branch."""
        paths = walk(self.graph, self.look, [Path(path.steps, 1)], branch.legs)
        return [found for each in paths if (found := self.completed(branch, each))]

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
        return to_table(self.plan, self.branches[alias], records[first:end])


def is_tied(plan: Plan, move: Move) -> bool:
    """Hold if a move changes a value that is computed with, or compared to, other aliases'."""
    slots = [plan.slots[part] for wanted in tying(plan) for part in kept_parts(plan, wanted)]
    return any(
        move.pre[slot.position] != move.post[slot.position]
        for slot in slots
        if slot.alias == move.tuple.alias and slot.vertex is None
    )


def is_read(plan: Plan, move: Move) -> bool:
    """Hold if a move changes a value which the view or a predicate reads."""
    hidden = unread(plan, move.tuple.alias)
    pairs = enumerate(zip(move.pre, move.post, strict=True))
    return any(old != new and position not in hidden for position, (old, new) in pairs)


def to_table(plan: Plan, branch: Branch, records: Sequence[Record]) -> pa.Table:
    """Write the records of one alias."""
    columns = {
        "_change_type": pa.array([each.kind for each in records], pa.string()),
        "_count": pa.array([each.partner.times for each in records], pa.int64()),
        "_diff": pa.array([each.diff for each in records], pa.int64()),
    }
    if branch.columns:
        columns["pre"] = images(plan, branch, [(each.pre, each.post) for each in records])
        columns["post"] = images(plan, branch, [(each.post, each.pre) for each in records])
    return pa.table(columns | beyond(plan, branch, [each.partner for each in records]))


def images(
    plan: Plan, branch: Branch, paths: Sequence[tuple[Path | None, Path | None]]
) -> pa.StructArray:
    """Write one side of records; where there is none the other lends its values under a NULL."""
    some = [path or other for path, other in paths]
    missing = pa.array([path is None for path, _ in paths])
    return values(plan, branch, [path for path in some if path], missing)


def values(
    plan: Plan, branch: Branch, paths: Sequence[Path], missing: pa.Array | None = None
) -> pa.StructArray:
    """Compute what the view shows of a branch."""
    fields = [plan.definition.schema.field(at) for at in branch.columns]
    wanted = [plan.definition.output[at].value for at in branch.columns]
    arrays = [one_array(output_column(plan, paths, each)) for each in wanted]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=missing)


def beyond(plan: Plan, branch: Branch, partners: Sequence[Partner]) -> dict[str, pa.Array]:
    """Write the lists of what lies beyond partners, where the view shows any of it."""
    shown = [each for each in branch.beyond if not each.mute]
    lists = {}
    for place, each in enumerate(shown):
        lengths = [len(partner.beyond[place]) for partner in partners]
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        inner = list(chain.from_iterable(partner.beyond[place] for partner in partners))
        lists[each.name] = pa.ListArray.from_arrays(offsets, structs(plan, each, inner))
    return {"branches": pa.StructArray.from_arrays(lists.values(), lists.keys())} if lists else {}


def structs(plan: Plan, branch: Branch, partners: Sequence[Partner]) -> pa.StructArray:
    """Write the partners of a branch one after the other."""
    parts = {"count": pa.array([each.times for each in partners], pa.int64())}
    if branch.columns:
        parts = {"values": values(plan, branch, [each.path for each in partners]), **parts}
    parts |= beyond(plan, branch, partners)
    return pa.StructArray.from_arrays(list(parts.values()), list(parts))
