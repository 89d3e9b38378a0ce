"""Ties two aliases by conditions that are no equalities: an alias between them lists the pairs.

    a LEFT JOIN b ON a.k = b.k AND a.x < b.x
    ->  a --<k, x>-- pairs of a and b --<k, x>-- b       one row for each pair of values (k, x) of
                                                         both sides on which the condition is TRUE

An equality ties all that have one value, any other condition some of them. So values of both sides
that meet by the equalities, and on which the condition is TRUE, are paired; the pairs are joined by
equalities, as an alias whose rows follow from the others' (maintainers/pairs.py).

What is asked of one table alone, as by EXISTS, needs to know whether there is a pair, not which:
then the alias lists the values of the near side that have a partner, and how many is counted.

A column that is NULL makes most conditions NULL: then it is a key that meets nothing. Where it does
not, its key is what it is or some constant, and whether it is NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from joingraph.expressions.strict import is_not_true
from joingraph.expressions.tree import Call, Column, Expression, Literal, columns_of
from joingraph.plan.classes import cast_to, class_type, zero

OTHER = "\0"  # the name of an alias that no view has


class Member(NamedTuple):
    """What a side is known by in pairs: an expression, and the type in which both are compared."""

    value: Expression
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Tie:
    """An alias that lists the pairs of two others on which conditions are TRUE.

    If it is counted, it lists the values of the near one that are in a pair.
    """

    name: str
    near: str
    far: str
    keys: int  # equalities of both sides, which come first among what each side is known by
    condition: Expression
    sides: tuple[tuple[Member, ...], tuple[Member, ...]]
    is_counted: bool

    def links(self, side: int) -> list[tuple[Expression, Expression]]:
        """Return what a side is known by, each beside what the pairs call it."""
        return [
            (cast_to(each.value, each.type), self.column(side, number))
            for number, each in enumerate(self.sides[side])
        ]

    def column(self, side: int, number: int) -> Column:
        """Name one of the values of a pair."""
        text = f"{(self.near, self.far)[side]} {number}"
        return Column(self.name, text, self.sides[side][number].type)


def tie_of(
    near: str,
    far: str,
    keys: Sequence[tuple[Expression, Expression]],
    conditions: Sequence[Expression],
    *,
    is_counted: bool,
) -> Tie:
    """Return the alias that lists pairs of two others."""
    condition, *others = map(of_rows, conditions)
    if others:
        condition = Call("and", (condition, *others), pa.bool_())
    equalities: tuple[list[Member], list[Member]] = ([], [])
    for pair in keys:
        kind = class_type(pair)
        assert kind is not None, "two sides of an equality have a common type"
        for members, value in zip(equalities, pair, strict=True):
            members.append(Member(value, kind))
    sides = (
        (*equalities[0], *read_of(condition, near)),
        (*equalities[1], *read_of(condition, far)),
    )
    name = f"partners of {near} in {far}" if is_counted else f"pairs of {near} and {far}"
    return Tie(name, near, far, len(keys), condition, sides, is_counted)


def read_of(condition: Expression, alias: str) -> Iterator[Member]:
    """Yield what a condition reads of one side, so that it can be computed of keys."""
    for column in read_columns(condition, alias):
        for value in members_of(column, condition):
            yield Member(value, value.type)


def read_columns(condition: Expression, alias: str) -> list[Column]:
    """List the columns that a condition reads of one side."""
    found = (each for each in columns_of(condition) if each.alias == alias)
    return list(dict.fromkeys(found))


def members_of(column: Column, condition: Expression) -> tuple[Expression, ...]:
    """Return a column as keys: a second one says whether it is NULL, where NULL may meet others."""
    if not may_hold_of_null(condition, column):
        return (column,)
    filler = Literal(zero(column.type), column.type)
    return (
        Call("coalesce", (column, filler), column.type),
        Call("is_null", (column,), pa.bool_()),
    )


def may_hold_of_null(condition: Expression, column: Column) -> bool:
    """True if a condition may be TRUE though a column is NULL."""
    return not is_not_true(renamed(condition, column), OTHER)


def of_rows(value: Expression) -> Expression:
    """Return a condition as it is asked of rows: each of them is there."""
    match value:
        case Call("is_there"):
            return Literal(True, value.type)
        case Call(function, args, kind):
            return Call(function, tuple(map(of_rows, args)), kind)
        case _:
            return value


def renamed(value: Expression, column: Column) -> Expression:
    """Return an expression in which one column is of another alias."""
    match value:
        case Column():
            return Column(OTHER, value.name, value.type) if value == column else value
        case Call(function, args, kind):
            return Call(function, tuple(renamed(each, column) for each in args), kind)
        case _:
            return value
