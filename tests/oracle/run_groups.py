"""One case of a view that groups: what run.py asks of every view, and what only groups promise.

After every batch: each pre-image is what is there, and a group is told at most once a base diff;
i-diffs bring a copy stored elsewhere to the view after; one graph is read with conditions and asked
why. Before some batches comes one that leaves a group without a result: it must be refused, and
leave no trace. Graphs keep no groups for a while, are loaded anew, and closed and opened again.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

import joingraph as jg
from tests import ENGINES
from tests.bags import SIGNS, Row, bag, pairs
from tests.oracle.ask import INPUTS, given
from tests.oracle.case import Batch, Case, Entry
from tests.oracle.forms_reading import Reader, check_partitions
from tests.oracle.forms_why import absent_rows, check_why_group, check_why_not
from tests.oracle.judges import NO_VALUE, DuckJudge
from tests.oracle.run import Disagreement, Runner, agree, check_changes, compare

REFUSED = ", refused"
WHOLE = tuple(form for form in INPUTS if form != "singly")


class GroupsRunner(Runner):
    """All graphs of a case, and what the diffs and the i-diffs of each make of the view."""

    def __init__(
        self, case: Case, *, graphs: str = "all", inputs: Counter[str] | None = None
    ) -> None:
        super().__init__(case, graphs=graphs, inputs=inputs)
        self.shown: dict[jg.JoinGraph, Counter[str]] = {}
        self.copies: dict[jg.JoinGraph, pa.Table] = {}
        self.reader = Reader(next(iter(self.graphs.values())), self.random)
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "graph"
        self.stored = self.some_key() if self.chance(0.2) else None
        if self.stored is not None:
            self.graphs[self.stored] = self.make(
                *self.stored, self.on_missing(self.stored), self.path
            )

    def run(self) -> None:
        """Run the case; close what is open then."""
        try:
            super().run()
        finally:
            for graph in self.graphs.values():
                graph.close()
            self.folder.cleanup()

    def step(self, number: int, batch: Batch) -> None:
        """Poison the graphs, apply the batch to all, then look at one in all ways there are."""
        if batch.poison:
            self.poison(batch.poison, f"the poison before batch {number}")
        for graph in self.graphs.values():
            graph.maintain_only = self.chance(0.07)
            if graph not in self.copies or self.chance(0.05):
                self.copies[graph] = graph.to_arrow()
            self.shown[graph] = Counter(self.expected)
        super().step(number, batch)
        for graph in self.graphs.values():
            if graph.maintain_only:
                graph.maintain_only = False
                del self.copies[graph]
        key = self.random.choice(list(self.graphs))
        self.look(self.graphs[key], f"{', look-ahead '.join(key)}, batch {number}")
        if self.chance(0.15):
            self.again()

    def see(self, graph: jg.JoinGraph, diff: jg.ViewDiff, where: str) -> None:
        """Apply a view diff row by row, and its i-diffs."""
        if graph.maintain_only or graph not in self.shown:
            return
        shown, grouping = self.shown[graph], self.case.view.grouping
        assert grouping is not None
        numbers = diff.to_arrow(positions=True)["_diff"].to_pylist()
        told = set[tuple[int, str]]()
        for number, (kind, row, count) in zip(numbers, diff.rows(), strict=True):
            shown[repr(row)] += SIGNS[kind] * count
            if shown[repr(row)] < 0:
                raise Disagreement(f"{where}: {kind} {row}, which is not there")
            if not grouping.hidden and kind != "update_postimage":
                key = (number, repr(row[: len(self.case.view.outputs)]))
                if key in told or count != 1:
                    raise Disagreement(f"{where}: {row} is told twice in one base diff")
                told.add(key)
        for pre, post, _ in pairs(diff.rows()):
            if repr(pre) == repr(post):
                raise Disagreement(f"{where}: {pre} is told, and is what it was")
        self.shown[graph] = +shown
        copy = self.copies[graph] = diff.idiffs().apply_idiffs(self.copies[graph])
        agree(bag(rows_of(copy)), +shown, f"{where}: i-diffs applied")

    def poison(self, entries: tuple[Entry, ...], where: str) -> None:
        """Apply a batch after which a group may have no value; take it back if it is accepted.

        Judges are asked after each base diff, as groups are told then. A graph may be stricter: it
        computes what is of one alias for rows that then meet no other.
        """
        before, after = self.expected, self.judged(entries)
        gone = [Entry("delete", each.table, each.rows[::-1]) for each in reversed(entries)]
        for name, graph in self.graphs.items():
            here = f"{', look-ahead '.join(name)}, {where}"
            form = self.random.choice(WHOLE)
            (batch,) = given(self.random, self.model.tables, entries, form)
            if self.chance(0.2):
                self.foretell(graph, batch, after, here)
            try:
                changes = graph.apply(batch).rows()
            except jg.DiffError as error:
                self.inputs["poison" + REFUSED] += 1
                if after is not None and "the group" in str(error):
                    raise Disagreement(f"{here}: {error}, and the judge finds values") from error
                compare(graph, before, f"{here}, refused")
                continue
            self.inputs["poison"] += 1
            if after is None:
                raise Disagreement(f"{here}: the judge finds no value, and the graph does")
            check_changes(changes, before, after, here)
            compare(graph, after, here)
            (back,) = given(self.random, self.model.tables, gone, form)
            check_changes(graph.apply(back).rows(), after, before, f"{here}, taken back")
            self.copies.pop(graph, None)

    def foretell(
        self, graph: jg.JoinGraph, batch: Any, after: Counter[str] | None, where: str
    ) -> None:
        """Foretell a batch: what is raised, or made, leaves nothing."""
        try:
            graph.what_if(batch)
        except jg.DiffError:
            pass
        else:
            if after is None:
                raise Disagreement(f"{where}: foretold, though the judge finds no value")
        compare(graph, self.expected, f"{where}, foretold")

    def judged(self, entries: tuple[Entry, ...]) -> Counter[str] | None:
        """Judge the view after each base diff of inserts; None if it ever has no value."""
        after: Counter[str] | None = None
        done = list[Entry]()
        try:
            for diff in (diff for entry in entries for diff in entry.diffs()):
                done.append(diff)
                self.model.apply([diff])
                after = self.model.view()
        except NO_VALUE:
            after = None
        self.model.apply(Entry("delete", each.table, each.rows) for each in done)
        return after

    def look(self, graph: jg.JoinGraph, where: str) -> None:
        """Read one graph with conditions, in parts and in the view's order; ask it why."""
        stored = graph.to_arrow()
        rows = rows_of(stored)
        try:
            self.check_order(graph, rows)
            self.reader.graph = graph
            self.reader.check(stored)
            if self.chance(0.2):
                check_partitions(graph, rows, self.random)
            if rows and self.chance(0.5):
                judge = self.model.judges[0]
                assert isinstance(judge, DuckJudge)
                check_why_group(graph, self.random.choice(rows), judge)
            for row in absent_rows(rows, self.random, 1) if self.chance(0.3) else ():
                check_why_not(graph, row)
        except AssertionError as error:
            raise Disagreement(f"{where}: {error}") from error

    def check_order(self, graph: jg.JoinGraph, rows: list[Row]) -> None:
        """The view is read in the order that it asks for: the greatest first, NULLs last."""
        grouping = self.case.view.grouping
        assert grouping is not None
        columns = [len(self.case.view.outputs) + at for at in grouping.order]
        read = rows_of(graph.scan().read_all())
        for some in (rows, read):
            keys = [[descending(row[at]) for at in columns] for row in some]
            assert keys == sorted(keys), f"not in order {grouping.order}: {some}"

    def again(self) -> None:
        """Load a graph anew, or close one that has a folder and open it again."""
        key = self.some_key()
        graph = self.graphs[key]
        self.copies.pop(graph, None)
        graph.close()
        if key == self.stored:
            self.graphs[key] = jg.open(self.path)
        else:
            self.graphs[key] = self.make(*key, self.on_missing(key))
            self.graphs[key].load(self.present())
        compare(self.graphs[key], self.expected, f"{', look-ahead '.join(key)}, made anew")

    def present(self) -> dict[str, list[Row]]:
        """List the rows of all base tables."""
        return {
            name: [row for same in rows.values() for row in same]
            for name, rows in self.model.rows.items()
            if name in self.view.tables
        }

    def some_key(self) -> tuple[str, str]:
        """Choose a graph of one engine in one mode."""
        return self.random.choice([key for key in self.graphs if key[0] in ENGINES])

    def on_missing(self, key: tuple[str, str]) -> str:
        """Say what a graph does about a missing row."""
        return "skip" if key[1] == self.skips else "error"


def rows_of(table: pa.Table) -> list[Row]:
    """List rows as tuples."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def descending(value: Any) -> tuple[bool, bool, Any]:
    """Return what is less the greater a number is; NaN is the greatest, NULL comes last."""
    if value is None:
        return (True, False, 0)
    is_nan = math.isnan(value)
    return (False, not is_nan, 0 if is_nan else -value)
