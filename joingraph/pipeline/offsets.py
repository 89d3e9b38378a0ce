"""How far a pipeline has come, as it is committed with the graph: which rows are in it already.

    {"query": "3f…", "batch": 12, "tables": {"tweet": {"lanes": {"": [7, 0]}, "horizon": -1}}}

A lane is what has an order of its own: a file, a partition of a topic, a change feed as a whole.
Its mark is the (a, b) of its last row: version, entry of a stream, number. Spark repeats a
micro-batch that it does not know to be done, and all of them if its checkpoint is lost. The first
is recognised by its number, the second by the marks. Marks of files are many, so the oldest are
forgotten; `horizon` is the newest time among those.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from joingraph.common.errors import StoreError
from joingraph.expressions.texts import Numbers

Mask = npt.NDArray[np.bool_]
Mark = tuple[int, int]

LANES_MAX: Final = 10_000


class Places(NamedTuple):
    """Where rows stand in their source; `lanes` None: nowhere that could be known again."""

    lanes: pa.Array | None
    a: Numbers
    b: Numbers


@dataclass(frozen=True, slots=True)
class Reached:
    """How far one source has come."""

    lanes: Mapping[str, Mark] = field(default_factory=dict[str, Mark])
    horizon: int = -1


@dataclass(frozen=True, slots=True)
class Position:
    """How far all sources of a pipeline have come, and by which micro-batch of which query."""

    query: str = ""
    batch: int = -1
    tables: Mapping[str, Reached] = field(default_factory=dict[str, Reached])
    replaced: bool = False  # the checkpoint was lost once: rows of long ago may come again

    def write(self) -> str:
        """Write it as text."""
        tables = {
            name: {"lanes": each.lanes, "horizon": each.horizon}
            for name, each in self.tables.items()
        }
        fields = {"query": self.query, "batch": self.batch, "replaced": self.replaced}
        return json.dumps({**fields, "tables": tables})


def read_position(text: str | None) -> Position:
    """Read what `write` wrote; None is the very beginning."""
    if text is None:
        return Position()
    try:
        fields = json.loads(text)
        tables = {
            name: Reached({lane: (a, b) for lane, (a, b) in each["lanes"].items()}, each["horizon"])
            for name, each in fields["tables"].items()
        }
        return Position(fields["query"], fields["batch"], tables, fields["replaced"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"not the position of a pipeline: {text:.100} ({error})") from error


def check_turn(kept: Position, query: str, batch: int) -> None:
    """Refuse a micro-batch that the graph is not ready for."""
    if kept.query == query and batch > kept.batch + 1:
        raise StoreError(
            f"the graph is older than the checkpoint: micro-batch {batch} is next, the graph has "
            f"only {kept.batch}; delete the checkpoint to read the sources from their beginning"
        )
    if kept.query != query and batch > 0:
        raise StoreError(
            f"the checkpoint is at micro-batch {batch} and the graph has never seen it: the graph "
            "is another one, or was in memory only; delete the checkpoint, or give the graph back"
        )


def is_done(kept: Position, query: str, batch: int) -> bool:
    """True if a micro-batch was committed as a whole."""
    return kept.query == query and batch <= kept.batch


def is_replaced(kept: Position, query: str) -> bool:
    """True if rows may come that were applied under another checkpoint."""
    return kept.replaced or kept.query not in ("", query)


def fresh(kept: Reached, places: Places, table: str, *, replaced: bool) -> Mask:
    """Mark the rows that the graph does not have."""
    if places.lanes is None:
        if replaced and kept != Reached():
            raise StoreError(
                f"{table}: its source has no positions, so rows that come again are not known; "
                "with a new checkpoint, begin with a new graph as well"
            )
        return np.ones(len(places.a), bool)
    names, lane_of = encoded(places.lanes)
    known = np.array([name in kept.lanes for name in names], bool)
    marks = np.array([kept.lanes.get(name, (-1, -1)) for name in names], np.int64).reshape(-1, 2)
    if replaced and (~known[lane_of] & (places.a <= kept.horizon)).any():
        raise StoreError(
            f"{table}: some of its files are so old that the graph has forgotten whether it has "
            f"them (it remembers {LANES_MAX:,}); begin with a new graph, or restore the checkpoint"
        )
    a, b = marks[lane_of, 0], marks[lane_of, 1]
    return np.asarray((places.a > a) | ((places.a == a) & (places.b > b)))


def reached(kept: Reached, places: Places) -> Reached:
    """Move the marks on over rows that are applied now."""
    if places.lanes is None:
        return replace(kept, lanes={"": (0, 0)}) if len(places.a) else kept
    names, lane_of = encoded(places.lanes)
    order = in_turn(lane_of, places.a, places.b)
    lasts = np.flatnonzero(np.diff(lane_of[order], append=-1))
    ends = order[lasts].tolist()
    moved = {names[lane_of[end]]: (int(places.a[end]), int(places.b[end])) for end in ends}
    lanes = dict(kept.lanes)
    for name, mark in moved.items():
        lanes[name] = max(mark, lanes.get(name, mark))
    return forgotten(Reached(lanes, kept.horizon))


def in_turn(*keys: Numbers) -> Numbers:
    """Number rows by keys, the first counting most; rows that are in order already are not sorted.

    >>> in_turn(np.array([1, 1, 2]), np.array([3, 5, 4])), in_turn(np.array([2, 1, 2]))
    (array([0, 1, 2]), array([1, 0, 2]))
    """
    alike = np.ones(max(len(keys[0]) - 1, 0), bool)
    for key in keys:
        if (alike & (key[1:] < key[:-1])).any():
            return np.lexsort(keys[::-1]).astype(np.int64)
        alike &= key[1:] == key[:-1]
    return np.arange(len(keys[0]))


def forgotten(now: Reached) -> Reached:
    """Forget the oldest lanes, if there are too many."""
    if len(now.lanes) <= LANES_MAX:
        return now
    newest = sorted(now.lanes.items(), key=lambda each: each[1], reverse=True)
    gone = newest[LANES_MAX][1][0]
    return Reached(dict(newest[:LANES_MAX]), max(now.horizon, gone))


def encoded(lanes: pa.Array) -> tuple[list[str], Numbers]:
    """Return the different lanes, and the number of each row's."""
    coded = (pc.fill_null(lanes, "") if lanes.null_count else lanes).dictionary_encode()
    return coded.dictionary.to_pylist(), coded.indices.to_numpy().astype(np.int64)
