"""One run of joingraph, in a process of its own: `python -m benchmarks.harness.one_run SPEC`.

    read inputs -> warm up on another graph -> load (timed alone) -> diffs (timed) -> one JSON line
                                               ^---- again, if that was short ----'

A process of its own makes its peak memory its own, and lets runs of several systems take turns.
The warm-up loads a few rows and applies diffs of each kind that will come, a small batch of mixed
tables and some batches of the real size, so that imports and compiled code are there; the graph
that is measured starts empty, and it grows inside the timing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from benchmarks.harness.checksum import Tally, tally, tally_folded_groups, tally_groups
from benchmarks.harness.compiled_consumer import Draining, consume_each
from benchmarks.harness.record import Run, Spec, peak_rss_mib, rate
from benchmarks.harness.scanning import COMPARED, consume, measure
from benchmarks.harness.timing import Timed, apply_all, repeated, seconds, with_figures
from benchmarks.workloads.catalogue import ANSWERED, Entry, Inputs, batches, find, read
from joingraph import JoinGraph, View
from joingraph.graph.compiled import fields

UNPREFETCHED = "unprefetched"  # the compiled form without a look at the next diffs
WARM_UP_DIFFS = 1_000
WARM_UP_BATCHES = 4
SCAN_LIMIT_ROWS = 200_000_000


Batch = list[tuple[Any, ...]]
Read = Callable[[Any], Tally]  # of Arrow rows
Consume = Callable[[JoinGraph, Batch, Read], Tally]


def run(spec: Spec) -> Run:
    """Load, apply and measure one workload."""
    inputs = read(spec.workload, Path(spec.folder), max_diffs=spec.max_diffs)
    view = find(spec.workload).view.declared()
    _warm_up(view, spec, inputs)
    result = repeated(lambda: _once(view, spec, inputs)[1], spec.least_s)
    if spec.mode in ("warehouse", "scan"):
        result = _with_scan(_once(view, spec, inputs)[0], result)
    if spec.workload in ANSWERED and spec.max_diffs is None:
        total = consume(_once(view, spec, inputs)[0])
        result = replace(result, view_checksum=str(total.checksum))
    return replace(result, peak_rss_mib=peak_rss_mib())


def _once(view: View, spec: Spec, inputs: Inputs) -> tuple[JoinGraph, Run]:
    """Load a new graph and apply the diffs."""
    graph = _open(view, spec)
    load_s = seconds(lambda: graph.load(dict(inputs.tables)))
    loaded = _bytes(graph)
    timed = _apply(graph, spec, inputs.diffs)
    result = replace(spec.run(), bytes_loaded=loaded, bytes=_bytes(graph))
    return graph, with_figures(result, timed, base_rows=inputs.base_rows, load_s=load_s)


def operations(batch: list[Entry]) -> list[tuple[Any, ...]]:
    """Turn diffs into what `JoinGraph.apply` takes."""
    return [
        (entry.operation, entry.table, entry.rows)
        if entry.post is None
        else (entry.operation, entry.table, entry.rows, entry.post)
        for entry in batch
    ]


def _open(view: View, spec: Spec) -> JoinGraph:
    engine = "compiled" if spec.engine == UNPREFETCHED else spec.engine
    graph = JoinGraph(view, engine=engine, lookahead=spec.lookahead)
    graph.maintain_only = spec.mode in ("warehouse", "scan")
    graph.compile()
    if isinstance(graph.engine, Draining):
        graph.engine.memory.words[fields.AHEAD] = spec.engine != UNPREFETCHED
    return graph


def _warm_up(view: View, spec: Spec, inputs: Inputs) -> None:
    """Bring in all code that the diffs need; rows already there are not needed for that."""
    graph = _open(view, spec)
    graph.load({name: table.slice(0, WARM_UP_DIFFS) for name, table in inputs.tables.items()})
    for batch in warm_up_batches(inputs, spec.batch):
        _apply(graph, spec, batch)


def warm_up_batches(inputs: Inputs, size: int) -> Iterator[list[Entry]]:
    """Yield diffs of each kind that will come: a small batch of mixed tables, then whole batches.

    What is deleted was inserted before: the graph of the warm-up lacks most rows.
    """
    kinds = {entry.operation for entry in inputs.diffs}
    rows = [Entry("insert", *each[1:3]) for each in inputs.diffs if each.operation != "update"]
    small: dict[str, Entry] = {}
    for entry in rows:
        small.setdefault(entry.table, entry._replace(rows=entry.rows.slice(0, WARM_UP_DIFFS)))
    for batch in ([*small.values()], *islice(batches(rows, size), WARM_UP_BATCHES)):
        yield batch
        if "update" in kinds:
            yield [each._replace(operation="update", post=backwards(each.rows)) for each in batch]
        if "delete" in kinds:
            yield [each._replace(operation="delete") for each in batch]


def backwards(rows: pa.Table) -> pa.Table:
    """Return rows in the opposite order."""
    return rows.take(pa.array(range(len(rows) - 1, -1, -1)))


def _apply(graph: JoinGraph, spec: Spec, diffs: list[Entry]) -> Timed:
    """Apply all diffs, consuming what comes out as the mode says."""
    parts = list(batches(diffs, spec.batch))
    if spec.mode in DRAINED and isinstance(graph.engine, Draining):
        return apply_all(parts, operations, lambda batch: consume_each(graph, batch))
    consume, read_rows = CONSUME[spec.mode], _reader(spec)
    return apply_all(parts, operations, lambda batch: consume(graph, batch, read_rows))


def _reader(spec: Spec) -> Read:
    """Choose what reads view diffs: rows, groups after each diff, or groups of folded batches."""
    keys = find(spec.workload).view.keys
    if keys is None:
        return tally
    return partial(tally_folded_groups if spec.mode == "batch" else tally_groups, keys=keys)


def _consume_stream(graph: JoinGraph, batch: Batch, read_rows: Read) -> Tally:
    return sum(map(read_rows, graph.stream(batch)), Tally())


def _consume_net(graph: JoinGraph, batch: Batch, read_rows: Read) -> Tally:
    return read_rows(graph.apply(batch, form="net").to_arrow(net=True))


def _consume_call(graph: JoinGraph, batch: Batch, read_rows: Read) -> Tally:
    return read_rows(graph.apply(batch).to_arrow())


def _maintain(graph: JoinGraph, batch: Batch, _: Read) -> Tally:
    graph.apply(batch)
    return Tally()


CONSUME: dict[str, Consume] = {
    "each": _consume_stream,
    "kinds": _consume_stream,
    "stream": _consume_stream,
    "batch": _consume_net,
    "call": _consume_call,
    "warehouse": _maintain,
    "scan": _maintain,
}
DRAINED = ("each", "kinds")  # by compiled code, where the engine calls it


def _with_scan(graph: JoinGraph, result: Run) -> Run:
    """Read the whole view, unless it is too large; mode `scan` reports only that."""
    result = replace(result, view_tuples=graph.count(), tuples=None, tuples_per_s=None)
    if result.view_tuples is None or result.view_tuples > SCAN_LIMIT_ROWS:
        return replace(result, checksum=None)
    if result.mode == "warehouse":
        start = perf_counter()
        total = consume(graph)
        scan_s = round(perf_counter() - start, 6)
        return replace(result, scan_s=scan_s, checksum=str(total.checksum))
    total, (scan_s, read_s, copy_s, copy_fresh_s) = measure(graph)
    return replace(
        result,
        diffs=0,
        diffs_per_s=None,
        speeds=(),
        seconds=scan_s,
        checksum=str(total.checksum),
        tuples=total.tuples,
        tuples_per_s=rate(total.tuples, scan_s),
        scan_s=scan_s,
        read_s=read_s,
        copy_s=copy_s,
        copy_fresh_s=copy_fresh_s,
        compared=COMPARED,
    )


def _bytes(graph: JoinGraph) -> int | None:
    size = graph.stats().get("bytes")
    return size if isinstance(size, int) else None


def main() -> None:
    """Run the spec given as JSON and print its line."""
    spec = Spec(**json.loads(sys.argv[1]))
    print(run(spec).line())


if __name__ == "__main__":
    main()
