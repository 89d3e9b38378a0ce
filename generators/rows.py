"""Turns effects into the rows of a view diff, folded within each base diff.

In: effects, each with the number of the base diff it comes from. Out: a table with the view's
columns and `_change_type`, `_count`, `_diff`, in the order of the base diffs.

    effects of one diff    a -> b x1,  b -> c x1,  - -> d x1,  d -> - x1
    folded                 a x-1  c x+1            (b came and went, d came and went)
    rows                   delete a, insert c

A pair stays an update where what is left of both its rows covers all their pairs; else its rows go
separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa

from joingraph.expressions.evaluate import NoAnswer
from joingraph.expressions.texts import typed
from joingraph.expressions.words import column_of, to_words
from joingraph.generators.diffs import Effect
from joingraph.generators.paths import Path, cut, output
from joingraph.graph.join_graph import Row
from joingraph.plan.model import Plan
from joingraph.reads.unanswered import unanswered
from joingraph.view_diffs.view_diff import change_table


class RowEffect(NamedTuple):
    """What happens to rows of the view: `times` of them become others, come or go."""

    diff: int
    pre: Row | None
    post: Row | None
    times: int


class RowDiff(NamedTuple):
    """One row of a view diff."""

    change_type: str
    row: Row
    times: int
    diff: int


def to_rows(plan: Plan, effects: Sequence[tuple[int, Effect]]) -> pa.Table:
    """Compute the rows of all effects by column, then fold them diff by diff."""
    rows = [
        row
        for diff, of_one in groupby(row_effects(plan, effects), key=lambda each: each.diff)
        for row in folded(diff, list(of_one))
    ]
    schema = plan.definition.schema
    words = zip(*(each.row for each in rows), strict=True) if rows else [()] * len(schema)
    columns = [column_of(of, field.type) for of, field in zip(words, schema, strict=True)]
    kinds, counts = [each.change_type for each in rows], [each.times for each in rows]
    diffs = [each.diff for each in rows]
    return change_table(typed(columns, schema), kinds, counts, diffs)


def row_effects(plan: Plan, effects: Sequence[tuple[int, Effect]]) -> Iterator[RowEffect]:
    """Replace the paths of effects by the view rows they stand for."""
    sides = [side for _, effect in effects for side in (effect.pre, effect.post)]
    goes = [at % 2 == 0 for at, side in enumerate(sides) if side]
    rows = iter(answered(plan, [side for side in sides if side], goes))
    for diff, effect in effects:
        pre = next(rows) if effect.pre else None
        post = next(rows) if effect.post else None
        yield RowEffect(diff, pre, post, effect.times)


def answered(plan: Plan, paths: Sequence[Path], goes: Sequence[bool]) -> list[Row | None]:
    """Return the view row of each path; None for one that goes and has no answer: it had no row."""
    try:
        return list(view_rows(plan, paths))
    except NoAnswer:
        lost = set[int]()
        for row, error in unanswered(len(paths), lambda some: output(plan, paths[some])):
            if not goes[row]:
                raise error.in_row(row) from None
            lost.add(row)
        rows = iter(view_rows(plan, [path for row, path in enumerate(paths) if row not in lost]))
        return [None if row in lost else next(rows) for row in range(len(paths))]


def view_rows(plan: Plan, paths: Sequence[Path]) -> Iterable[Row]:
    """Compute the view row of each path, as words."""
    for part in cut(plan, paths, [each.value for each in plan.definition.output]):
        yield from zip(*map(to_words, output(plan, part)), strict=True)


def folded(diff: int, effects: Sequence[RowEffect]) -> Iterator[RowDiff]:
    """Cancel what came and went within one diff; keep pairs of which both sides are left.

    Both sides are left if what is left of each covers all the pairs that it stands in: so the order
    of the paths, which is the graph's own affair, does not decide.
    """
    net: Counter[Row] = Counter()
    pairs: Counter[tuple[Row, Row]] = Counter()
    wanted: Counter[tuple[str, Row]] = Counter()
    for _, pre, post, times in effects:
        if pre is not None:
            net[pre] -= times
        if post is not None:
            net[post] += times
        if pre is not None and post is not None:
            pairs[pre, post] += times
            wanted["pre", pre] += times
            wanted["post", post] += times
    left = dict(net)
    for (pre, post), times in pairs.items():
        if -left[pre] >= wanted["pre", pre] and left[post] >= wanted["post", post]:
            net[pre] += times
            net[post] -= times
            yield RowDiff("update_preimage", pre, times, diff)
            yield RowDiff("update_postimage", post, times, diff)
    for row, balance in net.items():
        if balance:
            yield RowDiff("insert" if balance > 0 else "delete", row, abs(balance), diff)
