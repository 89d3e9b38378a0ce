"""Functions of dates and timestamps; timestamps count microseconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from joingraph.expressions.functions.arrow import pc
from joingraph.expressions.functions.fault import Datum, Fault, Function
from joingraph.expressions.types import sql_name

_OUT_OF_RANGE = "the result is out of the range of dates"


def _field(kernel: Callable[[Datum], Datum]) -> Function:
    def apply(args: Sequence[Datum], type: pa.DataType) -> Datum:
        number = kernel(args[0])
        return (
            number.cast(pa.int32()).cast(type) if pa.types.is_decimal(type) else number.cast(type)
        )

    return apply


def second_exact(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The second with its fraction, as DECIMAL(8,6)."""
    micros = pc.cast(pc.microsecond(args[0]), pa.int32())
    micros = pc.add(micros, pc.multiply(pc.cast(pc.millisecond(args[0]), pa.int32()), 1000))
    total = pc.add(pc.multiply(pc.cast(pc.second(args[0]), pa.int64()), 1_000_000), micros)
    millionth = pa.scalar("0.000001").cast(pa.decimal128(7, 6))
    return pc.multiply(pc.cast(total, pa.decimal128(19, 0)), millionth).cast(type)


def _moved_days(kernel: Callable[[Datum, Datum], Datum]) -> Function:
    def apply(args: Sequence[Datum], type: pa.DataType) -> Datum:
        try:
            days = kernel(args[0].cast(pa.int32()).cast(pa.int64()), args[1].cast(pa.int64()))
            return days.cast(pa.int32()).cast(pa.date32())
        except pa.ArrowInvalid as error:
            raise Fault(_OUT_OF_RANGE) from error

    return apply


add_days = _moved_days(pc.add_checked)
subtract_days = _moved_days(pc.subtract_checked)


def days_between(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """How many days the first date is later than the second."""
    late, early = (each.cast(pa.int32()).cast(pa.int64()) for each in args)
    try:
        return pc.subtract(late, early).cast(type)
    except pa.ArrowInvalid as error:
        raise Fault(f"the result does not fit {sql_name(type)}") from error


def add_micros(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A timestamp some microseconds later."""
    try:
        return pc.add_checked(args[0].cast(pa.int64()), args[1]).cast(type)
    except pa.ArrowInvalid as error:
        raise Fault(_OUT_OF_RANGE) from error


DATES: dict[str, Function] = {
    "year": _field(pc.year),
    "month": _field(pc.month),
    "day": _field(pc.day),
    "hour": _field(pc.hour),
    "minute": _field(pc.minute),
    "second": _field(pc.second),
    "second_exact": second_exact,
    "add_days": add_days,
    "subtract_days": subtract_days,
    "days_between": days_between,
    "add_micros": add_micros,
}
