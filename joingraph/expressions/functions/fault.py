"""What a function raises when a value has no answer, and the columns that functions take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa

Datum: TypeAlias = pa.Array | pa.Scalar
Function: TypeAlias = Callable[[Sequence[Datum], pa.DataType], Datum]


class Fault(Exception):
    """Some row has no answer: division by zero, overflow, a text that is no number.

    The function need not say which row: `evaluate` finds the first by halving.
    """


def spread(arg: Datum, length: int) -> pa.Array:
    """Return a column: a constant is repeated."""
    return arg if isinstance(arg, pa.Array) else pa.repeat(arg, length)


def length_of(args: Sequence[Datum]) -> int:
    """Return the number of rows; at least one argument is a column, `evaluate` sees to it."""
    return next(len(arg) for arg in args if isinstance(arg, pa.Array))


def columns(args: Sequence[Datum]) -> list[pa.Array]:
    """Return all arguments as columns of equal length."""
    length = length_of(args)
    return [spread(arg, length) for arg in args]
