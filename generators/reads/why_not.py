"""Finds where the paths of a row break that the view does not have.

    every alias has rows for it?     no: NoRows
    walk from the rarest alias       an alias of which no row meets: Apart
                                     a condition that is TRUE on no path so far: Untrue

After a break the walk goes on without what lies beyond it, so that other breaks are found, too.
Look-ahead would hide where a dead end is: the walk is told to try everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from joingraph.expressions.evaluate import evaluate
from joingraph.expressions.tree import Expression, aliases_of
from joingraph.expressions.words import Word
from joingraph.generators.paths import Path, keep_true, output_column
from joingraph.generators.reads.starts import counted, groups, size
from joingraph.generators.rows import view_rows
from joingraph.generators.walk import Walker
from joingraph.graph.join_graph import Graph, LookAhead
from joingraph.plan.arrange import paths_program
from joingraph.plan.kept_columns import is_total
from joingraph.plan.model import Plan
from joingraph.plan.program import Enter, Program, Test
from joingraph.reads.access_paths import Everyone, Way, at_vertices, key_words
from joingraph.reads.row_lookup import Asked, contradictions, known_keys
from joingraph.reads.why_not import Apart, Break, Equal, NoRows, Unequal, Untrue

Keys = Mapping[tuple[int, int], Word]  # (vertex, class there) -> the word that the row fixes


def why_not(graph: Graph, look: LookAhead, asked: Asked) -> list[Break]:
    """Find the row's breaks, none if it is in the view."""
    plan = graph.plan
    found: list[Break] = [Unequal(*pair) for pair in contradictions(plan, asked)]
    constant = [each for each in asked.conditions if not aliases_of(each)]
    found += [Untrue(each, 1, 0) for each in constant if not evaluate(each, {}, 1)[0].as_py()]
    if found:
        return found
    keys = key_demands(plan, asked)
    ways = [rarest(graph, alias.index, asked) for alias in plan.aliases]
    programs = [plan.program(paths_program, way.alias, asked.conditions) for way in ways]
    pairs = list(zip(ways, programs, strict=True))
    begun = (candidates(graph, way, keys, program.tests) for way, program in pairs)
    found += [NoRows(way.alias) for way, of in zip(ways, begun, strict=True) if not any(of)]
    if found:
        return found
    start, program = min(pairs, key=lambda pair: size(graph, pair[0]))
    paths = list(candidates(graph, start, keys, program.tests))
    paths, found = follow(Walker(graph, look), paths, program, keys=keys)
    if not found and asked.words not in set(view_rows(plan, paths)):
        return [Equal()]
    return found


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
            paths = met or paths
            if not met:
                missed.add(step.alias)
            if not met and near not in missed:
                found.append(Apart(near, step.alias, step.vertex))
        elif isinstance(step, Test) and can_ask(plan, step.predicate, missed, broken=bool(found)):
            paths, broken = asked_of(plan, paths, step.predicate)
            found += broken
    return paths, found


def partners_that_fit(
    walker: Walker, paths: Iterable[Path], step: Enter, by: Program, *, keys: Keys
) -> list[Path]:
    """Extend paths by the steps of an alias that have what the row asks of this alias alone."""
    plan, alias = walker.plan, step.alias
    mine = frozenset({plan.aliases[alias].name})
    tests = (each.predicate for each in by.steps if isinstance(each, Test))
    own = [each for each in tests if aliases_of(each) == mine and is_total(plan, each)]
    further = walker.enter(paths, step)
    return list(keep_true(plan, fitting(walker.graph, further, alias, keys), own))


def can_ask(plan: Plan, test: Expression, missed: set[int], *, broken: bool) -> bool:
    """True if paths have all that a condition reads; one that may fail needs complete paths."""
    reads = aliases_of(test)
    unread = {plan.aliases[alias].name for alias in missed}
    return reads.isdisjoint(unread) and (not broken or is_total(plan, test))


def asked_of(plan: Plan, paths: list[Path], test: Expression) -> tuple[list[Path], list[Break]]:
    """Keep the paths on which a condition is TRUE; if it is on none, keep all and say so."""
    outcomes = output_column(plan, paths, test).to_pylist()
    true = [path for path, outcome in zip(paths, outcomes, strict=True) if outcome]
    if true:
        return true, []
    return paths, [Untrue(test, outcomes.count(False), outcomes.count(None))]
