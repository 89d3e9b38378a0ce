"""Rows that say what happened to them -> entries of a batch, in the order of the source.

    _op      row                          entry
    insert   (1, "a")                     insert [(1, a), (2, b)]
    insert   (2, "b")
    pre      (1, "a")     one after the
    post     (1, "c")     other           update [(1, a)] -> [(1, c)]
    delete   (2, "b")                     delete [(2, b)]
    update   (1, "d")     old row by key  delete key 1, insert [(1, d)]

A pre-image whose post-image the filter has dropped is a delete, and the other way round: each
image is judged alone. Runs of one operation become one entry.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.expressions import texts
from joingraph.expressions.python_values import python_values
from joingraph.expressions.texts import Numbers
from joingraph.pipeline.model import Source
from joingraph.tables.table import Table

Codes = npt.NDArray[np.int8]
Marks = npt.NDArray[np.bool_]
Diff = tuple[Any, ...]  # as JoinGraph.apply takes it

INSERT, DELETE, PRE, POST, UPDATE = range(5)
UNKNOWN: Final = -1
OPERATIONS: Final = {
    "insert": INSERT,
    "delete": DELETE,
    "update_preimage": PRE,
    "update_postimage": POST,
    "update": UPDATE,
}
# Lower case on the left; what is not here is named in the source's own `words`.
WORDS: Final = {
    **dict.fromkeys(("insert", "i", "c", "create", "r", "read", "+i"), INSERT),
    **dict.fromkeys(("delete", "d", "-d"), DELETE),
    **dict.fromkeys(("update_preimage", "-u"), PRE),
    **dict.fromkeys(("update_postimage", "+u"), POST),
    **dict.fromkeys(("update", "u"), UPDATE),
}


class Images(NamedTuple):
    """Rows of one table in order; where `follows`, a row comes right after the one before it."""

    rows: pa.Table
    codes: Codes
    follows: Marks


def words_of(source: Source) -> dict[str, int]:
    """Return the codes of a source's words."""
    own = {word.lower(): OPERATIONS[meaning] for word, meaning in source.words.items()}
    return {**WORDS, **own}


def entries(table: Table, images: Images, *, by_key: bool) -> Iterator[Diff]:
    """Cut images into entries, runs of one operation in one; `by_key` names old rows by key."""
    codes = images.codes
    late = np.zeros(len(codes), bool)
    late[1:] = (codes[1:] == POST) & (codes[:-1] == PRE) & images.follows[1:]
    kinds = codes.copy()
    kinds[codes == POST] = INSERT
    kinds[(codes == PRE) & ~np.append(late[1:], False)] = DELETE
    firsts = np.flatnonzero(~late)
    for run in runs(kinds[firsts]):
        at = firsts[run]
        yield from run_entries(table, images.rows, at, kind=int(kinds[at[0]]), by_key=by_key)


def runs(kinds: Codes) -> Iterator[slice]:
    """Cut at every change of kind."""
    edges = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(kinds)]
    for start, stop in itertools.pairwise(edges):
        if stop > start:
            yield slice(start, stop)


def run_entries(
    table: Table, rows: pa.Table, at: Numbers, *, kind: int, by_key: bool
) -> Iterator[Diff]:
    """Write one run as entries."""
    if kind == INSERT:
        yield "insert", table.name, rows_at(rows, at)
    elif kind == DELETE:
        yield "delete", table.name, rows_at(rows.select(table.key) if by_key else rows, at)
    elif kind == UPDATE:
        yield from replacements(table, rows, at, at)
    elif by_key:
        yield from replacements(table, rows, at, at + 1)
    else:
        yield "update", table.name, rows_at(rows, at), rows_at(rows, at + 1)


def replacements(table: Table, rows: pa.Table, old: Numbers, new: Numbers) -> Iterator[Diff]:
    """Write updates whose old rows are named by key, those of one entry all of different keys."""
    keys = rows.select(table.key)
    for part in without_repeats(keys, new):
        yield "delete", table.name, rows_at(keys, old[part])
        yield "insert", table.name, rows_at(rows, new[part])


def without_repeats(keys: pa.Table, at: Numbers) -> Iterator[slice]:
    """Cut a run so that no key comes twice in a part: the second one replaces the first."""
    seen: set[tuple[object, ...]] = set()
    start = 0
    for place, key in enumerate(tuples(rows_at(keys, at))):
        if key in seen:
            yield slice(start, place)
            start, seen = place, set()
        seen.add(key)
    yield slice(start, len(at))


def rows_at(rows: pa.Table, at: Numbers) -> pa.Table:
    """Take the numbered rows; neighbours need no copy."""
    if len(at) and at[-1] - at[0] + 1 == len(at):
        return rows.slice(int(at[0]), len(at))
    return texts.take_rows(rows, at)


def tuples(rows: pa.Table) -> Iterator[tuple[object, ...]]:
    """Return rows as tuples of Python values."""
    return zip(*(python_values(column) for column in rows.columns), strict=True)


def by_commit(
    table: Table, rows: pa.Table, commits: Numbers, codes: Codes
) -> tuple[Numbers, Marks]:
    """Order rows of which only the commit is known, and mark those that follow their pre-image.

    Within a commit, what goes was there before it, so it goes first. With a key, the images of an
    update are found by it and stand side by side.
    """
    late = np.isin(codes, (INSERT, POST))
    group = np.arange(len(codes))
    paired = np.zeros(len(codes), bool)
    if table.key:
        posts = matching(list(tuples(rows.select(table.key))), commits, codes)
        for pre, post in posts.items():
            group[post], paired[post] = pre, True
            late[post] = False
    order = np.lexsort((paired, group, late, commits)).astype(np.int64)
    return order, paired[order]


def matching(
    keys: Sequence[tuple[object, ...]], commits: Numbers, codes: Codes
) -> Mapping[int, int]:
    """Return for each pre-image the post-image of the same key and commit."""
    waiting: dict[tuple[object, ...], int] = {}
    for place in np.flatnonzero(codes == POST).tolist():
        waiting[commits[place], *keys[place]] = place
    found = {}
    for place in np.flatnonzero(codes == PRE).tolist():
        post = waiting.pop((commits[place], *keys[place]), None)
        if post is not None:
            found[place] = post
    return found
