"""Finds the rows of an entry whose table's keys are indexed, before the batch changes anything.

    delete tweet (7,)      by key: what each alias holds of tweet 7 at that point of the batch
    delete tweet (7, ..)   whole: must be what is held         insert tweet (7, ..)   must be new

In: an entry, what its aliases keep of the rows given whole. Out: the same for all rows, and the
numbers of those that are nowhere. Row by row, since each may depend on the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np

from joingraph.graph.compiled.key_index import Keys, Row, RunningKeys
from joingraph.graph.compiled.ops import Side
from joingraph.tables.batch import Entry


class Sides(NamedTuple):
    """Both sides of an entry as an alias keeps them, as far as it has them."""

    pre: Side | None
    post: Side | None


Rows = list[Row | None]


def is_by_key(keys: Keys, entry: Entry) -> bool:
    """True if the rows that go are given by their keys alone."""
    schema = keys.plan.definition.tables[entry.table].schema
    return entry.pre is not None and entry.pre.num_columns < len(schema)


def resolve(
    running: RunningKeys, entry: Entry, sides: Mapping[int, Sides]
) -> tuple[dict[int, Sides], list[int]]:
    """Find the rows that go, and note all keys; also return the rows that no alias can have."""
    keys, by_key = running.keys, is_by_key(running.keys, entry)
    pres = {alias: by_row(each.pre, entry.length) for alias, each in sides.items()}
    posts = {alias: by_row(each.post, entry.length) for alias, each in sides.items()}
    held = {alias: held_rows(running, alias, entry, pres[alias]) for alias in sides}
    met = {alias: running.find_alike(alias, rows) for alias, rows in posts.items()}
    lost: list[int] = []
    must_be = by_key and keys.holds_all(entry.table)
    for row in range(entry.length):
        found = {alias: next(each) for alias, each in held.items()}
        if must_be and not any(found.values()):
            lost.append(row)
            for alias in sides:
                posts[alias][row] = None
        elif by_key or all(found[alias] == pres[alias][row] for alias in sides):
            for alias in sides:
                running.go(alias, found[alias])
            for alias in sides:
                running.come(alias, posts[alias][row], next(met[alias]))
            continue
        for each in met.values():
            next(each)
    return {
        alias: Sides(
            to_side(pres[alias], keys.of[alias].width) if entry.pre is not None else None,
            to_side(posts[alias], keys.of[alias].width) if entry.post is not None else None,
        )
        for alias in sides
    }, lost


def held_rows(running: RunningKeys, alias: int, entry: Entry, pres: Rows) -> Iterator[Row | None]:
    """Yield what an alias holds of each row that goes; by key, also note it as the row meant."""
    if entry.pre is None:
        yield from repeat(None, entry.length)
    elif is_by_key(running.keys, entry):
        found = running.find(alias, running.keys.given(alias, entry.pre))
        for at, row in enumerate(found):
            pres[at] = row
            yield row
    else:
        yield from running.find_alike(alias, pres)


def by_row(side: Side | None, length: int) -> Rows:
    """Return each base row's words, None where the alias has none."""
    rows: Rows = [None] * length
    if side is not None:
        for number, words in zip(side.numbers.tolist(), side.words, strict=True):
            rows[number] = words.tobytes()
    return rows


def to_side(rows: Sequence[Row | None], width: int) -> Side:
    """Put the rows that are there into a matrix."""
    numbers = [at for at, row in enumerate(rows) if row is not None]
    words = np.frombuffer(b"".join(row for row in rows if row is not None), np.int64)
    return Side(np.array(numbers, np.int64), words.reshape(-1, width).copy())
