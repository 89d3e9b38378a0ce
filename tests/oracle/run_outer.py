"""One case of a view with outer joins, EXISTS or IN: what is asked of every view, and more.

The plain form runs in every look-ahead mode that it takes the view in; what joingraph refuses by
name, and what no judge can compute, is counted. DuckDB and SQLite judge; where they differ, which
both have done wrong, the graph must agree with one of them.

Between batches: what would take one back is foretold, and leaves no trace; i-diffs bring a copy to
the view after; fanout counts; one graph is read with conditions and asked why; graphs are loaded
anew, and opened again. In the end rows expire.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

import joingraph as jg
from tests.bags import bag
from tests.oracle.ask import given
from tests.oracle.case import Batch, Case, Entry, Row
from tests.oracle.forms_outputs import check_fanout
from tests.oracle.forms_reading import Reader, check_partitions, literal
from tests.oracle.forms_why import absent_rows
from tests.oracle.judges import Model
from tests.oracle.run import Disagreement, Runner, agree, check_changes, compare
from tests.oracle.run_groups import GroupsRunner, rows_of

MODES = ("exact", "none", "local", "global")
TAKEN, TAKEN_OUTER = "views taken", "views taken, of outer joins, EXISTS or IN"
TAKEN_PAIRS = "views taken, of joins by other conditions than equalities"
LOOK_AHEAD = re.compile("look-?ahead")


class Unjudged(Exception):
    """A case of which nothing can be said: its view is refused, or no judge takes it."""


class Judges(Model):
    """DuckDB, and SQLite as the second judge of plain cases; where they differ, both are kept."""

    def __init__(self, case: Case) -> None:
        self.other: Counter[str] | None = None
        super().__init__(case)

    def view(self) -> Counter[str]:
        """Ask DuckDB; note what SQLite says if that is something else."""
        first, *others = self.judges
        found = first.view()
        self.other = None
        for each in others:
            with contextlib.suppress(sqlite3.Error):  # it calls a column of USING ambiguous
                other = each.view()
                self.other = other if other != found else None
        return found


class OuterForms(Runner):
    """What both kinds of cases have in common: which graphs there are, and what is counted."""

    def __init__(
        self, case: Case, *, graphs: str = "all", inputs: Counter[str] | None = None
    ) -> None:
        inputs = Counter[str]() if inputs is None else inputs
        try:
            # No graph of such a view walks in all modes.
            super().__init__(case, graphs="all" if graphs == "together" else graphs, inputs=inputs)
        except (jg.ViewError, duckdb.Error) as error:
            inputs[reason(error)] += 1
            raise Unjudged from error
        inputs[TAKEN] += 1
        inputs[TAKEN_OUTER] += not self.view.plan.is_inner
        inputs[TAKEN_PAIRS] += bool(self.view.plan.pairs)

    def judged_by(self, case: Case) -> Model:
        """Ask both judges, who may differ."""
        return Judges(case)

    def keys(self, engines: Sequence[str]) -> list[tuple[str, str]]:
        """Ask for the plain form in all modes that it takes the view in; it runs all such views."""
        found = [("compiled", "exact")] if "compiled" in engines else []
        for mode in MODES if "reference" in engines else ():
            try:
                self.make("reference", mode, "error")
            except jg.ViewError as error:
                if mode == "exact" or not LOOK_AHEAD.search(str(error)):
                    raise
                self.inputs["modes refused"] += 1
            else:
                found.append(("reference", mode))
        return found

    def run(self) -> None:
        """Run the case, unless the judges differ: then see with whom a new graph agrees."""
        assert isinstance(self.model, Judges)
        try:
            super().run()
        except duckdb.Error as error:
            self.inputs[reason(error)] += 1
            raise Unjudged from error
        except Disagreement:
            if self.model.other is None:
                raise
            graph = self.make("reference", "exact", "error")
            graph.load(self.present())
            found = bag(rows_of(graph.to_arrow()))
            agree(found, self.model.other, "neither DuckDB nor SQLite agrees")
            self.inputs["DuckDB is wrong, SQLite agrees"] += 1

    def present(self) -> dict[str, list[Row]]:
        """List the rows of all base tables."""
        return {
            name: [row for same in rows.values() for row in same]
            for name, rows in self.model.rows.items()
            if name in self.view.tables
        }


class OuterRunner(OuterForms):
    """All graphs of a case of a view of rows."""

    def __init__(
        self, case: Case, *, graphs: str = "all", inputs: Counter[str] | None = None
    ) -> None:
        super().__init__(case, graphs=graphs, inputs=inputs)
        self.copies: dict[jg.JoinGraph, pa.Table] = {}
        self.reader = Reader(next(iter(self.graphs.values())), self.random)

    def step(self, number: int, batch: Batch) -> None:
        """Apply the batch to all, foretell its contrary, look at one graph in all ways."""
        for graph in self.graphs.values():
            graph.maintain_only = self.chance(0.05)
            if graph not in self.copies:
                self.copies[graph] = graph.to_arrow()
        before = self.expected
        super().step(number, batch)
        for graph in self.graphs.values():
            if graph.maintain_only:
                graph.maintain_only = False
                del self.copies[graph]
        key, other = self.random.choices(list(self.graphs), k=2)
        back = [contrary(each) for each in reversed(batch.entries)]
        self.foretell(
            self.graphs[key], back, before, f"{', look-ahead '.join(key)}, batch {number}"
        )
        self.look(self.graphs[other], f"{', look-ahead '.join(other)}, batch {number}")
        if self.chance(0.15):
            self.again(other)

    def foretell(
        self, graph: jg.JoinGraph, entries: Sequence[Entry], after: Counter[str], where: str
    ) -> None:
        """Foretell what takes a batch back: it leads to the view before, and leaves no trace."""
        (batch,) = given(self.random, self.model.tables, entries, "tuples")
        counted, changes = graph.fanout(batch), graph.what_if(batch).rows()
        check_changes(changes, self.expected, after, f"{where}, foretold")
        try:
            check_fanout(counted, changes)
        except AssertionError as error:
            raise Disagreement(f"{where}, foretold: {error}") from error
        compare(graph, self.expected, f"{where}, after the contrary was foretold")

    def see(self, graph: jg.JoinGraph, diff: jg.ViewDiff, where: str) -> None:
        """Apply the i-diffs to a copy of the view."""
        if graph in self.copies and not graph.maintain_only:
            self.copies[graph] = diff.idiffs().apply_idiffs(self.copies[graph])
            if self.chance(0.2):
                agree(bag(rows_of(self.copies[graph])), bag(rows_of(graph.to_arrow())),
                      f"{where}: i-diffs applied")  # fmt: skip

    def look(self, graph: jg.JoinGraph, where: str) -> None:
        """Read one graph with conditions and in parts; ask it why."""
        stored = graph.to_arrow()
        rows = rows_of(stored)
        try:
            self.reader.graph = graph
            self.reader.check(stored)
            if self.chance(0.3):
                check_partitions(graph, rows, self.random)
            if rows and self.chance(0.5):
                check_paths(graph, self.random.choice(rows), rows)
            for row in absent_rows(rows, self.random, 1) if self.chance(0.3) else ():
                assert graph.why(row) == [], f"why {row}, which is not there"
                assert str(graph.why_not(row)), f"no reason why not {row}"
        except AssertionError as error:
            raise Disagreement(f"{where}: {error}") from error

    def again(self, key: tuple[str, str]) -> None:
        """Load a graph anew; some are written to a folder, and opened again."""
        self.copies.pop(self.graphs[key], None)
        on_missing = "skip" if key[1] == self.skips else "error"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph" if self.chance(0.3) else None
            graph = self.make(*key, on_missing, path)
            graph.load(self.present())
            if path is not None:
                graph.close()
                with jg.open(path) as opened:
                    compare(opened, self.expected, f"{', look-ahead '.join(key)}, opened again")
                graph = self.make(*key, on_missing)
                graph.load(self.present())
        self.graphs[key] = graph
        compare(graph, self.expected, f"{', look-ahead '.join(key)}, loaded anew")

    def run(self) -> None:
        """Run the case; let rows expire then."""
        super().run()
        if self.chance(0.3):
            self.expire(*self.random.choice(list(self.graphs.items())))

    def expire(self, key: tuple[str, str], graph: jg.JoinGraph) -> None:
        """Delete the rows of a table with some value, if the graph can tell which they are."""
        name = self.random.choice(list(self.present()))
        rows = self.present()[name]
        plain = [
            at for at, each in enumerate(self.model.tables[name].columns) if each.kind.constants
        ]
        if not rows or not plain:
            return
        at, row = self.random.choice(plain), self.random.choice(rows)
        column = self.model.tables[name].columns[at]
        where = f"{column.name} IS NULL"
        if row[at] is not None:
            where = f"{column.name} = {literal(graph, row[at], column.kind)}"
        try:
            changes = graph.expire(name, where).rows()
        except jg.JoinGraphError:
            self.inputs["expire refused"] += 1
            return
        gone = tuple(each for each in rows if repr(each[at]) == repr(row[at]))
        before = self.expected
        self.model.apply([Entry("delete", name, gone)])
        where = f"{', look-ahead '.join(key)}, expired {name} where {where}"
        check_changes(changes, before, self.model.view(), where)
        compare(graph, self.model.view(), where)
        self.inputs["expired"] += 1


class OuterGroupsRunner(OuterForms, GroupsRunner):
    """All graphs of a case of a view that groups."""


def check_paths(graph: jg.JoinGraph, row: Row, rows: Sequence[Row]) -> None:
    """The paths behind a row are as many as it is often, and can be drawn."""
    paths = graph.why(row)
    times = bag(rows)[repr(row)]
    assert sum(path.times for path in paths) == times, f"why {row}, there {times} times:\n{paths}"
    assert str(paths) and graph.why_not(row) == [], f"why not {row}, which is there"


def contrary(entry: Entry) -> Entry:
    """Return what takes an entry back."""
    if entry.kind == "update":
        return Entry("update", entry.table, entry.post[::-1], entry.rows[::-1])
    kind = "delete" if entry.kind == "insert" else "insert"
    return Entry(kind, entry.table, entry.rows[::-1])


def reason(error: Exception) -> str:
    """Say why a view is not taken, without what it names."""
    who = "refused" if isinstance(error, jg.ViewError) else f"DuckDB: {type(error).__name__}"
    text = re.sub(r"^line \d+, column \d+: ", "", str(error).splitlines()[0])
    return f"{who}: {re.sub('^.*?: ', '', text)[:110]}"
