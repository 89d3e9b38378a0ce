"""Turns diffs of base tables into the diffs each alias feels: Algorithm 1 of the thesis.

    condition: date >= 2020        insert 2021 -> insert       update 2019, 2021 -> insert
    a row is judged on each side   insert 2019 -> nothing      update 2021, 2019 -> delete
    of a diff alone                update 2021, 2022 -> update

In: one entry of a batch. Out: for each base row the diffs of the aliases of its table. A diff whose
two images are equal changes nothing in the graph, yet it still says that the row is there.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from joingraph.filters.images import images
from joingraph.graph.join_graph import Diff, Image
from joingraph.plan.model import AliasPlan, Plan
from joingraph.tables.batch import Entry


def felt(plan: Plan, entry: Entry) -> Iterable[tuple[Diff, ...]]:
    """Yield, for each base row of an entry, what the aliases of its table feel of it."""
    by_alias = [one_alias(alias, entry) for alias in plan.aliases if alias.table == entry.table]
    if not by_alias:
        return [()] * entry.length
    return (tuple(diff for diff in diffs if diff) for diffs in zip(*by_alias, strict=True))


def one_alias(alias: AliasPlan, entry: Entry) -> list[Diff | None]:
    """Judge both sides of each diff alone; no diff where the alias sees neither."""
    sides = zip(side(alias, entry.pre, entry), side(alias, entry.post, entry), strict=True)
    return [Diff(alias.index, pre, post) if pre or post else None for pre, post in sides]


def side(alias: AliasPlan, rows: pa.Table | None, entry: Entry) -> list[Image | None]:
    """Split one side of an entry; an insert has no pre-image, a delete no post-image."""
    return [None] * entry.length if rows is None else images(alias, rows)
