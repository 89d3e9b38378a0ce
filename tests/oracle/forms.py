"""One case with declared keys against one graph, in every form after every batch.

A batch is foretold in two forms of view diffs and applied in the third (forms_outputs.py); its
i-diffs go to a copy stored elsewhere; then the view is read on demand (forms_reading.py), and asked
why rows are in it and others not (forms_why.py). DuckDB recomputes the view from the base tables.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa

import joingraph as jg
from tests import LOOKAHEADS
from tests.bags import bag
from tests.oracle.ask import asked, loaded
from tests.oracle.case import Batch, Entry
from tests.oracle.forms_outputs import Copy, agree, check_step, rows_of
from tests.oracle.forms_reading import Reader, check_partitions
from tests.oracle.forms_why import (
    SMALL_MAX,
    absent_rows,
    check_every_why,
    check_why,
    check_why_group,
    check_why_not,
)
from tests.oracle.judges import DuckJudge, Model
from tests.oracle.keyed import KeyedCase


class FormsRunner:
    """A case's graph, the view as DuckDB sees it, and the view as it is stored elsewhere."""

    def __init__(self, keyed: KeyedCase, engine: str) -> None:
        self.case, self.random = keyed.case, Random(keyed.case.seed)
        self.keys = {name: key for name, key in keyed.keys.items() if self.chance(0.25)}
        view = jg.View(self.case.view.sql, tables=keyed.tables, dialect="duckdb")
        look = self.random.choice(LOOKAHEADS)
        self.graph = jg.JoinGraph(view, engine=engine, lookahead=look, key_index=list(self.keys))
        self.judge = DuckJudge(self.case)
        self.model = Model(self.case, [self.judge])
        self.reader = Reader(self.graph, self.random)

    def run(self) -> None:
        """Load, then apply every batch, comparing after each."""
        self.model.apply(self.case.load)
        expected = self.model.view()
        self.graph.load(loaded(self.case))
        first = self.graph.to_arrow()
        copy = Copy(first, self.random)
        self.look(first, expected, is_last=not self.case.batches)
        for batch in self.case.batches:
            expected = self.step(batch, expected, copy)

    def step(self, batch: Batch, before: Counter[str], copy: Copy) -> Counter[str]:
        """Apply a batch in every form, and look at the view after it."""
        self.model.apply(batch.entries)
        expected = self.model.view()
        given = [self.given(entry) for entry in batch.entries]
        idiffs = check_step(self.graph, given, (before, expected), self.random)
        stored = self.graph.to_arrow()
        copy.apply(idiffs, rows_of(stored))
        self.look(stored, expected, is_last=batch is self.case.batches[-1])
        return expected

    def given(self, entry: Entry) -> tuple[object, ...]:
        """Write an entry as `apply` takes it: with a key index, rows that go by their key alone."""
        ((kind, table, rows, *post),) = asked(self.random, self.model.tables, [entry])
        if kind != "insert" and entry.table in self.keys and self.chance(0.7):
            names = self.model.tables[entry.table].schema.names
            places = {name: names.index(name) for name in self.keys[entry.table]}
            rows = [{name: row[at] for name, at in places.items()} for row in entry.rows]
        return kind, table, rows, *post

    def look(self, stored: pa.Table, expected: Counter[str], *, is_last: bool) -> None:
        """Compare what can be asked of the graph as it is, some of it only now and then."""
        rows = rows_of(stored)
        agree(bag(rows), expected, "the view")
        self.graph.check()
        self.reader.check(stored)
        if is_last or self.chance(0.1):
            check_partitions(self.graph, rows, self.random)
        is_grouped = self.case.view.grouping is not None
        if rows and self.chance(0.5):
            row = self.random.choice(rows)
            if is_grouped:
                check_why_group(self.graph, row, self.judge)
            else:
                check_why(self.graph, row, expected[repr(row)])
        else:
            for row in absent_rows(rows, self.random, 1):
                check_why_not(self.graph, row)
        is_small = len(expected) <= SMALL_MAX and not is_grouped
        if is_small and (is_last or self.chance(0.05)):
            check_every_why(self.graph, self.case.view, rows, self.judge.connection)

    def chance(self, share: float) -> bool:
        """Decide by the case's seed."""
        return self.random.random() < share
