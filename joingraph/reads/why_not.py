"""Why a row is not in the view: where its paths break, as a sentence each.

    why_not(("bob", 9))  ->  [NoRows(T)]  ->  [(("T",), "no row of T with id = 9 in the graph")]

Every form of the graph gives the breaks; the sentences are written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from joingraph.expressions.python_values import plain_text, python_values
from joingraph.expressions.show import brief, show
from joingraph.expressions.tree import Call, Column, Expression, Literal, aliases_of, columns_of
from joingraph.expressions.words import from_words
from joingraph.plan.classes import bare
from joingraph.plan.model import AliasPlan, Plan
from joingraph.plan.show import vertex_name
from joingraph.reads.row_lookup import Asked, known_keys
from joingraph.reads.why import Kept, base_name, columns_kept


class WhyNot(list[tuple[tuple[str, ...], str]]):
    """Where the paths of a row break: (aliases, reason); printing lists the reasons."""

    def __str__(self) -> str:
        return "\n".join(f"{', '.join(aliases)}: {reason}" for aliases, reason in self) or (
            "the row is in the view; why(row) shows its paths"
        )


class NoRows(NamedTuple):
    """No row of an alias has what the row asks of it."""

    alias: int


class Unequal(NamedTuple):
    """The row gives two values to what is one in every row."""

    one: Expression
    other: Expression


class Apart(NamedTuple):
    """Both sides of a hop have rows for it, and none of them meet."""

    near: int
    alias: int
    vertex: int


class Lacking(NamedTuple):
    """None of the rows of an alias has a row of another one there, which EXISTS asks for."""

    near: int
    alias: int
    vertex: int


class Barred(NamedTuple):
    """Where NOT EXISTS asks for none, an alias has rows: what it keeps of some of them."""

    near: int
    alias: int
    vertex: int
    rows: tuple[Kept, ...]


class Extended(NamedTuple):
    """Where the row has NULLs for an alias, this has rows: what it keeps of some of them."""

    near: int
    alias: int
    vertex: int
    rows: tuple[Kept, ...]


class Untrue(NamedTuple):
    """A condition over several aliases is not TRUE on any path that comes so far."""

    test: Expression
    false: int
    null: int


class Equal(NamedTuple):
    """The view has a row that SQL holds equal, yet it is not the same."""


class OtherRow(NamedTuple):
    """The group of such keys shows another row."""

    row: Mapping[str, object]


class NotHaving(NamedTuple):
    """The group of such keys does not pass HAVING, given the values of its aggregates."""

    having: str
    values: Mapping[str, object]


class NoGroup(NamedTuple):
    """No group shows such a row, and the row does not tell which group it would be."""


Hop = Apart | Lacking | Barred | Extended
Break = OtherRow | NotHaving | NoGroup | NoRows | Unequal | Hop | Untrue | Equal


def breaks_text(plan: Plan, asked: Asked, breaks: Sequence[Break]) -> WhyNot:
    """Return where the paths of a row break, in sentences."""
    return WhyNot((aliases(plan, each), reason(plan, asked, each)) for each in breaks)


def aliases(plan: Plan, found: Break) -> tuple[str, ...]:
    """Name the aliases that a break concerns, in the view's order."""
    names = [alias.name for alias in plan.aliases]
    match found:
        case NoRows(alias):
            return (names[alias],)
        case Apart() | Lacking() | Barred() | Extended():
            concerned = frozenset(names[end] for end in ends_of(plan, found))
        case Unequal(one, other):
            concerned = aliases_of(one) | aliases_of(other)
        case Untrue(test, _, _):
            marks = plan.marks.keys() & set(columns_of(test))
            concerned = aliases_of(test) | {names[asked_for(plan, mark)] for mark in marks}
        case _:
            concerned = frozenset(names)
    return tuple(name for name in names if name in concerned)


def asked_for(plan: Plan, mark: Expression) -> int:
    """Return the alias that is asked for by a mark; of pairs, the farther one that is paired."""
    alias = plan.marks[mark]
    found = (pairs.sides[1].alias for pairs in plan.pairs if pairs.alias == alias)
    return next(found, alias)


def reason(plan: Plan, asked: Asked, found: Break) -> str:
    """Return what broke."""
    match found:
        case NoRows(alias):
            return no_rows_text(plan, asked, alias)
        case Unequal(one, other):
            rows = "row of the view" if plan.is_inner else "row that has both"
            return f"{brief(show(one))} and {brief(show(other))} are equal in every {rows}"
        case Apart() | Lacking() | Barred() | Extended():
            return hop_text(plan, asked, found)
        case Untrue(test, false, null):
            if not aliases_of(test):
                return f"{brief(show(test))} in no row of the view"
            kind = "residual predicate" if test in plan.residuals else "the row's"
            return f"{kind} {brief(show(test))} is {outcome(false, null)}"
        case OtherRow(row):
            return f"the group is there, with {values_text(row)}"
        case NotHaving(having, values):
            return (
                f"the group is there, but HAVING {having} is not TRUE, with {values_text(values)}"
            )
        case NoGroup():
            return "no group shows this row; the view does not show by what it groups"
        case Equal():
            return "the view has an equal row, but not this one: -0.0 and 0.0 are two values"


def ends_of(plan: Plan, found: Hop) -> tuple[int, int]:
    """Return both ends of a hop; of one to pairs, or from them, the alias that is paired."""
    near, alias = found.near, found.alias
    if plan.aliases[near].is_of_pairs:
        return plan.paired_with(near, alias), alias
    if plan.aliases[alias].is_of_pairs:
        return near, plan.paired_with(alias, near)
    return near, alias


def hop_text(plan: Plan, asked: Asked, found: Hop) -> str:
    """Return why no path goes on from one alias to another."""
    fixed = " and ".join(vertex_demands(plan, asked, found.vertex))
    at = vertex_name(plan, plan.vertices[found.vertex]) + (f" where {fixed}" if fixed else "")
    for pairs in plan.pairs:
        if pairs.alias in (found.near, found.alias):
            at += f", on {brief(show(pairs.condition))}"
    ends = ends_of(plan, found)
    near, alias = (plan.aliases[end].name for end in ends)
    match found:
        case Apart():
            names = " and ".join(plan.aliases[i].name for i in sorted(ends))
            return f"{names} have rows for it, but no two of them meet at {at}"
        case Lacking():
            return f"{near} has rows for it, but none of them meets a row of {alias} at {at}"
        case Barred():
            rows = rows_text(plan, found)
            return f"{alias} has rows at {at}, where none may be{f': {rows}' if rows else ''}"
        case Extended():
            return f"{alias} has rows at {at}, where the row has NULLs: {rows_text(plan, found)}"


def rows_text(plan: Plan, found: Barred | Extended) -> str:
    """Write what an alias keeps of rows; of those that are paired, by what they are."""
    if plan.aliases[found.alias].is_of_pairs:
        kept = columns_paired(plan, found)
    else:
        kept = columns_kept(plan, found.alias, found.rows)
    return ", ".join(f"({values_text(each)})" for each in kept)


def columns_paired(plan: Plan, found: Barred | Extended) -> list[dict[str, object]]:
    """Name the values of the farther side of pairs, if these have them."""
    _, far = ends_of(plan, found)
    if any(each.alias == found.alias and each.is_counted for each in plan.pairs):
        return []
    mine, (vertex,) = (
        plan.aliases[far],
        (each for each in plan.aliases[found.alias].vertices if each in plan.aliases[far].vertices),
    )
    names = [base_name(each) for each in mine.keys[mine.vertices.index(vertex)]]
    place = plan.aliases[found.alias].vertices.index(vertex)
    kinds = plan.vertices[vertex].types
    columns = [
        python_values(from_words([each.key[place][at] for each in found.rows], kind))
        for at, kind in enumerate(kinds)
    ]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def values_text(values: Mapping[str, object]) -> str:
    """Write values by name."""
    return ", ".join(f"{name} = {plain_text(value)}" for name, value in values.items())


def outcome(false: int, null: int) -> str:
    """Return what a condition is on the candidate paths."""
    total = false + null
    paths = "the only candidate path" if total == 1 else f"all {total} candidate paths"
    if false and null:
        return f"FALSE on {false} and NULL on {null} of {paths}"
    return f"{'NULL' if null else 'FALSE'} on {paths}"


def no_rows_text(plan: Plan, asked: Asked, alias: int) -> str:
    """Return what no row of an alias has, and which rows the graph does not hold.

    A base row with NULL in a join attribute joins nothing and is not kept, so the graph cannot
    know if there is one that has all else: the reader is told that it would not be held.
    """
    mine = plan.aliases[alias]
    wanted = " and ".join(demands(plan, asked, alias))
    text = f"no row of {mine.name}{f' with {wanted}' if wanted else ''} in the graph"
    held = [*map(show, mine.conditions), *not_null(plan, asked, mine)]
    return f"{text} (it holds only rows with {brief(' AND '.join(held))})" if held else text


def not_null(plan: Plan, asked: Asked, alias: AliasPlan) -> Iterator[str]:
    """Yield what of an alias' keys may be NULL in a base row, unless the row fixes its value."""
    known = known_keys(plan, asked)
    schema = plan.definition.tables[alias.table].schema
    for vertex, members, lone in zip(alias.vertices, alias.keys, alias.lone, strict=True):
        for position, member in enumerate(map(bare, members)):
            if not lone and (vertex, position) not in known and may_be_null(member, schema):
                yield f"{show(member)} IS NOT NULL"


def may_be_null(member: Expression, schema: pa.Schema) -> bool:
    """True if a base row may lack a key; neither of the two keys of `a <=> b` is ever NULL."""
    match member:
        case Column(_, name):
            return bool(schema.field(name).nullable)
        case Call("is_null"):
            return False
        case Call("coalesce", (*_, Literal(value))):
            return value is None
        case _:
            return True


def demands(plan: Plan, asked: Asked, alias: int) -> list[str]:
    """List what a row asks of one alias, as conditions on its base columns."""
    mine = plan.aliases[alias]
    own = [each for each in asked.conditions if aliases_of(each) == frozenset({mine.name})]
    texts = dict.fromkeys(map(demand_text, own))
    for vertex in mine.vertices:
        texts |= dict.fromkeys(vertex_demands(plan, asked, vertex, alias))
    return list(texts)


def demand_text(condition: Expression) -> str:
    """Write what a row asks of one column."""
    assert isinstance(condition, Call), "a row asks for a value, or for NULL"
    value = condition.args[0]
    if condition.function == "is_null":
        return f"{base_name(value)} IS NULL"
    return f"{base_name(value)} = {show(condition.args[1])}"


def vertex_demands(plan: Plan, asked: Asked, vertex: int, alias: int | None = None) -> list[str]:
    """List what a row fixes at a vertex, in the words of one alias there."""
    at = plan.vertices[vertex]
    seat = 0 if alias is None else at.seat(alias)
    known = known_keys(plan, asked)
    return [
        f"{base_name(members[seat])} = {show(known[vertex, position])}"
        for position, members in enumerate(at.members)
        if (vertex, position) in known
    ]
