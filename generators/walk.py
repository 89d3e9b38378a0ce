"""Walks the join graph: carries out the steps of a program, one function for each kind of step.

    paths -> Enter -> paths -> Test -> paths -> Weigh -> paths            a chain of generators

In: paths that begin, and steps (joingraph/plan/program.py). Out: the paths that are left, in the
order of their starts, as lazily as they are taken: who wants few paths walks no further than they
need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from joingraph.generators.paths import Path, Step, begin, bound, bound_null, keep_true, noted
from joingraph.graph.join_graph import Graph, JoinTuple, LookAhead, VertexValue
from joingraph.plan import program
from joingraph.plan.program import Program
from joingraph.reads.requests import Touched

Paths = Iterable[Path]


class Walker:
    """Walks one graph by one program, until the graph changes; sums are remembered as long.

    One that `tries_all` goes into dead ends, too; it knows all the same which aliases are missing.

    sums    (alias, value where it is entered) -> what the side sums up to
    """

    def __init__(
        self,
        graph: Graph,
        look: LookAhead,
        touched: Touched | None = None,
        *,
        tries_all: bool = False,
    ) -> None:
        self.graph, self.look, self.plan = graph, look, graph.plan
        self.tries_all = tries_all
        self.touched = touched or Touched()
        self.sums: dict[tuple[int, VertexValue], int] = {}

    def through(self, start: Step, by: Program) -> Iterator[Path]:
        """Yield the paths through one step of the alias where a program starts."""
        if not self.look.is_open(start.tuple, None):
            return iter(())
        begun = keep_true(self.plan, [begin(self.plan, start)], by.tests)
        return self.walk(begun, by.steps)

    def walk(self, paths: Paths, steps: Sequence[program.Step]) -> Iterator[Path]:
        """Carry out steps, one after the other; tests that follow one another at once."""
        for kind, run in groupby(steps, key=type):
            for step in [list(run)] if kind is program.Test else run:
                paths = CARRIED_OUT_BY[kind](self, paths, step)
        return iter(paths)

    def enter(self, paths: Paths, step: program.Enter) -> Iterator[Path]:
        """Yield one path for each row that an alias has at a path's value."""
        seat = self.plan.vertices[step.vertex].seat(step.alias)
        entry = self.plan.aliases[step.alias].vertices.index(step.vertex)
        for path in paths:
            value = value_at(path, step.vertex)
            if self.is_missing(value, seat, step.mode):
                yield bound_null(self.plan, path, self.graph.null(step.alias, step.vertex))
                continue
            for at in value.tuples[seat]:
                if self.tries_all or self.look.is_open(at, entry):
                    self.note(at)
                    for row, count in at.rows.items():
                        yield bound(self.plan, path, Step(at, row), path.times * count)

    def is_missing(self, value: VertexValue, seat: int, mode: str) -> bool:
        """True if an optional alias has no row at a value."""
        return mode == "null" or (mode == "opt" and not self.look.lives(value, seat))

    def ask(self, paths: Paths, step: program.Ask) -> Iterator[Path]:
        """Yield the paths on which an alias is there, or is not; or all, with a note of it.

        Where what asks is missing itself, nothing is asked.
        """
        seat = self.plan.vertices[step.vertex].seat(step.alias)
        for path in paths:
            value = value_at(path, step.vertex)
            lives = self.look.lives(value, seat) if step.told is None else step.told
            if step.mode == "mark":
                yield noted(path, step.alias, lives)
            elif value.is_null or lives == (step.mode == "semi"):
                yield path

    def note(self, at: JoinTuple) -> None:
        """Count a join tuple that was entered."""
        self.touched.join_tuples += 1
        self.touched.projected_tuples += len(at.rows)

    def test(self, paths: Paths, steps: Sequence[program.Test]) -> Iterator[Path]:
        """Yield the paths on which predicates are TRUE."""
        return keep_true(self.plan, paths, [step.predicate for step in steps])

    def weigh(self, paths: Paths, step: program.Weigh) -> Iterator[Path]:
        """Yield paths multiplied by what a side sums up to, found once for each value."""
        alias, vertex = step.enter.alias, step.enter.vertex
        for path in paths:
            place = alias, value_at(path, vertex)
            if place not in self.sums:
                side = self.walk([path._replace(times=1)], step.steps)
                self.sums[place] = sum(map(attrgetter("times"), side))
            if self.sums[place]:
                yield path._replace(times=path.times * self.sums[place])

    def list(self, paths: Paths, step: program.List) -> Iterator[Path]:
        """Yield paths with one more list attached."""
        for path in paths:
            found = [*self.walk([path._replace(times=1, lists=())], step.steps)]
            if found:
                yield path._replace(lists=(*path.lists, found))


CARRIED_OUT_BY: dict[type, Callable[[Walker, Paths, Any], Iterator[Path]]] = {
    program.Enter: Walker.enter,
    program.Test: Walker.test,
    program.Weigh: Walker.weigh,
    program.List: Walker.list,
    program.Ask: Walker.ask,
}


def value_at(path: Path, vertex: int) -> VertexValue:
    """Return the value from which a step leaves."""
    value = path.values[vertex]
    assert value is not None, "a step leaves from a vertex that was bound before it"
    return value
