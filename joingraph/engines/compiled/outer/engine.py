"""The compiled form of a view with outer joins, or one that asks whether rows are there.

Exact look-ahead knows how many live rows each seat has, and so whether one is missing: whatever
mode is asked for, it is kept. What every engine does by column or by walks is the same here, and so
are loads, own kernels and most calls of few rows; what is done for inner joins alone (whole scans
from a vertex, counting bottom up) is done by these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from joingraph.common.errors import DiffError
from joingraph.engines.calls.calls import Calls
from joingraph.engines.compiled.batches import Run
from joingraph.engines.compiled.engine import CompiledEngine
from joingraph.engines.plain import ReferenceEngine
from joingraph.expressions.tree import Expression
from joingraph.generators.compiled.reads.reading import count_where
from joingraph.graph.blocks import Part
from joingraph.graph.compiled import fields as f
from joingraph.plan.model import Plan
from joingraph.reads.requests import Reading, Touched
from joingraph.reads.row_lookup import Asked
from joingraph.reads.why_not import Break
from joingraph.tables.batch import Entry, Refused
from joingraph.tables.table import Table
from joingraph.view_diffs.factorised import Factorised


class OuterEngine(CompiledEngine):
    """Keeps a view's join graph in flat memory, whose seats have modes."""

    def __init__(self, plan: Plan, lookahead: str = "exact", key_index: Sequence[str] = ()) -> None:
        super().__init__(plan, "exact", key_index)
        self.memory.heap.words[:8] = f.NULL_WORD  # the row that stands in for a missing one

    def calls(self, tables: Mapping[str, Table]) -> Calls | None:
        """Return what carries few rows out at once; none where an output is computed of NULLs.

        NULLs of the two sides of a FULL JOIN are different words: its rows go by blocks.
        """
        is_full = any(alias.full for alias in self.layout.aliases)
        is_computed = not self.outputs.are_slots or bool(self.plan.residuals)
        return None if is_full or is_computed else super().calls(tables)

    def _linked(self, run: Run, rows: int, cores: int) -> list[range]:
        """Link inserts to be walked at once, unless flips are told of op by op."""
        cursor = int(self.memory.words[f.CURSOR])
        if cursor < len(run.ops) and not self.layout.tells_flips(int(run.ops[cursor, f.O_ALIAS])):
            return super()._linked(run, rows, cores)
        return []

    def scan(self) -> Iterator[pa.RecordBatch]:
        """Read the whole view."""
        return self.read(Reading(), Touched())

    def count(self, conditions: tuple[Expression, ...] = ()) -> int:
        """Count the view's rows that meet conditions, without making them."""
        return count_where(self.starts, conditions)

    def factorise(
        self, entries: Sequence[Entry], *, skip: bool
    ) -> tuple[Factorised, list[Refused]]:
        """Refuse: kernels tell flips by the rows around them, and make no lists of these."""
        raise DiffError(
            'form="factorised" of outer joins, EXISTS and IN is made by engine="reference" alone;'
            ' ask for form="rows"'
        )

    def fanout(self, entries: Sequence[Entry], *, skip: bool) -> tuple[int, bool, list[Refused]]:
        """Count the rows of a batch's view diffs by making them; change nothing."""
        applied = self.apply(entries, skip=skip, generate=True)
        rows = int(applied.changes.rows.column("_count").to_numpy().sum())
        self.undo()
        return rows, True, applied.refused

    def why_not(self, asked: Asked) -> list[Break]:
        """Find where the paths of a row break that the view does not have, in a plain copy."""
        return self.plain_copy().why_not(asked)

    def plain_copy(self) -> ReferenceEngine:
        """Return the same graph in plain objects."""
        copy = ReferenceEngine(self.plan, "exact")
        copy.restore(Dumped((each.name, b"".join(each.pieces)) for each in self.dump()))
        return copy


class Dumped:
    """The rows of a graph as blocks in memory."""

    def __init__(self, blocks: Iterable[tuple[str, bytes]]) -> None:
        self.blocks = {name: memoryview(content) for name, content in blocks}

    def __contains__(self, name: str) -> bool:
        return name in self.blocks

    def __getitem__(self, name: str) -> memoryview:
        return self.blocks[name]

    def arrays(self, stamp: str) -> Mapping[str, Part]:
        """Return no memory: rows are enough."""
        return {}
