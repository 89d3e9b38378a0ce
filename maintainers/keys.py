"""An index of base keys: from the key of a base row to what an alias keeps of that row.

    tweet, its key tweetId   T   (7,) -> Image(<ann>, (7, 'hi'))    (8,) -> Image(<bob>, (8, 'yo'))

The plan keeps an indexed table's key in each of its aliases, so that an image tells its own key.
Kept true: one entry for each base row that an alias holds; so two rows with one key are refused.
A row that an alias drops is not there. Where every alias may drop rows, a key that is not found
may be of such a row, and to delete it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from joingraph.common.errors import DiffError
from joingraph.expressions.python_values import python_value, value_text
from joingraph.expressions.words import from_words, words_of
from joingraph.graph.join_graph import Diff, Image, Row
from joingraph.plan.kept_columns import key_slots, takes_all
from joingraph.plan.model import Plan


class KeyIndex:
    """Where the base rows of the indexed tables are."""

    def __init__(self, plan: Plan, tables: Iterable[str]) -> None:
        self.plan = plan
        self.tables = frozenset(tables)
        self.slots = {a.index: key_slots(plan, a) for a in plan.aliases if a.table in self.tables}
        self.images: dict[int, dict[Row, Image]] = {alias: {} for alias in self.slots}

    def note(self, diff: Diff) -> None:
        """Take note of a diff that has been carried out."""
        alias, pre, post = diff
        if alias in self.slots:
            if pre is not None:
                del self.images[alias][self.key(alias, pre)]
            if post is not None:
                self.images[alias][self.key(alias, post)] = post

    def key(self, alias: int, image: Image) -> Row:
        """Read a base row's key off its image."""
        return tuple(
            (image.row if slot.vertex is None else image.key[slot.vertex])[slot.position]
            for slot in self.slots[alias]
        )

    def given(self, alias: int, keys: pa.Table) -> Iterable[Row]:
        """Turn keys that a caller gave into words as an alias keeps them."""
        pairs = zip(keys.columns, self.slots[alias], strict=True)
        columns = [words_of(column.cast(slot.stored)) for column, slot in pairs]
        return zip(*columns, strict=True)

    def holds_all(self, table: str) -> bool:
        """True if some alias holds every row of a table."""
        return any(takes_all(self.plan, self.plan.aliases[alias], table) for alias in self.slots)


class RunningKeys:
    """The index as it will be after the diffs admitted so far."""

    def __init__(self, index: KeyIndex) -> None:
        self.index = index
        self.changed: dict[tuple[int, Row], Image | None] = {}

    def find(self, alias: int, key: Row) -> Image | None:
        """Find what an alias then holds of the row with a key."""
        if (alias, key) in self.changed:
            return self.changed[alias, key]
        return self.index.images[alias].get(key)

    def admit(self, diffs: Sequence[Diff]) -> None:
        """Take one base row's diffs into account; refuse a second row with its key."""
        for alias, pre, post in diffs:
            if alias not in self.index.slots:
                continue
            if pre is not None:
                self.changed[alias, self.index.key(alias, pre)] = None
            if post is not None:
                key = self.index.key(alias, post)
                if self.find(alias, key) is not None:
                    raise DiffError(twice_text(self.index, alias, key))
                self.changed[alias, key] = post


def twice_text(index: KeyIndex, alias: int, key: Row) -> str:
    """Return which key two rows have."""
    table = index.plan.definition.tables[index.plan.aliases[alias].table]
    values = [
        python_value(from_words([word], slot.stored)[0])
        for word, slot in zip(key, index.slots[alias], strict=True)
    ]
    pairs = ", ".join(
        f"{name}={value_text(value)}" for name, value in zip(table.key, values, strict=True)
    )
    return (
        f"{table.name} already has a row with the key ({pairs}), and its keys are indexed;"
        " delete or update that row first"
    )
