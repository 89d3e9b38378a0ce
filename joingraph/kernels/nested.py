"""Makes view diffs as nested lists from the compiled graph (joingraph/factorised.py draws them).

    rows of T that came    ->   T's columns, [partners in F], [partners in R]

In: changes of one alias after another, while the other aliases are as the changes found them. The
partners of many changes are found at once, hop by hop, and dropped where a branch beyond them has
none. Equal base rows are partners of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.kernels.fields import MOVE, O_ALIAS, O_DIFF, O_KIND
from joingraph.kernels.memory import Words
from joingraph.kernels.pieces import Piece, Walker, joined
from joingraph.kernels.rows import came, rows_of, went
from joingraph.plan.branches import Branch, branches_of


class Partners(NamedTuple):
    """The partners of paths in one branch: whose they are, how many rows each is, what it shows."""

    parents: Words
    times: Words
    structs: pa.StructArray


class Beyond(NamedTuple):
    """What lies beyond paths: which have partners everywhere, their times, lists by name."""

    alive: npt.NDArray[np.bool_]
    times: Words
    lists: Mapping[str, Partners]


class Changed(NamedTuple):
    """Rows of one alias that changed in one way: as they were, as they are, which base diffs."""

    kind: str
    pre: Words | None
    post: Words | None
    diffs: Words


class Nester:
    """Collects the records of a batch by alias."""

    def __init__(self, walker: Walker) -> None:
        self.walker, self.plan = walker, walker.plan
        self.branches: dict[int, Branch] = {}
        self.found: dict[int, list[pa.Table]] = {}

    def add_ops(self, ops: Words) -> None:
        """Take a run of one alias' ops that has just been carried out."""
        alias, layout = int(ops[0, O_ALIAS]), self.walker.layout
        is_move = ops[:, O_KIND] == MOVE
        moves, others = ops[is_move], ops[~is_move]
        gone, new = went(others, alias), came(others, alias)
        pre, post = (rows_of(moves, layout, alias, post=side) for side in (False, True))
        self.add(alias, Changed("update", pre, post, moves[:, O_DIFF]))
        rows = rows_of(gone, layout, alias, post=False)
        self.add(alias, Changed("delete", rows, None, gone[:, O_DIFF]))
        rows = rows_of(new, layout, alias, post=True)
        self.add(alias, Changed("insert", None, rows, new[:, O_DIFF]))

    def add(self, alias: int, changed: Changed) -> None:
        """Take rows that changed; the graph's other aliases are as they found them."""
        rows = changed.pre if changed.post is None else changed.post
        if rows is None or not len(rows):
            return
        if alias not in self.branches:
            self.branches[alias] = branches_of(self.plan, alias)
        top = self.branches[alias]
        piece = self.walker.begun(alias, rows)
        there = np.all([ids >= 0 for ids in piece.values.values()], axis=0)
        beyond = self.beyond(top, piece.take(np.flatnonzero(there)))
        alive = np.flatnonzero(there)[beyond.alive]
        if len(alive):
            self.found.setdefault(alias, []).append(
                self.table(top, alias, changed, (alive, beyond))
            )

    def tables(self) -> dict[str, pa.Table]:
        """Give the records of all that changed, by alias and base diff."""
        found = {}
        for alias, parts in self.found.items():
            table = pa.concat_tables(parts)
            order = np.argsort(table["_diff"].to_numpy(), kind="stable")
            found[self.plan.aliases[alias].name] = table.take(pa.array(order)).combine_chunks()
        return found

    def table(
        self, top: Branch, alias: int, changed: Changed, found: tuple[Words, Beyond]
    ) -> pa.Table:
        """Write the records of rows that are alive."""
        alive, beyond = found
        columns: dict[str, pa.Array] = {
            "_change_type": pa.array([changed.kind] * len(alive), pa.string()),
            "_count": pa.array(beyond.times[beyond.alive]),
            "_diff": pa.array(changed.diffs[alive]),
        }
        if top.columns:
            columns["pre"] = self.image(top, alias, changed.pre, changed.post, alive)
            columns["post"] = self.image(top, alias, changed.post, changed.pre, alive)
        return pa.table(columns | lists_of(beyond))

    def image(
        self, top: Branch, alias: int, rows: Words | None, other: Words | None, alive: Words
    ) -> pa.StructArray:
        """Write one side of records; where there is none the other lends values under a NULL."""
        some = other if rows is None else rows
        assert some is not None, "a change has a side"
        missing = pa.array(np.full(len(alive), rows is None))
        return self.values(top, self.walker.begun(alias, some[alive]), missing)

    def values(
        self, branch: Branch, piece: Piece, missing: pa.Array | None = None
    ) -> pa.StructArray:
        """Compute what the view shows of a branch."""
        definition = self.plan.definition
        fields = [definition.schema.field(at) for at in branch.columns]
        arrays = [self.walker.computed(piece, definition.output[at].value) for at in branch.columns]
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=missing)

    def beyond(self, branch: Branch, piece: Piece) -> Beyond:
        """Find the partners of paths in each branch beyond one."""
        alive, times = np.ones(len(piece), bool), piece.times.copy()
        lists: dict[str, Partners] = {}
        for each in branch.beyond:
            found = self.partners(each, piece)
            alive &= np.bincount(found.parents, minlength=len(piece)) > 0
            if each.mute:
                sums = np.zeros(len(piece), np.int64)
                np.add.at(sums, found.parents, found.times)
                times *= sums
            else:
                lists[each.name] = found
        return Beyond(alive, times, lists)

    def partners(self, branch: Branch, piece: Piece) -> Partners:
        """Find the partners of paths in a branch, those that have some everywhere beyond."""
        found, parents = self.followed(piece, branch)
        beyond = self.beyond(branch, found)
        alive = np.flatnonzero(beyond.alive)
        found, times = found.take(alive), beyond.times[alive]
        parts: dict[str, pa.Array] = {"count": pa.array(times)}
        if branch.columns:
            parts = {"values": self.values(branch, found), **parts}
        parts |= lists_of(beyond)
        structs = pa.StructArray.from_arrays(list(parts.values()), list(parts))
        return Partners(parents[alive], times, structs)

    def looks_back(self, branch: Branch) -> bool:
        """Hold if a branch, or one beyond, asks more of a path than where it begins."""
        outputs = self.plan.definition.output
        return (
            any(leg.tests for leg in branch.legs)
            or any(outputs[at].value not in self.plan.slots for at in branch.columns)
            or any(map(self.looks_back, branch.beyond))
        )

    def followed(self, piece: Piece, branch: Branch) -> tuple[Piece, Words]:
        """Extend paths along a branch; tell which path each continues."""
        parents, once = np.arange(len(piece)), np.ones(len(piece), np.int64)
        if self.looks_back(branch):
            piece = replace(piece, times=once)
        else:
            near = {leg.hop.vertex for leg in branch.legs} & set(piece.values)
            piece = Piece({vertex: piece.values[vertex] for vertex in near}, {}, once)
        for leg in branch.legs:
            parts: list[Piece] = []
            ups: list[Words] = []
            for found, up in self.walker.entered(piece, leg.hop.alias, leg.hop.vertex):
                some = self.walker.surviving(found, leg.tests)
                parts.append(found.take(some))
                ups.append(parents[up[some]])
            piece, parents = joined(parts), np.concatenate(ups)
        return piece, parents


def lists_of(beyond: Beyond) -> dict[str, pa.Array]:
    """Write the lists of what lies beyond the paths that are alive."""
    place = np.cumsum(beyond.alive) - 1
    length = int(beyond.alive.sum())
    lists = {}
    for name, found in beyond.lists.items():
        parents, structs = found.parents, found.structs
        if length < len(beyond.alive):
            some = beyond.alive[parents]
            parents, structs = place[parents[some]], structs.filter(pa.array(some))
        lengths = np.bincount(parents, minlength=length)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        lists[name] = pa.ListArray.from_arrays(offsets, structs)
    return {"branches": pa.StructArray.from_arrays(lists.values(), lists.keys())} if lists else {}
