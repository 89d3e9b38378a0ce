"""One case against every form of the graph and every look-ahead mode.

After every batch, for each graph: its rows pair up and fold to its net; applied to the view before
they give what the judges compute from scratch; scan and count give that too; check passes.
A batch that cannot be applied (a row that is not there, an overflow) leaves everything as it was.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

import duckdb

import joingraph as jg
from tests import ENGINES, LOOKAHEADS
from tests.bags import Change, bag, difference, fold, pairs, shift
from tests.oracle.ask import asked, declared, loaded
from tests.oracle.case import Batch, Case, Entry
from tests.oracle.judges import Model
from tests.oracle.together import TogetherEngine

TOGETHER = "reference, all modes together"


class Disagreement(Exception):
    """A graph did not do what the judges say, at a step of a case."""


class Runner:
    """All graphs of a case, and the view as the judges see it.

    One graph of a case with a missing row may skip it; some cases feed one more graph diff by diff.
    """

    def __init__(self, case: Case, *, together: bool = False) -> None:
        self.case = case
        self.model = Model(case)
        self.random = Random(case.seed)
        self.view = jg.View(case.view.sql, tables=declared(case), dialect=case.dialect)
        missing = any(batch.missing for batch in case.batches)
        self.skips = self.random.choice(LOOKAHEADS) if missing and self.chance(0.5) else ""
        self.graphs = {
            (engine, mode): self.make(engine, mode, "skip" if mode == self.skips else "error")
            for engine in ENGINES
            for mode in LOOKAHEADS
        }
        if together:
            mode = self.skips or self.random.choice(LOOKAHEADS)
            self.graphs = {
                (TOGETHER, self.skips or "all"): self.make_together(),
                ("compiled", mode): self.make("compiled", mode, "skip" if self.skips else "error"),
            }
        one, another = self.random.choice(ENGINES), self.random.choice(LOOKAHEADS)
        self.single = self.make(one, another, "error") if self.chance(0.25) else None
        self.expected: Counter[str] = Counter()

    def make(self, engine: str, lookahead: str, on_missing: str) -> jg.JoinGraph:
        """Make an empty graph; with the view's own kernels where these are plain Python."""
        made = jg.JoinGraph(self.view, engine=engine, lookahead=lookahead, on_missing=on_missing)
        if os.environ.get("NUMBA_DISABLE_JIT"):
            made.compile()
        return made

    def make_together(self) -> jg.JoinGraph:
        """Make one graph that walks in every look-ahead mode (together.py)."""
        graph = self.make("reference", "none", "skip" if self.skips else "error")
        graph._live.engine = TogetherEngine(self.view.plan)
        return graph

    def chance(self, share: float) -> bool:
        """Decide by the case's seed."""
        return self.random.random() < share

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
        if self.case.last is not None:
            self.step_that_may_fail(self.case.last)

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
        outcomes: list[Counter[str]] = []
        for (engine, mode), graph in self.graphs.items():
            where = f"{engine}, look-ahead {mode}, batch {number}"
            if batch.missing is not None and mode != self.skips:
                self.refuse(graph, batch, before, where)
            entries = batch.bad_entries if batch.missing and mode == self.skips else batch.entries
            changes = self.apply(graph, entries, where)
            check_changes(changes, before, self.expected, where)
            compare(graph, self.expected, where)
            outcomes.append(changes_bag(changes))
            agree(outcomes[-1], outcomes[0], f"{where}: other rows than the first graph's")
        if self.single is not None:
            self.step_diff_by_diff(self.single, batch, outcomes[0])

    def step_diff_by_diff(self, graph: jg.JoinGraph, batch: Batch, outcome: Counter[str]) -> None:
        """Apply the diffs of a batch one by one: the rows must be the same."""
        parts = [part for entry in batch.entries for part in entry.diffs()]
        changes = [row for part in parts for row in self.apply(graph, [part], "diff by diff")]
        agree(changes_bag(changes), outcome, f"{batch}: other rows diff by diff than at once")
        compare(graph, self.expected, "diff by diff")

    def step_that_may_fail(self, batch: Batch) -> None:
        """Apply a batch with huge numbers: where the judge overflows, so must every graph.

        A graph may be stricter (it computes an expression for rows that then meet nobody), but the
        view it keeps is then the one before.
        """
        before = self.expected
        self.model.apply(batch.entries)
        try:
            after = self.model.view()
        except duckdb.Error:
            after = None
        for name, graph in self.named():
            where = f"{name}, the last batch"
            try:
                changes = self.apply(graph, batch.entries, where)
            except jg.DiffError:
                compare(graph, before, f"{where}, refused")
                continue
            if after is None:
                raise Disagreement(f"{where}: the judge fails, and the graph does not")
            check_changes(changes, before, after, where)

    def apply(self, graph: jg.JoinGraph, entries: Iterable[Entry], where: str) -> list[Change]:
        """Apply a batch; give its view diffs, which must fold to its net."""
        diff = graph.apply(asked(self.random, self.model.tables, entries))
        rows, net = diff.rows(), diff.net()
        folded = fold(rows)
        agree(fold(net), folded, f"{where}: net is not rows folded")
        if len(net) != len(folded) or any(kind.startswith("update") for kind, _, _ in net):
            raise Disagreement(f"{where}: net is not folded: {net}")
        return rows

    def refuse(self, graph: jg.JoinGraph, batch: Batch, before: Counter[str], where: str) -> None:
        """Apply a batch with a row that is not there: refused, and nothing changed."""
        try:
            self.apply(graph, batch.bad_entries, where)
        except jg.DiffError:
            compare(graph, before, f"{where}, after a refused batch")
        else:
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
