"""Drives the three stages over the plain join graph, diff by diff: what every form must do.

    entries -> filters.diffs -> maintainers.presence -> (maintainers.rows -> generators.diffs)
            -> generators.rows -> table of view diffs

An update of a self-joined table goes through the table's aliases one after the other: each alias'
change meets the others as they are by then, the earlier ones new, the later ones old.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from joingraph.batch import Entry
from joingraph.engine import Applied, Refused
from joingraph.filters.diffs import felt
from joingraph.filters.folding import fold
from joingraph.generators.count import count
from joingraph.generators.diffs import Effect, effects
from joingraph.generators.rows import to_rows
from joingraph.generators.scan import scan
from joingraph.graph import Diff, Graph
from joingraph.maintainers.check import check
from joingraph.maintainers.lookahead import look_ahead
from joingraph.maintainers.presence import Presence
from joingraph.maintainers.rows import insert, maintain
from joingraph.plan.model import Plan
from joingraph.stats import stats


class ReferenceEngine:
    """Keeps a view's join graph in plain objects."""

    def __init__(self, plan: Plan, lookahead: str) -> None:
        self.plan = plan
        self.graph = Graph(plan)
        self.look = look_ahead("global" if lookahead == "auto" else lookahead, self.graph)

    def load(self, entries: Sequence[Entry]) -> None:
        """Insert rows without making view diffs, equal ones at once."""
        diffs = [diff for entry in entries for of_row in felt(self.plan, entry) for diff in of_row]
        for (alias, image), times in fold(diffs).items():
            insert(self.graph, self.look, alias, image, times)

    def apply(self, entries: Sequence[Entry], *, skip: bool, generate: bool) -> Applied:
        """Apply a batch whole, or raise and leave the graph as it was."""
        admitted, refused = self.admit(entries)
        done: list[Diff] = []
        changes: list[tuple[int, Effect]] = []
        if refused and not skip:
            admitted = []
        try:
            for number, diffs in admitted:
                for diff in diffs:
                    changed = maintain(self.graph, self.look, diff)
                    done.append(diff)
                    if generate:
                        changes += [
                            (number, effect)
                            for change in changed
                            for effect in effects(self.graph, self.look, change)
                        ]
            return Applied(to_rows(self.plan, changes), refused)
        except BaseException:
            for alias, pre, post in reversed(done):
                maintain(self.graph, self.look, Diff(alias, post, pre))
            raise

    def admit(
        self, entries: Sequence[Entry]
    ) -> tuple[list[tuple[int, tuple[Diff, ...]]], list[Refused]]:
        """Filter a batch and number its base diffs, leaving out those that miss their row."""
        present = Presence(self.graph)
        admitted: list[tuple[int, tuple[Diff, ...]]] = []
        refused: list[Refused] = []
        number = 0
        for place, entry in enumerate(entries):
            for row, diffs in enumerate(felt(self.plan, entry)):
                if present.admit(diffs):
                    admitted.append((number, diffs))
                else:
                    refused.append(Refused(place, row))
                number += 1
        return admitted, refused

    def scan(self) -> Iterator[pa.RecordBatch]:
        """Read the whole view, starting from the alias with the fewest join tuples."""
        start = min(range(len(self.graph.tuples)), key=lambda each: len(self.graph.tuples[each]))
        return scan(self.graph, self.look, start)

    def count(self) -> int:
        """Count the view's rows without making them."""
        return count(self.graph, self.look)

    def stats(self) -> dict[str, Any]:
        """Tell the graph's size by alias, vertex and kind."""
        return stats(self.graph)

    def check(self) -> None:
        """Recompute every invariant, or raise CorruptGraph."""
        check(self.graph, self.look)
