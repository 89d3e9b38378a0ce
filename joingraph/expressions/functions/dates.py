"""Functions of dates and timestamps; timestamps count microseconds."""

from __future__ import annotations

import calendar
import datetime as dt
import operator
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from joingraph.expressions.functions.arrow import pc
from joingraph.expressions.functions.by_row import Entry, Maker, Plain, of_one, of_two, within
from joingraph.expressions.functions.fault import Datum, Fault, Function, columns
from joingraph.expressions.order import DAY_MICROSECONDS
from joingraph.expressions.row_values import EPOCH_DAY
from joingraph.expressions.tree import Call
from joingraph.expressions.types import INTEGERS, TIMESTAMP, sql_name

Numbers: TypeAlias = npt.NDArray[np.int64]

_DAYS_OF_YEARS = (-12_687_428, 11_248_737)  # -32767-01-01 and 32767-12-31
_OUT_OF_RANGE = "the result is out of the range of dates"


def _field(kernel: Callable[[Datum], Datum]) -> Function:
    def apply(args: Sequence[Datum], type: pa.DataType) -> Datum:
        number = kernel(args[0])
        return (
            number.cast(pa.int32()).cast(type) if pa.types.is_decimal(type) else number.cast(type)
        )

    return apply


def year(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """The year; Arrow's has 16 bits, and wraps."""
    days = pc.cast(args[0], pa.date32(), safe=False).cast(pa.int32())
    first, last = (pa.scalar(each, pa.int32()) for each in _DAYS_OF_YEARS)
    if pc.any(pc.or_(pc.less(days, first), pc.greater(days, last))).as_py():
        raise Fault("the year is out of the range of years")
    return _field(pc.year)(args, type)


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


def add_months(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A date or timestamp some months later, on the month's last day if it has no such day."""
    moments, months = columns(args)
    unit = 1 if type == pa.date32() else DAY_MICROSECONDS
    units = moments.view(pa.int32() if unit == 1 else pa.int64()).fill_null(0).to_numpy()
    days, time = np.divmod(units.astype(np.int64), unit)
    days = days_moved(days, months.fill_null(0).to_numpy())
    before = days < 0  # these count back from the next midnight: their own may be out of range
    gone = pc.or_(moments.is_null(), months.is_null()).to_numpy(zero_copy_only=False)
    try:
        midnights = pc.multiply_checked(pa.array(days + before, mask=gone), unit)
        found = pc.add_checked(midnights, pa.array(time - unit * before))
        return found.cast(pa.int32() if unit == 1 else pa.int64()).cast(type)
    except pa.ArrowInvalid as error:
        raise Fault(_OUT_OF_RANGE) from error


def days_moved(days: Numbers, months: Numbers) -> Numbers:
    """Return the days since 1970 that lie some months later."""
    month = days.astype("M8[D]").astype("M8[M]")
    firsts = (month, month + months, month + months + 1)
    first, there, after = (each.astype("M8[D]").astype(np.int64) for each in firsts)
    moved: Numbers = there + np.minimum(days - first, after - there - 1)
    return moved


_DATES, _INSTANTS = (pa.date32(),), (TIMESTAMP,)


def _whole_number(plain: Plain, types: Collection[pa.DataType]) -> Maker:
    """Return a field of a date or timestamp, as an integer or a decimal of scale 0."""

    def make(call: Call) -> Plain | None:
        is_whole = call.type in INTEGERS or call.type.scale == 0
        return plain if is_whole and call.args[0].type in types else None

    return make


def _of_day(field: Callable[[dt.date], int]) -> Maker:
    """Return a field of a day, by Python's calendar; other years are left to the form by column."""

    def of_date(value: int) -> int:
        return field(dt.date.fromordinal(value + EPOCH_DAY))

    def make(call: Call) -> Plain | None:
        plain = _whole_number(of_date, _DATES)(call)
        return plain or _whole_number(lambda value: of_date(value // DAY_MICROSECONDS), _INSTANTS)(
            call
        )

    return make


def _of_time(unit: int, count: int) -> Maker:
    return _whole_number(lambda value: value // unit % count, _INSTANTS)


def _second_exact(call: Call) -> Plain | None:
    is_exact = call.type.scale == 6 and call.args[0].type == TIMESTAMP
    return (lambda value: value % 60_000_000) if is_exact else None


def _day_moved(day: int, months: int) -> int:
    """Return the day some months later; years beyond Python's are left to the form by column."""
    date = dt.date.fromordinal(day + EPOCH_DAY)
    year, month = divmod(12 * date.year + date.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return dt.date(year, month + 1, min(date.day, last)).toordinal() - EPOCH_DAY


def _months_later(call: Call) -> Plain:
    def of_instant(value: int, months: int) -> int:
        day, time = divmod(value, DAY_MICROSECONDS)
        return _day_moved(day, months) * DAY_MICROSECONDS + time

    return _day_moved if call.type == pa.date32() else of_instant


def _moved(plain: Plain, units: pa.DataType) -> Maker:
    """Return a sum or difference in the units that a date or timestamp counts.

    Not of UBIGINT: by column a count beyond BIGINT is an error even beside NULL.
    """
    counts = {*INTEGERS} - {pa.uint64()}
    return lambda call: within(plain, units) if call.args[1].type in counts else None


DATES: dict[str, Entry] = {
    "year": Entry(year, of_one(_of_day(lambda day: day.year))),
    "month": Entry(_field(pc.month), of_one(_of_day(lambda day: day.month))),
    "day": Entry(_field(pc.day), of_one(_of_day(lambda day: day.day))),
    "hour": Entry(_field(pc.hour), of_one(_of_time(3_600_000_000, 24))),
    "minute": Entry(_field(pc.minute), of_one(_of_time(60_000_000, 60))),
    "second": Entry(_field(pc.second), of_one(_of_time(1_000_000, 60))),
    "second_exact": Entry(second_exact, of_one(_second_exact)),
    "add_days": Entry(add_days, of_two(_moved(operator.add, pa.int32()))),
    "subtract_days": Entry(subtract_days, of_two(_moved(operator.sub, pa.int32()))),
    "days_between": Entry(days_between, of_two(lambda call: within(operator.sub, call.type))),
    "add_months": Entry(add_months, of_two(_months_later)),
    "add_micros": Entry(add_micros, of_two(_moved(operator.add, pa.int64()))),
}
