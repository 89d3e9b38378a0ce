"""The contract of the two forms of the join graph: the plain one and the compiled one.

An engine takes checked entries through the three stages and keeps the graph. It does not know of
sequence numbers, names of callers or locks: that is JoinGraph's part.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from joingraph.common.progress import Progress
from joingraph.expressions.tree import Expression
from joingraph.graph.blocks import Block, Part
from joingraph.reads.access_paths import Way
from joingraph.reads.expire import Conditions
from joingraph.reads.group_keys import GroupsWay
from joingraph.reads.requests import Reading, Touched
from joingraph.reads.row_lookup import Asked
from joingraph.reads.unanswered import Unanswered
from joingraph.reads.why import Kept
from joingraph.reads.why_not import Break
from joingraph.tables.batch import Entry, Refused
from joingraph.tables.row_batch import RowBatch
from joingraph.tables.table import Table
from joingraph.view_diffs.deltas import Deltas
from joingraph.view_diffs.factorised import Factorised
from joingraph.view_diffs.idiffs import IDiffs
from joingraph.view_diffs.view_diff import DiffRows, Fold, ViewDiff

Ready = Callable[[list[Refused]], None]


class Applied(NamedTuple):
    """What a batch did: its view diff (view_diffs/view_diff.py), and what was left out of it."""

    changes: DiffRows
    refused: list[Refused]
    net: Fold | None = None  # folds the rows, if the engine knows how


class Blocks(Protocol):
    """The blocks of a snapshot, each checked when it is read (storage/disk/snapshot.py)."""

    def __contains__(self, name: str) -> bool:
        """True if there is such a block."""
        ...

    def __getitem__(self, name: str) -> memoryview:
        """Return a block."""
        ...

    def arrays(self, stamp: str) -> Mapping[str, Part]:
        """Return the blocks of memory under a stamp, all checked; none, if some are not right."""
        ...


IdiffsOf = Callable[[RowBatch, pa.Table], IDiffs]


class Wanted(NamedTuple):
    """What is wanted of a batch's view diffs: none, or all, or no more than so many rows."""

    generate: bool
    most: int | None


ALL_ROWS = Wanted(generate=True, most=None)


class Calls(Protocol):
    """Carries out batches of few rows, if it can; all others go by `Engine.apply`."""

    def read(self, batch: object) -> RowBatch | None:
        """Read a batch as a caller hands it over, to be carried out next; None: not here."""
        ...

    def carry_out(
        self, batch: RowBatch, idiffs: IdiffsOf, seq: int, wanted: Wanted = ALL_ROWS
    ) -> ViewDiff | None:
        """Carry it out and give its view diff, as `apply` would; None: undo it, it goes elsewhere.

        After an exception, `undo` takes back what was done of it.
        """
        ...


class Engine(Protocol):
    """Keeps one view's join graph."""

    def calls(self, tables: Mapping[str, Table]) -> Calls | None:
        """Return what carries few rows of these base tables out at once, if there is something."""
        ...

    def load(self, entries: Sequence[Entry], *, check: bool = True) -> None:
        """Insert rows without making view diffs, or raise and leave the graph as it was.

        Rows that complete a path on which the view has no answer are refused, as `apply` would
        refuse them, unless nothing is to be checked.
        """
        ...

    def apply(
        self,
        entries: Sequence[Entry],
        *,
        skip: bool,
        generate: bool,
        silent: int = 0,
        ready: Ready | None = None,
    ) -> Applied:
        """Apply a batch; after an exception, `undo` takes back what was done of it.

        Diffs that remove a row which is not there are left out if `skip`; else, if there are any,
        nothing is applied. The first `silent` entries make no view diffs. `ready` is told before
        anything is changed what is left out; only what is computed on a path can fail after it.
        """
        ...

    def stream(
        self, entries: Sequence[Entry], *, skip: bool, generate: bool
    ) -> tuple[Generator[pa.Table], list[Refused]]:
        """Find what a batch is refused for, then apply it, at the latest as its rows are taken.

        The tables are those of `apply` in parts, without `_diff`; closing applies the rest. A base
        diff whose rows are too many for one part is given in several, its updates not paired. For
        views of which nothing on a path can fail.
        """
        ...

    def factorise(
        self, entries: Sequence[Entry], *, skip: bool
    ) -> tuple[Factorised, list[Refused]]:
        """Apply a batch as `apply` does, and give its view diffs as nested lists.

        Of a view that groups: its deltas (FactorisedDeltas), or ViewError where it has none.
        """
        ...

    def missing(self, entries: Sequence[Entry]) -> list[Refused]:
        """Name the diffs of a batch that remove a row which is not there; change nothing."""
        ...

    def fanout(self, entries: Sequence[Entry], *, skip: bool) -> tuple[int, bool, list[Refused]]:
        """Count the rows of a batch's view diffs, and say if that is exact; change nothing."""
        ...

    def expire(self, conditions: Conditions, *, generate: bool) -> DiffRows | Deltas:
        """Delete all base rows that meet the conditions, in every alias named; give view diffs.

        They are deltas where no groups are kept.
        """
        ...

    def limit(self, memory_limit: int) -> None:
        """Refuse from here on what may take more memory than this, before anything is changed."""
        ...

    def keep(self) -> None:
        """Keep what was done so far: `undo` does not reach behind it."""
        ...

    def undo(self) -> None:
        """Take back what the last call did that changes the graph, wholly or in part.

        An exception may interrupt it; called again, it does what is left.
        """
        ...

    @property
    def is_whole(self) -> bool:
        """True if the last call that changes the graph was carried out to its end."""
        ...

    def dump(self) -> Iterable[Block]:
        """Write the graph as named runs of bytes, to be read before the next change."""
        ...

    def arrays(self) -> Iterable[Block]:
        """Write the graph's memory as it is, if that makes restoring quicker; as `dump` is read."""
        ...

    def restore(self, blocks: Blocks) -> None:
        """Bring an empty graph to what `dump`, and perhaps `arrays`, wrote."""
        ...

    def scan(self) -> Iterator[pa.RecordBatch]:
        """Read the whole view in bounded batches."""
        ...

    def read(self, reading: Reading, touched: Touched) -> Iterator[pa.RecordBatch]:
        """Read what is asked of the view, counting what is touched of the graph."""
        ...

    def way(self, reading: Reading) -> Way | GroupsWay:
        """Choose where a read starts."""
        ...

    def index(self, column: str) -> None:
        """Keep a secondary index on an output column that is kept as it is."""
        ...

    def unanswered(self, conditions: Sequence[Expression]) -> Unanswered | None:
        """Return a complete path that meets conditions and on which the view has no answer."""
        ...

    def why(self, asked: Asked) -> Sequence[Sequence[Kept | None]]:
        """Find the complete paths behind a row of the view: what each alias keeps on it."""
        ...

    def joined_rows(self, asked: Asked) -> int:
        """Count the joined rows that a row of the view stands for, without making its paths."""
        ...

    def why_not(self, asked: Asked) -> list[Break]:
        """Find where the paths of a row break that the view does not have."""
        ...

    def count(self, conditions: tuple[Expression, ...] = ()) -> int:
        """Count the view's rows that meet conditions, without making them."""
        ...

    def stats(self) -> dict[str, Any]:
        """Return the graph's size by alias, vertex and kind."""
        ...

    def compile(self, progress: Progress) -> None:
        """Compile what this form has to compile, now."""
        ...

    def check(self) -> None:
        """Recompute every invariant, or raise CorruptGraph."""
        ...
