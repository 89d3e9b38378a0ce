"""Typed expressions: what SQL's conditions and output columns become, whatever their dialect.

    upper(t.name) = 'BOB'
    ->  Call("equal", (Call("upper", (Column("t", "name", string),), string),
                       Literal("BOB", string)), bool)

An expression is settled when the view is made: names are resolved, casts are explicit, and what
differs between dialects (7 / 2) has become different functions. Equal expressions compare equal,
so an expression can be the name of a value already computed (`evaluate` takes such values).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa

Value: TypeAlias = (
    bool | int | float | Decimal | str | bytes | dt.date | dt.datetime | pa.Scalar | None
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an alias of the view."""

    alias: str
    name: str
    type: pa.DataType

    def __hash__(self) -> int:
        return hash((self.alias, self.name))  # Arrow takes long to hash a type


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant; NULL has the type that its place asks for.

    Constants are equal if they are the same word: 0.0 and -0.0, which Python calls equal, are not.
    """

    value: Value
    type: pa.DataType

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal) or self.type != other.type:
            return False
        if isinstance(self.value, float) and isinstance(other.value, float):
            return self.value.hex() == other.value.hex()
        return self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of other expressions; expressions/functions/ lists the functions."""

    function: str
    args: tuple[Expression, ...]
    type: pa.DataType
    _hash: int = field(init=False, repr=False, compare=False)  # a look-up must not walk the parts

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.function, self.args)))

    def __hash__(self) -> int:
        return self._hash


Expression = Column | Literal | Call


def columns_of(expression: Expression) -> Iterator[Column]:
    """Yield every column that an expression reads, as often as it reads it."""
    match expression:
        case Column():
            yield expression
        case Call():
            for arg in expression.args:
                yield from columns_of(arg)
        case Literal():
            pass


def aliases_of(expression: Expression) -> frozenset[str]:
    """Name the aliases that an expression reads; none for a constant."""
    return frozenset(column.alias for column in columns_of(expression))
