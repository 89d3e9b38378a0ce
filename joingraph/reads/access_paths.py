"""The ways to start a read, and the choice between them; every form of the graph has them all.

    where userId = 7             AtVertex: the join tuples that sit at {7}, of either alias there
    where fan IN ('bob', 'eve')  AtIndex, if fan has an index: the projected tuples listed there
    order_by date limit 20       InOrder, if date has one: its entries in order, until 20 rows
    else                         Everyone of an alias

A way may start at more than is asked for, never at less: conditions are checked on the path. So
a constant may be compared after it was brought to the type of the key or the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import pyarrow as pa

from joingraph.expressions.order import comparables
from joingraph.expressions.strict import nulling, rejected
from joingraph.expressions.tree import Call, Expression, Literal, aliases_of
from joingraph.expressions.words import Word, normal, to_words
from joingraph.plan.arrange import around_program
from joingraph.plan.classes import bare
from joingraph.plan.kept_columns import is_total
from joingraph.plan.model import ALWAYS, Plan
from joingraph.plan.program import Program
from joingraph.reads.requests import Reading

KEYS_MAX = 10_000  # vertex values one read starts from; with more it takes another way


class Span(NamedTuple):
    """Values of an index from `low` to `high`, None being open; a point goes to itself."""

    low: Any
    high: Any
    without_low: bool = False
    without_high: bool = False


class Everyone(NamedTuple):
    """Start from all of an alias."""

    alias: int


class AtVertex(NamedTuple):
    """Start from the join tuples of an alias at vertex values."""

    alias: int
    vertex: int
    words: tuple[tuple[Word, ...], ...]


class AtIndex(NamedTuple):
    """Start from the projected tuples of an alias that an index lists within spans."""

    alias: int
    column: str
    spans: tuple[Span, ...]


class InOrder(NamedTuple):
    """Start from all of an alias, in the order of an indexed column."""

    alias: int
    column: str
    descending: bool
    nulls_first: bool


class AllGroups(NamedTuple):
    """Read the groups of a view: all that are kept, or those that are made for the read.

    Of those that are kept, what they show is computed where tests of their keys are passed.
    """

    are_kept: bool = True
    tests: tuple[Expression, ...] = ()


Way = Everyone | AtVertex | AtIndex | InOrder
Indexes = Mapping[str, Expression]  # indexed output columns, and what they stand for
Facts = Mapping[Expression, list[Literal]]  # the constants of which a value must be one


def choose(plan: Plan, reading: Reading, indexed: Iterable[str], size: Callable[[Way], int]) -> Way:
    """Choose where a read starts: where an index leads if one does, and there with the fewest.

    `indexed` are the output columns that have an index. With a limit, an alias whose columns alone
    give the order goes first: sorted, its starts give the rows in order, and the walk ends with the
    last row wanted.
    """
    possible = starts_of(plan, reading.conditions)
    outputs = {each.name: each.value for each in plan.definition.output}
    indexes = {column: outputs[column] for column in indexed}
    sorter = sorting_alias(plan, reading)
    seeks: list[Way] = list(at_vertices(plan, reading.conditions))
    seeks += at_indexes(plan, reading, indexes)
    seeks = [way for way in seeks if way.alias in possible]
    if seeks:
        sorted_ones = [way for way in seeks if way.alias == sorter and reading.limit is not None]
        return min(sorted_ones or seeks, key=size)
    if sorter is None:
        return min(map(Everyone, possible), key=size)
    first = reading.order[0]
    for column, value in indexes.items():
        if value == first.value:
            return InOrder(sorter, column, first.descending, first.nulls_first)
    return Everyone(sorter)


def starting_in(
    plan: Plan, aliases: Iterable[int], way: Way, conditions: Sequence[Expression] = ()
) -> Way:
    """Return a full scan of one of some aliases in place of another one: so less is walked."""
    if isinstance(way, Everyone):
        possible = starts_of(plan, conditions)
        return Everyone(min((each for each in aliases if each in possible), default=way.alias))
    return way


def standing(plan: Plan, conditions: Sequence[Expression]) -> tuple[int, ...]:
    """Return the aliases of which each row that meets some conditions has a row."""
    known = rejected(conditions)
    return tuple(
        alias.index
        for alias in plan.aliases
        if alias.presence == ALWAYS or (alias.name in known and not alias.is_silent)
    )


def starting_without(
    plan: Plan, reading: Reading, start: int, *, unasked: Sequence[Expression], has_all: bool
) -> Iterator[tuple[int, int, Program]]:
    """Yield what makes the paths on which the alias is missing where reads start (FULL JOIN).

    A vertex, who leads there but has no live row at its value, and the program from such a value.
    Of the predicates that come behind all else some may be left unasked; paths have the aliases
    that rows need, or all.
    """
    if start in standing(plan, reading.conditions):
        return
    order = tuple(each.value for each in reading.order)
    for vertex, leading in plan.optional_ways(start):
        program = around_program(
            plan, vertex, leading, conditions=reading.conditions, order=order, has_all=has_all
        )
        yield vertex, leading, program.without(unasked)


def starts_of(plan: Plan, conditions: Sequence[Expression]) -> tuple[int, ...]:
    """Return the aliases from which a read may start; of a FULL JOIN it may miss rows of others."""
    return standing(plan, conditions) or plan.starts


def sorting_alias(plan: Plan, reading: Reading) -> int | None:
    """Find the alias whose columns alone give the order; None if it takes several, or may fail."""
    names = {name for each in reading.order for name in aliases_of(each.value)}
    if len(names) != 1 or not all(is_total(plan, each.value) for each in reading.order):
        return None
    possible = standing(plan, reading.conditions)
    return next((each for each in possible if plan.aliases[each].name in names), None)


def at_vertices(plan: Plan, conditions: Sequence[Expression]) -> Iterator[AtVertex]:
    """Yield the starts of reads at vertices whose every class is compared with constants."""
    return at_facts(plan, spread(plan, facts_of(conditions)))


def at_facts(plan: Plan, facts: Facts) -> Iterator[AtVertex]:
    """Yield the starts at vertices of which facts give every class a value."""
    for vertex in plan.vertices:
        choices = [
            [key_words(facts[member], kind) for member in members if member in facts]
            for members, kind in zip(vertex.members, vertex.types, strict=True)
        ]
        if not choices or not all(choices):
            continue
        least = [min(words, key=len) for words in choices]
        if prod(map(len, least)) <= KEYS_MAX:
            for alias in vertex.aliases:
                yield AtVertex(alias, vertex.index, tuple(product(*least)))


def at_indexes(plan: Plan, reading: Reading, indexes: Indexes) -> Iterator[AtIndex]:
    """Yield the starts at declared indexes: at points where there are any, else in a range."""
    facts = facts_of(reading.conditions)
    for column, value in indexes.items():
        alias = plan.slots[value].alias
        if bare(value) in facts:
            points = dict.fromkeys(map(comparable, facts[bare(value)]))
            spans = tuple(Span(point, point) for point in points if point is not None)
            yield AtIndex(alias, column, spans)
        else:
            span = range_of(reading.conditions, bare(value))
            if span != Span(None, None):
                yield AtIndex(alias, column, (span,))


def facts_of(conditions: Sequence[Expression]) -> Facts:
    """Collect which values must equal one of some constants; the shortest list of each."""
    facts: dict[Expression, list[Literal]] = {}
    for condition in conditions:
        found = equalities(condition)
        if found is not None:
            subject, constants = found
            if subject not in facts or len(constants) < len(facts[subject]):
                facts[subject] = constants
    return facts


def spread(plan: Plan, facts: Facts) -> Facts:
    """Repeat the constants of one member of a class for the others, from vertex to vertex.

    A missing alias equals none that it could meet: nothing is known of it, or by it.
    """
    known = dict(telling(plan, facts))
    missing = {alias.name for alias in plan.aliases if alias.presence != ALWAYS}
    classes = [
        [member for member in members if missing.isdisjoint(aliases_of(member))]
        for vertex in plan.vertices
        for members in vertex.members
    ]
    for _ in classes:  # a class may be at several vertices; the last turn changes nothing
        for members in classes:
            constants = next((known[member] for member in members if member in known), None)
            if constants is not None:
                known |= {member: constants for member in members if member not in known}
    return known


def telling(plan: Plan, facts: Facts) -> Facts:
    """Return the facts that say something of others in the class.

    Of a missing alias a value that is not NULL says nothing of those it would meet.
    """
    missing = {alias.name for alias in plan.aliases if alias.presence != ALWAYS}
    return {
        each: constants
        for each, constants in facts.items()
        if missing.isdisjoint(aliases_of(each) - nulling((each,)))
    }


def equalities(condition: Expression) -> tuple[Expression, list[Literal]] | None:
    """Read a = 1, a IN (1, 2) and a = 1 OR a = 2 as: what is compared, and with which constants."""
    match condition:
        case Call("equal", (Literal() as constant, subject) | (subject, Literal() as constant)):
            return bare(subject), [constant]
        case Call("in", (subject, *others)):
            constants = [each for each in others if isinstance(each, Literal)]
            return (bare(subject), constants) if len(constants) == len(others) else None
        case Call("or", parts):
            found = [equalities(part) for part in parts if not is_never_true(part)]
            subjects = {None if each is None else each[0] for each in found}
            if len(subjects) == 1 and found[0] is not None:
                return found[0][0], [one for each in found if each for one in each[1]]
        case _:
            pass
    return None


def is_never_true(condition: Expression) -> bool:
    """True for the constants FALSE and NULL, which add nothing to an OR."""
    return isinstance(condition, Literal) and not condition.value


def key_words(constants: Sequence[Literal], kind: pa.DataType) -> list[Word]:
    """Return constants as words of a key; one that the key's type cannot hold equals no key."""
    words: dict[Word, None] = {}
    for each in constants:
        try:
            column = pa.array([each.value], each.type).cast(kind)
        except pa.ArrowInvalid:
            continue
        if each.value is not None:
            words[to_words(normal(column))[0]] = None
    return list(words)


def range_of(conditions: Sequence[Expression], subject: Expression) -> Span:
    """Return the span in which conjuncts hold a value."""
    span = Span(None, None)
    for condition in conditions:
        match condition:
            case Call(function, (left, Literal() as constant)) if bare(left) == subject:
                sign = function
            case Call(function, (Literal() as constant, right)) if bare(right) == subject:
                sign = MIRRORED.get(function, "")
            case _:
                continue
        span = narrowed(span, sign, comparable(constant))
    return span


MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}


def narrowed(span: Span, sign: str, value: Any) -> Span:
    """Intersect a span with one more bound; NULL bounds nothing: its condition finds no row."""
    if value is None:
        return span
    without = sign in ("less", "greater")
    if sign in ("greater", "greater_equal"):
        low = (span.low, span.without_low)
        if span.low is None or (value, without) > low:
            span = span._replace(low=value, without_low=without)
    elif sign in ("less", "less_equal"):
        high = (span.high, not span.without_high)
        if span.high is None or (value, not without) < high:
            span = span._replace(high=value, without_high=without)
    return span


def comparable(constant: Literal) -> Any:
    """Return a constant as an index compares it."""
    return comparables(pa.array([constant.value], constant.type))[0]
