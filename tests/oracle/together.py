"""All look-ahead modes over one graph: what one mode answers, every mode must answer.

Filtering, the graph's rows and DuckDB's part are the same for all modes, and they are most of a
step's time. So one graph keeps the notes of every mode side by side (they use different fields),
and every walk is made once for each: the effects of each change and the rows of each scan must be
the same paths, or the step disagrees. `check` holds the notes of each mode to first principles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa

from joingraph.engines.plain import Changes, ReferenceEngine
from joingraph.expressions.tree import Expression
from joingraph.generators.diffs import Effect, effects
from joingraph.generators.paths import Path
from joingraph.generators.reads.reading import count, matching
from joingraph.generators.reads.scan import in_batches
from joingraph.graph.join_graph import Flip, JoinTuple, LookAhead, VertexValue
from joingraph.maintainers.check import check
from joingraph.maintainers.lookahead import look_ahead
from joingraph.plan.arrange import paths_program, rows_program
from joingraph.plan.model import Plan
from joingraph.plan.program import Program
from joingraph.reads.access_paths import Everyone
from joingraph.reads.requests import Reading, Touched
from tests import LOOKAHEADS

T = TypeVar("T")


class AllLooks:
    """Takes note of every change in every mode; answers in the mode that is asked."""

    def __init__(self, engine: ReferenceEngine) -> None:
        self.modes = {mode: look_ahead(mode, engine.graph) for mode in LOOKAHEADS}

    def entered(self, new: JoinTuple) -> None:
        """Let every mode take note of a new join tuple."""
        for look in self.modes.values():
            look.entered(new)

    def left(self, old: JoinTuple) -> None:
        """Let every mode take note of a join tuple that is gone."""
        for look in self.modes.values():
            look.left(old)

    def is_open(self, at: JoinTuple, entry: int | None) -> bool:
        """Say what all modes but the ignorant ones must agree on."""
        exact, lazy = (
            self.modes["exact"].is_open(at, entry),
            self.modes["global"].is_open(at, entry),
        )
        assert exact == lazy, f"{at}, entered by {entry}: exact says {exact}, global says {lazy}"
        assert self.modes["local"].is_open(at, entry) or not exact, f"{at}: local sees too little"
        return exact

    def lives(self, value: VertexValue, seat: int) -> bool:
        """Say what exact look-ahead has counted."""
        return self.modes["exact"].lives(value, seat)

    def flipped(self) -> list[Flip]:
        """Return the flips since the last call: inner joins have none."""
        return [flip for look in self.modes.values() for flip in look.flipped()]


class TogetherEngine(ReferenceEngine):
    """The reference form, every walk made in every look-ahead mode."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, "none")
        self.looks = AllLooks(self)
        self.look = self.looks

    def effects(self, number: int, changed: Changes) -> list[tuple[int, Effect]]:
        """Generate in every mode; all must give the same."""
        each_mode = [
            [effect for change in changed for effect in effects(self.graph, look, change)]
            for look in self.looks.modes.values()
        ]
        return [(number, effect) for effect in same(each_mode)]

    def read(self, reading: Reading, touched: Touched) -> Iterator[pa.RecordBatch]:
        """Read the view from a starting alias of its own in every mode."""
        aliases = len(self.graph.tuples)
        each_mode = [
            self.paths(look, reading, n % aliases, paths_program)
            for n, look in enumerate(self.looks.modes.values())
        ]
        same(each_mode)
        return in_batches(self.graph, self.paths(self.look, reading, 0, rows_program))

    def paths(
        self, look: LookAhead, reading: Reading, start: int, make: Callable[..., Program]
    ) -> list[Path]:
        """Walk from one alias."""
        program = make(self.plan, start, reading.conditions)
        way = Everyone(start)
        touched = Touched()
        return list(matching(self.graph, look, reading, way=way, program=program, touched=touched))

    def count(self, conditions: tuple[Expression, ...] = ()) -> int:
        """Count in every mode."""
        (found,) = {count(self.graph, look, conditions) for look in self.looks.modes.values()}
        return found

    def check(self) -> None:
        """Hold the notes of every mode to first principles."""
        for look in self.looks.modes.values():
            check(self.graph, look)


def same(lists: Sequence[list[T]]) -> list[T]:
    """Give the first of several lists that must hold the same."""
    first, *others = (Counter(each) for each in lists)
    assert all(first == other for other in others), "look-ahead modes walk different paths"
    return lists[0]
