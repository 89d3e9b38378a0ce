"""One case against every form of the graph and every look-ahead mode.

Each batch is given to one look-ahead mode of an engine singly, to one as tuples, to one as Arrow
tables and to one as a mixture (ask.py), dealt anew by the case's seed: all must make the same rows.
After every batch, for each graph: its rows pair up and fold to its net; applied to the view before
they give what the judges compute from scratch; scan and count give that too; check passes.
A batch that cannot be applied (a row that is not there, an overflow) leaves everything as it was.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import cycle
from pathlib import Path
from random import Random

import duckdb

import joingraph as jg
from joingraph.engines.calls.view_rows import WordsDiff
from joingraph.engines.grouping import GroupingEngine
from tests import ENGINES, LOOKAHEADS
from tests.bags import Change, bag, difference, fold, pairs, shift
from tests.oracle.ask import INPUTS, declared, given, loaded
from tests.oracle.case import Batch, Case, Entry
from tests.oracle.judges import Model
from tests.oracle.together import TogetherEngine

GRAPHS = ("all", "together", "two")
TOGETHER = "reference, all modes together"
BY_CALL = ", by one compiled call"


class Disagreement(Exception):
    """A graph did not do what the judges say, at a step of a case."""


class Runner:
    """All graphs of a case, and the view as the judges see it.

    `graphs`: in every mode; all modes of the reference form on one; or one graph of each form, in a
    mode that the seed deals. One graph of a case with a missing row may skip it. `inputs` counts,
    by form of input, batches given, and those of them that one compiled call carried out.
    """

    def __init__(
        self, case: Case, *, graphs: str = "all", inputs: Counter[str] | None = None
    ) -> None:
        self.case, self.inputs = case, Counter[str]() if inputs is None else inputs
        self.model = self.judged_by(case)
        self.random = Random(case.seed)
        self.view = jg.View(case.view.sql, tables=declared(case), dialect=case.dialect)
        missing = any(batch.missing for batch in case.batches)
        self.skips = self.random.choice(LOOKAHEADS) if missing and self.chance(0.5) else ""
        self.graphs = {
            (engine, mode): self.make(engine, mode, "skip" if mode == self.skips else "error")
            for engine, mode in self.asked(graphs)
        }
        if graphs == "together":
            self.graphs[TOGETHER, self.skips or "all"] = self.make_together()
        self.expected: Counter[str] = Counter()

    def judged_by(self, case: Case) -> Model:
        """Make the base tables as judges see them."""
        return Model(case)

    def asked(self, graphs: str) -> list[tuple[str, str]]:
        """List forms and modes: all; one mode of each form; or those beside one that has all."""
        if graphs != "two":
            return self.keys(ENGINES[1:] if graphs == "together" else ENGINES)
        return [self.random.choice(self.keys([engine])) for engine in ENGINES]

    def keys(self, engines: Sequence[str]) -> list[tuple[str, str]]:
        """List the forms of the graph and the look-ahead modes."""
        return [(engine, mode) for engine in engines for mode in LOOKAHEADS]

    def make(
        self, engine: str, lookahead: str, on_missing: str, path: Path | None = None
    ) -> jg.JoinGraph:
        """Make an empty graph; with the view's own kernels where these are plain Python."""
        made = jg.JoinGraph(
            self.view, path, engine=engine, lookahead=lookahead, on_missing=on_missing
        )
        if os.environ.get("NUMBA_DISABLE_JIT"):
            made.compile()
        return made

    def make_together(self) -> jg.JoinGraph:
        """Make one graph that walks in every look-ahead mode (together.py)."""
        graph = self.make("reference", "none", "skip" if self.skips else "error")
        engine, together = graph._live.engine, TogetherEngine(self.view.plan)
        if isinstance(engine, GroupingEngine):
            engine.rows = together
        else:
            graph._live.engine = together
        return graph

    def chance(self, share: float) -> bool:
        """Decide by the case's seed."""
        return self.random.random() < share

    def run(self) -> None:
        """Load, then apply every batch, comparing after each."""
        self.model.apply(self.case.load)
        self.expected = self.model.view()
        if self.case.load:
            for (engine, mode), graph in self.graphs.items():
                graph.load(loaded(self.case))
                compare(graph, self.expected, f"{engine}, look-ahead {mode}, after the load")
        for number, batch in enumerate(self.case.batches):
            self.step(number, batch)
        if self.case.last is not None:
            self.step_that_may_fail(self.case.last)

    def dealt(self) -> Iterable[tuple[str, str, str, jg.JoinGraph]]:
        """Deal forms of input to the graphs; any four in a row get all four forms."""
        forms = cycle(self.random.sample(INPUTS, len(INPUTS)))
        for form, ((engine, mode), graph) in zip(forms, self.graphs.items(), strict=False):
            yield form, mode, f"{engine}, look-ahead {mode}, given {form}", graph

    def step(self, number: int, batch: Batch) -> None:
        """Apply one batch to everything and compare."""
        self.model.apply(batch.entries)
        before, self.expected = self.expected, self.model.view()
        outcomes: list[Counter[str]] = []
        for form, mode, name, graph in self.dealt():
            where = f"{name}, batch {number}"
            entries = batch.entries
            if batch.missing is not None and mode == self.skips:
                entries = batch.bad_entries
            elif batch.missing is not None:
                bad = (batch.missing,) if form == "singly" else batch.bad_entries
                self.refuse(graph, bad, form, f"{where}: {batch.missing}")
                compare(graph, before, f"{where}, after a refused batch")
            changes = self.apply(graph, entries, form, where)
            if graph.maintain_only:
                agree(changes_bag(changes), Counter(), f"{where}: made under maintain_only")
                compare(graph, self.expected, where)
                continue
            check_changes(changes, before, self.expected, where)
            compare(graph, self.expected, where)
            outcomes.append(changes_bag(changes))
            agree(outcomes[-1], outcomes[0], f"{where}: other rows than the first graph's")

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
        for form, _, name, graph in self.dealt():
            where = f"{name}, the last batch"
            try:
                changes = self.apply(graph, batch.entries, form, where)
            except jg.DiffError:
                compare(graph, before, f"{where}, refused")
                continue
            if after is None:
                raise Disagreement(f"{where}: the judge fails, and the graph does not")
            check_changes(changes, before, after, where)

    def apply(
        self, graph: jg.JoinGraph, entries: Sequence[Entry], form: str, where: str
    ) -> list[Change]:
        """Give entries in a form of input; each view diff must fold to its net."""
        changes: list[Change] = []
        for batch in given(self.random, self.model.tables, entries, form):
            diff = graph.apply(batch)
            self.inputs[form] += 1
            self.inputs[form + BY_CALL] += isinstance(diff, WordsDiff)
            self.see(graph, diff, where)
            rows, net = diff.rows(), diff.net()
            folded = fold(rows)
            agree(fold(net), folded, f"{where}: net is not rows folded")
            if len(net) != len(folded) or any(kind.startswith("update") for kind, _, _ in net):
                raise Disagreement(f"{where}: net is not folded: {net}")
            changes += rows
        return changes

    def see(self, graph: jg.JoinGraph, diff: jg.ViewDiff, where: str) -> None:
        """See the view diff of a batch that was applied."""

    def refuse(self, graph: jg.JoinGraph, entries: Sequence[Entry], form: str, where: str) -> None:
        """Give entries of which one removes a row that is not there: they must be refused."""
        try:
            self.apply(graph, entries, form, where)
        except jg.DiffError:
            return
        raise Disagreement(f"{where} is not there and was not refused")


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
