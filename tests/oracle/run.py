"""One case against every form of the graph and every look-ahead mode.

After every batch, for each graph: its rows pair up and fold to its net; applied to the view before
they give what the judges compute from scratch; scan and count give that too; check passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

import pyarrow as pa

import joingraph as jg
from tests import ENGINES, LOOKAHEADS
from tests.bags import Change, bag, difference, fold, pairs, shift
from tests.oracle.case import Batch, Case, Entry
from tests.oracle.judges import Model


class Disagreement(Exception):
    """A graph did not do what the judges say, at a step of a case."""


class Runner:
    """All graphs of a case, and the view as the judges see it."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.model = Model(case)
        self.random = Random(case.seed)
        view = jg.View(case.view.sql, tables=declared(case), dialect=case.dialect)
        skipping = any(batch.missing for batch in case.batches) and self.random.random() < 0.5
        self.skips = self.random.choice(LOOKAHEADS) if skipping else ""
        self.graphs = {
            (engine, mode): jg.JoinGraph(
                view,
                engine=engine,
                lookahead=mode,
                on_missing="skip" if mode == self.skips else "error",
            )
            for engine in ENGINES
            for mode in LOOKAHEADS
        }
        single = self.random.choice(LOOKAHEADS)
        self.single = None
        if self.random.random() < 0.25:
            self.single = jg.JoinGraph(view, engine=ENGINES[0], lookahead=single)
        self.expected: Counter[str] = Counter()

    def run(self) -> None:
        """Load, then apply every batch, comparing after each."""
        self.model.apply(self.case.load)
        self.expected = self.model.view()
        if self.case.load:
            for name, graph in self.named():
                graph.load(loaded(self.case))
                compare(graph, self.expected, f"{name}, after the load")
        for number, batch in enumerate(self.case.batches):
            self.step(number, batch)

    def named(self) -> Iterable[tuple[str, jg.JoinGraph]]:
        """Name every graph for a message."""
        for (engine, mode), graph in self.graphs.items():
            yield f"{engine}, look-ahead {mode}", graph
        if self.single is not None:
            yield "diff by diff", self.single

    def step(self, number: int, batch: Batch) -> None:
        """Apply one batch to everything and compare."""
        self.model.apply(batch.entries)
        before, self.expected = self.expected, self.model.view()
        outcome: Counter[str] | None = None
        for (engine, mode), graph in self.graphs.items():
            where = f"{engine}, look-ahead {mode}, batch {number}"
            changes = apply(graph, batch, before, where, skips=mode == self.skips)
            check_changes(changes, before, self.expected, where)
            compare(graph, self.expected, where)
            outcome = outcome or changes_bag(changes)
            agree(changes_bag(changes), outcome, f"{where}: other rows than the first graph")
        if self.single is not None and outcome is not None:
            where = f"diff by diff, batch {number}"
            parts = [d for entry in batch.entries for d in entry.diffs()]
            changes = [row for part in parts for row in self.single.apply([part.asked]).rows()]
            agree(changes_bag(changes), outcome, f"{where}: other rows than as one batch")
            compare(self.single, self.expected, where)


def declared(case: Case) -> dict[str, object]:
    """Declare the tables: as text where the view's dialect is DuckDB's, else by Arrow types."""
    if case.dialect == "duckdb":
        return {table.name: table.create for table in case.tables}
    return {table.name: table.schema for table in case.tables}


def loaded(case: Case) -> dict[str, pa.Table]:
    """Put what is loaded in Arrow tables."""
    schemas = {table.name: table.schema for table in case.tables}
    return {
        entry.table: pa.Table.from_pylist(
            [dict(zip(schemas[entry.table].names, row, strict=True)) for row in entry.rows],
            schema=schemas[entry.table],
        )
        for entry in case.load
    }


def asked(entries: Iterable[Entry]) -> list[tuple[object, ...]]:
    """Write entries as `JoinGraph.apply` takes them."""
    return [entry.asked for entry in entries]


def apply(
    graph: jg.JoinGraph, batch: Batch, before: Counter[str], where: str, *, skips: bool
) -> list[Change]:
    """Apply a batch, with its missing row first where there is one; give the view diffs."""
    if batch.missing is None:
        diff = graph.apply(asked(batch.entries))
    elif skips:
        diff = graph.apply(asked(batch.bad_entries))
    else:
        refused(graph, batch, where)
        compare(graph, before, f"{where}, after a refused batch")
        diff = graph.apply(asked(batch.entries))
    rows = diff.rows()
    net = diff.net()
    agree(fold(net), fold(rows), f"{where}: net is not rows folded")
    if len(net) != len(fold(rows)) or any(kind.startswith("update") for kind, _, _ in net):
        raise Disagreement(f"{where}: net is not folded: {net}")
    return rows


def refused(graph: jg.JoinGraph, batch: Batch, where: str) -> None:
    """Apply a batch with a row that is not there: it must be refused."""
    try:
        graph.apply(asked(batch.bad_entries))
    except jg.DiffError:
        return
    raise Disagreement(f"{where}: {batch.missing} is not there and was not refused")


def check_changes(
    changes: Sequence[Change], before: Counter[str], expected: Counter[str], where: str
) -> None:
    """Updates come in pairs; applied to the view before, the rows give the view after."""
    try:
        pairs(changes)
        after = shift(before, fold(changes))
    except AssertionError as error:
        raise Disagreement(f"{where}: {error}") from error
    agree(after, expected, f"{where}: the view diffs do not lead to the view")


def compare(graph: jg.JoinGraph, expected: Counter[str], where: str) -> None:
    """Read the view in full and count it; check the graph's own invariants."""
    table = graph.to_arrow()
    columns = [column.to_pylist() for column in table.columns]
    agree(bag(zip(*columns, strict=True)), expected, f"{where}: scan")
    if graph.count() != expected.total():
        raise Disagreement(f"{where}: count is {graph.count()}, should be {expected.total()}")
    try:
        graph.check()
    except jg.CorruptGraph as error:
        raise Disagreement(f"{where}: check: {error}") from error


def changes_bag(changes: Iterable[Change]) -> Counter[str]:
    """Count view diffs as they are, updates by both images."""
    found: Counter[str] = Counter()
    for pre, post, count in pairs(list(changes)):
        found[f"{pre} -> {post}"] += count
    return found


def agree(found: Counter[str], expected: Counter[str], where: str) -> None:
    """Raise Disagreement unless two bags are equal."""
    if wrong := difference(found, expected):
        raise Disagreement(f"{where}\n{wrong}")
