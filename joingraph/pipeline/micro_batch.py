"""Takes a pipeline's micro-batches one by one: rows of sources -> graphs -> sinks.

    {"tweet": rows with their places, ...}
      -> images of base rows, in the order of the source    (read_rows, debezium)
      -> those the graph has already go                     (offsets)
      -> entries                                            (changes)
      -> every graph applies them, position and all         (open_graph)
      -> every sink gets what it has not acknowledged

The engine that brings micro-batches may repeat them, and may die between any two steps.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from joingraph.common.errors import StoreError
from joingraph.pipeline.changes import Diff, entries
from joingraph.pipeline.dead_letters import put_away
from joingraph.pipeline.model import Progress, Source, SourceLag
from joingraph.pipeline.offsets import (
    Position,
    Reached,
    check_turn,
    fresh,
    is_done,
    is_replaced,
    reached,
)
from joingraph.pipeline.open_graph import Outbox
from joingraph.pipeline.read_rows import SourceRows, own_columns, read_source
from joingraph.pipeline.report.source_lag import source_lag
from joingraph.pipeline.sinks.contract import Sink
from joingraph.tables.table import Table


class Turn(NamedTuple):
    """A micro-batch's place: of which query, the how-manieth."""

    query: str
    batch: int


@dataclass(frozen=True, slots=True)
class Line:
    """One view of a pipeline: its graph, and the sinks that follow it, by name."""

    outbox: Outbox
    sinks: Mapping[str, Sink]


@dataclass(frozen=True, slots=True)
class Driver:
    """Runs the micro-batches of one pipeline through its graphs and sinks."""

    sources: Mapping[str, Source]
    tables: Mapping[str, Table]
    lines: Sequence[Line]
    dead_letters: Path | None

    def open(self) -> None:
        """Open every sink, and deliver what an earlier run did not."""
        for line in self.lines:
            for name, sink in line.sinks.items():
                sink.open(line.outbox.graph.view)
                check_sink(name, sink, line.outbox.graph.seq)
            deliver(line)

    def close(self) -> None:
        """Close every sink."""
        for line in self.lines:
            for sink in line.sinks.values():
                sink.close()

    def load(self, table: Table, rows: pa.Table) -> None:
        """Load rows of a base table into every graph that reads it and has not loaded it."""
        fitting = own_columns(rows, table)
        for graph in (line.outbox.graph for line in self.lines):
            if any(alias.table == table.name for alias in graph.view.definition.aliases):
                graph.load({table.name: fitting}, source=f"load {table.name}", position=1)

    def take(self, turn: Turn, arrived: Mapping[str, pa.Table]) -> Progress:
        """Take one micro-batch, the rows of sources that have any: apply what is new, deliver."""
        start = time.perf_counter()
        rows_in = {
            name: read_source(rows, self.sources[name], self.tables[name])
            for name, rows in arrived.items()
        }
        dead = [each for rows in rows_in.values() for each in rows.dead]
        put_away(self.dead_letters, f"{turn.query}-{turn.batch}", dead)
        view_diffs = sum(self._advance(line, turn, rows_in) for line in self.lines)
        applied = time.perf_counter()
        for line in self.lines:
            deliver(line)
        end = time.perf_counter()
        by_table = dict.fromkeys(self.sources, 0)
        by_table |= {name: len(rows.images.codes) for name, rows in rows_in.items()}
        return Progress(
            batch=turn.batch,
            diffs=sum(by_table.values()),
            view_diffs=view_diffs,
            dead=len(dead),
            own_s=end - start,
            sinks_s=end - applied,
            by_table=by_table,
            places=self._lags(by_table),
        )

    def _lags(self, by_table: Mapping[str, int]) -> dict[str, SourceLag]:
        """Return where the sources stand that have brought rows; all graphs stand alike."""
        now_s, tables = time.time(), self.lines[0].outbox.position.tables
        return {
            name: source_lag(self.sources[name], tables.get(name, Reached()), now_s)
            for name, rows in by_table.items()
            if rows
        }

    def _advance(self, line: Line, turn: Turn, rows_in: Mapping[str, SourceRows]) -> int:
        """Apply a micro-batch to one graph, unless it has it; count the view diffs."""
        kept = line.outbox.position
        check_turn(kept, turn.query, turn.batch)
        if is_done(kept, turn.query, turn.batch):
            return 0
        replaced = is_replaced(kept, turn.query)
        reach = dict(kept.tables)
        batch: list[Diff] = []
        for name, rows in rows_in.items():
            known = kept.tables.get(name, Reached())
            rows = rows.only(fresh(known, rows.places, name, replaced=replaced))
            reach[name] = reached(known, rows.places)
            by_key = self.sources[name].by_key
            batch += entries(self.tables[name], rows.images, by_key=by_key)
        position = Position(turn.query, turn.batch, reach, replaced)
        return len(line.outbox.apply(batch, position))


def check_sink(name: str, sink: Sink, seq: int) -> None:
    """Refuse a sink that is ahead of its graph: it would take new batches for ones it has."""
    last = sink.last()
    if last > seq:
        raise StoreError(
            f"the sink {name} holds batch {last} already, and its graph has come to {seq} only: it "
            "was filled by another graph; empty it, choose another place, or give the graph back"
        )


def deliver(line: Line) -> None:
    """Hand every sink what it has not acknowledged, in order."""
    for name, sink in line.sinks.items():
        for diff in line.outbox.waiting(name):
            sink.write(diff)
            line.outbox.acknowledge(name, diff.seq)
