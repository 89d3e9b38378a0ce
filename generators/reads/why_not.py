"""Finds where the paths of a row break that the view does not have.

    every alias has rows for it?     no: NoRows
    walk from the rarest alias       an alias of which no row meets: Apart
                                     a condition that is TRUE on no path so far: Untrue

Beside outer joins and EXISTS only those aliases must have rows that stand in every row, or of which
the row has a value:

    an optional alias             Extended where it has rows and the row has NULLs
    one that is asked for         Lacking where there is none, Barred where there is one

After a break the walk goes on without what lies beyond it, so that other breaks are found, too.
Look-ahead would hide where a dead end is: the walk is told to try everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from joingraph.expressions.evaluate import evaluate
from joingraph.expressions.tree import Expression, aliases_of
from joingraph.expressions.words import Word
from joingraph.generators.paths import Path, keep_true, output_column
from joingraph.generators.reads.reading import kept, why
from joingraph.generators.reads.starts import counted, groups, size
from joingraph.generators.rows import view_rows
from joingraph.generators.walk import Walker
from joingraph.graph.join_graph import Graph, LookAhead
from joingraph.plan.arrange import paths_program
from joingraph.plan.kept_columns import is_total, kept_parts
from joingraph.plan.model import Plan
from joingraph.plan.program import Ask, Enter, Program, Test
from joingraph.reads.access_paths import Everyone, Way, at_vertices, key_words, starts_of
from joingraph.reads.row_lookup import Asked, contradictions, known_keys
from joingraph.reads.why import Kept
from joingraph.reads.why_not import (
    Apart,
    Barred,
    Break,
    Equal,
    Extended,
    Lacking,
    NoRows,
    Unequal,
    Untrue,
)

SHOWN = 3  # rows that a break shows

Keys = Mapping[tuple[int, int], Word]  # (vertex, class there) -> the word that the row fixes


def why_not(graph: Graph, look: LookAhead, asked: Asked) -> list[Break]:
    """Find the row's breaks, none if it is in the view."""
    plan = graph.plan
    if not plan.is_inner and why(graph, look, asked):
        return []
    found: list[Break] = [Unequal(*pair) for pair in contradictions(plan, asked)]
    constant = [each for each in asked.conditions if not aliases_of(each)]
    found += [Untrue(each, 1, 0) for each in constant if not evaluate(each, {}, 1)[0].as_py()]
    if found:
        return found
    keys = key_demands(plan, asked)
    needed = starts_of(plan, asked.conditions)
    ways = [rarest(graph, alias, asked) for alias in needed]
    programs = [plan.program(paths_program, way.alias, asked.conditions) for way in ways]
    pairs = list(zip(ways, programs, strict=True))
    begun = (candidates(graph, way, keys, program.tests) for way, program in pairs)
    found += [NoRows(way.alias) for way, of in zip(ways, begun, strict=True) if not any(of)]
    if found:
        return found
    start, program = min(pairs, key=lambda pair: size(graph, pair[0]))
    paths = list(candidates(graph, start, keys, program.tests))
    walker = Walker(graph, look, tries_all=True)
    paths, found = follow(walker, paths, entering(plan, program, needed), keys=keys)
    if not found and asked.words not in set(view_rows(plan, paths)):
        return [Equal()]
    return found


def entering(plan: Plan, program: Program, needed: Sequence[int]) -> Program:
    """Return a program that takes no alias for missing which stands in the row."""
    assert program.alias is not None, "a row is looked for from rows of an alias"
    nearer, wanted = plan.tree_from(program.alias), set(needed)
    for pairs in plan.pairs:
        if pairs.alias != program.alias and wanted & {
            plan.paired_with(pairs.alias, nearer[pairs.alias].alias)
        }:
            wanted.add(pairs.alias)
    steps = (
        replace(step, mode="req") if isinstance(step, Enter) and step.alias in wanted else step
        for step in program.steps
    )
    return replace(program, steps=tuple(steps))


def key_demands(plan: Plan, asked: Asked) -> Keys:
    """Return the values of keys that the row fixes as words, free of contradictions."""
    words = {
        (vertex, position): key_words([known], plan.vertices[vertex].types[position])
        for (vertex, position), known in known_keys(plan, asked).items()
    }
    return {place: word[0] for place, word in words.items() if word}


def rarest(graph: Graph, alias: int, asked: Asked) -> Way:
    """Choose how to look for an alias' rows: by the vertex value with the fewest, or all."""
    ways: list[Way] = [
        way for way in at_vertices(graph.plan, asked.conditions) if way.alias == alias
    ]
    return min(ways or [Everyone(alias)], key=lambda way: size(graph, way))


def candidates(graph: Graph, way: Way, keys: Keys, tests: Sequence[Expression]) -> Iterator[Path]:
    """Yield what an alias has for the row."""
    paths = (counted(graph.plan, step) for group in groups(graph, way) for step in group)
    yield from keep_true(graph.plan, fitting(graph, paths, way.alias, keys), tests)


def fitting(graph: Graph, paths: Iterable[Path], alias: int, keys: Keys) -> Iterator[Path]:
    """Let through the paths on which an alias' key has the values that the row fixes."""
    for path in paths:
        step = path.steps[alias]
        assert step is not None, "only a path that has been there is asked"
        if all(
            keys.get((value.vertex, position), word) == word
            for value in step.tuple.values
            for position, word in enumerate(value.words)
        ):
            yield path


def follow(
    walker: Walker, paths: list[Path], by: Program, *, keys: Keys
) -> tuple[list[Path], list[Break]]:
    """Carry out a program on all paths at once, noting each break; give the paths left, too.

    A step that leaves no path is a break, and is then taken as not done: others follow.
    """
    plan, found = walker.plan, list[Break]()
    assert by.alias is not None, "a row is looked for from rows of an alias"
    nearer, missed = plan.tree_from(by.alias), set[int]()
    for step in by.steps:
        if isinstance(step, Enter):
            near = nearer[step.alias].alias
            met = [] if near in missed else partners_that_fit(walker, paths, step, by, keys=keys)
            if not met:
                missed.add(step.alias)
            if not met and near not in missed:
                found.append(apart(walker, paths, step, by, near=near))
            paths = met or paths
        elif isinstance(step, Ask):
            near = nearer[step.alias].alias
            asked = [] if near in missed else list(walker.ask(paths, step))
            if not asked and near not in missed:
                found.append(refusing(walker, paths, step, near))
            if not asked:
                missed.add(step.alias)
            paths = asked or paths
        elif isinstance(step, Test) and can_ask(plan, step.predicate, missed, broken=bool(found)):
            paths, broken = asked_of(plan, paths, step.predicate)
            found += broken
    return paths, found


def apart(walker: Walker, paths: list[Path], step: Enter, by: Program, *, near: int) -> Break:
    """Return why no path goes on into an alias: where it is, the row may say that it is not."""
    if step.mode == "opt" or may_be_unpaired(walker.plan, near, by):
        missing = walker.enter(paths, replace(step, mode="null"))
        if any(keep_true(walker.plan, missing, tests_of(walker.plan, step.alias, by))):
            return Extended(near, step.alias, step.vertex, some_rows(walker, paths, step))
    return Apart(near, step.alias, step.vertex)


def may_be_unpaired(plan: Plan, near: int, by: Program) -> bool:
    """True if an alias is of pairs that may be missing: who hangs on it is missing with it."""
    if not plan.aliases[near].is_of_pairs:
        return False
    return any(
        isinstance(each, Enter) and each.alias == near and each.mode == "opt" for each in by.steps
    )


def refusing(walker: Walker, paths: list[Path], step: Ask, near: int) -> Break:
    """Return what an alias that is asked for has not, or has."""
    if step.mode == "semi":
        return Lacking(near, step.alias, step.vertex)
    into = Enter(step.alias, step.vertex)
    return Barred(near, step.alias, step.vertex, some_rows(walker, paths, into))


def some_rows(walker: Walker, paths: Sequence[Path], step: Enter) -> tuple[Kept, ...]:
    """Return what an alias keeps of some rows on paths that go on there."""
    further = Walker(walker.graph, walker.look).enter(paths, replace(step, mode="req"))
    found = dict.fromkeys(kept(path.steps[step.alias]) for path in further)
    return tuple(islice(filter(None, found), SHOWN))


def partners_that_fit(
    walker: Walker, paths: Iterable[Path], step: Enter, by: Program, *, keys: Keys
) -> list[Path]:
    """Extend paths by the steps of an alias that have what the row asks of this alias alone."""
    own = tests_of(walker.plan, step.alias, by)
    further = walker.enter(paths, step)
    return list(keep_true(walker.plan, fitting(walker.graph, further, step.alias, keys), own))


def tests_of(plan: Plan, alias: int, by: Program) -> list[Expression]:
    """Return what a program asks of one alias alone."""
    mine = frozenset({plan.aliases[alias].name})
    tests = (each.predicate for each in by.steps if isinstance(each, Test))
    return [each for each in tests if aliases_of(each) == mine and is_total(plan, each)]


def can_ask(plan: Plan, test: Expression, missed: set[int], *, broken: bool) -> bool:
    """True if paths have all that a condition reads; one that may fail needs complete paths."""
    read = {plan.slots[part].alias for part in kept_parts(plan, test)}
    return read.isdisjoint(missed) and (not broken or is_total(plan, test))


def asked_of(plan: Plan, paths: list[Path], test: Expression) -> tuple[list[Path], list[Break]]:
    """Keep the paths on which a condition is TRUE; if it is on none, keep all and say so."""
    outcomes = output_column(plan, paths, test).to_pylist()
    true = [path for path, outcome in zip(paths, outcomes, strict=True) if outcome]
    if true:
        return true, []
    return paths, [Untrue(test, outcomes.count(False), outcomes.count(None))]
