"""Complete paths on which the view has no answer, named by their base rows.

    SELECT a.x DIV b.v ...      a (k = 1, x = 7) --- {1} --- b (k = 1, v = 0)      division by zero

No batch and no load leaves such a path in the graph. Graphs of earlier versions may hold some,
since `load` computed nothing: reads go around them, and their base rows can be deleted.

Both forms of the graph look for such a path in the same way: they enter the aliases that the
expressions read, and weigh all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from joingraph.common.errors import DiffError
from joingraph.expressions.evaluate import NoAnswer
from joingraph.expressions.python_values import plain_text
from joingraph.expressions.tree import Expression, aliases_of
from joingraph.plan.arrange import through
from joingraph.plan.kept_columns import is_total, kept_parts
from joingraph.plan.model import Plan
from joingraph.plan.program import Program
from joingraph.reads.why import Kept, columns_kept

REMEDY = (
    "; leave such rows out with where=..., or take one of these base rows away:"
    " graph.delete(table, rows) or graph.expire(table, where)"
)


class Unanswered(NamedTuple):
    """A complete path without an answer: what the walked aliases keep on it, and the reason.

    First come the aliases whose values are to blame.
    """

    kept: Mapping[int, Kept]
    why: str

    @classmethod
    def of(cls, plan: Plan, kept: Mapping[int, Kept], error: NoAnswer) -> Unanswered:
        """Name a path by what is kept on it."""
        blamed = aliases_of(error.call)
        order = sorted(kept, key=lambda each: plan.aliases[each].name not in blamed)
        return cls({alias: kept[alias] for alias in order}, error.why)


class Checks(NamedTuple):
    """What decides whether a path has an answer.

    `tests` are conditions that may fail, each asked where the ones before are TRUE; then all of
    `values` are computed. `readers` are the aliases to walk: those of the tests and values, and
    of every condition over several aliases, or on a mark.
    """

    tests: tuple[Expression, ...]
    values: tuple[Expression, ...]
    readers: frozenset[int]


def checks_of(plan: Plan, conditions: Sequence[Expression]) -> Checks:
    """Return what may fail on the paths that meet conditions."""
    asked = (*plan.residuals, *conditions)
    tests = tuple(each for each in asked if not is_total(plan, each))
    outputs = dict.fromkeys(each.value for each in plan.definition.output)
    values = tuple(each for each in outputs if not is_total(plan, each))
    tying = [each for each in asked if len(aliases_of(each)) > 1 or "" in aliases_of(each)]
    parts = (part for each in (*tests, *values, *tying) for part in kept_parts(plan, each))
    return Checks(tests, values, frozenset(plan.slots[part].alias for part in parts))


def unchecked_program(
    plan: Plan, start: int, conditions: Sequence[Expression], checks: Checks
) -> Program:
    """Return the program of the complete paths that are to be checked."""
    tests = (each for each in (*plan.residuals, *conditions) if each not in checks.tests)
    return through(plan, start, checks.readers, tests)


def first_unanswered(
    length: int, compute: Callable[[slice], object]
) -> tuple[int, NoAnswer] | None:
    """Return the first row that cannot be computed, and why; `compute` takes some of the rows."""
    return next(unanswered(length, compute), None)


def unanswered(length: int, compute: Callable[[slice], object]) -> Iterator[tuple[int, NoAnswer]]:
    """Yield the rows that cannot be computed, each with its reason, by halving."""
    ranges = [(0, length)]
    while ranges:
        low, high = ranges.pop()
        try:
            compute(slice(low, high))
        except NoAnswer as error:
            if high - low == 1:
                yield low, error
            else:
                middle = (low + high) // 2
                ranges += [(middle, high), (low, middle)]


def path_text(plan: Plan, found: Unanswered) -> str:
    """Return why a path has no answer, and of which base rows it consists."""
    rows = []
    for alias in sorted(found.kept):
        (kept,) = columns_kept(plan, alias, [found.kept[alias]])
        values = ", ".join(f"{name} = {plain_text(value)}" for name, value in kept.items())
        rows.append(f"{plan.aliases[alias].name} ({values})")
    return f"{found.why}; the base rows are {', '.join(rows)}"


def explained(plan: Plan, error: NoAnswer, found: Unanswered | None) -> DiffError:
    """Return the error of a read that met a path without an answer, the path named."""
    return error if found is None else DiffError(path_text(plan, found) + REMEDY)
