"""Says which diffs remove a row that is not there, and keeps those that were set aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from joingraph.expressions.python_values import python_rows, value_text
from joingraph.tables.batch import JOINED, Entry, Refused

SHOWN = 3  # diffs an error message tells in full


class Quarantined(NamedTuple):
    """A diff that was set aside, since the row it removes was not there."""

    operation: str
    table: str
    pre: dict[str, object]
    post: dict[str, object] | None


def missing_text(entries: Sequence[Entry], refused: Sequence[Refused]) -> str:
    """Return a caller which rows are not there, and what can be done."""
    told = [one_missing(entries[each.entry], each.row) for each in refused[:SHOWN]]
    more = len(refused) - SHOWN
    return (
        "; ".join(told)
        + (f"; and {more} more" if more > 0 else "")
        + "; nothing of the batch was applied: correct it, or use"
        ' on_missing="skip" or on_missing="quarantine"'
    )


def one_missing(entry: Entry, row: int) -> str:
    """Name the table, the row's number and its values."""
    assert entry.pre is not None, "only a diff with a pre-image can miss it"
    values = ", ".join(
        f"{name}={value_text(value)}" for name, value in row_of(entry.pre, row).items()
    )
    return f"{JOINED[entry.operation]} {entry.table}, row {row}: there is no row ({values})"


def set_aside(entries: Sequence[Entry], refused: Refused) -> Quarantined:
    """Keep a refused diff as its caller gave it."""
    entry = entries[refused.entry]
    assert entry.pre is not None, "only a diff with a pre-image can miss it"
    post = None if entry.post is None else row_of(entry.post, refused.row)
    return Quarantined(entry.operation, entry.table, row_of(entry.pre, refused.row), post)


def row_of(table: pa.Table, row: int) -> dict[str, object]:
    """Read one row by column name."""
    (found,) = python_rows(table.slice(row, 1))
    return found
