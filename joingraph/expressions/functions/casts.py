"""CAST: one function for each way of converting, as dialects differ in how they round.

    cast              what all dialects agree on: exact, or to the nearest float; out of range is
                      a Fault; decimals round half away from zero
    cast_truncate     float or decimal to integer, cut towards zero                  (Spark)
    cast_half_away    decimal to integer, half away from zero            (DuckDB, Postgres)
    cast_half_even    float to integer, half to even                     (DuckDB, Postgres)
    cast_saturate     float to integer, cut, held at the limits                     (SQLite)
    cast_prefix       text to integer, as many digits as it begins with             (SQLite)
    cast_finite       double to float, out of range is a Fault           (DuckDB, Postgres)
    cast_shortest     float to decimal by its shortest text                          (Spark)
    cast_scaled       float to decimal by multiplying and rounding                  (DuckDB)
    parse             plain text to number, date, timestamp or boolean; else a Fault

Each but the SQLite ones has a `try_` twin that answers NULL instead of a Fault; `try_parse` does
so for text that no dialect could read, and `try_parse_integer` knows all that Spark reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from joingraph.expressions.functions.arrow import FALSE, pc
from joingraph.expressions.functions.by_row import (
    Entry,
    Plain,
    RowForm,
    answered,
    in_bounds,
    of_one,
)
from joingraph.expressions.functions.decimals import (
    EXACT,
    fit,
    nearest,
    rescale,
    shifted,
    whole_quotient,
)
from joingraph.expressions.functions.fault import Datum, Fault, Function, columns
from joingraph.expressions.functions.mathematics import half_away_by_row
from joingraph.expressions.functions.parsing import (
    certain_parser,
    is_doubtful,
    parse,
    parser,
    prefix_reader,
    read_prefix,
    spark_parser,
    trim_controls,
)
from joingraph.expressions.functions.printing import text_by_row, to_text
from joingraph.expressions.order import DAY_MICROSECONDS
from joingraph.expressions.row_values import bounds, rounded, unscaled
from joingraph.expressions.tree import Call
from joingraph.expressions.types import FLOATS, INTEGERS, TIMESTAMP, decimal_of, sql_name

Converted = tuple[pa.Array, pa.Array]  # the answers, and which rows have none
Conversion = Callable[[pa.Array, pa.DataType], Converted]
RowConversion: TypeAlias = Callable[[pa.DataType, pa.DataType], Plain | None]


def convert(values: pa.Array, type: pa.DataType) -> Converted:
    """Convert where all dialects agree."""
    if values.type == type:
        return values, _none(values)
    if type == pa.string():
        return to_text(values), _none(values)
    if pa.types.is_decimal(type):
        return _to_decimal(values, type)
    if pa.types.is_decimal(values.type) and type in FLOATS:
        return _decimal_to_float(values, type), _none(values)
    if type in INTEGERS and values.type in INTEGERS:
        return _within(values, type)
    if pa.types.is_date(values.type):
        return _to_timestamp(values, type)
    return pc.cast(values, type, safe=False), _none(values)


def truncate(values: pa.Array, type: pa.DataType) -> Converted:
    """Convert a float or decimal to an integer, cut towards zero."""
    return _round(values, type, "towards_zero")


def half_away(values: pa.Array, type: pa.DataType) -> Converted:
    """Convert to an integer, halves away from zero."""
    return _round(values, type, "half_towards_infinity")


def half_even(values: pa.Array, type: pa.DataType) -> Converted:
    """Convert to an integer, halves to the even neighbour."""
    return _round(values, type, "half_to_even")


def finite(values: pa.Array, type: pa.DataType) -> Converted:
    """Convert a double to a float; a finite one that does not fit has no answer."""
    result = pc.cast(values, type, safe=False)
    return result, pc.and_not(pc.is_finite(values), pc.is_finite(result))


def shortest(values: pa.Array, type: pa.DataType) -> Converted:
    """Convert a float to a decimal by way of the shortest text that means it."""
    texts = pc.cast(values, pa.string())
    return _each_decimal(texts, type)


def scaled(values: pa.Array, type: pa.DataType) -> Converted:
    """Convert a float to a decimal: times 10^scale, rounded half away from zero."""
    raw = pc.multiply(pc.cast(values, pa.float64()), pa.scalar(10.0**type.scale))
    whole = pc.round(raw, round_mode="half_towards_infinity")
    limit = pa.scalar(float(10**type.precision))
    bad = pc.invert(pc.less(pc.abs(whole), limit))
    safe = pc.if_else(bad, pa.scalar(0.0), whole)
    unscaled = [None if v is None else int(v) for v in safe.to_pylist()]
    numbers = pa.array(unscaled, pa.decimal128(38, 0))
    shifted = [
        None if v is None else v.scaleb(-type.scale, context=EXACT) for v in numbers.to_pylist()
    ]
    return pa.array(shifted, type), bad


def saturate(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A real as an integer: cut, and held at the limits; NaN is 0, as in Java."""
    (values,) = columns(args)
    info = np.iinfo(str(type))
    low = pc.less_equal(values, pa.scalar(float(info.min)))
    high = pc.greater_equal(values, pa.scalar(float(info.max)))
    inside = pc.if_else(pc.or_(pc.or_(low, high), pc.is_nan(values)), pa.scalar(0.0), values)
    whole = pc.cast(pc.trunc(inside), type)
    limits = pc.if_else(low, pa.scalar(info.min, type), pa.scalar(info.max, type))
    return pc.if_else(pc.or_(low, high), limits, whole)


def prefix(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """A text as the integer it begins with; 0 where it begins with none."""
    (values,) = columns(args)
    return read_prefix(values, type)


def _none(values: pa.Array) -> pa.Array:
    return pa.repeat(FALSE, len(values))


def _to_timestamp(values: pa.Array, type: pa.DataType) -> Converted:
    """Convert dates; those beyond the range of timestamps have no answer."""
    days, last = values.cast(pa.int32()), (2**63 - 1) // DAY_MICROSECONDS
    bad = pc.greater(pc.abs(days.cast(pa.int64())), pa.scalar(last))
    return pc.cast(values, type, safe=False), bad


def _within(values: pa.Array, type: pa.DataType) -> Converted:
    """Convert integers; those out of the range have no answer."""
    info = np.iinfo(str(type))
    source = np.iinfo(str(values.type))
    if info.min <= source.min and source.max <= info.max:
        return pc.cast(values, type), _none(values)
    low = pa.scalar(max(info.min, source.min), values.type)
    high = pa.scalar(min(info.max, source.max), values.type)
    bad = pc.or_(pc.less(values, low), pc.greater(values, high))
    return pc.cast(values, type, safe=False), bad


def _round(values: pa.Array, type: pa.DataType, mode: str) -> Converted:
    info = np.iinfo(str(type))
    if pa.types.is_decimal(values.type):
        return _round_decimal(values, type, mode)
    whole = pc.round(values, round_mode=mode)
    # The upper limit 2^63 is a float, 2^63 - 1 is not: so the test is "less than 2^63".
    inside = pc.and_(
        pc.greater_equal(whole, pa.scalar(float(info.min), values.type)),
        pc.less(whole, pa.scalar(float(info.max + 1), values.type)),
    )
    bad = pc.invert(inside)
    return pc.cast(pc.if_else(inside, whole, pa.scalar(0, values.type)), type, safe=False), bad


def _round_decimal(values: pa.Array, type: pa.DataType, mode: str) -> Converted:
    roomy = values.cast(pa.decimal256(values.type.precision + 1, values.type.scale))
    whole = pc.round(roomy, round_mode=mode)
    info = np.iinfo(str(type))
    width = pa.decimal256(76, 0)
    wide = whole.cast(width)
    inside = pc.and_(
        pc.greater_equal(wide, pa.scalar(int(info.min)).cast(width)),
        pc.less_equal(wide, pa.scalar(int(info.max), pa.uint64()).cast(width)),
    )
    kept = pc.if_else(inside, wide, pa.scalar(0).cast(width))
    return pc.cast(kept, type), pc.invert(inside)


def _to_decimal(values: pa.Array, type: pa.DataType) -> Converted:
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    exact = decimal_of(values.type, bigint_digits=20)
    assert exact is not None
    wide = values.cast(exact)
    try:
        return rescale(wide, type), _none(values)
    except Fault:
        return _each_decimal(wide, type)


def _each_decimal(values: pa.Array, type: pa.DataType) -> Converted:
    """Convert row by row: the way taken where some row has no answer, or the source is a float."""
    texts = values.cast(pa.string()).to_pylist()
    answers = [None if text is None else _decimal(text, type) for text in texts]
    bad = [text is not None and answer is None for text, answer in zip(texts, answers, strict=True)]
    return pa.array(answers, type), pa.array(bad, pa.bool_())


def _decimal(text: str, type: pa.DataType) -> Decimal | None:
    value = Decimal(text)
    return fit(value, type) if value.is_finite() else None


def _decimal_to_float(values: pa.Array, type: pa.DataType) -> pa.Array:
    """Return the nearest float; up to 15 digits one division of exact numbers is right."""
    if values.type.precision > 15:
        numbers = [None if v is None else float(v) for v in values.to_pylist()]
        return pa.array(numbers, pa.float64()).cast(type)
    words = np.frombuffer(values.buffers()[1], dtype="<i8")[::2]
    unscaled = words[values.offset : values.offset + len(values)]
    nulls = values.is_null().to_numpy(zero_copy_only=False)
    return pa.array(unscaled / 10.0**values.type.scale, mask=nulls).cast(type)


def _checked(conversion: Conversion) -> Function:
    def apply(args: Sequence[Datum], type: pa.DataType) -> Datum:
        (values,) = columns(args)
        answers, bad = conversion(values, type)
        if pc.any(bad).as_py():
            raise Fault(f"the value is no {sql_name(type)}")
        return answers

    return apply


def _lenient(conversion: Conversion) -> Function:
    def apply(args: Sequence[Datum], type: pa.DataType) -> Datum:
        (values,) = columns(args)
        answers, bad = conversion(values, type)
        return pc.if_else(pc.coalesce(bad, FALSE), pa.scalar(None, type), answers)

    return apply


def try_parse(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Read plain text; NULL for text that is surely none, a Fault where dialects may differ."""
    (texts,) = columns(args)
    answers, bad = parse(texts, type)
    for text in pc.filter(texts, bad).to_pylist():
        if is_doubtful(text, type):
            raise Fault(f"only plain texts are read as {sql_name(type)}")
    return answers


def try_parse_integer(args: Sequence[Datum], type: pa.DataType) -> Datum:
    """Read an integer as Spark does: controls and spaces around it are dropped; NULL if none."""
    (texts,) = columns(args)
    return parse(trim_controls(texts), type)[0]


def _convert_by_row(source: pa.DataType, type: pa.DataType) -> Plain | None:
    """Return a conversion of one value where all dialects agree; it returns None for no answer."""
    if source == type or (_is_zoned(source) and _is_zoned(type)):
        return lambda value: value
    if type == pa.string():
        return text_by_row(source)
    if source in (*INTEGERS, pa.bool_()) or pa.types.is_decimal(source):
        return _number_by_row(source, type)
    return _OTHERS.get((source, type))


def _is_zoned(type: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type)) and type.tz is not None


def _number_by_row(source: pa.DataType, type: pa.DataType) -> Plain | None:
    """Convert a truth value, an integer or a decimal: a whole number over a power of ten."""
    is_decimal = pa.types.is_decimal(source)
    scale = source.scale if is_decimal else 0
    unit = 10**scale
    if pa.types.is_decimal(type):
        return in_bounds(lambda value: shifted(value, type.scale - scale), type)
    if type == pa.float64():
        return lambda value: value / unit  # Python divides integers to the nearest float
    if type == pa.float32() and (is_decimal or source.bit_width <= 32):
        return lambda value: rounded(value / unit)
    return in_bounds(int, type) if type in INTEGERS and not is_decimal else None


_OTHERS: dict[tuple[pa.DataType, pa.DataType], Plain] = {
    (pa.float32(), pa.float64()): lambda value: value,
    (pa.float64(), pa.float32()): rounded,
    (pa.date32(), TIMESTAMP): in_bounds(lambda days: days * DAY_MICROSECONDS, pa.int64()),
    (TIMESTAMP, pa.date32()): lambda value: value // DAY_MICROSECONDS,
}


def _to_whole(of_float: Plain | None, of_decimal: Plain | None) -> RowConversion:
    """Convert to an integer; a decimal is given by its whole number of the last place, and 10^s."""

    def make(source: pa.DataType, type: pa.DataType) -> Plain | None:
        if of_decimal is not None and pa.types.is_decimal(source):
            return in_bounds(partial(of_decimal, by=10**source.scale), type)
        if of_float is not None and source in FLOATS:
            inside = in_bounds(of_float, type)
            return lambda value: inside(value) if math.isfinite(value) else None
        return None

    return make


def _finite_by_row(source: pa.DataType, type: pa.DataType) -> Plain | None:
    def plain(value: float) -> float | None:
        found = rounded(value)
        return found if math.isfinite(found) or not math.isfinite(value) else None

    return plain if (source, type) == (pa.float64(), pa.float32()) else None


def _shortest_by_row(source: pa.DataType, type: pa.DataType) -> Plain | None:
    if source != pa.float64():  # Python knows no shortest text of a FLOAT
        return None

    def plain(value: float) -> int | None:
        found = _decimal(repr(value), type)
        return None if found is None else unscaled(found, type.scale)

    return plain


def _scaled_by_row(source: pa.DataType, type: pa.DataType) -> Plain | None:
    factor, limit = 10.0**type.scale, float(10**type.precision)

    def plain(value: float) -> int | None:
        whole = half_away_by_row(value * factor)
        return int(whole) if abs(whole) < limit else None

    return plain if source in FLOATS else None


def _saturate_by_row(call: Call) -> Plain | None:
    low, high = bounds(call.type)
    bottom, top = float(low), float(high)

    def plain(value: float) -> int:
        whole = 0 if math.isnan(value) else value
        return low if whole <= bottom else high if whole >= top else int(whole)

    return plain if call.args[0].type == pa.float64() else None


def _types(call: Call) -> tuple[pa.DataType, pa.DataType]:
    return call.args[0].type, call.type


def _checked_by_row(conversion: RowConversion) -> RowForm:
    def make(call: Call) -> Plain | None:
        plain = conversion(*_types(call))
        return plain and answered(plain)

    return of_one(make)


def _lenient_by_row(conversion: RowConversion) -> RowForm:
    return of_one(lambda call: conversion(*_types(call)))


_CONVERSIONS: dict[str, tuple[Conversion, RowConversion]] = {
    "cast": (convert, _convert_by_row),
    "cast_truncate": (truncate, _to_whole(int, whole_quotient)),
    "cast_half_away": (half_away, _to_whole(None, nearest)),
    "cast_half_even": (half_even, _to_whole(round, None)),
    "cast_finite": (finite, _finite_by_row),
    "cast_shortest": (shortest, _shortest_by_row),
    "cast_scaled": (scaled, _scaled_by_row),
    "parse": (parse, lambda source, type: parser(type)),
}
CASTS: dict[str, Entry] = {
    **{
        name: Entry(_checked(by_column), _checked_by_row(by_row))
        for name, (by_column, by_row) in _CONVERSIONS.items()
    },
    **{
        f"try_{name}": Entry(_lenient(by_column), _lenient_by_row(by_row))
        for name, (by_column, by_row) in _CONVERSIONS.items()
    },
    "try_parse": Entry(try_parse, of_one(lambda call: certain_parser(call.type))),
    "try_parse_integer": Entry(try_parse_integer, of_one(lambda call: spark_parser(call.type))),
    "cast_saturate": Entry(saturate, of_one(_saturate_by_row)),
    "cast_prefix": Entry(prefix, of_one(lambda call: prefix_reader(call.type))),
}
