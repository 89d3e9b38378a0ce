"""What a view asks of an aggregate, what an aggregate is, and what refuses one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import pyarrow as pa

from joingraph.expressions.tree import Value
from joingraph.expressions.types import DIALECTS, sql_name

State: TypeAlias = Any
Result: TypeAlias = Value | list[Value]
Row: TypeAlias = tuple[Value, ...]

ALL: Final = DIALECTS
NOT_SQLITE: Final = ("spark", "duckdb", "postgres")


class Order(NamedTuple):
    """One entry of ORDER BY inside an aggregate; `argument` is its place among the arguments."""

    argument: int
    descending: bool = False
    nulls_first: bool = False


class Asked(NamedTuple):
    """One use of an aggregate in a view.

    `types` are those of its arguments (none for COUNT(*)), then of what ORDER BY adds to them.
    """

    name: str
    types: tuple[pa.DataType, ...]
    dialect: str
    is_distinct: bool = False
    constants: tuple[Value, ...] = ()
    order: tuple[Order, ...] = ()


class Aggregate(Protocol):
    """A function of a bag of rows; a state is the bag's summary, and equal bags have equal ones."""

    @property
    def type(self) -> pa.DataType:
        """The dialect's type of the result."""
        ...

    def zero(self) -> State:
        """Return the state of no rows."""
        ...

    def add(self, state: State, values: Row, times: int) -> State:
        """Return the state with a row added so many times; below zero it is taken away.

        A state may be changed in place. Only rows that have come can go.
        """
        ...

    def result(self, state: State) -> Result:
        """Return the result, a value of `type`.

        Raise OverflowError(value) where `type` does not hold it, ZeroDivisionError where the
        dialect fails with one.
        """
        ...


class Refused(Exception):
    """An aggregate that a view cannot have: `what` was asked, `why` not, and a remedy."""

    def __init__(self, what: str, why: str, instead: str) -> None:
        super().__init__(f"{what}: {why}; {instead}")
        self.what, self.why, self.instead = what, why, instead


class Unknown(Refused):
    """A name that is no aggregate of the dialect."""


class Entry(NamedTuple):
    """How the registry knows an aggregate: who makes it, and what may be asked of it."""

    make: Callable[[Asked], Aggregate]
    dialects: tuple[str, ...] = ALL
    arguments: int | None = 1  # None: any number
    constants: tuple[int, int] = (0, 0)  # at least, at most
    is_ordered: bool = False


def refused_type(asked: Asked, instead: str) -> Refused:
    """Return the refusal of an aggregate over types that it is not defined on."""
    types = ", ".join(map(sql_name, asked.types))
    why = f"{asked.dialect} does not define it there, or its meaning is not certain"
    return Refused(f"{asked.name} of {types}", why, instead)
