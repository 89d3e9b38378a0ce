"""Makes the walk programs of a plan: which aliases are entered, which are summed, what comes when.

    wanted: columns, predicates over several aliases   ->   entered: the aliases on the ways to them
    all other aliases                                  ->   weighed

Sides that are weighed come first, then aliases that bind further vertices, then those with one
vertex; ties in the plan's order. A predicate comes as soon as all that it reads is bound. One that
may raise an error comes behind everything, so it is computed on complete paths only: a path that is
never completed is not a row of the view and must not raise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from joingraph.expressions.tree import Expression, aliases_of
from joingraph.plan.kept_columns import is_total, kept_parts
from joingraph.plan.model import Nearer, Plan
from joingraph.plan.program import Ask, Enter, Program, Step, Test, Weigh

Hop = Enter | Ask
AT_VERTEX = -1  # stands for an alias where a walk starts at a vertex value


class Source(NamedTuple):
    """Where a value lies on a path: in an alias' row, or at a vertex (`vertex` is not None).

    `fits`: the word at the vertex has the value's own type. If not, the value is read only where
    its alias is known to have a row: elsewhere the word may be one that its type cannot hold.
    """

    alias: int
    vertex: int | None
    fits: bool


def rows_program(
    plan: Plan,
    start: int,
    conditions: Iterable[Expression] = (),
    order: Iterable[Expression] = (),
) -> Program:
    """Return the program that makes the view's rows from rows of an alias."""
    outputs = (each.value for each in plan.definition.output)
    return showing(plan, start, (*outputs, *order), (*plan.residuals, *conditions))


def count_program(plan: Plan, start: int, conditions: Iterable[Expression] = ()) -> Program:
    """Return the program that counts the view's rows."""
    return showing(plan, start, (), (*plan.residuals, *conditions))


def fanout_program(plan: Plan, start: int) -> Program:
    """Return the program that bounds the rows of a change: residual predicates are left out."""
    return showing(plan, start, (), ())


def showing(
    plan: Plan, start: int, shown: Iterable[Expression], tests: Sequence[Expression]
) -> Program:
    """Return the program of the paths on which tests hold, as far as some values need them."""
    wanted = (*shown, *needing_paths(plan, tests))
    places = (place for each in wanted for place in sources(plan, each))
    return reaching(plan, start, places, tests)


def through(plan: Plan, start: int, aliases: Iterable[int], tests: Iterable[Expression]) -> Program:
    """Return the program that enters some aliases and those on the way to them."""
    places = (Source(alias, None, fits=True) for alias in aliases)
    return reaching(plan, start, places, tests)


def reaching(
    plan: Plan, start: int, places: Iterable[Source], tests: Iterable[Expression]
) -> Program:
    """Return the program of the paths on which tests hold, with the values at some places bound."""
    return Arrangement(plan, tests).program(start, on_the_way(start, plan.tree_from(start), places))


def paths_program(plan: Plan, start: int, conditions: Iterable[Expression]) -> Program:
    """Return the program that enters every alias, nearest first, for why and why_not.

    A predicate comes when the last alias that it reads is entered: so a path that breaks there
    breaks for the sake of rows of all these aliases.
    """
    tests = (*plan.residuals, *conditions)
    return Nearest(plan, tests).program(start, frozenset(range(len(plan.aliases))))


def kernel_program(plan: Plan, start: int) -> Program:
    """Return the program of a view's kernels: it tests nothing, but binds what predicates read.

    They are tested by column, on many paths at once.
    """
    return for_kernels(reaching(plan, start, places_read(plan), ()))


def scan_program(plan: Plan, vertex: int) -> Program:
    """Return the like of `kernel_program` from values of a vertex.

    A view of one alias has no vertex; its rows are walked as if all met at one.
    """
    aliases = plan.vertices[vertex].aliases if plan.vertices else (0,)
    nearer = plan.tree_from(aliases[0]) | dict.fromkeys(aliases, Nearer(AT_VERTEX, vertex))
    entered = on_the_way(AT_VERTEX, nearer, places_read(plan))
    first = [Enter(alias, vertex) for alias in aliases]
    steps = Arrangement(plan, ()).beyond(first, Bound(plan), entered)
    return Program(None, vertex, (), tuple(steps))


def around_program(
    plan: Plan,
    vertex: int,
    flipped: int,
    told: bool | None = None,
    *,
    conditions: Iterable[Expression] = (),
    order: Iterable[Expression] = (),
    has_all: bool = False,
) -> Program:
    """Return the program of the view's rows around a value of a vertex, one alias apart.

    An optional one is taken for missing, of one that is asked for is noted what is `told`. Where
    all are optional, the others must be there. It enters what the rows need, or all aliases.
    """
    outputs = (each.value for each in plan.definition.output)
    tests = (*plan.residuals, *conditions)
    places = [place for each in (*outputs, *order, *tests) for place in sources(plan, each)]
    if has_all:
        places += [Source(alias.index, None, fits=True) for alias in plan.aliases]
    return around(plan, (vertex, flipped, told), places, tests)


def around_kernel_program(plan: Plan, vertex: int, flipped: int, told: bool | None) -> Program:
    """Return the like of `kernel_program` around a value of a vertex."""
    return for_kernels(around(plan, (vertex, flipped, told), places_read(plan), ()))


def around(
    plan: Plan,
    flip: tuple[int, int, bool | None],
    places: Iterable[Source],
    tests: Sequence[Expression],
) -> Program:
    """Return the program of the paths around a flip, with the values at some places bound."""
    vertex, flipped, told = flip
    at = plan.vertices[vertex]
    mode = plan.mode(flipped, vertex)
    first: list[Hop] = list(at_value(plan, vertex, flipped))
    if set(at.modes) == {"opt"}:
        first = [replace(step, mode="req") for step in first if isinstance(step, Enter)]
    if mode == "opt":
        first.append(Enter(flipped, vertex, "null"))
    elif mode == "mark":
        first.append(Ask(flipped, vertex, "mark", told))
    nearer = plan.tree_from(first[0].alias) | dict.fromkeys(at.aliases, Nearer(AT_VERTEX, vertex))
    entered = on_the_way(AT_VERTEX, nearer, places)
    arrangement = Arrangement(plan, tests)
    bound = Bound(plan)
    bound.vertices.add(vertex)
    steps = [*arrangement.beyond(first, bound, entered), *map(Test, arrangement.late)]
    return Program(None, vertex, (), tuple(steps))


def for_kernels(program: Program) -> Program:
    """Leave out what is asked: who does not find it so is laid dead already."""
    kept = (each for each in program.steps if not isinstance(each, Ask) or each.mode == "mark")
    return replace(program, steps=tuple(kept))


def places_read(plan: Plan) -> Iterator[Source]:
    """Yield where the values lie that the view shows, or that its residual predicates read."""
    for wanted in (*(each.value for each in plan.definition.output), *plan.residuals):
        yield from sources(plan, wanted)


def needing_paths(plan: Plan, tests: Iterable[Expression]) -> Iterator[Expression]:
    """Yield the tests that read several aliases or marks, or may raise: they stand on a path."""
    for each in tests:
        aliases = aliases_of(each)
        if len(aliases) > 1 or "" in aliases or not is_total(plan, each):
            yield each


def sources(plan: Plan, wanted: Expression) -> Iterator[Source]:
    """Yield where the values lie that an expression is computed of."""
    for part in kept_parts(plan, wanted):
        slot = plan.slots[part]
        alias = plan.aliases[slot.alias]
        vertex = None if slot.vertex is None else alias.vertices[slot.vertex]
        yield Source(slot.alias, vertex, slot.stored == part.type)


def aliases_tied(plan: Plan, conditions: Iterable[Expression]) -> set[int]:
    """Return the aliases whose values must stand on a path to decide which rows are meant."""
    wanted = needing_paths(plan, (*plan.residuals, *conditions))
    return {place.alias for each in wanted for place in sources(plan, each)}


def on_the_way(
    start: int, nearer: Mapping[int, Nearer], places: Iterable[Source]
) -> frozenset[int]:
    """Return the aliases to enter so that values are bound; a key is, once its vertex is."""
    found = {start}
    for alias, vertex, _ in places:
        if alias != start and vertex == nearer[alias].vertex:
            alias = nearer[alias].alias
        while alias not in found:
            found.add(alias)
            alias = nearer[alias].alias
    return frozenset(found)


class Bound:
    """What has a value on a path so far: the rows of aliases, and vertices."""

    def __init__(self, plan: Plan, *aliases: int) -> None:
        self.plan = plan
        self.aliases, self.vertices = set[int](), set[int]()
        for alias in aliases:
            self.add(alias)

    def add(self, alias: int) -> None:
        """Bind an alias that was entered, and its vertices."""
        self.aliases.add(alias)
        self.vertices.update(self.plan.aliases[alias].vertices)


class Arrangement:
    """Orders the steps of one program.

    early    tests that are not placed yet, by number, and what they read
    readers  alias or vertex -> the numbers of the tests that read it
    constant the numbers of the tests that read nothing
    late     tests that may raise an error
    summed   aliases that were weighed: they are known to have a row
    """

    def __init__(self, plan: Plan, tests: Iterable[Expression]) -> None:
        self.plan = plan
        self.summed: set[int] = set()
        self.early: dict[int, tuple[Expression, list[Source]]] = {}
        self.readers: dict[tuple[str, int | None], set[int]] = {}
        self.constant: set[int] = set()
        self.late: list[Expression] = []
        for number, test in enumerate(tests):
            if is_total(plan, test):
                self.place(number, test)
            else:
                self.late.append(test)

    def place(self, number: int, test: Expression) -> None:
        """Note what a test waits for."""
        places = list(sources(self.plan, test))
        self.early[number] = test, places
        if not places:
            self.constant.add(number)
        for alias, vertex, _ in places:
            for read in ("alias", alias), ("vertex", vertex):
                self.readers.setdefault(read, set()).add(number)

    def program(self, start: int, entered: frozenset[int]) -> Program:
        """Return the program that starts at an alias."""
        bound = Bound(self.plan, start)
        at_start = tuple(self.decided(bound, start))
        first = beside(self.plan, start, None)
        steps = [*self.beyond(first, bound, entered), *map(Test, self.late)]
        assert not self.early, "a test reads what is entered, or one side that is weighed"
        return Program(start, None, at_start, tuple(steps))

    def beyond(self, first: Iterable[Hop], bound: Bound, entered: frozenset[int]) -> Iterator[Step]:
        """Yield the steps that can be taken first, and those to all that lies beyond."""
        number = count()
        waiting: list[tuple[int, int, Hop]] = []

        def wait(steps: Iterable[Hop]) -> None:
            for step in steps:
                heappush(waiting, (self.rank(step, entered), next(number), step))

        wait(first)
        while waiting:
            *_, step = heappop(waiting)
            if isinstance(step, Ask):
                if step.mode != "mark" or step.alias in entered:
                    yield step
                bound.aliases.add(step.alias)
            elif step.mode == "null" and step.alias not in entered:
                continue
            elif step.alias in entered:
                yield step
                bound.add(step.alias)
                wait(beside(self.plan, step.alias, step.vertex))
            else:
                yield Weigh((step, *self.side(step)))
                self.summed.add(step.alias)
            yield from map(Test, self.decided(bound, step.alias))

    def side(self, step: Enter) -> Iterator[Step]:
        """Yield the steps of a side that is weighed, behind the one that enters it."""
        bound = Bound(self.plan, step.alias)
        yield from map(Test, self.decided(bound, step.alias))
        first = beside(self.plan, step.alias, step.vertex)
        yield from self.beyond(first, bound, frozenset())

    def rank(self, step: Hop, entered: frozenset[int]) -> int:
        """Return when a step's turn is: sums first, last what binds no further vertex."""
        if isinstance(step, Ask) or step.alias not in entered:
            return 0
        return 1 + (len(self.plan.aliases[step.alias].vertices) == 1)

    def decided(self, bound: Bound, last: int) -> list[Expression]:
        """Remove and return the tests that can be decided now that an alias was bound or summed."""
        if not self.early:
            return []
        read = {("alias", last), *(("vertex", each) for each in self.plan.aliases[last].vertices)}
        numbers = self.constant.union(*(self.readers.get(each, ()) for each in read))
        now = [
            number
            for number in sorted(numbers & self.early.keys())
            if all(self.is_bound(place, bound) for place in self.early[number][1])
        ]
        return [self.early.pop(number)[0] for number in now]

    def is_bound(self, place: Source, bound: Bound) -> bool:
        """True if a value can be read."""
        fits = place.fits or place.alias in self.summed
        return place.alias in bound.aliases or (place.vertex in bound.vertices and fits)


class Nearest(Arrangement):
    """Enters aliases as near as they are, and reads a value once its alias is entered."""

    def rank(self, step: Hop, entered: frozenset[int]) -> int:
        """Return the same for all: who waits longest comes next."""
        return 0

    def is_bound(self, place: Source, bound: Bound) -> bool:
        """True if the alias was entered."""
        return place.alias in bound.aliases


def beside(plan: Plan, alias: int, entry: int | None) -> Iterator[Hop]:
    """Yield the steps that can follow on an alias, but for back where it was entered."""
    for vertex in plan.aliases[alias].vertices:
        if vertex != entry:
            yield from at_value(plan, vertex, alias)


def at_value(plan: Plan, vertex: int, but: int) -> Iterator[Hop]:
    """Yield the steps to all aliases at a vertex but one."""
    at = plan.vertices[vertex]
    for other, mode in zip(at.aliases, at.modes, strict=True):
        if other != but:
            if mode == "req" or mode == "opt":
                yield Enter(other, vertex, mode)
            else:
                yield Ask(other, vertex, mode)
