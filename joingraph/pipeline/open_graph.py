"""The graph of one view with what must be committed beside it: position, and diffs not delivered.

A graph in memory keeps both in this process. A durable graph commits them with the batch, so the
one thing a crash can do is to make a sink see a batch again, under the number it had.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import xxhash

from joingraph.api.join_graph import JoinGraph
from joingraph.common import atomic_file
from joingraph.common.errors import LimitError, StoreError
from joingraph.pipeline.acks import Acks
from joingraph.pipeline.changes import Diff
from joingraph.pipeline.offsets import Position, read_position
from joingraph.plan.view import View
from joingraph.storage.journal import Prompt
from joingraph.view_diffs.view_diff import ViewDiff

WAITING_MAX: Final = 10_000  # batches kept for a sink that does not take them
SOURCE: Final = "pipeline"  # what the graph calls our positions


class MemoryOutbox:
    """A graph with its position and outbox, as long as the process lives."""

    def __init__(self, graph: JoinGraph, sinks: Sequence[str]) -> None:
        self.graph = graph
        self.position = Position()
        self._outbox: dict[str, deque[ViewDiff]] = {name: deque() for name in sinks}

    def apply(self, batch: Sequence[Diff], position: Position) -> ViewDiff:
        """Apply a batch, and keep its view diffs until every sink has acknowledged them."""
        for name, waiting in self._outbox.items():
            if len(waiting) >= WAITING_MAX:
                raise LimitError(
                    f"the sink {name} has not taken the last {WAITING_MAX:,} batches; nothing was "
                    "applied: mend the sink or take it out of the pipeline"
                )
        diff = self.graph.apply(batch)
        self.position = position
        for waiting in self._outbox.values():
            waiting.append(diff)
        return diff

    def waiting(self, sink: str) -> Iterator[ViewDiff]:
        """Yield what a sink has not acknowledged, in order."""
        yield from list(self._outbox[sink])

    def acknowledge(self, sink: str, seq: int) -> None:
        """Note that a sink has everything up to a sequence number."""
        waiting = self._outbox[sink]
        while waiting and waiting[0].seq <= seq:
            waiting.popleft()


class DurableOutbox:
    """A graph that commits its position and outbox, in its folder.

    The graph remembers short positions only, so it commits a number and a checksum, and what they
    stand for is in a file that is safe before the graph commits:

        position-7.json    written and synced | batch applied as (7, "91c0…") | position-6.json goes

    Every sink takes a batch before the next one is applied. So view diffs are not written down:
    those of the one batch that a crash may leave undelivered are remade from the log, row for row,
    though perhaps in another order. Where a sink goes on within a batch (`by_row`) they are logged.
    """

    def __init__(
        self, graph: JoinGraph, folder: Path, sinks: Sequence[str], *, by_row: bool
    ) -> None:
        self.graph, self.folder = graph, folder
        self._number, self.position = self._read()
        self._subscribed = {name: graph.subscribe(name) for name in sinks}
        self._latest: ViewDiff | None = None
        graph.prompt = None if by_row else Prompt(SOURCE, frozenset(sinks))
        self._acks = Acks(graph, folder / "graph")

    def _read(self) -> tuple[int, Position]:
        """Return the position that the graph has committed last."""
        committed = self.graph.positions().get(SOURCE)
        if committed is None:
            return 0, Position()
        assert isinstance(committed, tuple), "a pipeline commits a number and a checksum"
        number, checksum = committed
        path = self._path(int(number))
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise StoreError(
                f"{path}: {error.strerror}; it says how far the sources are applied, without it "
                "the pipeline cannot go on: restore it, or begin with a new folder"
            ) from error
        if checksum_of(text) != checksum:
            raise StoreError(f"{path} is damaged: its checksum is not the graph's; restore it")
        return int(number), read_position(text)

    def _path(self, number: int) -> Path:
        return self.folder / f"position-{number}.json"

    def apply(self, batch: Sequence[Diff], position: Position) -> ViewDiff:
        """Apply a batch, and keep its view diffs until every sink has acknowledged them."""
        self._acks.take()
        text, number = position.write(), self._number + 1
        atomic_file.write(self._path(number), text.encode())
        diff = self.graph.apply(batch, source=SOURCE, position=(number, checksum_of(text)))
        self._path(number - 1).unlink(missing_ok=True)
        self._number, self.position, self._latest = number, position, diff
        return diff

    def waiting(self, sink: str) -> Iterator[ViewDiff]:
        """Yield what a sink has not acknowledged, in order."""
        subscribed, latest = self._subscribed[sink], self._latest
        # The batch that was just applied is at hand; it need not be read back.
        if latest is not None and subscribed.told(latest):
            yield latest
        yield from subscribed

    def acknowledge(self, sink: str, seq: int) -> None:
        """Note that a sink has everything up to a sequence number."""
        self._subscribed[sink].ack(seq)


def checksum_of(text: str) -> str:
    """Return a text's checksum."""
    return xxhash.xxh3_128_hexdigest(text.encode())


Outbox = MemoryOutbox | DurableOutbox


class Options(NamedTuple):
    """How a pipeline's graphs are made."""

    home: Path | None  # the folder that holds them; None: they are in memory
    engine: str = "auto"
    durability: str = "fsync"
    on_missing: str = "error"
    key_index: Sequence[str] = ()
    by_row: bool = False  # a sink of the view goes on within a batch where it was cut off


def open_outbox(view: View, options: Options, sinks: Sequence[str]) -> Outbox:
    """Make a view's graph, or open it again: durable where there is a folder, else in memory."""
    make = partial(
        JoinGraph,
        view,
        engine=options.engine,
        on_missing=options.on_missing,
        durability=options.durability,
        key_index=options.key_index,
    )
    if options.home is None:
        return MemoryOutbox(make(), sinks)
    folder = options.home / "graphs" / quote(view.name, safe="").replace(".", "%2E")
    folder.mkdir(parents=True, exist_ok=True)
    return DurableOutbox(make(folder / "graph"), folder, sinks, by_row=options.by_row)
