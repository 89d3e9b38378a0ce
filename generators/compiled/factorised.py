"""View diffs as nested lists from the compiled graph; view_diffs/factorised.py draws them.

    rows of T that came    ->   T's columns, [partners in F], [partners in R]

In: changes of one alias after another, while the other aliases are as the changes found them. The
steps of the alias' program (plan/branches.py) are carried out on many changes at once; paths are
dropped where a branch beyond them has no partners. Equal base rows are partners of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.tree import Expression
from joingraph.generators.compiled.reads.column_walk import Walker, steps_of
from joingraph.generators.compiled.reads.pieces import Piece, joined
from joingraph.generators.compiled.reads.walk import Walk
from joingraph.graph.compiled import fields as f
from joingraph.graph.compiled.fields import MOVE, O_ALIAS, O_DIFF, O_KIND
from joingraph.graph.compiled.machine.kernel import kernel, ld, sto
from joingraph.graph.compiled.memory.reserved import Words, lent
from joingraph.graph.compiled.op_rows import came, read_moves, rows_of, went
from joingraph.plan.branches import columns_of, lists_program
from joingraph.plan.program import Ask, Enter, List, Side, Step, Test
from joingraph.view_diffs.factorised import in_parts, one_array, put_together

Mask = npt.NDArray[np.bool_]

PARENT = -1  # stands for a vertex: where each path has the number of the one that it continues


class Partners(NamedTuple):
    """The partners of paths in one branch, in the order of the paths.

    How many each path has, how many rows each partner is, and what it shows.
    """

    lengths: Words
    times: Words
    structs: pa.StructArray

    def spread(self, some: Words, count: int) -> Partners:
        """Return the partners of some of so many paths as those of all; others have none."""
        if len(some) == count:
            return self
        lengths = np.zeros(count, np.int64)
        lengths[some] = self.lengths
        return self._replace(lengths=lengths)


class Beyond(NamedTuple):
    """What lies beyond paths: which have partners everywhere, their times, lists by name."""

    alive: Mask
    times: Words
    lists: Mapping[str, Partners]


class Alive(NamedTuple):
    """Changed rows that have partners everywhere: which of all, as paths, and what they meet."""

    rows: Words
    piece: Piece
    beyond: Beyond


class Changed(NamedTuple):
    """Rows of one alias that changed in one way: as they were, as they are, which base diffs."""

    kind: str
    pre: Words | None
    post: Words | None
    diffs: Words

    def part(self, first: int, end: int) -> Changed:
        """Return some of the rows."""
        some = slice(first, end)
        pre, post = (None if each is None else each[some] for each in (self.pre, self.post))
        return Changed(self.kind, pre, post, self.diffs[some])


class Nester:
    """Collects the records of a batch by alias."""

    def __init__(self, walker: Walker) -> None:
        self.walker, self.plan = walker, walker.plan
        self.found: dict[int, list[pa.Table]] = {}

    def add_ops(self, ops: Words) -> None:
        """Take a run of one alias' ops that has just been carried out."""
        alias, layout = int(ops[0, O_ALIAS]), self.walker.layout
        is_move = ops[:, O_KIND] == MOVE
        moves, others = ops[is_move], ops[~is_move]
        moves = moves[read_moves(self.plan, layout, moves)]
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
        if rows is not None and len(rows):
            parts = in_parts(partial(self.records, alias, changed), 0, len(rows))
            self.found.setdefault(alias, []).extend(part for part in parts if len(part))

    def records(self, alias: int, changed: Changed, first: int, end: int) -> pa.Table:
        """Write the records of some of the rows that changed."""
        changed = changed.part(first, end)
        rows = changed.pre if changed.post is None else changed.post
        assert rows is not None, "what changed has a side"
        piece = self.walker.begun(alias, rows)
        there = np.flatnonzero(np.all([ids >= 0 for ids in piece.values.values()], axis=0))
        piece = picked(piece, there)
        beyond = self.beyond(self.plan.program(lists_program, alias).steps, piece)
        some = np.flatnonzero(beyond.alive)
        if not len(some):
            return pa.table({})
        found = Alive(there[some], picked(piece, some), beyond)
        return self.table(alias, changed, found)

    def tables(self) -> dict[str, pa.Table]:
        """Return the records of all that changed, by alias and base diff."""
        return {
            self.plan.aliases[alias].name: put_together(parts)
            for alias, parts in self.found.items()
            if parts
        }

    def table(self, alias: int, changed: Changed, found: Alive) -> pa.Table:
        """Write the records of rows that are alive."""
        columns: dict[str, pa.Array] = {
            "_change_type": pa.array([changed.kind] * len(found.rows), pa.string()),
            "_count": pa.array(found.beyond.times[found.beyond.alive]),
            "_diff": pa.array(changed.diffs[found.rows]),
        }
        shown = columns_of(self.plan, alias)
        if shown:
            now = self.values(shown, found.piece)
            before = missing = pa.nulls(len(found.rows), now.type)
            if changed.pre is not None and changed.post is not None:
                before = self.values(shown, self.walker.begun(alias, changed.pre[found.rows]))
            elif changed.post is None:
                before, now = now, missing
            columns |= {"pre": before, "post": now}
        return pa.table(columns | lists_of(found.beyond))

    def values(self, shown: Sequence[int], piece: Piece) -> pa.StructArray:
        """Compute columns of the view."""
        definition = self.plan.definition
        fields = [definition.schema.field(at) for at in shown]
        wanted = [definition.output[at].value for at in shown]
        slots = self.walker.slots_of(wanted)
        if self.walker.lengths(piece, slots, texts.ARRAY_BYTES_MAX) is not None:
            raise texts.TooMuchText
        arrays = [one_array(self.walker.computed(piece, each)) for each in wanted]
        return pa.StructArray.from_arrays(arrays, fields=fields)

    def beyond(self, steps: Sequence[Step], piece: Piece) -> Beyond:
        """Find the partners of paths in each branch, of those that have some in the ones before."""
        alive, times = np.ones(len(piece), bool), piece.times
        lists: dict[str, Partners] = {}
        for step in steps:
            if isinstance(step, Side):
                some = np.flatnonzero(alive)
                found = self.partners(step, picked(piece, some)).spread(some, len(piece))
                alive &= found.lengths > 0
                if isinstance(step, List):
                    lists[step.name] = found
                else:
                    times = times * sums(found.times, found.lengths)
        return Beyond(alive, times, lists)

    def partners(self, side: Side, piece: Piece) -> Partners:
        """Find the partners of paths in a branch, those that have some everywhere beyond."""
        own, late = own_steps(side)
        found, lengths = (
            self.listed(piece, side.enter)
            if self.is_leaf(side)
            else self.followed(piece, side, own)
        )
        beyond = self.beyond(side.steps, found)
        alive = np.flatnonzero(beyond.alive)
        if late:
            alive = alive[self.walker.surviving(picked(found, alive), late)]
            beyond = beyond._replace(alive=np.isin(np.arange(len(found)), alive))
        lengths = sums(beyond.alive.astype(np.int64), lengths)
        found, times = picked(found, alive), beyond.times[alive]
        parts: dict[str, pa.Array] = {"count": pa.array(times)}
        if isinstance(side, List) and side.columns:
            parts = {"values": self.values(side.columns, found), **parts}
        parts |= lists_of(beyond)
        return Partners(
            lengths, times, pa.StructArray.from_arrays(list(parts.values()), list(parts))
        )

    def is_leaf(self, side: Side) -> bool:
        """True if a branch is lists of one alias' rows, and shows nothing but what these hold."""
        outputs, slots = self.plan.definition.output, self.plan.slots
        columns = side.columns if isinstance(side, List) else ()
        values = [outputs[at].value for at in columns]
        kept = all(each in slots and slots[each].vertex is None for each in values)
        is_list = self.walker.seat(side.enter.alias, side.enter.vertex).kind == f.LEAF
        return is_list and kept and len(side.steps) == 1

    def listed(self, piece: Piece, enter: Enter) -> tuple[Piece, Words]:
        """Copy the lists that paths meet at one vertex; tell how long each is."""
        walker = self.walker
        seat = walker.seat(enter.alias, enter.vertex)
        records = walker.records(enter.vertex)[piece.values[enter.vertex]]
        lengths = records[:, seat.live] & f.LENGTH
        lists = np.stack([records[:, seat.offset], steps_of(records[:, seat.length]), lengths])
        width, total = walker.layout.aliases[enter.alias].projected, int(lengths.sum())
        words = np.empty((max(1, width), total), np.int64)
        heap = walker.memory.heap.address
        with lent(lists, words):
            copy_lists(
                heap, np.array([lists.ctypes.data, len(lengths), words.ctypes.data, width, total])
            )
        return Piece({}, {enter.alias: list(words)}, np.ones(total, np.int64)), lengths

    def looks_back(self, side: Side) -> bool:
        """True if a branch, or one beyond, asks more of a path than where it begins."""
        outputs = self.plan.definition.output
        columns = side.columns if isinstance(side, List) else ()
        return any(outputs[at].value not in self.plan.slots for at in columns) or any(
            isinstance(step, Test) or (isinstance(step, Side) and self.looks_back(step))
            for step in side.steps
        )

    def followed(
        self, piece: Piece, side: Side, own: Sequence[Enter | Test]
    ) -> tuple[Piece, Words]:
        """Extend paths by a branch' own steps; tell how many continue each."""
        count = len(piece)
        values = piece.values
        if not self.looks_back(side):
            near = {step.vertex for step in own if isinstance(step, Enter)} & set(values)
            values = {vertex: values[vertex] for vertex in near}
            piece = Piece(values, {}, piece.times)
        values = {**values, PARENT: np.arange(count)}
        begun = replace(piece, values=values, times=np.ones(count, np.int64))
        found = joined([*Walk(self.walker).walk([begun], own)] or [self.nothing()])
        return found, np.bincount(found.values[PARENT], minlength=count)

    def nothing(self) -> Piece:
        """Return no path, but one that has been everywhere."""
        layout, none = self.walker.layout, np.empty(0, np.int64)
        values = dict.fromkeys((PARENT, *range(len(layout.vertices))), none)
        words = {number: [none] * alias.projected for number, alias in enumerate(layout.aliases)}
        return Piece(values, words, none)


def own_steps(side: Side) -> tuple[list[Enter | Test], list[Expression]]:
    """Return a branch' own steps, and the tests that come behind all that lies beyond it."""
    own, late = list[Enter | Test](), list[Expression]()
    is_beyond = False
    for step in side.steps:
        if isinstance(step, Side):
            is_beyond = True
        elif is_beyond and isinstance(step, Test):
            late.append(step.predicate)
        else:
            assert not isinstance(step, Ask), "views of inner joins ask for nothing"
            own.append(step)
    return own, late


def picked(piece: Piece, some: Words) -> Piece:
    """Pick paths in their order; all of them cost nothing."""
    return piece if len(some) == len(piece) else piece.take(some)


def sums(values: Words, lengths: Words) -> Words:
    """Add up runs of values, some of them empty."""
    upto, ends = np.concatenate([[0], np.cumsum(values)]), np.cumsum(lengths)
    found: Words = upto[ends] - upto[ends - lengths]
    return found


def lists_of(beyond: Beyond) -> dict[str, pa.Array]:
    """Write the lists of what lies beyond the paths that are alive."""
    alive, lists = beyond.alive, {}
    for name, found in beyond.lists.items():
        lengths, structs = found.lengths, found.structs
        if not alive.all():
            structs = structs.filter(pa.array(np.repeat(alive, lengths)))
            lengths = lengths[alive]
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        lists[name] = pa.ListArray.from_arrays(offsets, structs)
    return {"branches": pa.StructArray.from_arrays(lists.values(), lists.keys())} if lists else {}


@kernel
def copy_lists(heap: int, given: Words) -> None:
    """Copy lists of a leaf behind one another, column by column."""
    lists, count, found, width, total = given[0], given[1], given[2], given[3], given[4]
    at = 0
    for number in range(count):
        offset, step = ld(lists, number), ld(lists, count + number)
        length = ld(lists, 2 * count + number)
        for column in range(width):
            of, to = heap + (offset + column * step) * 8, found + (column * total + at) * 8
            for place in range(length):
                sto(to, place, ld(of, place))
        at += length
