"""What people hold before they read a view: how the read will go.

how = graph.explain(where="fan = 'bob'", limit=20)
print(how)          which way: where the walk starts, what is decided when, how rows are ordered
how.read()          the read itself, once; printing `how` again tells what it has touched
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from joingraph.expressions.show import show
from joingraph.plan.arrange import rows_program
from joingraph.plan.model import Plan
from joingraph.plan.program import Ask, Enter, Step, Test
from joingraph.plan.show import vertex_name
from joingraph.reads.access_paths import (
    AllGroups,
    AtIndex,
    AtVertex,
    Everyone,
    InOrder,
    Way,
    sorting_alias,
    standing,
)
from joingraph.reads.group_keys import GroupsByKey, GroupsWay
from joingraph.reads.requests import Reading, Touched


class Explanation:
    """How a read goes: its way as text, and what it has touched of the graph so far."""

    def __init__(self, plan: Plan, reading: Reading, way: Way | GroupsWay, open: Open) -> None:
        self.touched = Touched()
        self.text = "\n".join(lines(plan, reading, way))
        self._reading, self._open = reading, open

    def __str__(self) -> str:
        tuples, projected = self.touched.join_tuples, self.touched.projected_tuples
        if not projected:
            return self.text
        return f"{self.text}\ntouched  {tuples} join tuples, {projected} projected tuples"

    __repr__ = __str__

    def read(self) -> pa.RecordBatchReader:
        """Read what is explained; `touched` counts along."""
        return self._open(self._reading, self.touched)


def lines(plan: Plan, reading: Reading, way: Way | GroupsWay) -> Iterator[str]:
    """Yield a read's way: its start, what each step decides, how its order comes about."""
    tests, steps = reading.conditions, tuple[Step, ...]()
    if not isinstance(way, GroupsByKey | AllGroups):
        order = [each.value for each in reading.order]
        program = rows_program(plan, way.alias, reading.conditions, order)
        tests, steps = program.tests, program.steps
    yield f"read of {plan.definition.name}"
    yield f"start    {start_text(plan, way)}"
    for test in tests:
        yield f"         where {show(test)}"
    yield from step_lines(plan, steps)
    if not isinstance(way, GroupsByKey | AllGroups):
        yield from also_lines(plan, reading, way)
    if reading.order:
        yield f"order    {order_text(plan, reading, way)}"
    if reading.limit is not None:
        yield f"limit    {reading.limit}"


def also_lines(plan: Plan, reading: Reading, way: Way) -> Iterator[str]:
    """Yield where else a read starts: where rows may be that the way does not lead to."""
    if way.alias not in standing(plan, reading.conditions):
        for vertex, alias in plan.optional_ways(way.alias):
            yield f"also     from values of v{vertex} without {plan.aliases[alias].name}"


def step_lines(plan: Plan, steps: Sequence[Step], head: str = "hop") -> Iterator[str]:
    """Yield each step; a side of which nothing is read is a sum."""
    for step in steps:
        if isinstance(step, Enter):
            nulls = ", or NULLs" if step.mode == "opt" else ""
            yield f"{head:9}v{step.vertex} to {plan.aliases[step.alias].name}{nulls}"
        elif isinstance(step, Ask):
            word = {"semi": "with", "anti": "without", "mark": "whether"}[step.mode]
            yield f"{head:9}{word} {plan.aliases[step.alias].name} at v{step.vertex}"
        elif isinstance(step, Test):
            yield f"         where {show(step.predicate)}"
        else:
            yield from step_lines(plan, step.steps, "sum")


def start_text(plan: Plan, way: Way | GroupsWay) -> str:
    """Return which index is used, if any."""
    if isinstance(way, GroupsByKey):
        count = len(way.keys)
        return "the group by its key" if count == 1 else f"{count} groups by their keys"
    if isinstance(way, AllGroups):
        kept = "the groups whose keys pass" if way.tests else "all groups"
        return kept if way.are_kept else "all groups, made of the joined rows"
    name = plan.aliases[way.alias].name
    match way:
        case AtVertex(_, vertex, words):
            values = f"{len(words)} value{'' if len(words) == 1 else 's'}"
            return f"{name}, vertex index {vertex_name(plan, plan.vertices[vertex])}, {values}"
        case AtIndex(_, column, spans):
            is_range = any(span.low is None or span.low != span.high for span in spans)
            values = f"{len(spans)} value{'' if len(spans) == 1 else 's'}"
            return f'{name}, secondary index "{column}", {"a range" if is_range else values}'
        case InOrder(_, column, _, _):
            return f'{name}, secondary index "{column}", in its order'
        case Everyone():
            return f"{name}, full scan"


def order_text(plan: Plan, reading: Reading, way: Way | GroupsWay) -> str:
    """Return whether the starts give the order, or the best rows are kept while all come."""
    entries = ", ".join(
        f"{show(each.value)} {'DESC' if each.descending else 'ASC'}"
        f" NULLS {'FIRST' if each.nulls_first else 'LAST'}"
        for each in reading.order
    )
    if isinstance(way, GroupsByKey | AllGroups):
        return f"{entries}: all groups sorted"
    if sorting_alias(plan, reading) == way.alias:
        return f"{entries}: sorted start"
    kept = "all rows sorted" if reading.limit is None else f"heap of {reading.limit}"
    return f"{entries}: {kept}"


Open = Callable[[Reading, Touched], pa.RecordBatchReader]
