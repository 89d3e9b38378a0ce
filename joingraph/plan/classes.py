"""Sorts a view's conditions into filters, attribute classes and residual predicates.

    F.userId = T.userId, T.userId = U.userId, U.userId = 7, F.since < T.date
    ->  class      {F.userId, T.userId, U.userId}     (what a join vertex can be made of)
        filters    U: userId = 7, and so F: userId = 7, T: userId = 7
        residual   F.since < T.date                   (checked on the path)

A member of a class is any expression over one alias, so lower(a.name) = b.name is a class too.
Invariant: the filters, the classes (all members equal, none NULL) and the residual predicates
together hold for exactly the rows for which all conditions are TRUE.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce

import pyarrow as pa

from joingraph.expressions.python_values import python_value
from joingraph.expressions.tree import Call, Expression, Literal, Value, aliases_of
from joingraph.expressions.types import join_type
from joingraph.sql.definition import Definition

SPREADING = frozenset({"equal", "less", "less_equal", "greater", "greater_equal", "in"})


@dataclass(slots=True)
class Sorted:
    """Conditions by what becomes of them; a class maps each alias to its one member."""

    filters: dict[str, list[Expression]]
    classes: list[dict[str, Expression]] = field(default_factory=list)
    residuals: list[Expression] = field(default_factory=list)


def sort_conditions(definition: Definition) -> Sorted:
    """Sort every condition of a view, merging equal attributes into classes."""
    found = Sorted({alias.name: [] for alias in definition.aliases})
    groups: list[list[Expression]] = []
    for condition in definition.conditions:
        for part in null_safe_parts(condition):
            owners = sorted(aliases_of(part))
            if len(owners) < 2:
                found.filters[owners[0] if owners else definition.aliases[0].name].append(part)
            elif not merge(groups, part):
                found.residuals.append(part)
    for group in groups:
        found.classes.append(one_member_each(group, found.filters))
    for members in found.classes:
        spread_constants(members, found.filters)
    return found


def null_safe_parts(condition: Expression) -> tuple[Expression, ...]:
    """Write `a <=> b` as two plain equalities, so that NULL keys may meet by it.

    NULL joins NULL exactly when "is it NULL" agrees and, NULL replaced by any one constant,
    the values agree.
    """
    match condition:
        case Call("not_distinct", (left, right), kind) if not mixed(left, right):
            filler = Literal(zero(left.type), left.type)
            nulls = [Call("is_null", (side,), kind) for side in (left, right)]
            values = [Call("coalesce", (side, filler), side.type) for side in (left, right)]
            return (equal(*nulls), equal(*values))
        case _:
            return (condition,)


def mixed(left: Expression, right: Expression) -> bool:
    """True if two sides cannot be members of one class as they stand."""
    one_each = len(aliases_of(left)) == 1 == len(aliases_of(right))
    return not one_each or left.type != right.type or aliases_of(left) == aliases_of(right)


def zero(kind: pa.DataType) -> Value:
    """Return some value of a type; which one does not matter."""
    if pa.types.is_timestamp(kind):
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC if kind.tz else None)
    if pa.types.is_decimal(kind):
        return Decimal(0)
    others: dict[pa.DataType, Value] = {
        pa.string(): "",
        pa.binary(): b"",
        pa.date32(): dt.date(1970, 1, 1),
        pa.bool_(): False,
    }
    return others.get(kind, 0.0 if pa.types.is_floating(kind) else 0)


def merge(groups: list[list[Expression]], condition: Expression) -> bool:
    """Join the groups of an equality's two sides; false if it is no equality of two aliases."""
    match condition:
        case Call("equal", (left, right)) if not mixed(left, right):
            sides = (bare(left), bare(right))
        case _:
            return False
    touched = [group for group in groups if any(side in group for side in sides)]
    merged = list(dict.fromkeys([*(each for group in touched for each in group), *sides]))
    if class_type(merged) is None:
        return False
    groups[:] = [group for group in groups if group not in touched] + [merged]
    return True


def bare(member: Expression) -> Expression:
    """Remove casts that lose nothing: the class finds its common type by itself."""
    while (
        isinstance(member, Call)
        and member.function == "cast"
        and join_type(member.args[0].type, member.type) == member.type
    ):
        member = member.args[0]
    return member


def class_type(members: Iterable[Expression]) -> pa.DataType | None:
    """Find the type that holds all members' values without loss."""

    def widen(kind: pa.DataType | None, other: pa.DataType) -> pa.DataType | None:
        return None if kind is None else join_type(kind, other)

    kinds = [member.type for member in members]
    return reduce(widen, kinds[1:], kinds[0])


def cast_to(member: Expression, kind: pa.DataType) -> Expression:
    """Return an expression cast to a type, if it has another one."""
    return member if member.type == kind else Call("cast", (member,), kind)


def one_member_each(
    group: list[Expression], filters: dict[str, list[Expression]]
) -> dict[str, Expression]:
    """Keep one member of a class for each alias; that an alias' others equal it is a filter."""
    members: dict[str, Expression] = {}
    for each in group:
        (alias,) = aliases_of(each)
        first = members.setdefault(alias, each)
        if first != each:
            kind = class_type((first, each))
            assert kind is not None, "a class has a common type, so any two members have"
            filters[alias].append(equal(cast_to(first, kind), cast_to(each, kind)))
    return members


def equal(left: Expression, right: Expression) -> Expression:
    """Compare two expressions of one type."""
    return Call("equal", (left, right), pa.bool_())


def spread_constants(members: dict[str, Expression], filters: dict[str, list[Expression]]) -> None:
    """Repeat a filter that compares one member with constants for the others of its class.

    Rows that could only meet filtered rows then never enter the graph.
    """
    kind = class_type(members.values())
    assert kind is not None, "a class has a common type"
    known = {alias: list(filters[alias]) for alias in members}
    for alias, member in members.items():
        for condition in known[alias]:
            if compares_with_constants(condition, member):
                for other in members.keys() - {alias}:
                    repeated = with_member(condition, cast_to(members[other], kind))
                    if repeated not in filters[other]:
                        filters[other].append(repeated)


def compares_with_constants(condition: Expression, member: Expression) -> bool:
    """True if a condition compares this member, and nothing else, with constants."""
    if not isinstance(condition, Call) or condition.function not in SPREADING:
        return False
    changing = [arg for arg in condition.args if not isinstance(arg, Literal)]
    return [bare(arg) for arg in changing] == [member]


def with_member(condition: Expression, other: Expression) -> Expression:
    """Return a comparison of another member: the constants widen to that member's type."""
    assert isinstance(condition, Call), "only comparisons spread"
    args = (
        widened(arg, other.type) if isinstance(arg, Literal) else other for arg in condition.args
    )
    return Call(condition.function, tuple(args), condition.type)


def widened(constant: Literal, kind: pa.DataType) -> Literal:
    """Return a constant in a wider type."""
    return Literal(python_value(pa.scalar(constant.value, constant.type).cast(kind)), kind)
