"""Names the row of a load that makes a path without an answer, as its caller can find it."""

from __future__ import annotations

from collections.abc import Sequence

from joingraph.common.errors import DiffError
from joingraph.filters.images import images
from joingraph.plan.model import Plan
from joingraph.reads.unanswered import Unanswered, path_text
from joingraph.tables.batch import Entry


def refused_load(plan: Plan, entries: Sequence[Entry], found: Unanswered) -> DiffError:
    """Return the error of a load that was taken back."""
    row = row_of(plan, entries, found)
    if row is None:
        return DiffError(f"load: {path_text(plan, found)}; nothing was loaded")
    return DiffError(
        f"load into {row[0]}, row {row[1]}: {path_text(plan, found)}; nothing was loaded: correct"
        " the row, or leave it out"
    )


def row_of(plan: Plan, entries: Sequence[Entry], found: Unanswered) -> tuple[str, int] | None:
    """Return the first loaded row that a path has, by its table and its place there.

    None if it has none: its rows were there, and the load says that others are, or are asked for.
    """
    for alias, kept in found.kept.items():
        mine = plan.aliases[alias]
        for entry in entries:
            if entry.table == mine.table and entry.post is not None:
                for row, image in enumerate(images(mine, entry.post)):
                    if image is not None and (image.key, image.row) == (kept.key, kept.row):
                        return entry.table, row
    assert not plan.is_inner, "a new path has a new row"
    return None
