"""The join graph of a view as people use it: diffs in, view diffs out, the view on demand.

    JoinGraph    what people call; it holds
      LiveGraph    the engine and its history, which agree between two calls (storage/live_graph.py)
      Durability   waits, snapshots, another view (durability.py)
      Writes       what changes the graph (writes.py), by Batches (batches.py)
      Reads        what is asked of it (reads.py)

One writer at a time, any number of readers: a reader sees whole batches only. What a batch is
refused for is found before anything is changed, so a refused batch leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import pyarrow as pa

from joingraph.api.durability import Durability
from joingraph.api.partitions import Partition
from joingraph.api.reads import Reads
from joingraph.api.subscription import WAITING_BYTES, Subscription, is_whole, subscribe, unsubscribe
from joingraph.api.writes import Diffs, Writes
from joingraph.common.closing import Closing
from joingraph.common.errors import ViewError
from joingraph.common.names import plain, short_repr
from joingraph.common.progress import Progress, shown_progress
from joingraph.engines.choice import one_of
from joingraph.engines.contract import Engine
from joingraph.engines.missing_rows import Quarantined
from joingraph.engines.streaming import Stream
from joingraph.plan.keys.base_keys import with_key_index
from joingraph.plan.view import View, check_view
from joingraph.reads.explanation import Explanation
from joingraph.reads.why import Why
from joingraph.reads.why_not import WhyNot
from joingraph.storage.disk.beside import look_again
from joingraph.storage.disk.folder import Folder
from joingraph.storage.disk.log import DURABILITIES
from joingraph.storage.disk.owner import Owner
from joingraph.storage.journal import Prompt
from joingraph.storage.live_graph import LiveGraph
from joingraph.storage.open_graph import ON_MISSING, Keeping, as_folder, read_stored
from joingraph.storage.positions import Position
from joingraph.view_diffs.view_diff import ViewDiff


class JoinGraph(Closing):
    """Keeps a join view up to date without storing it.

    >>> from joingraph import JoinGraph, View
    >>> view = View(
    ...     "SELECT F.fan, T.text FROM follower F JOIN tweet T ON F.author = T.author",
    ...     tables={
    ...         "follower": "CREATE TABLE follower (author STRING, fan STRING)",
    ...         "tweet": "CREATE TABLE tweet (author STRING, text STRING)",
    ...     },
    ... )
    >>> graph = JoinGraph(view)
    >>> graph.load({"follower": [("ann", "bob"), ("ann", "eve")]})
    >>> graph.insert("tweet", [("ann", "hello")]).rows()
    [('insert', ('bob', 'hello'), 1), ('insert', ('eve', 'hello'), 1)]
    >>> graph.count()
    2
    """

    def __init__(
        self,
        view: View,
        path: object = None,
        *,
        engine: str = "auto",
        lookahead: str = "auto",
        on_missing: str = "error",
        keep_groups: bool = True,
        memory_limit: int | None = None,
        durability: str = "fsync",
        key_index: Sequence[str] = (),
        readonly: bool = False,
    ) -> None:
        check_view("JoinGraph(view)", view)
        if memory_limit is not None and not (is_whole(memory_limit) and memory_limit > 0):
            raise ValueError(f"memory_limit is a number of bytes, found {short_repr(memory_limit)}")
        engine, lookahead = plain(engine), plain(lookahead)
        on_missing = one_of("on_missing", on_missing, ON_MISSING)
        durability = one_of("durability", durability, DURABILITIES)
        view, indexed = with_key_index(view, key_index)
        check_keep_groups(view, keep_groups)
        options = {"engine": engine, "lookahead": lookahead, "on_missing": on_missing}
        owner = Owner(view, indexed, {**options, "keep_groups": keep_groups})
        kept_at = None if path is None else as_folder(path)
        limit = plain(memory_limit)
        self._live = LiveGraph(Keeping(kept_at, owner, None if readonly else durability, limit))
        self._durability = Durability(self._live)
        self._writes = Writes(self._live, self._durability)
        self._reads = Reads(self._live)

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: there is one graph in one place."""
        raise TypeError(
            "a graph is not copied, and not pickled: hand graph.partitions(n) to other processes,"
            " or open its folder there with joingraph.open(path, readonly=True)"
        )

    @property
    def view(self) -> View:
        """The view, with the keys of the indexed tables kept."""
        return self._live.view

    @property
    def seq(self) -> int:
        """The number of the last batch."""
        return self._live.seq

    @property
    def engine(self) -> Engine:
        """The engine as it is between two changes."""
        return self._live.settled()

    @property
    def maintain_only(self) -> bool:
        """True if batches change the graph and make no view diffs."""
        return self._writes.batches.maintain_only

    @maintain_only.setter
    def maintain_only(self, only: bool) -> None:
        self._writes.batches.maintain_only = only

    @property
    def max_view_diffs(self) -> int | None:
        """The rows of view diffs that one batch may make; None: any number."""
        return self._writes.batches.max_view_diffs

    @max_view_diffs.setter
    def max_view_diffs(self, most: int | None) -> None:
        self._writes.batches.max_view_diffs = most

    @property
    def prompt(self) -> Prompt | None:
        """The source and the subscribers for whom view diffs are not logged but remade."""
        return self._writes.prompt

    @prompt.setter
    def prompt(self, prompt: Prompt | None) -> None:
        self._writes.prompt = prompt

    @property
    def snapshot_after(self) -> int | None:
        """By how many bytes the log grows before a snapshot is taken; None: never by itself."""
        return self._durability.snapshot_after

    @snapshot_after.setter
    def snapshot_after(self, after: int | None) -> None:
        if after is not None and not is_whole(after):
            raise ValueError(
                f"snapshot_after is a number of bytes, or None; found {short_repr(after)}"
            )
        self._durability.snapshot_after = plain(after)

    def load(
        self, tables: Mapping[str, object], *, source: str | None = None, position: object = None
    ) -> None:
        """Insert rows of base tables in bulk, without making view diffs.

        A load whose position was applied already does nothing.
        """
        self._writes.load(tables, source, position)

    def insert(self, table: str, rows: object, *, form: str = "rows") -> ViewDiff:
        """Insert rows into a base table; give what that does to the view."""
        return self._writes.apply([("insert", table, rows)], None, None, form)

    def delete(self, table: str, rows: object, *, form: str = "rows") -> ViewDiff:
        """Delete rows from a base table; give what that does to the view."""
        return self._writes.apply([("delete", table, rows)], None, None, form)

    def update(
        self, table: str, pre_rows: object, post_rows: object, *, form: str = "rows"
    ) -> ViewDiff:
        """Update rows of a base table, paired by position; give what that does to the view."""
        return self._writes.apply([("update", table, pre_rows, post_rows)], None, None, form)

    def apply(
        self,
        batch: Diffs,
        *,
        source: str | None = None,
        position: object = None,
        form: str = "rows",
    ) -> ViewDiff:
        """Apply a batch over one or several base tables, in order: whole or not at all.

        `form` is how its view diffs are made: "rows", "net", "idiffs", "factorised"
        (docs/outputs.md), or of a view that groups "deltas" (docs/grouping.md).
        A batch whose position was applied already is answered as it was then.
        """
        return self._writes.apply(batch, source, position, form)

    def what_if(self, batch: Diffs, *, form: str = "rows") -> ViewDiff:
        """Return the view diffs that a batch would make; nothing is applied, nothing is logged.

        Readers that are open must be opened again.
        """
        return self._writes.what_if(batch, form)

    def fanout(self, batch: Diffs) -> tuple[int, bool]:
        """Count the rows of a batch's view diffs before making them: (rows, exact).

        Rows count as often as their `_count` says, both images of an update. If not exact, there
        are at most so many: residual predicates may drop some, and rows of one update may cancel.
        Of groups there are at most two for each that a base diff touches.
        """
        return self._writes.fanout(batch)

    def expire(self, table: str, where: str, *, diffs: bool = True) -> ViewDiff:
        """Delete all rows of a base table that meet a condition over its columns, as one batch.

        The columns must be kept by the graph; without `diffs` no view diffs are made.
        """
        return self._writes.expire(table, where, diffs=diffs)

    def quarantined(self) -> list[Quarantined]:
        """List the diffs set aside so far (`on_missing="quarantine"`)."""
        with self._live.lock:
            self._live.recover(beside_stream=True)
            return list(self._live.quarantined)

    def stream(self, batch: Diffs) -> Stream:
        """Apply a batch and give its view diffs in bounded blocks, made as they are taken.

        Until the last block, or close(), the graph answers nothing else.
        """
        return self._writes.stream(batch)

    def compile(self, progress: Progress | None = None) -> None:
        """Compile the view's own kernels now, not in the background; progress(done, in all)."""
        with self._live.lock:
            if progress is not None and not callable(progress):
                raise TypeError(f"progress is a function, found {type(progress).__name__}")
            self._live.settled().compile(progress or shown_progress("kernels compiled"))

    def scan(
        self, where: str | None = None, order_by: object = None, limit: int | None = None
    ) -> pa.RecordBatchReader:
        """Read the view as a stream of record batches, rows repeated by their multiplicity.

        `where` is SQL over the view's columns, `order_by` "c DESC NULLS LAST" or a list of such.
        A reader is good until the next change: reading on after it raises StoreError.
        """
        return self._reads.scan(where, order_by, limit)

    def to_arrow(self) -> pa.Table:
        """Read the whole view into memory."""
        with self._live.lock:
            return self.scan().read_all()

    def count(self, where: str | None = None) -> int:
        """Count the view's rows, or those that meet a condition, without making them."""
        return self._reads.count(where)

    def explain(
        self, where: str | None = None, order_by: object = None, limit: int | None = None
    ) -> Explanation:
        """Return which way a scan goes; print it, `read()` it, print it again for its counts."""
        return self._reads.explain(where, order_by, limit)

    def partitions(self, n: int, *, where: str | None = None) -> list[Partition]:
        """Split the view, or the rows that meet a condition, into `n` disjoint readers.

        Those of a graph with a folder can be pickled, and read in other processes.
        """
        return self._reads.partitions(n, where=where)

    def why(self, row: object, *, limit: int | None = None) -> Why:
        """Find the complete paths behind a view row, given as a tuple or a dict; print draws them.

        Each is {alias: {column: value}}, over the columns the graph keeps. With a limit, only so
        many are made; `times` tells how many joined rows there are in all.
        """
        return self._reads.why(row, limit)

    def why_not(self, row: object) -> WhyNot:
        """Tell where the paths of a row break that is not in the view: [(aliases, reason), ...]."""
        return self._reads.why_not(row)

    def stats(self) -> dict[str, Any]:
        """Return the graph's size: bytes, and nodes by kind, alias and vertex; and its log's."""
        with self._live.lock:
            found = {"view": self.view.name, "seq": self.seq, **self.engine.stats()}
            return found | self._durability.stats()

    def check(self) -> None:
        """Recompute every invariant of the graph; raise CorruptGraph if one does not hold."""
        with self._live.lock:
            self.engine.check()

    def index(self, column: str) -> None:
        """Keep an index on an output column, for conditions on it and for its order.

        It is kept up under all changes. A column computed of several aliases cannot have one.
        """
        self._writes.index(column)

    def positions(self) -> dict[str, Position]:
        """Return how far each source has been applied."""
        with self._live.lock:
            self._live.recover(beside_stream=True)
            return self._live.journal.state.positions.last()

    def subscribe(
        self, name: str, *, max_bytes: int = WAITING_BYTES, when_full: str = "block"
    ) -> Subscription:
        """Get the view diffs of the batches from now on, or from the last acknowledged one on.

        They are rows, or deltas if the graph keeps no groups.

        `when_full` says what happens when more than `max_bytes` of them wait: batches "block" until
        some are acknowledged (LimitError after 30 s), or the subscriber is dropped ("drop").
        """
        self._writes.batches.check_tellable()
        return subscribe(self._live.journal, name, max_bytes=max_bytes, when_full=when_full)

    def subscribers(self) -> list[str]:
        """Return the names of the subscribers, who get the view diffs of every batch."""
        with self._live.lock:
            return self._live.journal.subscribers()

    def unsubscribe(self, name: str) -> None:
        """Forget a subscriber, and the view diffs that only it waits for."""
        unsubscribe(self._live.journal, name)

    def snapshot(self) -> None:
        """Write the whole graph down, so that opening it again need not replay the log so far.

        One is taken in the background when the log has grown by `snapshot_after` bytes, and by a
        quarter of the last snapshot; None: never by itself.
        """
        self._durability.snapshots.take()

    def await_snapshot(self) -> None:
        """Wait for the snapshot that is being taken in the background, if one is.

        After a large load, as it would keep the processor from the first batches.
        """
        self._durability.snapshots.wait()

    def rebuild(self, view: View) -> None:
        """Go on with another view over the same rows, where the graph keeps all that it needs.

        What is not kept is refused by column. Positions, numbers and subscribers stay; batches wait
        meanwhile, and memory for both graphs is needed. Indexes on columns that are gone are gone.
        """
        self._durability.rebuild(view)

    def refresh(self) -> None:
        """Follow the process that writes, on a graph that was opened with `readonly`.

        Where it raises, the graph stays as it was after the last batch that was carried out; if
        that is unknown, as after KeyboardInterrupt, it answers nothing until the next refresh.
        """
        with self._live.lock:
            self._live.follow()

    def close(self) -> None:
        """Give the graph's memory and folder back; only its ViewDiffs stay valid."""
        self._durability.close()


def check_keep_groups(view: View, keep_groups: object) -> None:
    """Refuse a choice that is none, or that a view does not have."""
    if not isinstance(keep_groups, bool):
        raise TypeError(f"keep_groups is True or False, found {short_repr(keep_groups)}")
    if not keep_groups and view.definition.grouping is None:
        raise ViewError(f"keep_groups=False: {view.name} does not group its rows; leave it out")


def open(path: object, readonly: bool = False) -> JoinGraph:
    """Open the graph that a folder holds; `readonly` beside the process that writes it."""
    return look_again(Folder(as_folder(path)), lambda: open_once(path, readonly=readonly))


def open_once(path: object, *, readonly: bool) -> JoinGraph:
    """Open the graph that a folder holds; Stale if the folder changes meanwhile."""
    stored = read_stored(as_folder(path))
    key_index = stored.key_index
    return JoinGraph(stored.view, path, **stored.options, key_index=key_index, readonly=readonly)
