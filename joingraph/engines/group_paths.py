"""Why a group is in the view: the paths of the joined rows that have its key.

group  fan = 'bob', n = 3   ->   joined rows with fan = 'bob'   ->   the paths of each
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from joingraph.engines.contract import Engine
from joingraph.expressions.consolidation import consolidate
from joingraph.expressions.python_values import python_value
from joingraph.expressions.tree import Call
from joingraph.expressions.words import Word, from_words
from joingraph.reads.requests import Reading, Touched
from joingraph.reads.row_lookup import Asked, ask, condition
from joingraph.reads.why import Kept
from joingraph.sql.definition import Definition

ROWS = 256  # joined rows that are looked up one after the other

Key = tuple[Word, ...]


def paths_of(
    rows: Engine, joined: Definition, keys: Iterable[Key], limit: int | None
) -> list[Sequence[Kept | None]]:
    """Return the complete paths of groups, at most so many."""
    found = list[Sequence[Kept | None]]()
    for key in keys:
        for asked in rows_of(rows, joined, key):
            left = None if limit is None else limit - len(found)
            if left is not None and left <= 0:
                return found
            found += rows.why(asked._replace(limit=left))
    return found


def rows_of(rows: Engine, joined: Definition, key: Key) -> Iterator[Asked]:
    """Yield the joined rows of a group, each once, as rows that are asked about."""
    seen = set[Key]()
    for batch in rows.read(Reading(of_key(joined, key)), Touched()):
        found = pa.Table.from_batches([batch])
        places = consolidate(found, np.ones(len(found), np.int64)).at
        for start in range(0, len(places), ROWS):
            for row in found.take(pa.array(places[start : start + ROWS])).to_pylist():
                asked = ask(joined, row, "why(row)")
                if asked.words not in seen:
                    seen.add(asked.words)
                    yield asked


def of_key(joined: Definition, key: Key) -> tuple[Call, ...]:
    """Return the conditions that joined rows are of the group of a key."""
    return tuple(
        condition(output, python_value(from_words([word], output.value.type)[0]))
        for output, word in zip(joined.output, key, strict=False)
    )
